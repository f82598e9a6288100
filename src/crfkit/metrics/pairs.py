"""Pairs of true and predicted labels, checked and coded once for all metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.label_codes import LabelCodes, LabelSequences
from crfkit.data.sequences import Batch
from crfkit.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Pairs(Batch):
    """Two labellings of the same N sequences, over the same K names."""

    names: list[Hashable]  # [K]
    true: IntArray  # [ΣT] places in names
    pred: IntArray  # [ΣT]
    offsets: IntArray  # [N+1]
    places: tuple[str, str] = ("y_true[{i}][{t}]", "y_pred[{i}][{t}]")  # how messages name positions

    @classmethod
    def of(
        cls, y_true: LabelSequences, y_pred: LabelSequences, called: tuple[str, str] = ("y_true", "y_pred")
    ) -> Pairs:
        """Check and code both labellings; they must have the same shape and no missing labels."""
        true, pred = LabelCodes.of(y_true, called[0]).slim(), LabelCodes.of(y_pred, called[1]).slim()
        if len(true) != len(pred):
            raise InputError(
                f"{called[0]} has {len(true)} sequences but {called[1]} has {len(pred)}; "
                "pass predictions for the same sequences"
            )
        lengths, other = true.lengths, pred.lengths  # [N]
        if not np.array_equal(lengths, other):
            i = int(np.argmax(lengths != other))
            raise InputError(
                f"sequence {i}: {called[0]} has {lengths[i]} labels but {called[1]} has {other[i]}; "
                "both must have one label per position"
            )
        names = list(dict.fromkeys([*true.names, *pred.names]))
        places = (f"{called[0]}[{{i}}][{{t}}]", f"{called[1]}[{{i}}][{{t}}]")
        return cls(
            names,
            _places(true.names, names)[true.ids],
            _places(pred.names, names)[pred.ids],
            true.offsets,
            places,
        )

    def over(self, names: list[Hashable]) -> Pairs:
        """Return the same pairs over other names, which must include all of these."""
        table = _places(self.names, names)  # [K]
        return replace(self, names=names, true=table[self.true], pred=table[self.pred])

    def with_tokens(self) -> Pairs:
        """Return the pairs; raise ``InputError`` if there are no tokens."""
        if not self.n_tokens:
            raise InputError("no tokens to score: all sequences are empty")
        return self

    @property
    def n_tokens(self) -> int:
        return len(self.true)

    @property
    def right(self) -> BoolArray:
        """Whether the predicted label is the true one [ΣT]."""
        right: BoolArray = self.true == self.pred
        return right

    @property
    def sequence_of(self) -> IntArray:
        """The sequence that each position lies in [ΣT]."""
        return np.repeat(np.arange(self.n_sequences), self.lengths)

    def renamed(self, rename: Callable[[Hashable], Hashable]) -> Pairs:
        """Return the pairs with renamed labels; labels with the same new name become one label."""
        new = [rename(name) for name in self.names]
        return replace(self, names=new).over(list(dict.fromkeys(new)))

    def first_place(self, name: int) -> str | None:
        """Return the first position of the label with this place in names, for messages; None: nowhere."""
        for text, ids in zip(self.places, (self.true, self.pred), strict=True):
            seen = np.flatnonzero(ids == name)
            if len(seen):
                i, t = self.place(seen[0])
                return text.format(i=i, t=t)
        return None


def _places(names: Sequence[Hashable], among: Sequence[Hashable]) -> IntArray:
    """Return the place of each name among others [K]."""
    place = {name: k for k, name in enumerate(among)}
    return np.array([place[name] for name in names], dtype=np.int64)


def sorted_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return the distinct labels in a stable order: by the name of their type, then by value."""
    return sorted(set(labels), key=lambda label: (type(label).__name__, label))
