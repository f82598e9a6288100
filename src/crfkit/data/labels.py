"""Labels to ids and back.

A label is a str, int or bool. In y a position may also hold ``None`` (the label is missing) or a set,
frozenset, list or tuple of labels (any of these): partial labels, which become rows of permitted labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.reading import cut_rows, listed
from crfkit.data.sequences import checked_ids, gather, place_of
from crfkit.exceptions import InputError
from crfkit.parameters import unstorable

_PARTIAL = (set, frozenset, list, tuple)
_PIECE = 1 << 22  # positions at once


@dataclass(frozen=True)
class Labels:
    """Label ids of all positions; where one is not fully known, the labels permitted there."""

    ids: IdArray  # [ΣT]; -1 where the label is missing or one of several
    allowed: BoolArray | None  # [ΣT, L] permitted labels; None when every label is known

    def subset(self, sequence_ids: npt.NDArray[np.integer], offsets: IntArray) -> Labels:
        """Return the labels of the given sequences; ``offsets`` [N+1] are those of all sequences."""
        _, positions = gather(offsets, checked_ids(sequence_ids, offsets.size - 1))
        return Labels(self.ids[positions], None if self.allowed is None else self.allowed[positions])

    def counts(self, n_labels: int) -> IntArray:
        """Return how many positions have each label [L]."""
        counts = np.zeros(n_labels, np.int64)
        for start in range(0, len(self.ids), _PIECE):  # mapped labels need not fit into memory
            ids = self.ids[start : start + _PIECE]
            counts += np.bincount(ids[ids >= 0], minlength=n_labels)
        return counts

    def permitted(self, n_labels: int) -> BoolArray:
        """Return which labels each position may have [ΣT, L]."""
        if self.allowed is not None:
            return self.allowed
        only: BoolArray = self.ids[:, None] == np.arange(n_labels)
        return only


def label_set(y: Iterable[Any]) -> list[Any]:
    """Return all labels in y, also those in sets, sorted: bools, then ints, then strings, each by value."""
    sequences = label_lists(y)
    kinds = _checked_kinds_of_sets(sequences)
    found: set[Any] = set()
    if kinds:
        for entry in chain.from_iterable(sequences):
            if type(entry) in kinds:
                found.update(entry)
            else:
                found.add(entry)
    else:
        found.update(chain.from_iterable(sequences))
    found.discard(None)
    for label in found:
        lost = unstorable(label)
        if lost is not None:
            raise InputError(
                f"{_place_of(label, sequences)}: the label has {lost}, so that no model file can hold it; "
                "use another label"
            )
    return sorted(map(_plain, found), key=lambda label: (_type_name(label), label))


def encode_labels(
    y: Iterable[Any],
    classes: Sequence[Any],
    offsets: IntArray,
    *,
    unknown: Literal["error", "ignore"] = "error",
) -> Labels:
    """Return the ids of the labels in y, as places in classes [L]; offsets [N+1] are those of X.

    A label that is not in classes raises ``InputError``, or with ``unknown="ignore"`` counts as missing
    (within a set it is dropped), as dev sets need.
    """
    if unknown not in ("error", "ignore"):
        raise InputError(f"unknown must be 'error' or 'ignore', got {unknown!r}")
    sequences = label_lists(y)
    _check_lengths(sequences, offsets)
    kinds = _checked_kinds_of_sets(sequences)
    index = {label: i for i, label in enumerate(classes)}
    n_positions = int(offsets[-1])
    try:
        ids = np.fromiter(
            map(index.__getitem__, chain.from_iterable(sequences)), dtype=np.int32, count=n_positions
        )
    except (KeyError, TypeError):  # not in classes, or a set
        return _encode_partial(sequences, kinds, index, offsets, unknown == "ignore")
    return Labels(ids, None)


def decode_labels(ids: npt.NDArray[np.integer], offsets: IntArray, classes: Sequence[Any]) -> list[list[Any]]:
    """Return the labels of the ids [ΣT], one list per sequence; None for -1."""
    table = np.empty(len(classes) + 1, dtype=object)  # [L+1], the last for -1
    table[:-1] = classes
    labels = table[ids].tolist()
    bounds = offsets.tolist()
    return [labels[start:stop] for start, stop in pairwise(bounds)]


def cut_labels(y: Any, lengths: Any) -> Any:
    """Return y; if it has the labels of all positions, end to end, cut into sequences of these lengths."""
    if lengths is None or isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        return y
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    known = [one for one in labels if one is not None]  # None stands for a label or for a whole sequence
    is_flat = len(labels) != np.size(lengths) if not known else any(map(_is_entry, known))
    if not is_flat:
        return labels
    bounds = cut_rows(len(labels), lengths, "y", "labels").tolist()
    return [labels[start:stop] for start, stop in pairwise(bounds)]


def _is_entry(one: Any) -> bool:
    """Tell whether an element of y can only be the entry of one position, and not a sequence."""
    return isinstance(one, (str, bytes, set, frozenset)) or not isinstance(one, Iterable)


def label_lists(y: Iterable[Any], name: str = "y", *, lengths: Any = None) -> list[Sequence[Any]]:
    """Return y as a list of lists (or tuples) of Python objects, which can be iterated more than once.

    With ``lengths``, y may also have the labels of all positions, end to end.
    """
    sequences: list[Sequence[Any]] = list(listed(cut_labels(y, lengths), name, "sequences of labels"))
    for i, sequence in enumerate(sequences):
        if isinstance(sequence, (list, tuple)):
            continue
        if isinstance(sequence, (str, bytes, Mapping, set, frozenset)) or not isinstance(sequence, Iterable):
            raise InputError(
                f"{name} must be a list of sequences of labels, but sequence {i} is "
                f"{type(sequence).__name__} {sequence!r:.60}; write a single sequence as [[…]]; labels of "
                "all positions in one list need lengths="
            )
        # NumPy arrays, pandas Series: Python objects from here on.
        sequences[i] = sequence.tolist() if hasattr(sequence, "tolist") else list(sequence)
    return sequences


def _checked_kinds_of_sets(sequences: list[Sequence[Any]]) -> set[type]:
    """Return the types of the sets of labels in y.

    Raise if a label has an unsupported type, or if two labels of different types are equal.
    """
    types = set(map(type, chain.from_iterable(sequences)))
    sets = {kind for kind in types if issubclass(kind, _PARTIAL)}
    if sets:
        found = (entry for entry in chain.from_iterable(sequences) if type(entry) in sets)
        types = (types - sets).union(map(type, chain.from_iterable(found)))
    for kind in types:
        if not issubclass(kind, (str, int, np.integer, np.bool_, type(None))):
            i, t, label = next(
                (i, t, label)
                for i, sequence in enumerate(sequences)
                for t, found in enumerate(sequence)
                for label in _members(found)
                if type(label) is kind
            )
            raise InputError(
                f"sequence {i}, position {t}: a label must be a str, int or bool, None where it is missing, "
                f"or a set of labels; got {kind.__name__} {label!r:.60}"
            )
    numbers = [kind for kind in types if issubclass(kind, (int, np.integer, np.bool_))]
    if len({issubclass(kind, (bool, np.bool_)) for kind in numbers}) > 1:
        labels = {
            (isinstance(label, (bool, np.bool_)), label)
            for found in chain.from_iterable(sequences)
            for label in _members(found)
            if type(label) in numbers
        }
        for label in (0, 1):
            if (True, label) in labels and (False, label) in labels:
                raise InputError(
                    f"y has both the label {label} and the label {bool(label)}, which are equal in Python: "
                    "use one of them, or strings"
                )
    return sets


def _place_of(label: Any, sequences: list[Sequence[Any]]) -> str:
    return next(
        f"sequence {i}, position {t}"
        for i, sequence in enumerate(sequences)
        for t, found in enumerate(sequence)
        if label in _members(found)
    )


def _members(label: Any) -> Iterable[Any]:
    return label if isinstance(label, _PARTIAL) else (label,)


def _plain(label: Any) -> Any:
    """Convert a NumPy scalar to a Python object."""
    return label.item() if isinstance(label, np.generic) else label


def _type_name(label: Any) -> str:
    return "bool" if isinstance(label, bool) else "int" if isinstance(label, int) else "str"


def _check_lengths(sequences: list[Sequence[Any]], offsets: IntArray) -> None:
    if len(sequences) != offsets.size - 1:
        raise InputError(f"X has {offsets.size - 1} sequences but y has {len(sequences)}")
    expected = np.diff(offsets)  # [N]
    found = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))  # [N]
    if not np.array_equal(expected, found):
        i = int(np.argmax(expected != found))
        raise InputError(f"sequence {i} has {expected[i]} items but {found[i]} labels")


def _encode_partial(
    sequences: list[Sequence[Any]], sets: set[type], index: dict[Any, int], offsets: IntArray, ignore: bool
) -> Labels:
    """Encode labels that may be missing or sets. Each different entry is encoded once, then looked up."""
    entries = [frozenset(label) if type(label) in sets else label for label in chain.from_iterable(sequences)]
    numbers = {entry: number for number, entry in enumerate(dict.fromkeys(entries))}
    kind = np.fromiter(map(numbers.__getitem__, entries), np.int32, count=len(entries))  # [ΣT]
    ids = np.full(len(numbers), -1, np.int32)  # [K] of the entries
    rows = np.zeros((len(numbers), len(index)), np.bool_)  # [K, L] labels that an entry permits
    for entry, number in numbers.items():
        known: set[int] = set()
        try:
            if isinstance(entry, frozenset):
                known = _permitted(entry, index, ignore)
            elif entry in index:
                known = {index[entry]}
            elif entry is not None and not ignore:
                raise _unknown_label(entry, index)
        except InputError as error:
            sequence, position = place_of(offsets, int(np.argmax(kind == number)))
            raise InputError(f"sequence {sequence}, position {position}: {error}") from None
        if len(known) == 1:
            ids[number] = next(iter(known))
        rows[number, list(known) if known else slice(None)] = True
    found = ids[kind]
    return Labels(found, rows[kind] if (found < 0).any() else None)


def _permitted(label: frozenset[Any], index: dict[Any, int], ignore: bool) -> set[int]:
    """Return the ids of the labels in a set; empty (any label) if all are unknown and ignored."""
    if not label:
        raise InputError("an empty set permits no label at all")
    if None in label:
        raise InputError("None within a set of labels; use None instead of the set if any label is possible")
    unknown = [member for member in label if member not in index]
    if unknown and not ignore:
        raise _unknown_label(unknown[0], index)
    return {index[member] for member in label if member in index}


def _unknown_label(label: Any, index: dict[Any, int]) -> InputError:
    shown = ", ".join(repr(known) for known in list(index)[:10]) + (", …" if len(index) > 10 else "")
    return InputError(f"label {label!r} is not among the {len(index)} known ones: {shown}")
