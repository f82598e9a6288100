"""What segmentations can be asked for, whatever form their scores have: sums, single ones, probabilities.

Labellings have one id per position: y where a segment of label y begins, L + y where it goes on.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference.lattice import ScoredSequences
from crfkit.inference.paths import NBest, random_seed


class SegmentScores(ScoredSequences, ABC):
    """Base class of scores of segmentations."""

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """Return L; labellings have 2L ids."""


class _Counts(Protocol):
    def _asdict(self) -> dict[str, Any]: ...


S = TypeVar("S", bound=SegmentScores)
D = TypeVar("D", bound=_Counts)


class LabelledSpans(NamedTuple):
    """Segments of a batch, in order of their sequences."""

    sequence: IntArray  # [M]
    begin: IntArray  # [M]
    end: IntArray  # [M]
    label: IdArray  # [M]


class SegmentAnswers(ABC, Generic[S, D]):
    """The part of a ``Structure`` that is the same for all forms of scores."""

    @abstractmethod
    def _batch(self, scores: S, n_jobs: int | None) -> tuple[Any, int]:
        """Return the scores in the form of the native core, and the number of threads."""

    @abstractmethod
    def _zeros(self, scores: S) -> D:
        """Return counts of 0."""

    def log_partition(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        return self._posterior(scores, n_jobs)

    def expectations(
        self, scores: S, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, D]:
        counts = self._zeros(scores)
        filled = {name: table for name, table in counts._asdict().items() if table is not None}
        log_z = self._posterior(scores, n_jobs, weights=weights, **filled)
        return log_z, counts

    def best(self, scores: S, *, n_jobs: int | None = None) -> IdArray:
        ids = np.empty(scores.n_positions, np.int32)
        score = np.zeros(scores.n_sequences)
        dead = _alive(scores)
        batch, threads = self._batch(scores, n_jobs)
        _native.segment_best(batch, ids, score, dead, threads)
        require_segmentations(scores, dead)
        return ids

    def nbest(self, scores: S, k: int, *, n_jobs: int | None = None) -> NBest:
        """Return the k best segmentations of each sequence, as ids; all of them if there are fewer."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"k must be a whole number of segmentations, at least 1; got {k!r}")
        dead = _alive(scores)
        batch, threads = self._batch(scores, n_jobs)
        ids, found, counts = _native.segment_nbest(batch, min(int(k), sys.maxsize), dead, threads)
        require_segmentations(scores, dead)
        return NBest.of_counts(ids, found, counts, scores.offsets)

    def sample(self, scores: S, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise InputError(f"n_samples must be a whole number, at least 1; got {n_samples!r}")
        ids = np.empty((int(n_samples), scores.n_positions), np.int32)
        dead = _alive(scores)
        batch, threads = self._batch(scores, None)
        _native.segment_sample(batch, random_seed(random_state), ids, dead, threads)
        require_segmentations(scores, dead)
        return ids

    def log_probabilities(
        self, scores: S, segments: LabelledSpans, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log p [M] of given segments; they must be in order of their sequences."""
        return self._of_segments(scores, segments, _native.segment_probabilities, n_jobs)

    def _of_segments(
        self,
        scores: S,
        segments: LabelledSpans,
        function: Callable[..., None],
        n_jobs: int | None,
        *outputs: FloatArray,
    ) -> FloatArray:
        """Return log p [M] of given segments, by a function of the core."""
        parts = [np.asarray(part) for part in segments]
        if len({part.shape for part in parts}) > 1 or any(
            part.ndim != 1 or (part.size and part.dtype.kind not in "iu") for part in parts
        ):
            raise InputError(
                "segments need a sequence, begin, end and label each, as vectors of whole numbers"
            )
        sequence, begin, end = (np.ascontiguousarray(part, np.int64) for part in segments[:3])
        label = np.ascontiguousarray(segments.label, np.int32)
        lengths = np.diff(scores.offsets)
        if len(sequence) and (
            np.any(np.diff(sequence) < 0) or sequence[0] < 0 or sequence[-1] >= scores.n_sequences
        ):
            raise InputError(f"segments must be in order of their sequences, 0..{scores.n_sequences - 1}")
        wrong = np.flatnonzero((begin < 0) | (begin >= end) | (end > lengths[sequence]))
        wrong = np.union1d(wrong, np.flatnonzero((label < 0) | (label >= scores.n_labels)))
        if len(wrong):
            k = int(wrong[0])
            raise InputError(
                f"segment {k} goes from {begin[k]} to {end[k]} with label {label[k]}: sequence "
                f"{sequence[k]} has {lengths[sequence[k]]} positions, and labels are "
                f"0..{scores.n_labels - 1}"
            )
        found, dead = np.full(len(sequence), -np.inf), _alive(scores)
        batch, threads = self._batch(scores, n_jobs)
        bounds = bounds_of(sequence, scores.n_sequences)
        function(batch, begin, end, label, bounds, found, dead, threads, *outputs)
        require_segmentations(scores, dead)
        return found

    def probable(
        self, scores: S, least: float, *, n_jobs: int | None = None
    ) -> tuple[LabelledSpans, FloatArray]:
        """Return all segments with a probability of at least ``least``, and the probabilities [M]."""
        if not isinstance(least, Real) or not 0 < least <= 1:
            raise InputError(f"least must be a probability above 0; got {least!r}")
        dead = _alive(scores)
        batch, threads = self._batch(scores, n_jobs)
        places, p = _native.segments_above(batch, float(least), dead, threads)
        require_segmentations(scores, dead)
        sequence, begin, end, label = places.reshape(-1, 4).T
        order = np.lexsort((end, begin, sequence))
        found = LabelledSpans(sequence[order], begin[order], end[order], label[order].astype(np.int32))
        return found, p[order]

    def _posterior(self, scores: S, n_jobs: int | None, **outputs: FloatArray | None) -> FloatArray:
        log_z, dead = np.zeros(scores.n_sequences), _alive(scores)
        batch, threads = self._batch(scores, n_jobs)
        _native.segment_posterior(batch, log_z, dead, threads, **outputs)
        require_segmentations(scores, dead)
        return log_z


def segments_of(
    ids: IdArray, offsets: IntArray, n_labels: int
) -> tuple[LabelledSpans, npt.NDArray[np.bool_]]:
    """Return the segments of a labelling [ΣT], and which sequences [N] it labels consistently.

    It is inconsistent where a segment goes on that has not begun, or under another label.
    """
    ids, T = np.asarray(ids), int(offsets[-1])
    if (
        ids.shape != (T,)
        or ids.dtype.kind not in "iu"
        or (T and not 0 <= ids.min() <= ids.max() < 2 * n_labels)
    ):
        raise InputError(
            f"a labelling must have {T} whole numbers, 0..{2 * n_labels - 1}: a label where a segment "
            f"begins, {n_labels} more where it goes on"
        )
    y, going_on = ids % n_labels, ids >= n_labels
    opening = np.zeros(len(ids), np.bool_)
    lengths = np.diff(offsets)
    opening[offsets[:-1][lengths > 0]] = True
    broken = going_on & opening
    broken[1:] |= going_on[1:] & ~opening[1:] & (y[1:] != y[:-1])
    at = np.flatnonzero(~going_on | broken)
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    stop = np.append(at[1:], len(ids))
    legal = np.ones(len(lengths), np.bool_)
    legal[sequence[broken]] = False
    base = offsets[:-1][sequence[at]]
    return LabelledSpans(sequence[at], at - base, stop - base, y[at].astype(np.int32)), legal


def ids_of(segments: LabelledSpans, offsets: IntArray, n_labels: int) -> IdArray:
    """Return the labelling [ΣT] of segments that cover all positions, in order."""
    lengths = segments.end - segments.begin
    ids = np.repeat(segments.label + n_labels, lengths).astype(np.int32)
    ids[offsets[segments.sequence] + segments.begin] -= n_labels
    return ids


def _alive(scores: SegmentScores) -> IntArray:
    return np.full(scores.n_sequences, -1, np.int64)


def bounds_of(sequence: IntArray, n_sequences: int) -> IntArray:
    """Return bounds [N+1] of the runs of equal numbers in a rising vector [S]."""
    return np.searchsorted(sequence, np.arange(n_sequences + 1)).astype(np.int64)


def require_segmentations(scores: SegmentScores, dead: IntArray) -> None:
    """Raise if nothing is permitted in a sequence: ``dead[i]`` is the last place segments reach, or -1."""
    failed = np.flatnonzero(dead >= 0)
    if len(failed) == 0:
        return
    i = int(failed[0])
    number = scores.first_sequence + i
    others = f" (nor of {len(failed) - 1} other sequences)" if len(failed) > 1 else ""
    error = NoPathError(
        f"no permitted segmentation of sequence {number}{others}: segments reach its position {int(dead[i])} "
        "and no further; allow more labels, lengths or pairs of labels there"
    )
    error.sequence = number
    raise error
