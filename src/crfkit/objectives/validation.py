"""Validation constraints: the best labelling of a validation set may score at most τ above the true one.

    h_j(w) = max_ŷ S(v_j, ŷ; w) - S(v_j, y_j; w) <= τ

They use the data, features and parameters of a :class:`PenalisedLikelihood` and are used by
``optim/saddle.py``. h_j is a maximum of linear functions of w minus a linear one: convex, piecewise linear,
and never negative. (With partial labels S(y) is the best score of a labelling that agrees with them, and h_j
is not convex.) With a margin m every wrong label gains m, so that h_j <= τ requires the true labels to win by
m per wrong label.

Without a margin, h_j is homogeneous: half the weights give half of h_j. So w = 0 is feasible, and if no
weights decode a set without mistakes, a small τ forces small weights.

Gradients, all native (native/validation/validation_sets.h): "envelope", "flip" (order 1), and expected counts
at temperature T for the smoothed constraints T·log Z(w/T) - S(y). If all labels are known, these are convex
and never below h_j; with partial labels S(y) is smoothed too, and they can lie below. If a position has a set
of labels, or none, the margin is not added there, because no label is known to be wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.validation_sets import Spans, ValidationSets

GRADIENTS = ("smooth", "envelope", "flip")


class ValidationConstraints:
    """g_j = h_j - τ at parameters x of the objective, for the saddle-point search."""

    def __init__(
        self,
        objective: PenalisedLikelihood[Any],
        spans: Spans,
        *,
        tau: float = 0.01,
        gradient: str = "smooth",
        c: float = 1.0,
        margin: float = 0.0,
    ) -> None:
        if gradient not in GRADIENTS:
            raise InputError(f"gradient must be one of {', '.join(GRADIENTS)}, got {gradient!r}")
        self.spans, self.tau, self.gradient = spans, tau, gradient
        self.c, self.objective = c, objective
        self.sets: ValidationSets = objective.function.validation_sets(spans, margin)
        self.likely = np.ones(spans.n_sets)  # [V] the coefficients of the last call of pull

    def violations(self, x: FloatArray) -> FloatArray:
        """Return h [V] by Viterbi."""
        return self.sets.violations(self.objective.whole(x))

    def __call__(self, x: FloatArray) -> _AtPoint:
        """Return the exact constraints at x."""
        return _AtPoint(self, x)

    def smoothed(self, x: FloatArray, temperature: float) -> _Smoothed:
        """Return T·log Z(w/T) - S(y) - τ of each set: if all labels are known, at least the constraint."""
        return _Smoothed(self, x, temperature)


class _AtPoint:
    """The constraints h - τ at a point, and their subgradients along the best paths."""

    def __init__(self, constraints: ValidationConstraints, x: FloatArray) -> None:
        self._of, self._x = constraints, constraints.objective.whole(x)
        self.values: FloatArray = constraints.violations(x) - constraints.tau

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · gradient of h_j, [P]."""
        sets = self._of.sets
        if self._of.gradient == "flip":
            return sets.flip(self._x, coefficients, self._of.c)
        return sets.envelope(self._x, coefficients)


class _Smoothed:
    """The smoothed constraints at a point. One pass gives value and gradient, so it guesses coefficients."""

    def __init__(self, constraints: ValidationConstraints, x: FloatArray, temperature: float) -> None:
        self._of, self._x, self._temperature = constraints, constraints.objective.whole(x), temperature
        self._coefficients = constraints.likely
        h, self._gradient = constraints.sets.smoothed(self._x, temperature, self._coefficients)
        self.values: FloatArray = h - constraints.tau

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · gradient of the smoothed h_j, [P]."""
        if not np.array_equal(coefficients, self._coefficients):
            self._of.likely = self._coefficients = coefficients
            _, self._gradient = self._of.sets.smoothed(self._x, self._temperature, coefficients)
        return self._gradient
