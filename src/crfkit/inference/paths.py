"""Single paths: the best one, the k best, samples, and the score of a given path."""

from __future__ import annotations  # np.random in a signature would load it

import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice, native_batch, require_paths


class Path(NamedTuple):
    """One path through each sequence."""

    labels: IdArray  # [ΣT]
    score: FloatArray  # [N]


@dataclass(frozen=True, eq=False)
class NBest:
    """The best paths through each sequence, best first. Sequence i has K_i <= k of them."""

    labels: IdArray  # [Σ_i K_i T_i] path after path
    scores: FloatArray  # [Σ_i K_i]
    path_offsets: IntArray  # [N+1] the scores of sequence i are path_offsets[i] .. path_offsets[i+1]-1
    label_offsets: IntArray  # [N+1] and its labels label_offsets[i] .. label_offsets[i+1]-1

    @classmethod
    def of_counts(cls, labels: IdArray, scores: FloatArray, counts: IntArray, offsets: IntArray) -> NBest:
        """Return the paths of sequences with these numbers of paths [N]; offsets [N+1] of the positions."""
        path_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        label_offsets = np.concatenate([[0], np.cumsum(counts * np.diff(offsets))]).astype(np.int64)
        return cls(labels, scores, path_offsets, label_offsets)

    def paths_of(self, sequence: int) -> IdArray:
        """Return the paths of one sequence [K_i, T_i]."""
        n_paths = self.path_offsets[sequence + 1] - self.path_offsets[sequence]
        labels = self.labels[self.label_offsets[sequence] : self.label_offsets[sequence + 1]]
        return labels.reshape(n_paths, len(labels) // n_paths)

    def scores_of(self, sequence: int) -> FloatArray:
        return self.scores[self.path_offsets[sequence] : self.path_offsets[sequence + 1]]


def path_score(lattice: Lattice, labels: npt.ArrayLike, *, n_jobs: int | None = None) -> FloatArray:
    """Return the score [N] of the path ``labels`` [ΣT]: -inf if it is forbidden, 0 if it is empty."""
    given = np.asarray(labels)
    if given.shape != (lattice.n_positions,) or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(
            f"labels must be {lattice.n_positions} integers, one per position; "
            f"got shape {given.shape}, type {given.dtype}"
        )
    outside = np.flatnonzero((given < 0) | (given >= lattice.n_labels))
    if len(outside):
        sequence = int(np.searchsorted(lattice.offsets, outside[0], side="right")) - 1
        raise InputError(
            f"labels must be in 0..{lattice.n_labels - 1}; got {given[outside[0]]} in sequence {sequence} "
            f"at position {outside[0] - lattice.offsets[sequence]}"
        )
    score = np.zeros(lattice.n_sequences)
    ids = np.ascontiguousarray(given, dtype=np.int32)
    batch, threads = native_batch(lattice, n_jobs)
    _native.lattice_path_score(batch, ids, score, threads)
    return score


def viterbi(lattice: Lattice, *, n_jobs: int | None = None) -> Path:
    """Return the best path through each sequence and its score.

    Among paths with equal scores, the one with the smallest last label is chosen (in order 2: the smallest
    pair of last labels), then the one with the smallest label before that, and so on backwards.
    """
    labels = np.empty(lattice.n_positions, dtype=np.int32)
    score = np.zeros(lattice.n_sequences)
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    batch, threads = native_batch(lattice, n_jobs)
    _native.lattice_viterbi(batch, labels, score, dead, threads)
    if (dead >= 0).any():
        require_paths(lattice, dead)
    return Path(labels, score)


def nbest(lattice: Lattice, k: int, *, n_jobs: int | None = None) -> NBest:
    """Return the k best paths of each sequence (all paths if there are fewer; one path if it is empty)."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k must be a whole number of paths, at least 1; got {k!r}")
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    batch, threads = native_batch(lattice, n_jobs)
    labels, scores, counts = _native.lattice_nbest(batch, min(int(k), sys.maxsize), dead, threads)
    require_paths(lattice, dead)
    return NBest.of_counts(labels, scores, counts, lattice.offsets)


def sample(
    lattice: Lattice,
    n_samples: int = 1,
    *,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> IdArray:
    """Draw paths independently from p(y|x) [n_samples, ΣT].

    The same ``random_state`` gives the same samples on any number of threads.
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise InputError(f"n_samples must be a whole number, at least 1; got {n_samples!r}")
    labels = np.empty((int(n_samples), lattice.n_positions), dtype=np.int32)
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    batch, threads = native_batch(lattice, n_jobs)
    _native.lattice_sample(batch, random_seed(random_state), labels, dead, threads)
    require_paths(lattice, dead)
    return labels


def random_seed(random_state: int | np.random.Generator | np.random.RandomState | None) -> int:
    """Return a 64-bit seed for the core's generator."""
    if isinstance(random_state, np.random.RandomState):
        high, low = random_state.randint(0, 2**32, size=2, dtype=np.uint32)
        return int(high) << 32 | int(low)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    return int(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
