"""Choosing the penalty c2 and the bound τ on the days before the first prediction.

These days are forecast in the same way, from their own 60 % point on; the ranges and the common model are
fitted to the days before that point. To save time, the model is retrained only every few days. One choice is
made for all stocks, by the log loss of their forecasts: a single stock has too few days, and accuracy is too
coarse.

The strongest penalty (or the weakest constraint) within one standard error of the best is taken (Breiman,
Friedman, Olshen and Stone 1984), so that differences due to chance do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.features import Settings, make_stock
from crfkit.apps.stocks.forecast import walk_forward
from crfkit.apps.stocks.prices import Prices
from crfkit.arrays import FloatArray

# Most cautious first. The penalty towards the common model may be stronger than that towards 0.
PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
BOUNDS = (20.0, 10.0, 5.0, 1.0, 0.01)
COMMON_PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0)
COMMON_BOUNDS = (40.0, *BOUNDS)
_INNER_START = 0.6
_EVERY = 10  # days between trainings
_BLOCK = 20  # days per block of losses: neighbouring days are not independent


@dataclass(frozen=True)
class Trial:
    """A setting, and its losses on one or all stocks before the first prediction."""

    c2: float
    tau: float | None
    accuracy: float
    losses: FloatArray  # [blocks] log loss of blocks of days

    @property
    def log_loss(self) -> float:
        """Return the mean log loss, in nats per day."""
        return float(self.losses.mean())


def inner_start(start: int) -> int:
    """Return the first day that is predicted to choose settings."""
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
    """Forecast the days before ``start``; the centre must come from days before these."""
    inner = inner_start(start)
    stock = make_stock(prices.until(start), settings, inner)
    forecast = walk_forward(stock, inner, c2=c2, tau=tau, last=last, every=_EVERY, centre=centre)
    losses = forecast.losses(stock)
    whole = len(losses) // _BLOCK * _BLOCK or len(losses)
    blocks = losses[:whole].reshape(-1, min(_BLOCK, whole)).mean(axis=1)
    return Trial(c2, tau, float(forecast.correct(stock).mean()), blocks)


def together(trials: Sequence[Trial]) -> Trial:
    """Combine the trials of one setting on several stocks."""
    return Trial(
        trials[0].c2,
        trials[0].tau,
        float(np.mean([trial.accuracy for trial in trials])),
        np.concatenate([trial.losses for trial in trials]),
    )


def most_cautious(trials: Sequence[Trial]) -> Trial:
    """Return the most cautious setting (they are sorted) within one standard error of the best."""
    best = min(trials, key=lambda trial: trial.log_loss)
    for trial in trials:
        excess = trial.losses - best.losses
        error = float(excess.std(ddof=1)) / np.sqrt(len(excess)) if len(excess) > 1 else 0.0
        if float(excess.mean()) <= error:
            return trial
    return best
