"""Label sequences as numbers: the distinct labels once, and each position's place among them.

Scoring, conversion between schemes and resampling work on these arrays. A ``LabelCodes`` is also a sequence
of label lists, so it can be passed as y. Columns of a file are coded natively, and scoring them makes no
Python object per token.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.data.sequences import Batch, offsets_of
from crfkit.exceptions import InputError

LabelSequences = Sequence[Sequence[Hashable]]


@dataclass(frozen=True, eq=False)
class LabelCodes(Batch, Sequence[list[Any]]):
    """N label sequences over K distinct labels. Position t has the label ``names[ids[t]]``."""

    names: Sequence[Hashable]  # [K]
    ids: npt.NDArray[np.integer]  # [ΣT]
    offsets: IntArray  # [N+1]

    def __post_init__(self) -> None:
        ids, offsets = self.ids, self.offsets
        if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
            raise InputError("offsets must be a vector that begins with 0 and never falls")
        if ids.shape != (int(offsets[-1]),):
            raise InputError(f"offsets end at {offsets[-1]}, but there are ids of shape {ids.shape}")
        if len(ids) and (ids.min() < 0 or ids.max() >= len(self.names)):
            raise InputError(
                f"ids must be in 0..{len(self.names) - 1}, places in names; got {ids.min()}..{ids.max()}"
            )

    @classmethod
    def of(cls, y: LabelSequences, name: str = "y") -> LabelCodes:
        """Return the codes of y; ``name`` is its name in messages. A ``LabelCodes`` is returned unchanged."""
        if isinstance(y, LabelCodes):
            return y
        _check_lists(y, name)
        try:
            place = {label: i for i, label in enumerate(dict.fromkeys(chain.from_iterable(y)))}
        except TypeError:
            i, t, label = next(
                (i, t, label)
                for i, sequence in enumerate(y)
                for t, label in enumerate(sequence)
                if not isinstance(label, Hashable)
            )
            raise InputError(
                f"{name}[{i}][{t}] is {label!r:.60}, not a label: labels are strings, numbers or other "
                "hashable values, one per position"
            ) from None
        offsets = offsets_of([len(sequence) for sequence in y])
        ids = np.fromiter(
            map(place.__getitem__, chain.from_iterable(y)), dtype=np.int32, count=int(offsets[-1])
        )
        return cls(list(place), ids, offsets)

    def slim(self) -> LabelCodes:
        """Return the same codes without the names that do not occur."""
        used = np.bincount(self.ids, minlength=len(self.names)) > 0  # [K]
        if used.all():
            return self
        new = np.cumsum(used) - 1  # [K]
        return LabelCodes([self.names[k] for k in np.flatnonzero(used).tolist()], new[self.ids], self.offsets)

    def lists(self) -> list[list[Any]]:
        table = np.empty(len(self.names), dtype=object)  # [K]
        table[:] = self.names
        labels = table[self.ids].tolist()
        return [labels[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.lists())

    @overload
    def __getitem__(self, index: int) -> list[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Any]]: ...
    def __getitem__(self, index: int | slice) -> list[Any] | list[list[Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        return [self.names[k] for k in self.ids[self.offsets[i] : self.offsets[i + 1]]]


def _check_lists(y: Any, name: str) -> None:
    """Raise an ``InputError`` unless y is a list of label sequences with a label at every position."""
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise InputError(f"{name} must be a list of label sequences, got {type(y).__name__}")
    for i, sequence in enumerate(y):
        if isinstance(sequence, str) or not hasattr(sequence, "__len__"):
            raise InputError(
                f"{name}[{i}] is {sequence!r}, but each sequence must be a list of labels; "
                "put a single sequence in a list of its own: [labels]"
            )
        if None in sequence:
            raise InputError(
                f"{name}[{i}][{list(sequence).index(None)}] is None, but a label is needed at every "
                "position; leave sequences with missing labels out"
            )
