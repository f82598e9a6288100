"""Forecasts of tomorrow's direction, day by day, each from data up to the evening before."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.constrained_model import ConstrainedDailyCRF
from crfkit.apps.stocks.daily_model import DailyCRF
from crfkit.apps.stocks.features import RAISE, Stock
from crfkit.arrays import BoolArray, FloatArray, IdArray


@dataclass(frozen=True)
class Forecast:
    """The forecasts of one method for one stock."""

    start: int  # the first day predicted
    probability: FloatArray  # [n] that the smoothed price rises, of the days start .. start + n - 1
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of the processor
    feasible: float = 1.0  # share of the trainings after which the constraint held; 1 where there is none

    @property
    def labels(self) -> IdArray:
        """Return the more probable direction of each day [n]."""
        return (self.probability > 0.5).astype(np.int32)

    def correct(self, stock: Stock) -> BoolArray:
        """Return which forecasts were right [n]."""
        found: BoolArray = self.labels == stock.labels[self.start : self.start + len(self.labels)]
        return found

    def losses(self, stock: Stock) -> FloatArray:
        """Return -log of the probability of the actual direction [n], in nats."""
        truth = stock.labels[self.start : self.start + len(self.labels)]
        of_truth: FloatArray = np.where(truth == RAISE, self.probability, 1 - self.probability)
        return -np.log(np.maximum(of_truth, 1e-12))


def walk_forward(
    stock: Stock,
    start: int,
    *,
    c2: float,
    tau: float | None = None,
    last: int = 100,
    every: int = 1,
    stop: int | None = None,
    centre: FloatArray | None = None,
) -> Forecast:
    """Predict every day from ``start`` on by a CRF trained on all days before it.

    It is trained again every ``every`` days, from the weights it has. With ``tau`` it is constrained by the
    last ``last`` days. ``centre``: the weights that its own are held to (``common.py``).
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    model: DailyCRF = (
        DailyCRF(stock, c2=c2, centre=centre)
        if tau is None
        else ConstrainedDailyCRF(stock, c2=c2, tau=tau, last=last, centre=centre)
    )
    stop = stock.n_days if stop is None else stop
    probability = np.empty(stop - start)
    for day in range(start, stop):
        if (day - start) % every == 0:
            model.learn(day - 1)
        probability[day - start] = model.raise_probability(day)
    return Forecast(
        start,
        probability,
        time.perf_counter() - began,
        time.process_time() - began_cpu,
        model.feasible_share,
    )
