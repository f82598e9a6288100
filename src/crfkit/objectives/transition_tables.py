"""The likelihood as a function of the transition tables alone, the scores of labels being given.

    -Σ weight · log p(y|x) + c2·‖tables‖²

Its gradient is expected minus observed counts of first labels, last labels and labels in a row; the expected
counts stand in for the diagonal of the Hessian.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference import Lattice, constrain, expected_counts, path_score, permitted_labels
from crfkit.inference.posterior import ExpectedCounts
from crfkit.optim.problem import Evaluation
from crfkit.potentials.tree import TransitionTables


class TransitionLikelihood:
    """A smooth function of ``TransitionTables.to_vector``."""

    def __init__(
        self,
        node: FloatArray,  # [ΣT, L]
        offsets: IntArray,  # [N+1]
        labels: Labels,
        order: int,
        c2: float,
        weights: FloatArray | None = None,  # [N]
        n_jobs: int | None = None,
    ) -> None:
        self._node, self._offsets, self._labels = node, offsets, labels
        self._order, self._c2, self._weights, self._n_jobs = order, c2, weights, n_jobs
        self._observed = None if labels.allowed is not None else self._count(labels.ids)

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Value, gradient, and an estimate of the Hessian's diagonal."""
        tables = TransitionTables.from_vector(x, self._node.shape[1], self._order)
        lattice = Lattice(self._node, tables.edge, self._offsets, tables.start, tables.end, tables.edge2)
        counts = expected_counts(lattice, weights=self._weights, n_jobs=self._n_jobs)
        expected = _vector(counts)
        if self._labels.allowed is not None:
            known = constrain(lattice, permitted_labels(self._labels.allowed))
            right = expected_counts(known, weights=self._weights, n_jobs=self._n_jobs)
            observed, log_right = _vector(right), right.log_z
        else:
            observed = self._count(self._labels.ids) if self._observed is None else self._observed
            log_right = path_score(lattice, self._labels.ids, n_jobs=self._n_jobs)
        log_p = log_right - counts.log_z
        total = float(log_p.sum() if self._weights is None else log_p @ self._weights)
        gradient = expected - observed + 2 * self._c2 * x
        return Evaluation(
            self._c2 * float(x @ x) - total, gradient, expected + 2 * self._c2 if diagonal else None
        )

    def _count(self, ids: IdArray) -> FloatArray:
        """How often each thing is there, as a vector."""
        L, offsets = self._node.shape[1], self._offsets
        y = ids.astype(np.int64)
        lengths = np.diff(offsets)
        share = np.ones(len(y)) if self._weights is None else np.repeat(self._weights, lengths)  # [ΣT]
        place = np.arange(len(y)) - np.repeat(offsets[:-1], lengths)  # [ΣT] within the sequence
        first, second, third = (np.flatnonzero(place >= k) for k in (0, 1, 2))
        first = first[place[first] == 0]
        last = offsets[1:][lengths > 0] - 1
        parts = [
            np.bincount(y[first], share[first], L),
            np.bincount(y[last], share[last], L),
            np.bincount(y[second - 1] * L + y[second], share[second], L * L),
        ]
        if self._order == 2:
            keys = (y[third - 2] * L + y[third - 1]) * L + y[third]
            parts.append(np.bincount(keys, share[third], L**3))
        return np.concatenate(parts)


def _vector(counts: ExpectedCounts) -> FloatArray:
    return TransitionTables(counts.start, counts.end, counts.edge, counts.edge2).to_vector()
