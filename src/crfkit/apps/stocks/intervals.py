"""Confidence intervals of accuracies over stocks and days, by resampling stocks and blocks of days.

Stocks move together, and neighbouring days are correlated, so single forecasts are not independent. Therefore
whole blocks of trading days are drawn (moving-block bootstrap, Künsch 1989), and stocks as well. Differences
of two methods use the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % confidence interval."""

    value: float
    low: float
    high: float


class Resampling:
    """Weights of stocks and of days in R resampled data sets, the same for all methods."""

    def __init__(self, present: BoolArray, *, draws: int = 2000, block: int = 20, seed: int = 0) -> None:
        stocks, days = present.shape
        rng = np.random.default_rng(seed)
        block = min(block, days)
        n_blocks = -(-days // block)
        self.present = present  # [S, D] whether there is a forecast
        self._days = np.zeros((draws, days))  # [R, D] how often a day was drawn
        for r in range(draws):
            firsts = rng.integers(0, days - block + 1, n_blocks)
            drawn = (firsts[:, None] + np.arange(block)).ravel()[:days]
            self._days[r] = np.bincount(drawn, minlength=days)
        if stocks > 1:
            drawn_stocks = rng.integers(0, stocks, (draws, stocks))
            self._stocks = np.stack([np.bincount(d, minlength=stocks) for d in drawn_stocks]).astype(float)
        else:
            self._stocks = np.ones((draws, stocks))
        self._totals = self._sums(present.astype(np.float64))  # [R]

    def mean(self, values: FloatArray) -> Estimate:
        """Return the mean of values [S, D] over the forecasts, e.g. 1 for right forecasts."""
        shown = np.where(self.present, values, 0.0)
        drawn = self._sums(shown) / np.maximum(self._totals, 1e-12)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return Estimate(float(shown.sum() / self.present.sum()), float(low), float(high))

    def _sums(self, values: FloatArray) -> FloatArray:
        found: FloatArray = np.einsum("rs,sd,rd->r", self._stocks, values, self._days, optimize=True)
        return found
