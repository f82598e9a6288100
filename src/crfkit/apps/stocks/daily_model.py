"""A CRF of one stock that is trained anew every day, from where it stood the day before.

The stock's sequence is laid out in the core once (``LinearLikelihood`` with ``as_given``) and shown day by
day; the weights, and what L-BFGS knows of the curvature, are kept from day to day. One parameter a feature in
a fixed order, whether it has been seen or not: not a bit of the result depends on days that have not been
shown. Weights may be held to those of a model of all stocks instead of to 0 (``common.py``).

Constrained (Chen, Chen, Brent and Tenney, KDD 2009): the best path over the last V days may score at most τ
above their true labels,

    h(w) = max_ŷ S(v, ŷ; w) - S(v, y; w) <= τ,   v the last V days,

by a search of its own, from the weights and the penalty of the day before (``constrained_model.py``).

The labels up to today are known when tomorrow's is predicted, and so tomorrow's depends on the attributes of
tomorrow (all from today and before) and on today's label alone:

    p(y | y_today, x) ∝ exp(node(y) + edge(y_today, y)).

(With training by the day, today's label is one of the attributes and there are no edges.)
"""

from __future__ import annotations

import math

import numpy as np

from crfkit._native import CurvatureHistory
from crfkit.apps.stocks.features import FALL, RAISE, Settings, Stock
from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.features.index import FeatureIndex
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Smooth
from crfkit.potentials.linear import LinearWeights

_MEMORY = 10
_FIRST_TOL, _FIRST_ITERATIONS = 1e-4, 200  # the first training, from nothing


def feature_index(settings: Settings) -> FeatureIndex:
    """All attributes with both labels; label pairs where labels are trained together."""
    A = settings.n_attributes
    return FeatureIndex(
        n_labels=2,
        state_indptr=np.arange(0, 2 * A + 1, 2, dtype=np.int64),
        state_labels=np.tile(np.array([FALL, RAISE], np.int32), A),
        edges=np.full((2, 2), settings.training == "chain"),
    )


class DailyCRF:
    """Plain: minimises -log p(labels | attributes) + c2·‖w - w₀‖² over the days shown."""

    def __init__(
        self,
        stock: Stock,
        *,
        c2: float,
        tol: float = 3e-3,
        max_iterations: int = 20,
        centre: FloatArray | None = None,  # w₀, what stocks have in common; None: 0
    ) -> None:
        self._stock = stock
        self._tol, self._max_iterations = tol, max_iterations
        self._index = feature_index(stock.settings)
        self._likelihood = LinearLikelihood(
            stock.sequences(),
            Labels(np.ascontiguousarray(stock.labels[stock.first :]), None),
            self._index,
            n_threads=1,
            as_given=True,
        )
        self.objective = self._likelihood.penalised(c2=c2, centre=centre)
        self.x: FloatArray = np.zeros(self.objective.n_parameters)
        self._history = CurvatureHistory(_MEMORY, len(self.x), 1)
        self._trained = False
        self.days = self.feasible_days = 0  # trainings, and those after which all constraints held
        self._read()

    @property
    def feasible_share(self) -> float:
        """Share of the trainings after which all constraints held; there are none here."""
        return self.feasible_days / self.days if self.days else 1.0

    def learn(self, today: int) -> None:
        """Train on the days up to ``today``."""
        self._likelihood.show(self._stock.position(today) + 1)
        self._minimise(self.objective)
        self.days += 1
        self.feasible_days += 1
        self._read()

    def _minimise(self, function: Smooth) -> None:
        result = minimize_lbfgs(
            function,
            self.x,
            tol=self._tol if self._trained else _FIRST_TOL,
            max_iterations=self._max_iterations if self._trained else _FIRST_ITERATIONS,
            history=self._history,
        )
        if result.interrupted:  # half-trained days must not become forecasts
            raise KeyboardInterrupt
        self.x, self._trained = result.x, True

    def raise_probability(self, day: int) -> float:
        """That the smoothed price of ``day`` lies above that of the day before, whose label is known."""
        attributes = self._stock.attributes[day]
        node = self._stock.values[day] @ self._node[attributes]
        score = node + self._edge[self._stock.labels[day - 1]]
        return 1 / (1 + math.exp(min(700.0, float(score[FALL] - score[RAISE]))))

    def _read(self) -> None:
        weights = LinearWeights.of(self._index, self.objective.weights(self.x))
        self._node = weights.state.reshape(-1, 2)  # [A, 2]
        self._edge = weights.edge  # [2, 2]
