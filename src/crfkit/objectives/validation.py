"""Validation sets as constraints: the model decodes them nearly as well as their true labels score.

    h_j(w) = max_ŷ S(v_j, ŷ; w) - S(v_j, y_j; w) <= τ

over the data, features and parameters of a :class:`PenalisedLikelihood`, as ``optim/saddle.py`` wants them.
h_j is a maximum of linear functions of w less a linear one: convex, piecewise linear, and never negative.
(With partial labels S(y) is the best score of a labelling that agrees with them, and h_j not convex.) With a
margin m every wrong label gains m, so that h_j <= τ asks the true labels to win by m per wrong label.

h_j is homogeneous: half the weights, half of h_j. w = 0 is feasible, and where no weights decode a set
without mistakes, a small τ asks for small weights. (Not so with a margin.)

Gradients, all native (native/validation/validation_sets.h): "envelope", "flip" (order 1), and expected counts
at temperature T for the smoothed constraints T·log Z(w/T) - S(y). They are convex and never below h_j where
all labels are known; with partial labels S(y) is smoothed too, and they can lie below. Where a position has
a set of labels, or none, the margin is not charged: none of them is known to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.objectives.linear_likelihood import PenalisedLikelihood

GRADIENTS = ("smooth", "envelope", "flip")


@dataclass(frozen=True)
class Spans:
    """Runs of positions of a batch, each in one sequence, dealt to V sets."""

    first: IntArray  # [M]
    last: IntArray  # [M] one past the end
    sets: IdArray  # [M] ascending
    n_sets: int  # V

    @classmethod
    def of_sequences(cls, sets: Iterable[npt.ArrayLike], offsets: IntArray) -> Spans:
        """Whole sequences, those of each set by their numbers; offsets [N+1]. Empty ones are left out."""
        chosen = [np.asarray(members, np.int64) for members in sets]
        numbers = np.concatenate([np.zeros(0, np.int64), *chosen])
        of = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(members) for members in chosen])
        kept = offsets[numbers + 1] > offsets[numbers]
        numbers, of = numbers[kept], of[kept]
        return cls(offsets[numbers], offsets[numbers + 1], of.astype(np.int32), len(chosen))

    @property
    def lengths(self) -> IntArray:
        """Positions in each set, [V]."""
        return np.bincount(self.sets, self.last - self.first, self.n_sets).astype(np.int64)


class ValidationConstraints:
    """g_j = h_j - τ at parameters x of the objective, for the saddle-point search."""

    def __init__(
        self,
        objective: PenalisedLikelihood,
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
            objective.function.native, spans.first, spans.last, spans.sets, spans.n_sets, margin
        )
        self._likely = np.ones(spans.n_sets)  # [V] the coefficients asked for last
        self._decoded = 0  # how many times: paths of an earlier point are gone

    def violations(self, x: FloatArray) -> FloatArray:
        """h [V] by Viterbi."""
        h = np.empty(self.spans.n_sets)
        self._native.decode(self._objective.whole(x), h)
        self._decoded += 1
        return h

    def best_labels(self, x: FloatArray) -> IdArray:
        """The best path of each span at x, end to end, as places in the label list."""
        self.violations(x)
        found = np.empty(int(self.spans.lengths.sum()), np.int32)
        self._native.best(found)
        return found

    def __call__(self, x: FloatArray) -> _AtPoint:
        """The constraints themselves at x."""
        return _AtPoint(self, x)

    def smoothed(self, x: FloatArray, temperature: float) -> _Smoothed:
        """T·log Z(w/T) - S(y) - τ of each set: not below the constraint where all labels are known."""
        return _Smoothed(self, x, temperature)


class _AtPoint:
    """h - τ, and subgradients along the best paths."""

    def __init__(self, constraints: ValidationConstraints, x: FloatArray) -> None:
        self._of, self._x = constraints, x
        self.values: FloatArray = constraints.violations(x) - constraints.tau
        self._decoded = constraints._decoded

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Σ_j coefficients_j · gradient of h_j, [P]."""
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
    """The same at a temperature. Value and gradient come from one pass, so coefficients are guessed first."""

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
        """Σ_j coefficients_j · gradient of the smoothed h_j, [P]."""
        if not np.array_equal(coefficients, self._coefficients):
            self._of._likely = self._coefficients = coefficients
            self._run()
        return self._gradient
