"""The linear chain of any order as a ``Structure``: a wrapper of this package's functions on lattices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference.constraints import constrain, permitted_labels
from crfkit.inference.label_ngrams import LabelNgrams
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
    ngrams: FloatArray | None = None  # [M]


class Chain:
    """A ``Structure`` with lattices as scores."""

    _with_nodes = True

    def log_partition(self, scores: Lattice, *, n_jobs: int | None = None) -> FloatArray:
        return log_partition(scores, n_jobs=n_jobs)

    def expectations(
        self, scores: Lattice, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, ScoreGradient]:
        found = expectations(scores, weights=weights, n_jobs=n_jobs)
        return found.log_z, ScoreGradient._make(
            [found.node, found.edge, found.edge2, found.start, found.end, found.ngrams]
        )

    def labelling_score(self, scores: Lattice, ids: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        return path_score(scores, ids, n_jobs=n_jobs)

    def labelling_counts(
        self, scores: Lattice, ids: IdArray, *, weights: FloatArray | None = None
    ) -> ScoreGradient:
        L, y, lengths = scores.n_labels, ids.astype(np.int64), np.diff(scores.offsets)
        share = None if weights is None else np.repeat(weights, lengths)  # [ΣT]; None: all 1
        place = np.arange(len(y)) - np.repeat(scores.offsets[:-1], lengths)  # [ΣT] within its sequence
        first = np.flatnonzero(place == 0)

        def counted(like: FloatArray | None, span: int, at: IntArray) -> FloatArray | None:
            """Count the ``span`` consecutive labels that end at positions [M], in the shape of the scores."""
            if like is None:
                return None
            run = sum((L**k * y[at - k] for k in range(span)), np.zeros(len(at), np.int64))  # as one number
            if like.ndim > span:
                run += at * L**span
            weight = None if share is None else share[at]
            found: FloatArray = np.bincount(run, weight, like.size).astype(np.float64, copy=False)
            return found.reshape(like.shape)

        node = counted(scores.node, 1, np.arange(len(y))) if self._with_nodes else np.empty((0, L))
        return ScoreGradient._make(
            [
                node,
                counted(scores.edge, 2, np.flatnonzero(place >= 1)),
                counted(scores.edge2, 3, np.flatnonzero(place >= 2)),
                counted(scores.start, 1, first),
                counted(scores.end, 1, first + lengths[lengths > 0] - 1),
                None if scores.ngrams is None else _count_ngrams(scores.ngrams, ids, place, share),
            ]
        )

    def permit(self, scores: Lattice, labels: Labels) -> Lattice:
        return constrain(scores, permitted_labels(labels.permitted(scores.n_labels)))

    def raise_wrong(self, scores: Lattice, labels: Labels, costs: FloatArray) -> Lattice:
        # Equivalent to lowering the right label. Where the label is unknown, no label counts as wrong.
        known = np.flatnonzero(labels.ids >= 0)
        node = scores.node.copy()
        node[known, labels.ids[known]] -= costs[labels.ids[known]]
        return scores.changed(node=node)

    def best(self, scores: Lattice, *, n_jobs: int | None = None) -> IdArray:
        return viterbi(scores, n_jobs=n_jobs).labels

    def sample(self, scores: Lattice, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        return sample(scores, n_samples, random_state=random_state)


class TransitionsOnly(Chain):
    """A chain whose node scores are given: ``ScoreGradient.node`` is empty [0, L], which saves time."""

    _with_nodes = False

    def expectations(
        self, scores: Lattice, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, ScoreGradient]:
        found = expected_counts(scores, weights=weights, n_jobs=n_jobs)
        none = np.empty((0, scores.n_labels))
        return found.log_z, ScoreGradient(none, found.edge, found.edge2, found.start, found.end, found.ngrams)


def _count_ngrams(ngrams: LabelNgrams, ids: IdArray, place: IntArray, share: FloatArray | None) -> FloatArray:
    """Return how often each n-gram occurs in labels [ΣT], with weights [ΣT]."""
    counts: FloatArray = np.zeros(len(ngrams))
    for which in ngrams.ends_in(ids, place):
        at = np.flatnonzero(which >= 0)
        counts += np.bincount(which[at], None if share is None else share[at], len(ngrams))
    return counts


CHAIN = Chain()
