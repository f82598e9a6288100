"""Scores of labelled segments (chunks, entities), as conlleval counts them, and strictly.

A label is a tag, a hyphen and a type: ``B-LOC`` has tag ``B`` and type ``LOC``. Only the first hyphen counts,
so types may hold hyphens. Two ways of reading segments out of such labels are in use, and they differ on
label sequences that break the rules (``O I-LOC``), which predictions often do:

*conlleval* (``segments``, ``segment_scores``), the scorer of the CoNLL shared tasks, forgives. It reads IOB1
and IOB2 alike. A segment starts at a token inside (not ``O``) whose tag is ``B``, or whose predecessor is
outside, or whose type differs from its predecessor's; it ends before the next start or the next ``O``. A
stray ``I-LOC`` thus starts a segment. The rules also know the tags ``E`` (the token after an ``E-X`` starts
anew when it is ``I-X`` or ``E-X``), ``[`` and ``]`` (segments of one token). A sequence's borders count as
outside.

*strict IOB2* (``strict_segments``, ``strict_segment_scores``) takes the scheme at its word: a segment is a
``B-X`` and the ``I-X`` of the same type right behind it; an ``I-X`` anywhere else belongs to no segment.

A predicted segment is right when a true one has the same first token, last token and type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from crfkit.exceptions import InputError
from crfkit.metrics.pairs import LabelSequences, sorted_labels
from crfkit.metrics.report import Report, Score
from crfkit.metrics.tokens import token_accuracy


class Segment(NamedTuple):
    """Tokens ``start`` to ``end`` (not included) form one segment."""

    type: str
    start: int
    end: int


class _Tag(NamedTuple):
    tag: str
    type: str


_OUTSIDE = _Tag("O", "")
_CONLLEVAL_TAGS = frozenset("BIOE[].")
_STRICT_TAGS = frozenset("BIO")

# Pairs (tag before, tag here) that start and end a segment whatever the types.
_STARTS = frozenset({"BB", "IB", "OB", "OI", "OE", "EE", "EI"})
_ENDS = frozenset({"BB", "BO", "IB", "IO", "EE", "EI", "EO"})


def _starts(before: _Tag, here: _Tag) -> bool:
    if here.tag in "[]" or before.tag + here.tag in _STARTS:
        return True
    return here.tag not in "O." and before.type != here.type


def _ends(before: _Tag, here: _Tag) -> bool:
    if before.tag in "[]" or before.tag + here.tag in _ENDS:
        return True
    return before.tag not in "O." and before.type != here.type


def _parse(
    labels: Sequence[Hashable], known: dict[Hashable, _Tag], tags: frozenset[str], where: str
) -> list[_Tag]:
    """Split labels into tag and type, remembering those already seen in ``known``."""
    parsed = []
    for t, label in enumerate(labels):
        if label not in known:
            tag, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
            if tag not in tags:
                wanted = ", ".join(sorted(tags - {"O", "."}))
                raise InputError(
                    f"{where}[{t}] is {label!r}, but segments need labels 'O' or tag-type, such as 'B-LOC', "
                    f"with a tag out of {wanted}; convert the labels to IOB2, or use token_report for plain "
                    "labels"
                )
            known[label] = _Tag(tag, kind)
        parsed.append(known[label])
    return parsed


def segments(labels: Sequence[str]) -> list[Segment]:
    """The segments of one sequence by conlleval's rules.

    >>> segments(["B-PER", "I-PER", "O", "I-LOC"])
    [Segment(type='PER', start=0, end=2), Segment(type='LOC', start=3, end=4)]
    """
    found = []
    start = -1  # of the open segment; -1: none is open
    before = _OUTSIDE
    for t, here in enumerate([*_parse(labels, {}, _CONLLEVAL_TAGS, "labels"), _OUTSIDE]):
        if start >= 0 and _ends(before, here):
            found.append(Segment(before.type, start, t))
            start = -1
        if _starts(before, here):
            start = t
        before = here
    return found


def strict_segments(labels: Sequence[str]) -> list[Segment]:
    """The segments of one sequence by the letter of IOB2.

    >>> strict_segments(["B-PER", "I-PER", "O", "I-LOC"])
    [Segment(type='PER', start=0, end=2)]
    """
    return _strict(_parse(labels, {}, _STRICT_TAGS, "labels"))


def _strict(tags: Sequence[_Tag]) -> list[Segment]:
    found = []
    start, kind = -1, ""
    for t, here in enumerate([*tags, _OUTSIDE]):
        if start >= 0 and not (here.tag == "I" and here.type == kind):
            found.append(Segment(kind, start, t))
            start = -1
        if here.tag == "B":
            start, kind = t, here.type
    return found


class _Counts(NamedTuple):
    correct: Counter[str]
    predicted: Counter[str]
    true: Counter[str]


def _count_conlleval(true: Sequence[_Tag], pred: Sequence[_Tag], counts: _Counts) -> None:
    """Walk both readings side by side, as conlleval does, so that odd tags are counted its way too."""
    agree = False  # both are in a segment that began at the same token with the same type
    before_t = before_p = _OUTSIDE
    for t, p in zip([*true, _OUTSIDE], [*pred, _OUTSIDE], strict=True):
        if agree:
            ends_t, ends_p = _ends(before_t, t), _ends(before_p, p)
            if ends_t and ends_p and before_t.type == before_p.type:
                counts.correct[before_t.type] += 1
                agree = False
            elif ends_t != ends_p or t.type != p.type:
                agree = False
        starts_t, starts_p = _starts(before_t, t), _starts(before_p, p)
        if starts_t and starts_p and t.type == p.type:
            agree = True
        if starts_t:
            counts.true[t.type] += 1
        if starts_p:
            counts.predicted[p.type] += 1
        before_t, before_p = t, p


def _count_strict(true: Sequence[_Tag], pred: Sequence[_Tag], counts: _Counts) -> None:
    true_segments, pred_segments = _strict(true), _strict(pred)
    counts.correct.update(segment.type for segment in set(true_segments) & set(pred_segments))
    counts.predicted.update(segment.type for segment in pred_segments)
    counts.true.update(segment.type for segment in true_segments)


def _scores(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    tags: frozenset[str],
    count: Callable[[Sequence[_Tag], Sequence[_Tag], _Counts], None],
) -> Report:
    accuracy = token_accuracy(y_true, y_pred)  # checks the pairs, too
    known: dict[Hashable, _Tag] = {}
    counts = _Counts(Counter(), Counter(), Counter())
    for i, (true, pred) in enumerate(zip(y_true, y_pred, strict=True)):
        count(_parse(true, known, tags, f"y_true[{i}]"), _parse(pred, known, tags, f"y_pred[{i}]"), counts)
    scores = {
        kind: Score(counts.correct[str(kind)], counts.predicted[str(kind)], counts.true[str(kind)])
        for kind in sorted_labels([*counts.true, *counts.predicted])
    }
    return Report("segment", scores, Score(*(sum(counter.values()) for counter in counts)), accuracy)


def segment_scores(y_true: LabelSequences, y_pred: LabelSequences) -> Report:
    """Precision, recall and F1 of segments, per type and overall: the numbers of conlleval.

    >>> print(round(segment_scores([["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]).f1, 2))
    1.0
    """
    return _scores(y_true, y_pred, _CONLLEVAL_TAGS, _count_conlleval)


def strict_segment_scores(y_true: LabelSequences, y_pred: LabelSequences) -> Report:
    """Precision, recall and F1 of segments by the letter of IOB2: a segment without its ``B-`` is none.

    >>> print(round(strict_segment_scores([["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]).f1, 2))
    0.0
    """
    return _scores(y_true, y_pred, _STRICT_TAGS, _count_strict)


def segment_f1(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """Overall F1 of segments by conlleval's rules."""
    return segment_scores(y_true, y_pred).f1


def strict_segment_f1(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """Overall F1 of segments by the letter of IOB2."""
    return strict_segment_scores(y_true, y_pred).f1
