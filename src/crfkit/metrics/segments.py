"""Segments (chunks, entities) read from labels, by conlleval's rules or strictly.

A label is a tag, a hyphen and a type: ``B-LOC`` has tag ``B`` and type ``LOC``. Only the first hyphen counts,
so types may hold hyphens. There are two common ways to read segments from such labels. They differ on label
sequences that break the rules (``O I-LOC``), as predictions often do.

*conlleval* (``segments``), the scorer of the CoNLL shared tasks, is forgiving. It reads IOB1, IOB2, IOE1 and
IOE2 by the same rules. A segment starts at a token inside (not ``O``) whose tag is ``B``, or whose
predecessor is outside, or whose type differs from its predecessor's; it ends before the next start or the
next ``O``. So a stray ``I-LOC`` starts a segment. After an ``E-X``, ``I-X`` and ``E-X`` start a new one. The
script also knows ``[`` and ``]`` (segments of one token) and ``.``. A sequence's borders count as outside.

The script does not know ``S``, ``L`` and ``U``: it reads ``S-X S-X`` as one segment, and it also joins
``B-X E-X B-X E-X``. So if ``S`` is among the labels, or with ``scheme="IOBES"``, two neighbours are in one
segment if they have the same type, the first is ``B`` or ``I`` and the second ``I`` or ``E``; BILOU likewise.

*Strict* reading (``strict_segments``) follows the rules of a scheme. A segment that breaks them does not
count: in IOB2 one without its ``B-``, in IOBES one without its ``E-``, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.label_codes import LabelCodes
from crfkit.data.relabel import detect_scheme, whole_runs
from crfkit.data.schemes import Scheme, following, scheme_called, tag_labels
from crfkit.exceptions import InputError
from crfkit.io.shown_list import ShownList
from crfkit.metrics.pairs import Pairs


class Segment(NamedTuple):
    """A segment of the tokens ``start`` to ``end`` (not included)."""

    type: str
    start: int
    end: int


class SegmentSpans(NamedTuple):
    """M segments of one labelling."""

    starts: IntArray  # [M] positions of the batch
    ends: IntArray  # [M] the positions after the last
    types: IntArray  # [M]


@dataclass(frozen=True)
class Reading:
    """Which pairs of neighbours start and end a segment, by tag number; the first tag is ``O``."""

    tags: str
    starts: BoolArray  # [G, G, 2] tag before, tag here, whether of the same type
    ends: BoolArray  # [G, G, 2]

    @classmethod
    def conlleval(cls) -> Reading:
        """Return the rules of the script conlleval."""
        tags = "OBIE[]."
        starts, ends = np.zeros((2, len(tags), len(tags), 2), dtype=np.bool_)
        for b, before in enumerate(tags):
            for h, here in enumerate(tags):
                pair = before + here
                anyhow = here in "[]" or pair in ("OB", "OI", "OE", "BB", "IB", "EE", "EI")
                starts[b, h] = [anyhow or here not in "O.", anyhow]
                anyhow = before in "[]" or pair in ("BO", "IO", "EO", "BB", "IB", "EE", "EI")
                ends[b, h] = [anyhow or before not in "O.", anyhow]
        return cls(tags, starts, ends)

    @classmethod
    def forgiving(cls, scheme: Scheme) -> Reading:
        """Return the rules of a scheme; a label that it does not join to the one before starts a segment."""
        tags = np.arange(len(scheme.tags))  # [G]
        before, here, same = tags[:, None, None], tags[None, :, None], np.array([False, True])
        apart = ~scheme.joined(before, here, same)  # [G, G, 2]
        return cls(scheme.tags, apart & (here != 0), apart & (before != 0))


CONLLEVAL = Reading.conlleval()
_TAGGED = re.compile(r"([BIESLU\[\]]|O|\.)(-|$)")


def are_plain(names: Iterable[object]) -> bool:
    """Return whether labels have no segments (no ``B-LOC`` or ``I``), as with parts of speech.

    >>> are_plain(["NN", "VB"]), are_plain(["O", "B-LOC"])
    (True, False)
    """
    named = [str(name) for name in names if name != "O"]
    return bool(named) and not any(_TAGGED.match(name) for name in named)


def reading_for(names: Sequence[object], scheme: str | None) -> Reading:
    """Return the rules for conlleval's scores of labels with these names."""
    if scheme is not None and scheme != "auto":
        return Reading.forgiving(scheme_called(scheme))
    tags = {name[:1] for name in names if isinstance(name, str) and name[1:2] in ("", "-")}
    if "S" in tags:
        return Reading.forgiving(scheme_called("IOBES"))
    if tags & {"L", "U"}:
        return Reading.forgiving(scheme_called("BILOU"))
    return CONLLEVAL


class Marked(NamedTuple):
    """Two labellings with the places where segments start and end.

    There is a token ``O`` before the first sequence and after each sequence: M = ΣT + N + 1 tokens in all.
    """

    type_names: list[str]
    sequence_of: IntArray  # [M] a sequence's own tokens and the O after it
    types: IntArray  # [2, M] of the true and of the predicted labels
    starts: BoolArray  # [2, M] a segment starts here
    ends: BoolArray  # [2, M] a segment ended at the token before


def mark(pairs: Pairs, reading: Reading) -> Marked:
    """Find starts and ends in both labellings."""
    tag_of, type_of, type_names = _split(pairs, reading)
    place = np.arange(pairs.n_tokens) + 1 + pairs.sequence_of  # [ΣT] where tokens lie among the M
    size = pairs.n_tokens + pairs.n_sequences + 1
    tags, types = np.zeros((2, 2, size), dtype=np.int64)  # [2, M] each
    for side, ids in enumerate((pairs.true, pairs.pred)):
        tags[side, place], types[side, place] = tag_of[ids], type_of[ids]
    same = (types[:, 1:] == types[:, :-1]).astype(np.int64)
    starts, ends = np.zeros((2, 2, size), dtype=np.bool_)
    starts[:, 1:] = reading.starts[tags[:, :-1], tags[:, 1:], same]
    ends[:, 1:] = reading.ends[tags[:, :-1], tags[:, 1:], same]
    sequence_of = np.zeros(size, dtype=np.int64)  # [M]
    sequence_of[1:] = np.repeat(np.arange(pairs.n_sequences), pairs.lengths + 1)
    return Marked(type_names, sequence_of, types, starts, ends)


def _split(pairs: Pairs, reading: Reading) -> tuple[IntArray, IntArray, list[str]]:
    """Return the tag and type of each name [K], and the names of the types; the first is empty."""
    kinds = {"": 0}
    tag_of = np.zeros(len(pairs.names), dtype=np.int64)  # [K]
    type_of = np.zeros(len(pairs.names), dtype=np.int64)  # [K]
    for k, label in enumerate(pairs.names):
        tag, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
        if len(tag) != 1 or tag not in reading.tags:
            place = pairs.first_place(k)
            if place is None:
                continue
            wanted = ", ".join(t for t in reading.tags if t not in "O.")
            raise InputError(
                f"{place} is {label!r}, but segments need labels 'O' or tag-type, such as "
                f"'B-LOC', with one of the tags {wanted}; pass another scheme=, or use token_report "
                "for plain labels"
            )
        tag_of[k] = reading.tags.index(tag)
        type_of[k] = kinds.setdefault(kind, len(kinds))
    return tag_of, type_of, list(kinds)


def forgiving_spans(pairs: Pairs, reading: Reading) -> tuple[SegmentSpans, SegmentSpans, list[str]]:
    """Return the segments of the true and of the predicted labels, and the names of their types."""
    marked = mark(pairs, reading)
    spans = []
    for side in range(2):
        starts, ends = np.flatnonzero(marked.starts[side]), np.flatnonzero(marked.ends[side])
        # Each start is paired with the next end, unless another start comes first ("." can cause that).
        upper = np.append(starts[1:], len(marked.sequence_of))
        which = np.searchsorted(ends, starts, side="right")
        closed = which < len(ends)
        closed[closed] = ends[which[closed]] <= upper[closed]
        starts, stops = starts[closed], ends[which[closed]]
        shift = marked.sequence_of[starts] + 1
        spans.append(SegmentSpans(starts - shift, stops - shift, marked.types[side, starts]))
    return spans[0], spans[1], marked.type_names


def strict_spans(pairs: Pairs, scheme: str) -> tuple[SegmentSpans, SegmentSpans, list[str]]:
    """Return the legal segments of the true and of the predicted labels, and the names of their types."""
    if scheme == "auto":
        found = scheme_called(detect_scheme(LabelCodes(pairs.names, pairs.true, pairs.offsets)))
    else:
        found = scheme_called(scheme)
    # From all names, so that labellings over the same names have the same types.
    kinds = {str(name).partition("-")[2]: 0 for name in pairs.names}
    kinds = {kind: k for k, kind in enumerate(kinds)}
    spans = []
    for place, ids in zip(pairs.places, (pairs.true, pairs.pred), strict=True):
        tagged = tag_labels(LabelCodes(pairs.names, ids, pairs.offsets), found, place)
        inside = tagged.tags != 0  # [ΣT]
        begins = inside & ~tagged.joined()
        whole = inside & whole_runs(begins, tagged.met() | ~inside)
        starts = np.flatnonzero(begins & whole)
        ends = np.flatnonzero(whole & ~following(tagged.joined())) + 1
        table = np.array([kinds.get(kind, -1) for kind in tagged.parsed.type_names])
        spans.append(SegmentSpans(starts, ends, table[tagged.types[starts]]))
    return spans[0], spans[1], list(kinds)


def segments(labels: Sequence[str], scheme: str | None = None) -> list[Segment]:
    """Return the segments of one sequence by conlleval's rules.

    >>> segments(["B-PER", "I-PER", "O", "I-LOC"])
    [Segment(type='PER', start=0, end=2), Segment(type='LOC', start=3, end=4)]
    """
    pairs = _alone(labels)
    spans, _, kinds = forgiving_spans(pairs, reading_for(pairs.names, scheme))
    return _listed(spans, kinds)


def strict_segments(labels: Sequence[str], scheme: str = "IOB2") -> list[Segment]:
    """Return the segments of one sequence by a scheme's strict rules.

    >>> strict_segments(["B-PER", "I-PER", "O", "I-LOC"])
    [Segment(type='PER', start=0, end=2)]
    """
    spans, _, kinds = strict_spans(_alone(labels), scheme)
    return _listed(spans, kinds)


def _alone(labels: Sequence[str]) -> Pairs:
    return replace(Pairs.of([labels], [labels]), places=("labels[{t}]", "labels[{t}]"))


def _listed(spans: SegmentSpans, kinds: list[str]) -> list[Segment]:
    columns = (array.tolist() for array in (spans.types, spans.starts, spans.ends))
    return ShownList(Segment(kinds[kind], start, end) for kind, start, end in zip(*columns, strict=True))
