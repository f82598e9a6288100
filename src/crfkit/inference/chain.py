"""The linear chain of order 1 or 2 as a ``Structure``: a wrapper of this package's functions on lattices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference.constraints import constrain, permitted_labels
from crfkit.inference.lattice import Lattice
from crfkit.inference.paths import path_score, sample, viterbi
from crfkit.inference.posterior import expectations, expected_counts, log_partition


class ScoreGradient(NamedTuple):
    """One number per score of a lattice, in the shapes of the lattice's fields.

    For scores that all positions share (``edge`` [L, L], ``start``, …) it is the sum over the positions. It
    is 0 at positions where the lattice ignores the score.
    """

    node: FloatArray  # [ΣT, L]
    edge: FloatArray  # [L, L] or [ΣT, L, L]
    edge2: FloatArray | None = None  # [L, L, L] or [ΣT, L, L, L]
    start: FloatArray | None = None  # [L]
    end: FloatArray | None = None  # [L]


class Chain:
    """A ``Structure`` with lattices as scores."""

    def log_partition(self, scores: Lattice, *, n_jobs: int | None = None) -> FloatArray:
        return log_partition(scores, n_jobs=n_jobs)

    def expectations(
        self, scores: Lattice, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, ScoreGradient]:
        found = expectations(scores, weights=weights, n_jobs=n_jobs)
        return found.log_z, ScoreGradient(found.node, found.edge, found.edge2, found.start, found.end)

    def labelling_score(self, scores: Lattice, ids: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        return path_score(scores, ids, n_jobs=n_jobs)

    def subtract_labelling(
        self, counts: ScoreGradient, scores: Lattice, ids: IdArray, *, weights: FloatArray | None = None
    ) -> None:
        L, y, lengths = scores.n_labels, ids.astype(np.int64), np.diff(scores.offsets)
        share = None if weights is None else np.repeat(weights, lengths)  # [ΣT]; None: all 1
        place = np.arange(len(y)) - np.repeat(scores.offsets[:-1], lengths)  # [ΣT] within its sequence
        first = np.flatnonzero(place == 0)

        def take_off(table: FloatArray, span: int, at: IntArray) -> None:
            """Subtract the counts of the ``span`` consecutive labels that end at positions [M]."""
            run = y[at]  # [M] the labels as one index into the flattened table [L, …] of a position
            for k in range(1, span):
                run += L**k * y[at - k]
            weight = None if share is None else share[at]
            if table.ndim > span:
                flat = table.reshape(-1)  # a view: expectations are contiguous
                flat[at * L**span + run] -= 1.0 if weight is None else weight
            else:
                table -= np.bincount(run, weight, table.size).reshape(table.shape)

        if len(counts.node):
            take_off(counts.node, 1, np.arange(len(y)))
        take_off(counts.edge, 2, np.flatnonzero(place >= 1))
        if counts.edge2 is not None:
            take_off(counts.edge2, 3, np.flatnonzero(place >= 2))
        if counts.start is not None:
            take_off(counts.start, 1, first)
        if counts.end is not None:
            take_off(counts.end, 1, first + lengths[lengths > 0] - 1)

    def permit(self, scores: Lattice, labels: Labels) -> Lattice:
        return constrain(scores, permitted_labels(labels.permitted(scores.n_labels)))

    def raise_wrong(self, scores: Lattice, labels: Labels, costs: FloatArray) -> Lattice:
        # Equivalent to lowering the right label. Where the label is unknown, no label counts as wrong.
        known = np.flatnonzero(labels.ids >= 0)
        node = scores.node.copy()
        node[known, labels.ids[known]] -= costs[labels.ids[known]]
        return Lattice(node, scores.edge, scores.offsets, scores.start, scores.end, scores.edge2)

    def best(self, scores: Lattice, *, n_jobs: int | None = None) -> IdArray:
        return viterbi(scores, n_jobs=n_jobs).labels

    def sample(self, scores: Lattice, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        return sample(scores, n_samples, random_state=random_state)


class TransitionsOnly(Chain):
    """A chain with fixed label scores: it computes counts of the transitions only.

    ``ScoreGradient.node`` is empty, [0, L], which is faster than computing it. An object of this class caches
    the counts of the last labelling, because training needs the same ones at every step.
    """

    def __init__(self) -> None:
        self._asked: tuple[Any, ...] = ()  # ids, offsets and weights
        self._minus: ScoreGradient | None = None  # their counts, negative

    def expectations(
        self, scores: Lattice, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, ScoreGradient]:
        found = expected_counts(scores, weights=weights, n_jobs=n_jobs)
        none = np.empty((0, scores.n_labels))
        return found.log_z, ScoreGradient(none, found.edge, found.edge2, found.start, found.end)

    def subtract_labelling(
        self, counts: ScoreGradient, scores: Lattice, ids: IdArray, *, weights: FloatArray | None = None
    ) -> None:
        asked = (ids, scores.offsets, weights)
        if self._minus is None or not all(a is b for a, b in zip(asked, self._asked, strict=True)):
            self._minus = ScoreGradient._make(None if c is None else np.zeros_like(c) for c in counts)
            super().subtract_labelling(self._minus, scores, ids, weights=weights)
            self._asked = asked
        for count, minus in zip(counts, self._minus, strict=True):
            if count is not None and minus is not None:
                np.add(count, minus, out=count)


CHAIN = Chain()
