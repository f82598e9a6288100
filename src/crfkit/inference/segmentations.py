"""Segmentations as a ``Structure``: semi-Markov models (Sarawagi and Cohen, 2004).

Labellings have one id per position: y where a segment of label y begins, L + y where it goes on. So partial
labels may say that a segment begins, or goes on, without its label, or fix the label and leave the cuts open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference.segment_answers import LabelledSpans, SegmentAnswers, segments_of
from crfkit.inference.segment_lattice import SegmentLattice, Spans, native_segments

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


class Segmentations(SegmentAnswers[SegmentLattice, SegmentGradient]):
    """A ``Structure`` with the scores of segments."""

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
            beyond = _beyond(scores, found)
            far = np.flatnonzero(beyond)  # 0 · -inf is not 0
            np.add.at(total, found.sequence[far], beyond[far] * scores.tail[found.label[far]])
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

    def _batch(self, scores: SegmentLattice, n_jobs: int | None) -> tuple[_native.SegmentBatch, int]:
        return native_segments(scores, n_jobs)

    def _zeros(self, scores: SegmentLattice) -> SegmentGradient:
        return _zeros(scores)


SEGMENTATIONS = Segmentations()


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
