"""Choosing the penalty c2 and the bound τ on the days before the first prediction.

Those days are walked through in the same way, from their own 60 % point on, with the ranges fitted before
it and what stocks have in common learned before it; the model is re-trained every few days to save time. All
stocks choose together, by the log loss of their forecasts: one stock alone has too few days to tell settings
apart, and right or wrong is too coarse.

The strongest penalty (or the weakest constraint) is taken that is not worse than the best by more than one
standard error (Breiman, Friedman, Olshen and Stone 1984): what cannot be told apart from chance is not
believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.features import Settings, make_stock
from crfkit.apps.stocks.forecast import walk_forward
from crfkit.apps.stocks.prices import Prices
from crfkit.arrays import FloatArray

# From the most cautious on. What stocks have in common may be held to more strongly than 0.
PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
BOUNDS = (20.0, 10.0, 5.0, 1.0, 0.01)
COMMON_PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0)
COMMON_BOUNDS = (40.0, *BOUNDS)
_INNER_START = 0.6
_EVERY = 10  # days between trainings
_BLOCK = 20  # days whose losses are taken together: neighbours are not independent


@dataclass(frozen=True)
class Trial:
    """A setting, and how it did on one or all stocks before the first prediction."""

    c2: float
    tau: float | None
    accuracy: float
    losses: FloatArray  # [blocks] log loss of blocks of days

    @property
    def log_loss(self) -> float:
        """The mean; nats per day."""
        return float(self.losses.mean())


def inner_start(start: int) -> int:
    """The first day predicted for the choice."""
    return int(_INNER_START * start)


def try_setting(
    prices: Prices,
    start: int,
    settings: Settings,
    centre: FloatArray | None,
    c2: float,
    tau: float | None,
    last: int,
) -> Trial:
    """Walk through the days before ``start``; the centre must be from days before they begin."""
    inner = inner_start(start)
    stock = make_stock(prices.until(start), settings, inner)
    forecast = walk_forward(stock, inner, c2=c2, tau=tau, last=last, every=_EVERY, centre=centre)
    losses = forecast.losses(stock)
    whole = len(losses) // _BLOCK * _BLOCK or len(losses)
    blocks = losses[:whole].reshape(-1, min(_BLOCK, whole)).mean(axis=1)
    return Trial(c2, tau, float(forecast.correct(stock).mean()), blocks)


def together(trials: Sequence[Trial]) -> Trial:
    """The same setting on several stocks."""
    return Trial(
        trials[0].c2,
        trials[0].tau,
        float(np.mean([trial.accuracy for trial in trials])),
        np.concatenate([trial.losses for trial in trials]),
    )


def most_cautious(trials: Sequence[Trial]) -> Trial:
    """The first of the settings, from the most cautious on, within a standard error of the best."""
    best = min(trials, key=lambda trial: trial.log_loss)
    for trial in trials:
        excess = trial.losses - best.losses
        error = float(excess.std(ddof=1)) / np.sqrt(len(excess)) if len(excess) > 1 else 0.0
        if float(excess.mean()) <= error:
            return trial
    return best
