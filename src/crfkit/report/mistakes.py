"""The mistakes of a labelling, by kind: wrong type, wrong boundary, missed, invented.

A predicted segment that is not true is *invented* if it overlaps no true segment. Otherwise its *boundary* is
wrong if one of those that it overlaps has its type, and its *type* is wrong if none has. A true segment is
*missed* if no predicted one overlaps it. So every wrong segment of the prediction counts once.

Labels without segments are compared one by one: a label instead of ``O`` is invented, ``O`` instead of a
label is missed, and any other is a wrong label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import IntArray
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.segments import Segment, SegmentSpans
from crfkit.report.predictions import Spans

TYPE, BOUNDARY, MISSED, INVENTED = "wrong type", "wrong boundary", "missed", "invented"
LABEL = "wrong label"  # of labels without segments
KINDS = (TYPE, BOUNDARY, LABEL, MISSED, INVENTED)


class Mistake(NamedTuple):
    """A mistake at the positions ``start`` to ``stop`` (not included) of a sequence."""

    kind: str
    start: int
    stop: int
    true: str | None  # type or label; None: outside
    found: str | None


def segment_mistakes(true: Sequence[Segment], found: Sequence[Segment]) -> list[Mistake]:
    """Return the mistakes of predicted segments of one sequence, in the order of their positions.

    >>> [m.kind for m in segment_mistakes([Segment("A", 0, 2)], [Segment("A", 0, 1), Segment("B", 3, 4)])]
    ['wrong boundary', 'invented']
    """
    there, mistakes = set(true), []
    for one in found:
        if one in there:
            continue
        met = [other for other in true if other.start < one.end and one.start < other.end]
        alike = [other for other in met if other.type == one.type]
        kind = BOUNDARY if alike else TYPE if met else INVENTED
        true_type = (alike or met)[0].type if met else None
        mistakes.append(Mistake(kind, one.start, one.end, true_type, one.type))
    for one in true:
        if not any(other.start < one.end and one.start < other.end for other in found):
            mistakes.append(Mistake(MISSED, one.start, one.end, one.type, None))
    return sorted(mistakes, key=lambda mistake: mistake.start)


def label_mistakes(true: Sequence[Any], found: Sequence[Any]) -> list[Mistake]:
    """Return the mistakes of plain labels of one sequence."""
    mistakes = []
    for t, (right, label) in enumerate(zip(true, found, strict=True)):
        if right != label:
            kind = INVENTED if right == "O" else MISSED if label == "O" else LABEL
            names = [None if one == "O" else str(one) for one in (right, label)]
            mistakes.append(Mistake(kind, t, t + 1, *names))
    return mistakes


class Labelled(NamedTuple):
    """The segments of one sequence, true and predicted; without segments, runs of labels."""

    true: list[Segment]
    found: list[Segment]


class MistakeFinder:
    """The mistakes of all sequences of a batch."""

    def __init__(self, pairs: Pairs, spans: Spans | None) -> None:
        self._pairs, self._spans = pairs, spans
        if spans is not None:
            self._true, self._found = (_bounds(side, pairs.offsets) for side in (spans.true, spans.found))

    def of(self, i: int) -> list[Mistake]:
        """Return the mistakes in sequence i."""
        if self._spans is None:
            here = slice(int(self._pairs.offsets[i]), int(self._pairs.offsets[i + 1]))
            names = self._pairs.names
            true, found = (
                [names[k] for k in ids[here].tolist()] for ids in (self._pairs.true, self._pairs.pred)
            )
            return label_mistakes(true, found)
        return segment_mistakes(*self.segments(i))

    def segments(self, i: int) -> Labelled:
        """Return the segments of sequence i; positions count from its start."""
        start = int(self._pairs.offsets[i])
        if self._spans is None:
            here = slice(start, int(self._pairs.offsets[i + 1]))
            return Labelled(
                *(list(_runs(self._pairs.names, ids[here])) for ids in (self._pairs.true, self._pairs.pred))
            )
        types = self._spans.types
        sides = ((self._spans.true, self._true), (self._spans.found, self._found))
        return Labelled(
            *(
                [
                    Segment(types[kind], a - start, b - start)
                    for a, b, kind in zip(
                        *(part[bounds[i] : bounds[i + 1]].tolist() for part in side), strict=True
                    )
                ]
                for side, bounds in sides
            )
        )

    def wrong(self) -> Iterator[tuple[int, list[Mistake]]]:
        """Yield the sequences that have mistakes, and these."""
        for i in np.unique(self._pairs.sequence_of[~self._pairs.right]).tolist():
            found = self.of(i)
            if found:  # labels may differ where segments do not, as I and B at a start
                yield i, found


def _bounds(side: SegmentSpans, offsets: IntArray) -> list[int]:
    """Return the first segment of each sequence, and the number of segments [N+1]."""
    found: list[int] = np.searchsorted(side.starts, offsets).tolist()
    return found


def _runs(names: Sequence[Any], ids: IntArray) -> Iterator[Segment]:
    """Yield runs of one label other than ``O``."""
    cuts = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    for a, b in pairwise(cuts):
        if a < b and names[ids[a]] != "O":
            yield Segment(str(names[ids[a]]), a, b)
