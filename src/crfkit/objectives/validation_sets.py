"""Validation sets of a linear model: how far the best labelling of each wins, as functions of parameters.

A set is a number of spans of positions. Its h is a sum over its spans, and so are gradients of h: they can be
added up over parts of the data, wherever these are (``LinearFunction.validation_sets``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray


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

    def between(self, first: int, last: int) -> Spans:
        """Return the spans of the positions first .. last - 1, counted from ``first``."""
        inside = (self.first >= first) & (self.last <= last)
        places = self.first[inside] - first, self.last[inside] - first
        return Spans(*places, self.sets[inside], self.n_sets)


class ValidationSets(Protocol):
    """h_j of V sets and their gradients at parameters θ [P]; formulas: ``objectives/validation.py``."""

    def violations(self, theta: FloatArray) -> FloatArray:
        """Return h [V] by Viterbi."""

    def envelope(self, theta: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · subgradient of h_j along the best paths, [P]."""

    def flip(self, theta: FloatArray, coefficients: FloatArray, c: float) -> FloatArray:
        """Return Σ_j coefficients_j · the flip estimate of the gradient of h_j, [P]."""

    def smoothed(
        self, theta: FloatArray, temperature: float, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return h [V] smoothed at a temperature, and Σ_j coefficients_j · its gradient, [P]."""


class NativeSets:
    """The sets of a likelihood in this process: native/validation/validation_sets.h."""

    def __init__(self, objective: _native.LinearObjective, spans: Spans, margin: float) -> None:
        self._native = _native.ValidationSets(
            objective, spans.first, spans.last, spans.sets, spans.n_sets, margin
        )
        self._spans = spans
        self._at: FloatArray | None = None  # θ of the paths that the core has

    def violations(self, theta: FloatArray) -> FloatArray:
        h = np.empty(self._spans.n_sets)
        self._native.decode(theta, h)
        self._at = theta.copy()
        return h

    def best_labels(self, theta: FloatArray) -> IdArray:
        """Return the best path of each span, concatenated, as places in the label list."""
        self._decode(theta)
        found = np.empty(int(self._spans.lengths.sum()), np.int32)
        self._native.best(found)
        return found

    def envelope(self, theta: FloatArray, coefficients: FloatArray) -> FloatArray:
        self._decode(theta)
        gradient = np.empty_like(theta)
        self._native.envelope(coefficients, gradient)
        return gradient

    def flip(self, theta: FloatArray, coefficients: FloatArray, c: float) -> FloatArray:
        gradient = self.envelope(theta, coefficients)
        self._native.flip(coefficients, c, gradient)
        return gradient

    def smoothed(
        self, theta: FloatArray, temperature: float, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        h, gradient = np.empty(self._spans.n_sets), np.empty_like(theta)
        self._native.smooth(theta, temperature, coefficients, h, gradient)
        return h, gradient

    def _decode(self, theta: FloatArray) -> None:
        """Make sure that the core has the paths of θ."""
        if self._at is None or not np.array_equal(self._at, theta):
            self.violations(theta)
