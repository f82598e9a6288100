"""How labels encode segments: the grammar of IOB1, IOB2, IOE1, IOE2, IOBES and BILOU.

A label is ``O`` (outside), or a tag and a type: ``B-LOC``. Only the first hyphen counts; a tag alone (``B``)
is of the empty type. A scheme says which tag a token gets by its place in the segment:

    scheme  first middle last single
    IOB2      B     I     I     B
    IOB1      B*    I     I     B*     * only where a segment of the same type ends right before; otherwise I
    IOE2      I     I     E     E
    IOE1      I     I     E*    E*     * only where a segment of the same type begins right after; otherwise I
    IOBES     B     I     E     S
    BILOU     B     I     L     U

(Ramshaw and Marcus 1995, Tjong Kim Sang and Veenstra 1999.) Each row defines its scheme completely. Two
neighbours b, h of one type lie in one segment if b's tag can be a first or middle tag and h's a middle or
last tag. A tag that can be neither first nor single *needs* such a b before it. A tag that can be neither
last nor single needs such an h after it. A starred tag needs the neighbouring segment of its type. Labels are
legal if all these needs are met.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.label_codes import LabelCodes
from crfkit.exceptions import InputError

Value = TypeVar("Value", np.bool_, np.int64)


@dataclass(frozen=True)
class Scheme:
    """The tags of first, middle, last and single tokens of a segment.

    Tags are numbered: 0 is ``O``, then come the scheme's own, G in all. They index the arrays.
    """

    name: str
    first: str
    middle: str
    last: str
    single: str
    only_between: bool = False  # the other tag only stands between segments of the same type
    tags: str = field(init=False)  # "O" and the others
    left: BoolArray = field(init=False, compare=False, repr=False)  # [G] can be followed within its segment
    right: BoolArray = field(init=False, compare=False, repr=False)  # [G] can follow within its segment
    needs_before: BoolArray = field(init=False, compare=False, repr=False)  # [G] a left tag of its type
    needs_after: BoolArray = field(init=False, compare=False, repr=False)  # [G] a right tag of its type

    def __post_init__(self) -> None:
        own = dict.fromkeys([self.first, self.middle, self.last, self.single])
        tags = "O" + "".join(own)

        def flags(which: set[str]) -> BoolArray:
            return np.array([tag in which for tag in tags])

        before = set(own) - {self.first, self.single}
        after = set(own) - {self.last, self.single}
        if self.only_between:  # IOB1: only B needs a neighbour, before it; IOE1: only E, after it
            before, after = ({self.first}, set()) if self.first != self.middle else (set(), {self.last})
        for name, value in (
            ("tags", tags),
            ("left", flags({self.first, self.middle})),
            ("right", flags({self.middle, self.last})),
            ("needs_before", flags(before)),
            ("needs_after", flags(after)),
        ):
            object.__setattr__(self, name, value)

    def joined(self, before: IntArray, here: IntArray, same: BoolArray) -> BoolArray:
        """Tell whether neighbours with these tags, of the ``same`` type or not, lie in one segment."""
        joined: BoolArray = self.left[before] & self.right[here] & same
        return joined

    def met_before(self, before: IntArray, here: IntArray, same: BoolArray) -> BoolArray:
        """Tell whether the tag ``here`` has the neighbour before it that it needs."""
        met: BoolArray = ~self.needs_before[here] | (self.left[before] & same)
        return met

    def met_after(self, here: IntArray, after: IntArray, same: BoolArray) -> BoolArray:
        """Tell whether the tag ``here`` has the neighbour after it that it needs."""
        met: BoolArray = ~self.needs_after[here] | (self.right[after] & same)
        return met


# In order of preference if labels fit several.
SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("IOB2", "B", "I", "I", "B"),
        Scheme("IOB1", "B", "I", "I", "B", only_between=True),
        Scheme("IOE2", "I", "I", "E", "E"),
        Scheme("IOE1", "I", "I", "E", "E", only_between=True),
        Scheme("IOBES", "B", "I", "E", "S"),
        Scheme("BILOU", "B", "I", "L", "U"),
    )
}
_ALSO_CALLED = {"BIO": "IOB2", "BIO2": "IOB2", "BIOES": "IOBES", "BIOLU": "BILOU"}


def scheme_called(name: str) -> Scheme:
    """Return the scheme with this name in upper or lower case; BIO is IOB2, BIOES is IOBES."""
    upper = name.upper() if isinstance(name, str) else ""
    found = SCHEMES.get(_ALSO_CALLED.get(upper, upper))
    if found is None:
        raise InputError(f"scheme must be one of {', '.join(SCHEMES)}, got {name!r}")
    return found


class Parsed(NamedTuple):
    """K labels as tags and types."""

    tags: IntArray  # [K] places in the tags asked for
    types: IntArray  # [K] places in type_names
    type_names: list[str]  # the first is the type of O and of bare tags: ""
    hyphens: list[bool]  # of each type: whether labels have it after a hyphen


def foreign_label(names: Sequence[Hashable], tags: str) -> int | None:
    """Return the place of the first label that is not ``O`` or another tag, with or without a type."""
    for k, label in enumerate(names):
        if label == "O":
            continue
        if (
            not isinstance(label, str)
            or label[:1] not in tags[1:]
            or label[1:2] not in ("", "-")
            or not label
        ):
            return k
    return None


def parse_labels(names: Sequence[Hashable], tags: str) -> Parsed:
    """Split labels, all of them with one of the tags, at their first hyphen."""
    kinds: dict[str, int] = {"": 0}  # types with their hyphens
    tag_of = np.zeros(len(names), dtype=np.int64)  # [K]
    type_of = np.zeros(len(names), dtype=np.int64)  # [K]
    for k, label in enumerate(map(str, names)):
        tag_of[k] = tags.index(label[0])
        type_of[k] = kinds.setdefault(label[1:], len(kinds))
    return Parsed(tag_of, type_of, [kind[1:] for kind in kinds], [kind != "" for kind in kinds])


def bad_label(label: Hashable, where: str, scheme: Scheme) -> InputError:
    """Return the error for a label that does not fit the scheme."""
    shown = ", ".join(f"'{tag}-…'" for tag in scheme.tags[1:])
    return InputError(
        f"{where} is {label!r}, but labels of the scheme {scheme.name} are 'O' or {shown}, such as "
        f"'{scheme.first}-LOC'; name the scheme that the labels have (detect_scheme finds it)"
    )


class Tagged(NamedTuple):
    """Label sequences parsed by a scheme."""

    codes: LabelCodes
    scheme: Scheme
    parsed: Parsed
    tags: IntArray  # [ΣT] numbers of the scheme's tags
    types: IntArray  # [ΣT]
    same: BoolArray  # [ΣT] the position before is in the same sequence, also inside, and of the same type

    def joined(self) -> BoolArray:
        """Tell whether a position lies in the same segment as the one before it [ΣT]."""
        return self.scheme.joined(previous(self.tags), self.tags, self.same)

    def met(self) -> BoolArray:
        """Tell whether a position has the neighbours that its tag needs [ΣT]: there its label is legal."""
        before = self.scheme.met_before(previous(self.tags), self.tags, self.same)
        return before & self.scheme.met_after(self.tags, following(self.tags), following(self.same))


def tag_labels(codes: LabelCodes, scheme: Scheme, place: str = "y[{i}][{t}]") -> Tagged:
    """Parse labels by a scheme; a label that does not fit it raises ``InputError`` with its place."""
    codes = codes.slim()
    foreign = foreign_label(codes.names, scheme.tags)
    if foreign is not None:
        i, t = codes.place(np.flatnonzero(codes.ids == foreign)[0])
        raise bad_label(codes.names[foreign], place.format(i=i, t=t), scheme)
    parsed = parse_labels(codes.names, scheme.tags)
    tags, types = parsed.tags[codes.ids], parsed.types[codes.ids]
    same = (types == previous(types)) & (tags != 0) & (previous(tags) != 0) & ~codes.first
    return Tagged(codes, scheme, parsed, tags, types, same)


def previous(values: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """Return the value before each position; 0 or False before the first."""
    shifted = np.zeros_like(values)
    shifted[1:] = values[:-1]
    return shifted


def following(values: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """Return the value after each position; 0 or False after the last."""
    shifted = np.zeros_like(values)
    shifted[:-1] = values[1:]
    return shifted


class LegalSteps(NamedTuple):
    """What a scheme permits among L labels."""

    transitions: BoolArray  # [L, L] from label k to label l
    starts: BoolArray  # [L]
    ends: BoolArray  # [L]
    usable: BoolArray  # [L] the label occurs in some legal sequence


def legal_steps(labels: Sequence[Hashable], scheme: Scheme) -> LegalSteps:
    """Return which labels may follow which, and which may come first and last."""
    foreign = foreign_label(labels, scheme.tags)
    if foreign is not None:
        raise bad_label(labels[foreign], f"label {foreign}", scheme)
    parsed = parse_labels(labels, scheme.tags)
    tags, types = parsed.tags, parsed.types
    before, here = tags[:, None], tags[None, :]
    same = (types[:, None] == types[None, :]) & (before != 0) & (here != 0)  # [L, L]
    transitions = scheme.met_before(before, here, same) & scheme.met_after(before, here, same)
    starts, ends = ~scheme.needs_before[tags], ~scheme.needs_after[tags]
    usable = _reachable(starts, transitions) & _reachable(ends, transitions.T)
    return LegalSteps(transitions, starts, ends, usable)


def _reachable(origin: BoolArray, steps: BoolArray) -> BoolArray:
    """Return the labels [L] that can be reached from ``origin`` [L] by any number of steps [L, L]."""
    found = origin
    while True:
        more = found | steps[found].any(axis=0)
        if np.array_equal(more, found):
            return found
        found = more
