"""Segmentations as a ``Structure``: semi-Markov models (Sarawagi and Cohen, 2004).

Labellings have one id per position: y where a segment of label y begins, L + y where it goes on. So partial
labels may say that a segment begins, or goes on, without its label, or fix the label and leave the cuts open.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.exceptions import InputError
from crfkit.inference.paths import NBest, random_seed
from crfkit.inference.segment_lattice import (
    SegmentLattice,
    Spans,
    bounds_of,
    native_segments,
    require_segmentations,
)

_Places = npt.NDArray[np.signedinteger[Any]]


class SegmentGradient(NamedTuple):
    """One number per score of a ``SegmentLattice``, in the shapes of its fields."""

    node: FloatArray  # [ΣT, 2L]
    edge: FloatArray  # [L, L]
    lengths: FloatArray  # [L, K]
    start: FloatArray | None = None  # [L]
    end: FloatArray | None = None  # [L]
    last: FloatArray | None = None  # [ΣT, L]
    tail: FloatArray | None = None  # [L]
    span: FloatArray | None = None  # [S, L]


class LabelledSpans(NamedTuple):
    """Segments of a batch, in order of their sequences."""

    sequence: IntArray  # [M]
    begin: IntArray  # [M]
    end: IntArray  # [M]
    label: IdArray  # [M]


class Segmentations:
    """A ``Structure`` with the scores of segments."""

    def log_partition(self, scores: SegmentLattice, *, n_jobs: int | None = None) -> FloatArray:
        return _posterior(scores, n_jobs)

    def expectations(
        self, scores: SegmentLattice, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, SegmentGradient]:
        counts = _zeros(scores)
        filled = {name: table for name, table in counts._asdict().items() if table is not None}
        log_z = _posterior(scores, n_jobs, weights=weights, **filled)
        return log_z, counts

    def labelling_score(
        self, scores: SegmentLattice, ids: IdArray, *, n_jobs: int | None = None
    ) -> FloatArray:
        found, legal = segments_of(ids, scores.offsets, scores.n_labels)
        total = np.zeros(scores.n_sequences)
        if len(ids):
            position = np.repeat(np.arange(scores.n_sequences), np.diff(scores.offsets))
            own = scores.node[np.arange(len(ids)), ids]
            np.add.at(total, position, own)
        for name, where, place in _parts(scores, found):
            np.add.at(total, found.sequence[where], getattr(scores, name)[place])
        if scores.tail is not None:
            beyond, y = _beyond(scores, found), found.label
            np.add.at(total, found.sequence[beyond > 0], (beyond * scores.tail[y])[beyond > 0])
        elif (found.end - found.begin > scores.longest).any():
            total[found.sequence[found.end - found.begin > scores.longest]] = -np.inf
        total[~legal] = -np.inf
        return total

    def labelling_counts(
        self, scores: SegmentLattice, ids: IdArray, *, weights: FloatArray | None = None
    ) -> SegmentGradient:
        found, _ = segments_of(ids, scores.offsets, scores.n_labels)
        counts = _zeros(scores)
        share = np.ones(scores.n_sequences) if weights is None else weights
        counts.node[np.arange(len(ids)), ids] = np.repeat(share, np.diff(scores.offsets))
        for name, where, place in _parts(scores, found):
            np.add.at(getattr(counts, name), place, share[found.sequence[where]])
        if counts.tail is not None:
            np.add.at(counts.tail, found.label, _beyond(scores, found) * share[found.sequence])
        return counts

    def permit(self, scores: SegmentLattice, labels: Labels) -> SegmentLattice:
        node = np.where(labels.permitted(2 * scores.n_labels), scores.node, -np.inf)
        return scores.changed(node=node)

    def raise_wrong(self, scores: SegmentLattice, labels: Labels, costs: FloatArray) -> SegmentLattice:
        # costs [2L] of the ids; otherwise as in the chain
        known = np.flatnonzero(labels.ids >= 0)
        node = scores.node.copy()
        node[known, labels.ids[known]] -= costs[labels.ids[known]]
        return scores.changed(node=node)

    def best(self, scores: SegmentLattice, *, n_jobs: int | None = None) -> IdArray:
        ids = np.empty(scores.n_positions, np.int32)
        score = np.zeros(scores.n_sequences)
        dead = _alive(scores)
        batch, threads = native_segments(scores, n_jobs)
        _native.segment_best(batch, ids, score, dead, threads)
        require_segmentations(scores, dead)
        return ids

    def nbest(self, scores: SegmentLattice, k: int, *, n_jobs: int | None = None) -> NBest:
        """Return the k best segmentations of each sequence, as ids; all of them if there are fewer."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"k must be a whole number of segmentations, at least 1; got {k!r}")
        dead = _alive(scores)
        batch, threads = native_segments(scores, n_jobs)
        ids, found, counts = _native.segment_nbest(batch, min(int(k), sys.maxsize), dead, threads)
        require_segmentations(scores, dead)
        return NBest.of_counts(ids, found, counts, scores.offsets)

    def sample(self, scores: SegmentLattice, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise InputError(f"n_samples must be a whole number, at least 1; got {n_samples!r}")
        ids = np.empty((int(n_samples), scores.n_positions), np.int32)
        dead = _alive(scores)
        batch, threads = native_segments(scores, None)
        _native.segment_sample(batch, random_seed(random_state), ids, dead, threads)
        require_segmentations(scores, dead)
        return ids

    def log_probabilities(
        self, scores: SegmentLattice, segments: LabelledSpans, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log p [M] of given segments; they must be in order of their sequences."""
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
        batch, threads = native_segments(scores, n_jobs)
        bounds = bounds_of(sequence, scores.n_sequences)
        _native.segment_probabilities(batch, begin, end, label, bounds, found, dead, threads)
        require_segmentations(scores, dead)
        return found

    def probable(
        self, scores: SegmentLattice, least: float, *, n_jobs: int | None = None
    ) -> tuple[LabelledSpans, FloatArray]:
        """Return all segments with a probability of at least ``least``, and the probabilities [M]."""
        if not 0 < least <= 1:
            raise InputError(f"least must be a probability above 0; got {least!r}")
        dead = _alive(scores)
        batch, threads = native_segments(scores, n_jobs)
        places, p = _native.segments_above(batch, float(least), dead, threads)
        require_segmentations(scores, dead)
        sequence, begin, end, label = places.reshape(-1, 4).T
        order = np.lexsort((end, begin, sequence))
        found = LabelledSpans(sequence[order], begin[order], end[order], label[order].astype(np.int32))
        return found, p[order]


SEGMENTATIONS = Segmentations()


def segments_of(
    ids: IdArray, offsets: IntArray, n_labels: int
) -> tuple[LabelledSpans, npt.NDArray[np.bool_]]:
    """Return the segments of a labelling [ΣT], and which sequences [N] it labels consistently.

    It is inconsistent where a segment goes on that has not begun, or under another label.
    """
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


def _parts(scores: SegmentLattice, found: LabelledSpans) -> list[tuple[str, _Places, tuple[_Places, ...]]]:
    """Return, per table that segments have scores in: its name, which segments, and their places in it."""
    everywhere = np.arange(len(found.begin))
    lengths = np.minimum(found.end - found.begin, scores.longest) - 1
    opening = np.flatnonzero(found.begin == 0)
    later = np.flatnonzero(found.begin > 0)
    y = found.label
    parts: list[tuple[str, _Places, tuple[_Places, ...]]] = [
        ("edge", later, (y[later - 1], y[later])),
        ("lengths", everywhere, (y, lengths)),
    ]
    if scores.start is not None:
        parts.append(("start", opening, (y[opening],)))
    if scores.end is not None:
        closing = np.append(opening[1:], len(everywhere))[: len(opening)] - 1
        parts.append(("end", closing, (y[closing],)))
    if scores.last is not None:
        parts.append(("last", everywhere, (scores.offsets[found.sequence] + found.end - 1, y)))
    if scores.spans is not None and len(scores.spans.begin):
        mine, theirs = _same_places(found, scores.spans, scores)
        parts.append(("span", mine, (theirs, y[mine])))
    return parts


def _same_places(found: LabelledSpans, spans: Spans, scores: SegmentLattice) -> tuple[IntArray, IntArray]:
    """Return the segments that are spans: their numbers among the segments and among the spans."""
    K = scores.longest + 1
    short = np.flatnonzero(found.end - found.begin < K)

    def key(sequence: IntArray, begin: IntArray, end: IntArray) -> IntArray:
        keys: IntArray = (scores.offsets[sequence] + begin) * K + (end - begin)
        return keys

    keys = key(*spans)
    own = key(*(part[short] for part in found[:3]))
    at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    same = keys[at] == own
    return short[same], at[same]


def _beyond(scores: SegmentLattice, found: LabelledSpans) -> IntArray:
    """Return how many positions of each segment are beyond K."""
    beyond: IntArray = np.maximum(found.end - found.begin - scores.longest, 0)
    return beyond


def _zeros(scores: SegmentLattice) -> SegmentGradient:
    fields = (getattr(scores, name) for name in SegmentGradient._fields)
    return SegmentGradient._make([None if table is None else np.zeros(table.shape) for table in fields])


def _alive(scores: SegmentLattice) -> IntArray:
    return np.full(scores.n_sequences, -1, np.int64)


def _posterior(scores: SegmentLattice, n_jobs: int | None, **outputs: FloatArray | None) -> FloatArray:
    log_z, dead = np.zeros(scores.n_sequences), _alive(scores)
    batch, threads = native_segments(scores, n_jobs)
    _native.segment_posterior(batch, log_z, dead, threads, **outputs)
    require_segmentations(scores, dead)
    return log_z
