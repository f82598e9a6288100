"""The labels of positions as segments, and back.

A model of segments has L labels of segments (types), and ids of positions: y where a segment of y begins,
L + y where it goes on. Its users see labels of positions, in one of two forms:

- tags: ``B-X`` where a segment of X begins, ``I-X`` where it goes on, ``O`` outside;
- runs of plain labels: a segment is a run of one label, so a label never follows itself.

``O`` is the background in both: it has segments of one position each, which may follow each other. Every
labelling of positions is one segmentation, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.relabel import convert_labels, repair_labels
from crfkit.data.schemes import scheme_called
from crfkit.data.sequences import inner_positions
from crfkit.exceptions import InputError
from crfkit.metrics.segment_rules import RUNS, has_tags

BACKGROUND = "O"
TAGS = "IOB2"  # the scheme of the labels of a model that has tags
_SEVERAL = (set, frozenset, list, tuple)


def scheme_of(names: Iterable[Any], scheme: str | None) -> str:
    """Return in which scheme labels with these names are read: "runs", or one of tags."""
    if scheme is not None:
        return RUNS if scheme == RUNS else scheme_called(scheme).name
    found = list(names)
    if not has_tags(found):
        return RUNS
    tags = {name[:1] for name in found if isinstance(name, str)}
    return TAGS if tags <= set("BIO") else "auto"


def in_own_scheme(y: Sequence[Any], scheme: str | None) -> list[Any]:
    """Return label lists in the form that a model has: tags as in IOB2, runs as they are.

    Tags of IOB1 are read by conlleval's rules; those of other schemes must be legal. Sequences with labels
    that are missing or one of several stay as they are; they must have the tags B, I and O.
    """
    whole = [i for i, labels in enumerate(y) if not any(_is_open(label) for label in labels)]
    names = {name for labels in y for label in labels for name in _names(label)}
    read_as = scheme_of(names, scheme)
    if read_as == RUNS or not whole:
        return list(y)
    known = [y[i] for i in whole]
    is_plain = read_as in (TAGS, "IOB1")
    spelt = repair_labels(known, TAGS) if is_plain else convert_labels(known, read_as, TAGS)
    found = list(y)
    for i, labels in zip(whole, spelt, strict=True):
        found[i] = labels
    return found


def _is_open(label: Any) -> bool:
    return label is None or isinstance(label, _SEVERAL)


def _names(label: Any) -> Iterable[Any]:
    return label if isinstance(label, _SEVERAL) else () if label is None else (label,)


@dataclass(frozen=True, eq=False)
class LabelCodec:
    """The correspondence of C labels of positions and 2L ids of positions."""

    classes: list[Any]  # [C] labels of positions
    types: list[Any]  # [L] labels of segments
    class_of: IdArray  # [2L] the label of a position with this id
    background: int | None  # the type whose segments have one position each
    runs: bool  # whether segments are runs of one label

    @classmethod
    def of(cls, names: Sequence[Any], scheme: str | None = None) -> LabelCodec:
        """Return the codec for labels with these names, sorted; tags must be B, I and O."""
        if scheme_of(names, scheme) == RUNS:
            background = names.index(BACKGROUND) if BACKGROUND in names else None
            class_of = np.tile(np.arange(len(names), dtype=np.int32), 2)
            return cls(list(names), list(names), class_of, background, True)
        outside = [BACKGROUND] if BACKGROUND in names else []
        found: set[str] = set()  # what follows the tag
        for name in names:
            if name == BACKGROUND:
                continue
            if not isinstance(name, str) or name[:1] not in ("B", "I") or name[1:2] not in ("", "-"):
                raise InputError(
                    f"the label {name!r} is not 'O', 'B-…' or 'I-…'. Labels that are partly unknown must "
                    f"have these tags (crfkit.data.convert_labels, {TAGS}); for labels without tags pass "
                    "scheme='runs'"
                )
            found.add(name[1:])
        kinds = sorted(found)
        begin, go_on = ([*outside, *(tag + kind for kind in kinds)] for tag in "BI")
        classes = sorted({*begin, *go_on})
        class_of = np.array([classes.index(name) for name in [*begin, *go_on]], np.int32)
        types = [*outside, *(kind[1:] for kind in kinds)]
        return cls(classes, types, class_of, 0 if outside else None, False)

    @property
    def n_types(self) -> int:
        return len(self.types)

    def in_background(self) -> BoolArray:
        """Return which types are the background [L]."""
        found: BoolArray = np.arange(self.n_types) == (-1 if self.background is None else self.background)
        return found

    def neighbours(self) -> BoolArray:
        """Return which types of segments may follow which [L, L]."""
        return ~np.eye(self.n_types, dtype=np.bool_) | self.in_background() | (not self.runs)

    # ---- from labels to ids

    def _ids(self) -> IdArray:
        """Return the id of each label where a segment begins, or if it cannot begin one, goes on [C]."""
        ids = np.empty(len(self.classes), np.int32)
        ids[self.class_of[::-1]] = np.arange(2 * self.n_types, dtype=np.int32)[::-1]
        return ids

    def permitted_ids(self, allowed: BoolArray) -> BoolArray:
        """Return the ids [ΣT, 2L] that positions may have whose labels are ``allowed`` [ΣT, C]."""
        return np.ascontiguousarray(allowed[:, self.class_of])

    def encode(self, labels: IdArray, offsets: IntArray) -> IdArray:
        """Return the ids of labels [ΣT]; -1 where it is open whether a segment begins or goes on, or all is.

        A label that goes on where nothing can go on begins a segment. -1 is a label that is not known.
        """
        L, inner = self.n_types, inner_positions(offsets)
        known = labels >= 0
        ids: IdArray = np.where(known, self._ids()[labels], -1)
        y = np.where(known, ids % L, -1)  # [ΣT] types
        before = np.full(len(y), -2)  # of the position before; -1: not known, -2: none
        before[1:][inner[1:]] = y[:-1][inner[1:]]
        if self.runs:
            single = y == (-2 if self.background is None else self.background)
            ids = np.where(known & (before == y) & ~single, ids + L, ids)
            ids[known & (before == -1) & ~single] = -1
        else:
            ids = np.where((ids >= L) & (before != y) & (before != -1), ids - L, ids)
        return ids.astype(np.int32)

    def encode_partial(self, labels: Labels, offsets: IntArray) -> Labels:
        """Return ids with, where they are open, the permitted ones; labels are those of ``classes``."""
        ids = self.encode(labels.ids, offsets)
        if labels.allowed is None:
            return Labels(ids, None)
        allowed = self.permitted_ids(labels.allowed)
        certain = np.flatnonzero(ids >= 0)
        allowed[certain] = ids[certain, None] == np.arange(2 * self.n_types)
        return Labels(ids, allowed)

    # ---- from ids to labels

    def of_ids(self, numbers: FloatArray) -> FloatArray:
        """Return numbers of ids [ΣT, 2L] summed for each label [ΣT, C]."""
        found = np.zeros((len(numbers), len(self.classes)))
        for k, c in enumerate(self.class_of.tolist()):
            found[:, c] += numbers[:, k]
        return found


def longest_segments(ids: IdArray, n_types: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the positions [M] where segments begin, their types, and their lengths as far as known.

    ``ids`` [ΣT] are -1 where they are open. A segment that goes on from there has at least that position.
    """
    at = np.flatnonzero(ids < n_types)
    length = np.diff(np.append(at, len(ids)))
    inside = np.where(length > 1, ids[np.minimum(at + 1, len(ids) - 1)] - n_types, ids[at])
    kind = np.where(ids[at] >= 0, ids[at], inside)
    told = kind >= 0
    return at[told], kind[told].astype(np.int64), length[told].astype(np.int64)
