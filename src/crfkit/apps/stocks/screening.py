"""Screening of stocks, based only on prices before the first prediction."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from crfkit.apps.stocks.days import Day, as_day
from crfkit.apps.stocks.prices import Prices
from crfkit.exceptions import InputError


@dataclass(frozen=True)
class Screening:
    """The requirements on a stock in the days before the first prediction."""

    least_days: int = 250  # to learn from
    least_price: float = 1.0  # at its lowest: below it, one tick is a large change
    most_unchanged: float = 0.2  # share of days on which the price stays: it is hardly traded
    longest_gap: int = 15  # calendar days without a price: trading was suspended, or the file has holes

    def complaint(self, prices: Prices, start: int) -> str | None:
        """Say why a stock is left out; None if it is not. ``start`` is the first day to predict."""
        needed = max(self.least_days, 2)  # a change needs two days
        if start < needed:
            return (
                f"{start} of its {len(prices)} days lie before the first prediction; "
                f"{needed} are needed to learn from"
            )
        if start >= len(prices):
            return f"none of its {len(prices)} days is left to predict"
        past, dates = prices.close[:start], prices.dates[:start]
        lowest = int(past.argmin())
        if past[lowest] < self.least_price:
            return f"its price was {past[lowest]:g} on {dates[lowest]}, below {self.least_price:g}"
        unchanged = float((np.diff(past) == 0).mean())
        if unchanged > self.most_unchanged:
            return f"its price stays on {unchanged:.0%} of the days, more than {self.most_unchanged:.0%}"
        gaps = np.diff(dates).astype(int)
        widest = int(gaps.argmax())
        if gaps[widest] > self.longest_gap:
            return (
                f"it has no price for {gaps[widest]} days after {dates[widest]}, more than {self.longest_gap}"
            )
        return None


def check_start(start: float | Day) -> float | np.datetime64:
    """Return the start as a share between 0 and 1 or as a day; raise an error for other values."""
    if isinstance(start, Real):
        if 0 < start < 1:
            return float(start)
    else:
        try:
            return as_day(start)
        except ValueError:
            pass
    raise InputError(
        "the first prediction must be a date such as 2006-05-16, or a share between 0 and 1, got "
        f"{start if isinstance(start, Real) else repr(start)}"
    )


def first_prediction(prices: Prices, start: float | Day) -> int:
    """Return the first day to predict: at a share of the history, or the first on or after a date."""
    start = check_start(start)
    if isinstance(start, np.datetime64):
        return int(np.searchsorted(prices.dates, start))
    return int(start * len(prices))
