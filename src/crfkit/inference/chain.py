"""The linear chain, of order 1 or 2, as a structure: what the functions of this room compute on lattices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import first_positions
from crfkit.inference.constraints import constrain, permitted_labels
from crfkit.inference.lattice import Lattice
from crfkit.inference.paths import path_score, sample, viterbi
from crfkit.inference.posterior import expectations, log_partition


class ScoreGradient(NamedTuple):
    """A number for every score of a lattice, in the shapes of its own fields.

    What all positions share (``edge`` [L, L], ``start``, …) has the sum over them. At positions where the
    lattice ignores a score the number is 0.
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
        y, offsets = ids.astype(np.int64), scores.offsets
        lengths = np.diff(offsets)
        share = np.ones(len(y)) if weights is None else np.repeat(weights, lengths)  # [ΣT]
        counts.node[np.arange(len(y)), y] -= share
        place = np.arange(len(y)) - np.repeat(offsets[:-1], lengths)  # [ΣT] within its sequence
        for table, span in ((counts.edge, 2), (counts.edge2, 3)):
            if table is None:
                continue
            at = np.flatnonzero(place >= span - 1)  # [M] where so many labels end
            run = tuple(y[at - k] for k in range(span - 1, -1, -1))
            if table.ndim > span:
                table[(at, *run)] -= share[at]
            else:
                keys = np.ravel_multi_index(run, table.shape)
                table -= np.bincount(keys, share[at], table.size).reshape(table.shape)
        if counts.start is None and counts.end is None:
            return
        first = first_positions(offsets)
        last = first + lengths[lengths > 0] - 1
        for ends, at in ((counts.start, first), (counts.end, last)):
            if ends is not None:
                ends -= np.bincount(y[at], share[at], len(ends))

    def permit(self, scores: Lattice, labels: Labels) -> Lattice:
        if labels.allowed is None:
            allowed = labels.ids[:, None] == np.arange(scores.n_labels)
            return constrain(scores, permitted_labels(allowed))
        return constrain(scores, permitted_labels(labels.allowed))

    def raise_wrong(self, scores: Lattice, labels: Labels, costs: FloatArray) -> Lattice:
        # The same as lowering the right label; where it is not known, nothing is wrong.
        known = np.flatnonzero(labels.ids >= 0)
        node = scores.node.copy()
        node[known, labels.ids[known]] -= costs[labels.ids[known]]
        return Lattice(node, scores.edge, scores.offsets, scores.start, scores.end, scores.edge2)

    def best(self, scores: Lattice, *, n_jobs: int | None = None) -> IdArray:
        return viterbi(scores, n_jobs=n_jobs).labels

    def sample(self, scores: Lattice, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        return sample(scores, n_samples, random_state=random_state)


CHAIN = Chain()
