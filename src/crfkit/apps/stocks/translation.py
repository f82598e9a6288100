"""Translation of forecasts from the smoothed price to raw prices.

The smoothed price rises tomorrow exactly if tomorrow's price lies above a threshold q that is known today
(``smoothing.py``). So a forecast "Raise" says "above q", no more:

- today's price p <= q: "Raise" implies that the price rises; p >= q: "Fall" implies that it falls. These are
  the days on which the forecast says something of the raw price. With ema they are just those on which it
  expects the smoothed price to turn.
- on all other days price and threshold agree already, and the forecast leaves the raw direction open. One may
  copy the direction all the same, which is what a user of such forecasts tends to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.features import FALL, RAISE, Stock
from crfkit.apps.stocks.forecast import Forecast
from crfkit.arrays import BoolArray, FloatArray, IdArray


@dataclass(frozen=True)
class RawForecast:
    """A forecast in terms of raw prices."""

    above: FloatArray  # [n] q: "Raise" means a price above it, adjusted for splits as the prices
    implied: IdArray  # [n] the raw direction that follows; -1 where none does
    copied_correct: BoolArray  # [n] the raw direction was the forecast one
    implied_correct: BoolArray  # [m] the same, of the days with an implied direction
    rises: BoolArray  # [n] the price rose

    @property
    def coverage(self) -> float:
        """Return the share of days on which a raw direction is implied."""
        return float((self.implied >= 0).mean())


def translate(stock: Stock, forecast: Forecast) -> RawForecast:
    """Translate a forecast of the smoothed price to raw prices."""
    days = np.arange(forecast.start, forecast.start + len(forecast.probability))
    close = stock.prices.close
    today, above = close[days - 1], stock.smoothed.threshold[days - 1]
    labels, rises = forecast.labels, close[days] > close[days - 1]
    implied = np.full(len(days), -1, np.int32)
    implied[(labels == RAISE) & (today <= above)] = RAISE
    implied[(labels == FALL) & (today >= above)] = FALL
    spoken = implied >= 0
    return RawForecast(
        above, implied, (labels == RAISE) == rises, (implied[spoken] == RAISE) == rises[spoken], rises
    )
