"""The likelihood of a linear CRF as a function of P parameters, wherever its data is.

Training needs only this of a source of data (``models/linear/source.py``): value and gradient, and the way
between parameters and the weights of features. In one process they are computed by ``LinearLikelihood``, from
memory or from blocks on disk. Another implementation may add them up over parts of the data elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.objectives.validation_sets import Spans, ValidationSets
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Evaluation


class LinearFunction(ABC):
    """f(w) = -Σ_i weight_i · log p(y_i | x_i; w) as a function of P parameters."""

    n_threads: int  # for the optimiser's own work

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """P."""

    @abstractmethod
    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value, gradient and, if requested, an estimate of the Hessian's diagonal."""

    @abstractmethod
    def parameters(self, w: FloatArray) -> FloatArray:
        """Return the parameters [P] of feature weights; they give the same scores on the data."""

    @abstractmethod
    def weights(self, x: FloatArray) -> FloatArray:
        """Return the feature weights of parameters, in the order of ``FeatureIndex.sizes``."""

    @abstractmethod
    def validation_sets(self, spans: Spans, margin: float) -> ValidationSets:
        """Return validation sets of the data, as functions of the parameters."""

    def roots(self) -> FloatArray:
        """Return √k of each parameter [P], where k features share it: their weights are x / √k."""
        return np.ones(self.n_parameters)

    def units(self, c2: float) -> FloatArray | None:
        """Return the units [P] in which an optimiser should measure x under this penalty; None: all 1."""
        return None

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Return half the estimated second derivative by each feature's weight, at these parameters."""
        diagonal = self(theta, diagonal=True).diagonal
        h = 0.5 * self.weights(np.zeros(0) if diagonal is None else diagonal / self.roots())
        return np.where(np.isfinite(h), h, 0.0)  # where scores were too large

    def parameter_of(self) -> IntArray:
        """Return the parameter of each feature, in the order of ``FeatureIndex.sizes``; -1: it has none."""
        numbers = self.weights(np.arange(1, self.n_parameters + 1) * self.roots())
        return np.rint(numbers).astype(np.int64) - 1

    def penalised(
        self,
        *,
        c2: float | FloatArray,
        c1: float | FloatArray = 0.0,
        centre: FloatArray | None = None,
        hold: FloatArray | None = None,
        shares: FloatArray | None = None,
    ) -> PenalisedLikelihood[Any]:
        """Return the objective f(w) + Σ (c2 + hold)·(w - w₀)² + c1·‖w - w₀‖₁; ``centre`` is w₀.

        ``centre`` and ``hold`` have one number per feature; ``hold`` needs parameters of single features.
        c1 and c2 are one number, or one per parameter [P] with the ``shares`` of the features in it
        (``objectives/grouped_penalty.py``).
        """
        l1 = c1 if isinstance(c1, np.ndarray) else c1 * self.roots() if c1 else None
        around = None if centre is None else self.parameters(centre)
        held = None if hold is None else self.parameters(hold)
        l2 = c2 if isinstance(c2, np.ndarray) else float(c2)
        return PenalisedLikelihood(self, l2, l1, around, held, centre, shares)


F = TypeVar("F", bound=LinearFunction)


@dataclass(frozen=True)
class PenalisedLikelihood(Penalised[F]):
    """The training objective of a linear CRF."""

    kept: FloatArray | None = None  # w₀ per feature: features not in the data keep these weights
    shares: FloatArray | None = None  # of each feature in its parameter; None: all alike

    @property
    def n_parameters(self) -> int:
        return self.function.n_parameters

    @cached_property
    def units(self) -> FloatArray | None:
        """The units [P] in which an optimiser should measure x; None: all 1."""
        l2 = self.l2 if np.ndim(self.l2) == 0 else np.exp(np.mean(np.log(self.l2)))
        return self.function.units(float(l2))

    def parameters(self, w: FloatArray) -> FloatArray:
        """Return the x that has these feature weights."""
        x = self.function.parameters(w)
        return x if self.centre is None else x - self.centre

    def weights(self, x: FloatArray) -> FloatArray:
        """Return the feature weights at x."""
        w = self.function.weights(x)
        if self.shares is not None:
            w *= self.shares
        return w if self.kept is None else w + self.kept

    def place_of(self, parameter: int) -> int:
        """Return the place of a parameter's first feature in a vector of weights."""
        x = np.zeros(self.n_parameters)
        x[parameter] = 1.0
        return int(np.flatnonzero(self.function.weights(x))[0])
