"""Splits: prices that fall to a half overnight because there are twice as many shares.

Files of prices are often not adjusted for splits. A change close to a usual ratio (2 for 1, 3 for 2, …) is
taken as a split, unless it only undoes the change of the day before (a wrong price in the file). Prices
*after* a split are multiplied, not those before it, so that no information from the future gets into the
past. The factor is kept with the prices, so that results can be shown in prices of the file. Prices that are
already adjusted in the file are not changed: there, a fall to a half is real.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.apps.stocks.prices import Prices

_RATIOS = np.array(
    [10, 5, 4, 3, 5 / 2, 2, 3 / 2, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10]
)  # shares for one
_NEAR = 0.035  # of logarithms: tolerance for the market's own move on the day
_BACK = 0.1  # of logarithms: tolerance for a price that is back at its old level
_ODD = 0.35  # of logarithms: other changes of this size are reported


def adjust_splits(prices: Prices) -> tuple[Prices, list[str], list[str]]:
    """Return the prices per share of the first day, and descriptions of the splits and other large jumps.

    If the prices are already adjusted, all large changes are jumps.
    """
    log = np.log(prices.close)
    change = np.diff(log)  # [D-1]
    factor = np.ones(len(prices))
    splits, jumps = [], []
    last = (-1, 1.0)  # the day of the last split, and its ratio
    for day in np.flatnonzero(np.abs(change) > _ODD) + 1:
        before, after = prices.close[day - 1], prices.close[day]
        words = f"{prices.ticker} goes from {before:g} to {after:g} on {prices.dates[day]}"
        nearest = int(np.abs(change[day - 1] + np.log(_RATIOS)).argmin())
        near = abs(change[day - 1] + np.log(_RATIOS[nearest])) < _NEAR
        back = day > 1 and abs(log[day] - log[day - 2]) < _BACK
        if near and not back and not prices.adjusted:
            factor[day:] *= _RATIOS[nearest]
            splits.append(words)
            last = (int(day), float(_RATIOS[nearest]))
            continue
        if back and last[0] == day - 1:  # it was not a split: restore the factor from before
            factor[day:] /= last[1]
        jumps.append(words)
    if not splits:
        return prices, [], jumps
    adjusted = replace(prices, close=prices.close * factor, multiplied=prices.factor * factor)
    return adjusted, splits, jumps
