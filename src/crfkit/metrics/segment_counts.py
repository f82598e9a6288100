"""True, predicted and correct segments, by sequence and by type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.segments import Marked, Reading, SegmentSpans, mark, strict_spans


class Found(NamedTuple):
    """M segments, by the sequence they are in and their type."""

    sequences: IntArray  # [M]
    types: IntArray  # [M]


class SegmentCounts(NamedTuple):
    """The segments that scores are computed from."""

    type_names: list[str]
    correct: Found
    predicted: Found
    true: Found

    def by_type(self) -> IntArray:
        """Count correct, predicted and true segments of each type [types, 3]."""
        n = len(self.type_names)
        return np.stack([np.bincount(found.types, minlength=n) for found in self[1:]], axis=1)

    def by_sequence(self, n_sequences: int) -> IntArray:
        """Count correct, predicted and true segments of each sequence and type [N, types, 3]."""
        n = len(self.type_names)
        counts = [
            np.bincount(found.sequences * n + found.types, minlength=n_sequences * n) for found in self[1:]
        ]
        return np.stack(counts, axis=1).reshape(n_sequences, n, 3)


def count_forgiving(pairs: Pairs, reading: Reading) -> SegmentCounts:
    """Count as conlleval does, over both labellings in parallel.

    conlleval is *in agreement* from a token where both labellings start a segment of one type. If both end it
    at the same token, it was correct. Agreement ends there, and also where only one of them ends it or where
    types differ. Instead of token by token, agreement is computed for all tokens at once: a token is in
    agreement unless the last end of agreement before it comes after the last beginning.
    """
    marked = mark(pairs, reading)
    types, (starts_t, starts_p), (ends_t, ends_p) = marked.types, marked.starts, marked.ends
    equal = types[0] == types[1]  # [M]
    equal_before = np.append(True, equal[:-1])
    both_end = ends_t & ends_p & equal_before
    agreement_over = both_end | (ends_t != ends_p) | ~equal
    agreed = _agreement(starts_t & starts_p & equal, agreement_over)  # [M+1]
    correct = np.flatnonzero(both_end & agreed[:-1])
    if agreed[-1]:  # the script counts a segment that is still open when its input ends
        correct = np.append(correct, len(equal))
    return SegmentCounts(
        marked.type_names,
        _found(marked, correct - 1, 0),
        _found(marked, np.flatnonzero(starts_p), 1),
        _found(marked, np.flatnonzero(starts_t), 0),
    )


def _agreement(begins: BoolArray, over: BoolArray) -> BoolArray:
    """Tell whether there is agreement before each token, and after the last [M+1]."""
    places = np.arange(1, len(begins) + 1)
    last_begin = np.maximum.accumulate(np.append(0, np.where(begins, places, 0)))
    last_over = np.maximum.accumulate(np.append(0, np.where(over, places, 0)))
    agreed: BoolArray = (last_begin > 0) & (last_begin >= last_over)
    return agreed


def _found(marked: Marked, places: IntArray, side: int) -> Found:
    return Found(marked.sequence_of[places], marked.types[side, places])


def count_strict(pairs: Pairs, scheme: str) -> SegmentCounts:
    """Count legal segments; those in both labellings are correct."""
    true, pred, type_names = strict_spans(pairs, scheme)
    sequence_of = pairs.sequence_of
    return SegmentCounts(
        type_names,
        *(Found(sequence_of[spans.starts], spans.types) for spans in (common(pred, true), pred, true)),
    )


def common(a: SegmentSpans, b: SegmentSpans) -> SegmentSpans:
    """Return the segments of ``a`` that are also in ``b``. Both are in order and without overlap."""
    if not len(b.starts):
        return SegmentSpans(a.starts[:0], a.ends[:0], a.types[:0])
    other = np.minimum(np.searchsorted(b.starts, a.starts), len(b.starts) - 1)
    shared = (b.starts[other] == a.starts) & (b.ends[other] == a.ends) & (b.types[other] == a.types)
    return SegmentSpans(a.starts[shared], a.ends[shared], a.types[shared])
