"""The daily CRF under the constraint of its last V days; see ``daily_model.py``.

A saddle-point search from scratch would take about three hundred passes per day. From one day to the next
little changes: one day enters the constraint, one leaves. So weights, curvature, penalty and temperature are
kept, and an outer step is a few iterations on

    O(w) + β · r(h_T(w) - τ),

h_T the constraint smoothed at temperature T (never below h), r a rounded max(0, ·). While h itself is above τ
the penalty rises and the temperature falls; where it holds, both ease a little for the next day. Whether the
constraint holds is always decided by h itself, by Viterbi.
"""

from __future__ import annotations

import numpy as np

from crfkit.apps.stocks.daily_model import DailyCRF
from crfkit.apps.stocks.features import Stock
from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.objectives.validation import ValidationConstraints
from crfkit.objectives.validation_sets import Spans
from crfkit.optim.problem import Evaluation
from crfkit.optim.saddle import rounded_hinge

_MOST_OUTER = 8
_FIRST_TEMPERATURE, _FIRST_PENALTY = 1.0, 1.0
_COOLING, _GROWTH = 0.5, 2.0  # while the constraint is violated
_EASING = 0.9  # of penalty and (inversely) of temperature, where it holds
_COLDEST, _LARGEST = 1e-4, 1e5


class ConstrainedDailyCRF(DailyCRF):
    """A daily CRF trained with the constraint h(w) <= tau on the last days."""

    def __init__(
        self,
        stock: Stock,
        *,
        c2: float,
        tau: float = 0.01,
        last: int = 100,
        tol: float = 3e-3,
        centre: FloatArray | None = None,
    ) -> None:
        super().__init__(stock, c2=c2, tol=tol, centre=centre)
        if tau < 0:
            raise InputError(f"tau must be a number of at least 0, got {tau}")
        if last < 1:
            raise InputError(f"the constraint needs at least 1 of the last days, got {last}")
        self._tau, self._last = tau, last
        self._penalty, self._temperature = 0.0, _FIRST_TEMPERATURE

    def learn(self, today: int) -> None:
        """Train on the days up to ``today``, constrained by the last of them."""
        shown = self._stock.position(today) + 1
        if shown < self._last:
            raise InputError(
                f"{self._stock.prices.source}: {self._stock.ticker} has {shown} days with features up to "
                f"{self._stock.prices.dates[today]}; a constraint on the last {self._last} needs as many"
            )
        self._likelihood.show(shown)
        constraint = ValidationConstraints(self.objective, self._spans(shown), tau=self._tau)
        self.days += 1
        for outer in range(_MOST_OUTER):
            self._improve(constraint)
            if float(constraint.violations(self.x)[0]) <= self._tau:
                self.feasible_days += 1
                if outer == 0:
                    self._ease()
                break
            self._tighten()
        self._read()

    def _spans(self, shown: int) -> Spans:
        """Return the last days: one path over all of them or, if days are trained separately, one per day."""
        if self._stock.settings.training == "chain":
            return Spans(np.array([shown - self._last]), np.array([shown]), np.zeros(1, np.int32), 1)
        days = np.arange(shown - self._last, shown)
        return Spans(days, days + 1, np.zeros(self._last, np.int32), 1)

    def _tighten(self) -> None:
        self._penalty = min(_LARGEST, max(_FIRST_PENALTY, self._penalty * _GROWTH))
        self._temperature = max(_COLDEST, self._temperature * _COOLING)

    def _ease(self) -> None:
        self._penalty = self._penalty * _EASING if self._penalty > _FIRST_PENALTY / 10 else 0.0
        self._temperature = min(_FIRST_TEMPERATURE, self._temperature / _EASING)

    def _improve(self, constraint: ValidationConstraints) -> None:
        """Run a few iterations on the penalised objective."""

        def penalised(x: FloatArray, *, diagonal: bool = False) -> Evaluation:
            here = self.objective(x, diagonal=diagonal)
            if self._penalty == 0:
                return here
            bound = constraint.smoothed(x, self._temperature)
            cost, slope = rounded_hinge(bound.values, max(self._tau, self._temperature))
            if slope[0] == 0:
                return here
            gradient = here.gradient + bound.pull(self._penalty * slope)
            return Evaluation(here.value + self._penalty * float(cost[0]), gradient, here.diagonal)

        self._minimise(penalised)
