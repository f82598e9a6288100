"""Scores of segmentations, checked once: the semi-Markov counterpart of the lattice.

A segmentation cuts a sequence into segments (begin b, end e, label y) that cover all positions. Its score is

    start[y_1] + end[y_m] + Σ_i>1 edge[y_{i-1}, y_i]
    + Σ_segments  first[b, y] + Σ_{b<t<e} rest[t, y] + last[e-1, y] + length(y, e-b) + span(b, e, y)

A labelling is written as one id per position: y where a segment of label y begins, L + y where it goes on.
``node`` [ΣT, 2L] holds the scores of these ids, first and rest. -inf forbids: that a segment begins at a
position, that one goes on from the position before (a break that none may cross), that one ends there, a
length, a pair of labels, a span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import checked_offsets, checked_scores
from crfkit.inference.segment_answers import SegmentScores, bounds_of
from crfkit.threads import thread_count

# What places of tables are called that are not those of labels alone.
_AXES = {"node": ("id",), "lengths": ("label", "place"), "span": ("span", "label")}


class Spans(NamedTuple):
    """Stretches of a batch that may be segments: sorted by sequence, begin and end, each once."""

    sequence: IntArray  # [S]
    begin: IntArray  # [S] position of its sequence
    end: IntArray  # [S] the position after its last one


@dataclass(frozen=True, eq=False, init=False)
class SegmentLattice(SegmentScores):
    """Scores of the segmentations of N sequences with L labels; ΣT positions, one sequence after the other.

    Parameters
    ----------
    node
        [ΣT, 2L]: ``node[t, y]`` is the score of a segment of y that begins at position t,
        ``node[t, L + y]`` that of one that goes on from t-1 to t (ignored at a sequence's first position).
    edge
        [L, L] scores of the labels of consecutive segments.
    lengths
        [L, K]: ``lengths[y, d-1]`` is the score of a segment of d positions. Without a ``tail``, no segment
        is longer than K.
    offsets
        [N+1] sequence i has the positions ``offsets[i] .. offsets[i+1]-1``.
    start, end
        [L] scores of the first and of the last segment's label.
    last
        [ΣT, L] scores of the last position of a segment.
    tail
        [L] score of each position beyond K: lengths then have a geometric tail. -inf: no longer segments.
    spans, span
        Segments with scores of their own, at most K long: where they are, and their scores [S, L].
    """

    node: FloatArray  # [ΣT, 2L]
    edge: FloatArray  # [L, L]
    lengths: FloatArray  # [L, K]
    offsets: IntArray  # [N+1]
    start: FloatArray | None  # [L]
    end: FloatArray | None  # [L]
    last: FloatArray | None  # [ΣT, L]
    tail: FloatArray | None  # [L]
    spans: Spans | None
    span: FloatArray | None  # [S, L]

    def __init__(
        self,
        node: npt.ArrayLike,
        edge: npt.ArrayLike,
        lengths: npt.ArrayLike,
        offsets: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        last: npt.ArrayLike | None = None,
        tail: npt.ArrayLike | None = None,
        spans: Spans | None = None,
        span: npt.ArrayLike | None = None,
    ) -> None:
        pairs = np.shape(edge)
        if len(pairs) != 2 or pairs[0] != pairs[1] or pairs[0] == 0:
            raise InputError(f"edge must have shape [L, L] with at least one label; got {pairs}")
        L = pairs[0]
        if len(np.shape(node)) != 2 or np.shape(node)[1] != 2 * L:
            raise InputError(f"node must have shape [ΣT, {2 * L}] for {L} labels; got {np.shape(node)}")
        T, K = np.shape(node)[0], np.shape(lengths)[-1] if len(np.shape(lengths)) == 2 else 0
        if np.shape(lengths) != (L, K) or K == 0:
            raise InputError(
                f"lengths must have shape [{L}, K] with at least one length; got {np.shape(lengths)}"
            )
        if (spans is None) != (span is None):
            raise InputError("spans and their scores, span, must be given together")
        bounds = checked_offsets(offsets, T)
        where = None if spans is None else _checked_spans(spans, bounds, K)
        n_spans = 0 if where is None else len(where.begin)
        put = object.__setattr__
        put(self, "offsets", bounds)
        put(self, "spans", where)
        shapes: dict[str, tuple[npt.ArrayLike | None, tuple[int, ...]]] = {
            "node": (node, (T, 2 * L)),
            "edge": (edge, (L, L)),
            "lengths": (lengths, (L, K)),
            "start": (start, (L,)),
            "end": (end, (L,)),
            "last": (last, (T, L)),
            "tail": (tail, (L,)),
            "span": (span, (n_spans, L)),
        }
        for name, (scores, shape) in shapes.items():
            by_position = bounds if name in ("node", "last") else None
            if scores is not None:
                scores = checked_scores(name, scores, shape, by_position, axes=_AXES.get(name))
            put(self, name, scores)

    @property
    def n_labels(self) -> int:
        return int(self.edge.shape[0])

    @property
    def longest(self) -> int:
        """K, the longest length with a score of its own."""
        return int(self.lengths.shape[1])

    def __repr__(self) -> str:
        return (
            f"SegmentLattice({self.n_sequences} sequences, {self.n_positions} positions, "
            f"{self.n_labels} labels, lengths up to {self.longest}{' and a tail' * (self.tail is not None)})"
        )


def native_segments(scores: SegmentLattice, n_jobs: int | None) -> tuple[_native.SegmentBatch, int]:
    """Return the scores in the form of the native core, and the number of threads for ``n_jobs``."""
    begin = end = bounds = None
    if scores.spans is not None:
        begin, end = scores.spans.begin, scores.spans.end
        bounds = bounds_of(scores.spans.sequence, scores.n_sequences)
    batch = _native.SegmentBatch(
        scores.node,
        scores.edge,
        scores.lengths,
        scores.offsets,
        scores.last,
        scores.tail,
        scores.start,
        scores.end,
        scores.span,
        begin,
        end,
        bounds,
    )
    return batch, thread_count(n_jobs)


def _checked_spans(spans: Spans, offsets: IntArray, longest: int) -> Spans:
    sequence, begin, end = (np.ascontiguousarray(part, dtype=np.int64) for part in spans)
    if not (sequence.ndim == 1 and sequence.shape == begin.shape == end.shape):
        raise InputError("spans need one sequence, begin and end each, as vectors of one length")
    if len(sequence) == 0:
        return Spans(sequence, begin, end)
    n = len(offsets) - 1
    if sequence.min() < 0 or sequence.max() >= n:
        raise InputError(f"spans must be in sequences 0..{n - 1}; got {sequence.min()}..{sequence.max()}")
    wrong = np.flatnonzero((begin < 0) | (begin >= end) | (end > np.diff(offsets)[sequence]))
    if len(wrong):
        k = wrong[0]
        raise InputError(
            f"span {k} goes from {begin[k]} to {end[k]}, but sequence {sequence[k]} has "
            f"{np.diff(offsets)[sequence[k]]} positions; a span has one or more of them"
        )
    long = np.flatnonzero(end - begin > longest)
    if len(long):
        k = long[0]
        raise InputError(
            f"span {k} has {end[k] - begin[k]} positions, but lengths have scores up to {longest} only: "
            "leave it out, or give scores of more lengths"
        )
    steps = np.diff((offsets[sequence] + begin) * (longest + 1) + (end - begin))
    if (steps < 0).any():
        raise InputError("spans must be sorted by sequence, begin and end")
    if (steps == 0).any():
        k = int(np.argmin(steps))
        raise InputError(f"spans {k} and {k + 1} are the same: add up their scores")
    return Spans(sequence, begin, end)
