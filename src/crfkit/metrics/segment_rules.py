"""Where segments (chunks, entities, runs of a label) start, go on and end, as masks over pairs of labels.

In every label scheme this depends on two neighbouring labels only. Tags and types (``B-LOC``) are read as in
:mod:`crfkit.metrics.segments`, and plain labels (parts of an address) as runs of one label.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.metrics.segments import reading_for

RUNS = "runs"
_TAGS = "BIESLU[]."


class Segments(NamedTuple):
    """M segments of a batch, in order of their sequences."""

    sequence: IntArray  # [M]
    start: IntArray  # [M] positions of the sequence
    stop: IntArray  # [M] the positions after the last
    kind: IdArray  # [M] places in ``SegmentRules.types``

    def select(self, chosen: BoolArray) -> Segments:
        """Return the segments that are ``chosen`` [M]."""
        return Segments(self.sequence[chosen], self.start[chosen], self.stop[chosen], self.kind[chosen])


@dataclass(frozen=True, eq=False)
class SegmentRules:
    """Where segments start, go on and end, by pairs of neighbouring labels. Label L stands for none."""

    types: list[Any]  # [K] names of the kinds
    kinds: IdArray  # [L] kind of a segment that starts with this label
    opens: BoolArray  # [L+1, L] label before, label here: a segment starts here
    joins: BoolArray  # [L, L] neither
    closes: BoolArray  # [L, L+1] label before, label here: a segment ended before here

    def find(self, labels: npt.NDArray[np.integer], offsets: IntArray) -> Segments:
        """Return the segments of a labelling [ΣT] of the sequences."""
        L, n = len(self.kinds), len(labels)
        lengths = np.diff(offsets)
        filled = np.flatnonzero(lengths)
        before, after = np.full((2, n), L, np.int64)  # [ΣT]
        before[1:], after[:-1] = labels[:-1], labels[1:]
        before[offsets[filled]] = L
        after[offsets[filled + 1] - 1] = L
        starts = np.flatnonzero(self.opens[before, labels])
        ends = np.flatnonzero(self.closes[labels, after])  # last positions
        # Each start is paired with the next end, unless another start comes first (as "." can cause).
        upper = np.append(starts[1:], n)
        which = np.searchsorted(ends, starts)
        closed = which < len(ends)
        closed[closed] = ends[which[closed]] < upper[closed]
        starts, stops = starts[closed], ends[which[closed]] + 1
        sequence = np.searchsorted(offsets, starts, side="right") - 1
        base = offsets[sequence]
        return Segments(sequence, starts - base, stops - base, self.kinds[labels[starts]])


def has_tags(labels: Iterable[Hashable]) -> bool:
    """Tell whether one of the labels is a tag (``B``), or a tag and a type (``B-LOC``)."""
    return any(
        isinstance(label, str) and label != "" and label[0] in _TAGS and label[1:2] in ("", "-")
        for label in labels
    )


def segment_rules(labels: Sequence[Hashable], scheme: str | None = None) -> SegmentRules:
    """Return the rules for a model's labels.

    Labels such as ``B-LOC`` are read as in :func:`crfkit.metrics.segments`, by conlleval's rules or those of
    a ``scheme``. If no label has such a tag, or with ``scheme="runs"``, a segment is a run of one label, and
    ``O`` is outside.

    >>> segment_rules(["O", "B-PER", "I-PER"]).types
    ['PER']
    >>> segment_rules(["O", "Street", "City"]).types
    ['Street', 'City']
    """
    L = len(labels)
    if scheme == RUNS or (scheme is None and not has_tags(labels)):
        inside = np.array([label != "O" for label in labels])  # [L]
        differ = ~np.eye(L, dtype=np.bool_)
        starts, ends = differ & inside, differ & inside[:, None]  # [L, L]
        types: dict[Any, int] = {}
        kinds = [types.setdefault(label, len(types)) if label != "O" else -1 for label in labels]
        opens, closes = np.vstack([starts, inside]), np.column_stack([ends, inside])
        return SegmentRules(list(types), np.array(kinds, np.int32), opens, ~starts & ~ends, closes)
    reading = reading_for(labels, scheme)
    tags, names = np.zeros(L + 1, np.int64), [""] * (L + 1)  # of labels, and of none, which is as O
    for k, label in enumerate(labels):
        tag, _, names[k] = label.partition("-") if isinstance(label, str) else ("", "", "")
        if len(tag) != 1 or tag not in reading.tags:
            wanted = ", ".join(t for t in reading.tags if t not in "O.")
            raise InputError(
                f"label {k} is {label!r}, but segments need labels 'O' or tag-type, such as 'B-LOC', with "
                f"one of the tags {wanted}; pass another scheme=, or scheme='runs' for runs of one label"
            )
        tags[k] = reading.tags.index(tag)
    same = np.array([[a == b for b in names] for a in names]).astype(np.int64)  # [L+1, L+1]
    starts = reading.starts[tags[:, None], tags[None, :], same]
    ends = reading.ends[tags[:, None], tags[None, :], same]
    types = {}
    kinds = [
        types.setdefault(name, len(types)) if starts[:, k].any() else -1 for k, name in enumerate(names[:L])
    ]
    joins = ~starts[:L, :L] & ~ends[:L, :L]
    return SegmentRules(list(types), np.array(kinds, np.int32), starts[:, :L], joins, ends[:L])
