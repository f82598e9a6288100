"""The training sequences of a trainer, as arrays; the caller's objects are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, IdArray
from crfkit.compat.pycrfsuite.items import read_items
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError


@dataclass(frozen=True)
class Part:
    """Some of the sequences, with their labels as indices into ``Instances.labels``."""

    sequences: Sequences
    ids: IdArray  # [ΣT]


class Instances:
    """Item and label sequences, each in a group."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.labels: dict[str, int] = {}  # name: index, in order of first appearance
        self._pieces: list[Sequences] = []  # [N], of one sequence each
        self._ids: list[IdArray] = []  # [N] arrays [T]
        self._groups: list[int] = []  # [N]

    def append(self, xseq: Any, yseq: Any, group: int) -> None:
        """Add one sequence; if it raises an error, nothing is added."""
        name = f"sequence {len(self._pieces)}"
        names = _label_names(yseq, name)
        sequence = read_items(xseq, self.vocabulary, grow=True, name=name)
        if sequence.n_positions != len(names):
            raise InputError(
                f"{name}: xseq has {sequence.n_positions} items but yseq has {len(names)} labels; every item "
                "needs one label"
            )
        ids = [self.labels.setdefault(label, len(self.labels)) for label in names]
        self._pieces.append(sequence)
        self._ids.append(np.array(ids, dtype=np.int32))
        self._groups.append(group)

    def groups(self) -> set[int]:
        return set(self._groups)

    def part(self, chosen: BoolArray | None = None) -> Part:
        """Return the chosen sequences [N], or all, concatenated; values of 0 are kept."""
        picks = range(len(self._pieces)) if chosen is None else np.flatnonzero(chosen).tolist()
        ids = [self._ids[i] for i in picks]
        return Part(
            Sequences.end_to_end([self._pieces[i] for i in picks], len(self.vocabulary)),
            np.concatenate(ids) if ids else np.zeros(0, dtype=np.int32),
        )

    def in_group(self, group: int) -> BoolArray:
        """Return which sequences are in the group [N]."""
        return np.array([found == group for found in self._groups], dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._pieces)


def _label_names(yseq: Any, name: str) -> list[str]:
    if isinstance(yseq, (str, bytes, Mapping)) or not isinstance(yseq, Iterable):
        raise InputError(f"{name}: yseq must be a list of labels, got {type(yseq).__name__} {yseq!r:.60}")
    found = []
    for position, label in enumerate(yseq):
        if isinstance(label, bytes):
            label = label.decode("utf-8")
        if not isinstance(label, str):
            raise InputError(
                f"{name}, position {position}: a label must be a str here, as in CRFsuite; got "
                f"{type(label).__name__} {label!r:.60}. Use str(label), or crfkit.CRF, which also takes "
                "numbers, missing labels and sets of labels"
            )
        found.append(str(label))
    return found


def without_zeros(sequences: Sequences) -> Sequences:
    """Return the sequences without attributes of value 0, as training expects them."""
    if sequences.values is None:
        return sequences
    left = sequences.only(sequences.values != 0)
    return replace(left, values=None) if left.values is None or (left.values == 1).all() else left
