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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood

GRADIENTS = ("smooth", "envelope", "flip")


@dataclass(frozen=True)
class Spans:
    """Runs of positions of a batch, each within one sequence and assigned to one of V sets."""

    first: IntArray  # [M]
    last: IntArray  # [M] one past the end
    sets: IdArray  # [M] ascending
    n_sets: int  # V

    @classmethod
    def of_sequences(cls, sets: Iterable[npt.ArrayLike], offsets: IntArray) -> Spans:
        """Return spans of whole sequences, given by their numbers for each set; empty ones are left out."""
        chosen = [np.asarray(members, np.int64) for members in sets]
        numbers = np.concatenate([np.zeros(0, np.int64), *chosen])
        of = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(members) for members in chosen])
        kept = offsets[numbers + 1] > offsets[numbers]
        numbers, of = numbers[kept], of[kept]
        return cls(offsets[numbers], offsets[numbers + 1], of.astype(np.int32), len(chosen))

    @property
    def lengths(self) -> IntArray:
        """Number of positions in each set [V]."""
        return np.bincount(self.sets, self.last - self.first, self.n_sets).astype(np.int64)


class ValidationConstraints:
    """g_j = h_j - τ at parameters x of the objective, for the saddle-point search."""

    def __init__(
        self,
        objective: PenalisedLikelihood[LinearLikelihood],
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
        self._c, self._objective = c, objective
        self._native = _native.ValidationSets(
            objective.function.in_tables("training under validation constraints"),
            spans.first,
            spans.last,
            spans.sets,
            spans.n_sets,
            margin,
        )
        self._likely = np.ones(spans.n_sets)  # [V] the coefficients of the last call of pull
        self._decoded = 0  # number of decodings: each one overwrites the paths of the last

    def violations(self, x: FloatArray) -> FloatArray:
        """Return h [V] by Viterbi."""
        h = np.empty(self.spans.n_sets)
        self._native.decode(self._objective.whole(x), h)
        self._decoded += 1
        return h

    def best_labels(self, x: FloatArray) -> IdArray:
        """Return the best path of each span at x, concatenated, as places in the label list."""
        self.violations(x)
        found = np.empty(int(self.spans.lengths.sum()), np.int32)
        self._native.best(found)
        return found

    def __call__(self, x: FloatArray) -> _AtPoint:
        """Return the exact constraints at x."""
        return _AtPoint(self, x)

    def smoothed(self, x: FloatArray, temperature: float) -> _Smoothed:
        """Return T·log Z(w/T) - S(y) - τ of each set: if all labels are known, at least the constraint."""
        return _Smoothed(self, x, temperature)


class _AtPoint:
    """The constraints h - τ at a point, and their subgradients along the best paths."""

    def __init__(self, constraints: ValidationConstraints, x: FloatArray) -> None:
        self._of, self._x = constraints, x
        self.values: FloatArray = constraints.violations(x) - constraints.tau
        self._decoded = constraints._decoded

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · gradient of h_j, [P]."""
        of = self._of
        if of._decoded != self._decoded:
            of.violations(self._x)
            self._decoded = of._decoded
        gradient = np.empty_like(self._x)
        of._native.envelope(coefficients, gradient)
        if of.gradient == "flip":
            of._native.flip(coefficients, of._c, gradient)
        return gradient


class _Smoothed:
    """The smoothed constraints at a point. One pass gives value and gradient, so it guesses coefficients."""

    def __init__(self, constraints: ValidationConstraints, x: FloatArray, temperature: float) -> None:
        self._of, self._x, self._temperature = constraints, x, temperature
        self._gradient = np.empty_like(x)
        self._coefficients = constraints._likely
        self.values: FloatArray = self._run() - constraints.tau

    def _run(self) -> FloatArray:
        of = self._of
        h = np.empty(of.spans.n_sets)
        of._native.smooth(
            of._objective.whole(self._x), self._temperature, self._coefficients, h, self._gradient
        )
        return h

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · gradient of the smoothed h_j, [P]."""
        if not np.array_equal(coefficients, self._coefficients):
            self._of._likely = self._coefficients = coefficients
            self._run()
        return self._gradient
