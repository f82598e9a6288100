"""Conversion of labels between schemes, detection of their scheme, and repair of illegal labels.

Everything goes through segments: labels are read by one scheme's grammar (:mod:`crfkit.data.schemes`) and
written by another's, or by the same one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Literal

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.label_codes import LabelCodes, LabelSequences
from crfkit.data.schemes import (
    SCHEMES,
    Scheme,
    Tagged,
    following,
    foreign_label,
    legal_steps,
    previous,
    scheme_called,
    tag_labels,
)
from crfkit.exceptions import InputError


def convert_labels(y: LabelSequences, from_scheme: str, to_scheme: str) -> list[list[str]]:
    """Return the labels of the same segments in another scheme.

    ``from_scheme="auto"`` detects the scheme (see :func:`detect_scheme`). Illegal labels raise ``InputError``
    with their place; ``repair_labels`` repairs them.

    >>> convert_labels([["B-PER", "I-PER", "O", "B-LOC"]], "IOB2", "IOBES")
    [['B-PER', 'E-PER', 'O', 'S-LOC']]
    """
    target = scheme_called(to_scheme)
    codes = LabelCodes.of(y)
    tagged = tag_labels(codes, _scheme_of(codes, from_scheme))
    wrong = np.flatnonzero(~tagged.met())
    if len(wrong):
        raise InputError(
            f"{_complaint(tagged, wrong)}; repair them with "
            f"repair_labels(y, {tagged.scheme.name!r}), or check the scheme"
        )
    return _spell(tagged, (tagged.tags != 0) & ~tagged.joined(), tagged.types, tagged.tags != 0, target)


def repair_labels(
    y: LabelSequences, scheme: str, *, how: Literal["begin", "drop", "join"] = "begin"
) -> list[list[str]]:
    """Return legal labels that differ from y only where y is illegal.

    ``how`` says what to do with labels that belong to no segment, such as an ``I-LOC`` after ``O``:

    - ``"begin"``: they begin a new segment, as in conlleval; no type is changed.
    - ``"drop"``: they and the rest of their broken segment become ``O`` (the strict reading).
    - ``"join"``: if one follows a segment of another type (``B-PER I-LOC``), it becomes part of that segment
      and takes its type; otherwise it begins a new segment.

    >>> repair_labels([["O", "I-LOC", "I-LOC", "I-PER"]], "IOB2")
    [['O', 'B-LOC', 'I-LOC', 'B-PER']]
    >>> repair_labels([["O", "I-LOC", "B-LOC", "I-PER"]], "IOB2", how="drop")
    [['O', 'O', 'B-LOC', 'O']]
    >>> repair_labels([["O", "I-LOC", "B-LOC", "I-PER"]], "IOB2", how="join")
    [['O', 'B-LOC', 'B-LOC', 'I-LOC']]
    """
    if how not in ("begin", "drop", "join"):
        raise InputError(f"how must be 'begin', 'drop' or 'join', got {how!r}")
    codes = LabelCodes.of(y)
    found = scheme_called(scheme)
    tagged = tag_labels(codes, found)
    inside, types = tagged.tags != 0, tagged.types  # [ΣT]
    if how == "join":
        begins = inside & ~_joined_across_types(tagged)
        return _spell(tagged, begins, _of_run(types, begins), inside, found)
    begins = inside & ~tagged.joined()
    if how == "drop":
        inside = inside & whole_runs(begins, tagged.met() | ~inside)
        begins &= inside
    return _spell(tagged, begins, types, inside, found)


def possible_schemes(y: LabelSequences) -> list[str]:
    """Return the schemes in which y is legal, the likeliest first."""
    codes = LabelCodes.of(y).slim()
    return [scheme.name for scheme in SCHEMES.values() if _fits(codes, scheme)]


def detect_scheme(y: LabelSequences) -> str:
    """Return the scheme of y.

    Labels nearly always fit only one scheme. If they fit several (only ``O``; or only ``I`` and ``O``, which
    IOB1 and IOE1 spell alike), the first of IOB2, IOB1, IOE2, IOE1, IOBES, BILOU is returned. If they fit
    none, as predictions may, ``InputError`` names the scheme with the fewest violations and the first one.

    >>> detect_scheme([["I-PER", "O", "I-LOC", "B-LOC"]])
    'IOB1'
    """
    codes = LabelCodes.of(y).slim()
    fitting = possible_schemes(codes)
    if fitting:
        return fitting[0]
    broken: list[tuple[int, str]] = []
    for scheme in SCHEMES.values():
        if foreign_label(codes.names, scheme.tags) is None:
            tagged = tag_labels(codes, scheme)
            wrong = np.flatnonzero(~tagged.met())
            broken.append((len(wrong), _complaint(tagged, wrong)))
    if not broken:
        shown = ", ".join(repr(name) for name in codes.names[:10]) + (", …" if len(codes.names) > 10 else "")
        raise InputError(f"the labels ({shown}) are of none of the schemes {', '.join(SCHEMES)}")
    raise InputError(f"the labels are legal in no scheme; the nearest: {min(broken, key=itemgetter(0))[1]}")


def label_schemes(labels: list[str]) -> list[str]:
    """Return the schemes that a set of labels fits, without looking at sequences; the likeliest first.

    Each label must be usable: in IOB2, ``I-LOC`` is not without ``B-LOC``. Often both IOB2 and IOB1 fit, or
    both IOE2 and IOE1.
    """
    return [
        scheme.name
        for scheme in SCHEMES.values()
        if foreign_label(labels, scheme.tags) is None and legal_steps(labels, scheme).usable.all()
    ]


def illegal_places(y: LabelSequences, scheme: str) -> list[tuple[int, int]]:
    """Return (sequence, position) of each label in y that lacks a neighbour that the scheme requires.

    >>> illegal_places([["O", "I-LOC"], ["B-LOC", "I-LOC"]], "IOB2")
    [(0, 1)]
    """
    codes = LabelCodes.of(y)
    tagged = tag_labels(codes, _scheme_of(codes, scheme))
    return [codes.place(position) for position in np.flatnonzero(~tagged.met())]


def whole_runs(begins: BoolArray, good: BoolArray) -> BoolArray:
    """Tell for each position whether all positions of its run are good [ΣT]; runs begin where ``begins``."""
    run = np.cumsum(begins)  # [ΣT] 0 before the first
    spoilt = np.zeros(int(run[-1]) + 1 if len(run) else 1, dtype=np.bool_)
    spoilt[run[~good]] = True
    return ~spoilt[run]


def _scheme_of(codes: LabelCodes, name: str) -> Scheme:
    return scheme_called(detect_scheme(codes) if name == "auto" else name)


def _fits(codes: LabelCodes, scheme: Scheme) -> bool:
    if foreign_label(codes.names, scheme.tags) is not None:
        return False
    return bool(tag_labels(codes, scheme).met().all())


def _complaint(tagged: Tagged, wrong: IntArray) -> str:
    """Return a message about the first of the wrong positions, and how many more there are."""
    codes = tagged.codes
    i, t = codes.place(wrong[0])
    sequence = codes[i]
    label = sequence[t]
    tag = tagged.tags[wrong[0]]
    before = tagged.scheme.needs_before[tag] and not (
        t > 0 and tagged.same[wrong[0]] and tagged.scheme.left[tagged.tags[wrong[0] - 1]]
    )
    if before:
        neighbour = f"after {sequence[t - 1]!r}" if t else "at the beginning of its sequence"
    else:
        neighbour = f"before {sequence[t + 1]!r}" if t + 1 < len(sequence) else "at the end of its sequence"
    more = f" (and {len(wrong) - 1} more such places)" if len(wrong) > 1 else ""
    return f"y[{i}][{t}] is {label!r} {neighbour}, which is not legal in {tagged.scheme.name}{more}"


def _joined_across_types(tagged: Tagged) -> BoolArray:
    """Return ``Tagged.joined``, or True where only an illegal change of type splits a segment [ΣT]."""
    scheme, tags = tagged.scheme, tagged.tags
    before, differ = previous(tags), ~tagged.same & ~tagged.codes.first  # [ΣT]
    illegal = ~(scheme.met_before(before, tags, tagged.same) & scheme.met_after(before, tags, tagged.same))
    across: BoolArray = scheme.left[before] & scheme.right[tags] & differ & illegal
    return tagged.joined() | across


def _of_run(types: IntArray, begins: BoolArray) -> IntArray:
    """Return the type of the first position of each position's run [ΣT]."""
    return types[np.maximum.accumulate(np.where(begins, np.arange(len(types)), 0))]


def _spell(
    tagged: Tagged, begins: BoolArray, types: IntArray, inside: BoolArray, scheme: Scheme
) -> list[list[str]]:
    """Return the labels of segments: runs of positions ``inside``, each from where it ``begins``."""
    codes = tagged.codes
    last = following(codes.first)  # [ΣT]
    last[-1:] = True
    opening = begins
    closing = inside & (following(begins) | ~following(inside) | last)  # [ΣT]
    if scheme.only_between:
        touches = inside & previous(inside) & (types == previous(types)) & ~codes.first  # [ΣT] one before it
        if scheme.first != scheme.middle:
            opening = opening & touches
        else:
            closing = closing & following(touches)
    tags = np.select(
        [opening & closing, opening, closing, inside],
        [scheme.tags.index(tag) for tag in (scheme.single, scheme.first, scheme.last, scheme.middle)],
        0,
    )  # [ΣT]
    kinds, hyphens = tagged.parsed.type_names, tagged.parsed.hyphens
    names = [
        tag if tag == "O" or not hyphen else f"{tag}-{kind}"
        for tag in scheme.tags
        for kind, hyphen in zip(kinds, hyphens, strict=True)
    ]  # [G * number of types]
    return LabelCodes(names, tags * len(kinds) + types, codes.offsets).lists()
