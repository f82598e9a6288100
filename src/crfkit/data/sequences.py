"""A batch of sequences, each position a sparse row of attributes: the layout that the native core reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

_ENTRIES = 1 << 22  # attributes at positions that are worked on at once


class Batch:
    """Base class of batches: N sequences, laid end to end."""

    offsets: IntArray  # [N+1]

    @property
    def n_sequences(self) -> int:
        return self.offsets.size - 1

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])  # ΣT

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)  # [N]

    @property
    def first(self) -> BoolArray:
        """Whether a position is the first of its sequence [ΣT]."""
        return ~inner_positions(self.offsets)

    def place(self, position: int | np.integer[Any]) -> tuple[int, int]:
        """Return the sequence of a position of the batch, and the position within that sequence."""
        return place_of(self.offsets, position)


@dataclass(frozen=True)
class Sequences(Batch):
    """Sequences of sparse attribute rows, end to end.

    Sequence i has the positions ``offsets[i] .. offsets[i+1]-1``; position t has the attributes
    ``indices[indptr[t]:indptr[t+1]]``, each at most once, with the values beside them.
    """

    offsets: IntArray  # [N+1]
    indptr: IntArray  # [ΣT+1]
    indices: IdArray  # [nnz]
    values: FloatArray | None  # [nnz]; None: all ones
    n_attributes: int  # A; indices are below it
    # The directory of the blocks that the arrays are mapped from; None: they are in memory.
    home: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        expected = (
            ("offsets", np.int64),
            ("indptr", np.int64),
            ("indices", np.int32),
            ("values", np.float64),
        )
        for name, dtype in expected:
            array = getattr(self, name)
            if name == "values" and array is None:
                continue
            if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
                raise InputError(
                    f"{name} must be a contiguous 1-D {np.dtype(dtype)} array, "
                    f"got {array.ndim}-D {array.dtype}"
                )
        ends_meet = (
            self.offsets.size > 0
            and self.indptr.size > 0
            and self.offsets[0] == 0
            and self.offsets[-1] == self.indptr.size - 1
            and self.indptr[0] == 0
            and self.indptr[-1] == self.indices.size
            and (self.values is None or self.values.size == self.indices.size)
        )
        if not ends_meet:
            raise InputError(
                "offsets, indptr, indices and values do not fit together: "
                f"{self.offsets.size - 1} sequences, {self.indptr.size - 1} positions, "
                f"{self.indices.size} attributes"
            )

    def subset(self, sequence_ids: Sequence[int] | npt.NDArray[np.integer]) -> Sequences:
        """Return the given sequences, in the given order; a sequence may come more than once."""
        chosen = checked_ids(sequence_ids, self.n_sequences)
        offsets, positions = gather(self.offsets, chosen)
        indptr, entries = gather(self.indptr, positions)
        return Sequences(
            offsets=offsets,
            indptr=indptr,
            indices=self.indices[entries],
            values=None if self.values is None else self.values[entries],
            n_attributes=self.n_attributes,
        )

    def entry_pieces(self) -> Iterator[slice]:
        """Yield the ranges of entries for work that shall need little memory: they cover all of them."""
        size = max(_ENTRIES, self.n_attributes)  # a count per attribute must not cost more than the entries
        for start in range(0, self.indices.size, size):
            yield slice(start, min(start + size, self.indices.size))

    def by_attribute(self, weights: Callable[[slice], FloatArray] | None = None) -> FloatArray:
        """Return for each attribute how often it occurs [A], or the sum of such weights of its entries."""
        total = np.zeros(self.n_attributes)
        for part in self.entry_pieces():
            own = None if weights is None else weights(part)
            total += np.bincount(self.indices[part], own, minlength=self.n_attributes)
        return total

    def only(self, kept: BoolArray) -> Sequences:
        """Return the same positions with only the entries ``kept`` [nnz]."""
        before = offsets_of(kept)  # [nnz+1] how many kept entries are before a place
        return Sequences(
            offsets=self.offsets,
            indptr=before[self.indptr],
            indices=self.indices[kept],
            values=None if self.values is None else self.values[kept],
            n_attributes=self.n_attributes,
        )

    def with_entries(
        self,
        indptr: IntArray,  # [ΣT+1]
        indices: IdArray,
        values: FloatArray | None,
    ) -> Sequences:
        """Return the same positions with further entries, of new attributes, at the end of each."""
        bounds = self.indptr + indptr  # [ΣT+1]
        total = int(bounds[-1])
        mine = np.arange(self.indices.size) + np.repeat(indptr[:-1], np.diff(self.indptr))
        theirs = np.arange(len(indices)) + np.repeat(self.indptr[1:], np.diff(indptr))
        joined = np.empty(total, np.int32)
        joined[mine], joined[theirs] = self.indices, indices
        all_values = None
        if self.values is not None or values is not None:
            all_values = np.ones(total)
            all_values[mine] = 1.0 if self.values is None else self.values
            all_values[theirs] = 1.0 if values is None else values
        return Sequences(self.offsets, bounds, joined, all_values, self.n_attributes)

    @classmethod
    def end_to_end(cls, parts: Sequence[Sequences], n_attributes: int) -> Sequences:
        """Concatenate the sequences of the parts, which share one vocabulary."""
        values = None
        if any(part.values is not None for part in parts):
            values = np.concatenate(
                [np.ones(part.indices.size) if part.values is None else part.values for part in parts]
            )
        return cls(
            offsets=_joined([part.offsets for part in parts]),
            indptr=_joined([part.indptr for part in parts]),
            indices=np.concatenate([np.zeros(0, np.int32), *(part.indices for part in parts)]),
            values=values,
            n_attributes=n_attributes,
        )


def _joined(bounds: list[IntArray]) -> IntArray:
    """Return the bounds of ranges laid end to end."""
    return offsets_of(np.concatenate([np.zeros(0, np.int64), *(np.diff(some) for some in bounds)]))


@dataclass(frozen=True)
class LabelHints:
    """Prior knowledge of labels: the only label that an attribute scores, the label that a position has."""

    classes: list[Any]  # the labels whose places the arrays hold
    own: IdArray | None  # [A] the one label that an attribute scores; -1: any
    forced: IdArray | None  # [ΣT] the label that a position gets in decoding; -1: any

    def own_among(self, classes: list[Any]) -> IdArray | None:
        """Return ``own`` as places in these labels."""
        return None if self.own is None else self._places(classes)[self.own]

    def forced_among(self, classes: list[Any]) -> IdArray | None:
        """Return ``forced`` as places in these labels; a label that is not among them is not forced."""
        return None if self.forced is None else self._places(classes)[self.forced]

    def _places(self, classes: list[Any]) -> IdArray:
        place = {label: i for i, label in enumerate(classes)}
        return np.array([*(place.get(label, -1) for label in self.classes), -1], np.int32)  # the last: none


@dataclass(frozen=True)
class Encoded:
    """Sequences and the vocabulary whose ids they hold: an X that is encoded already."""

    sequences: Sequences
    vocabulary: Vocabulary
    hints: LabelHints | None = None

    def forced(self, classes: list[Any]) -> IdArray | None:
        """Return the forced label of each position, as a place in ``classes`` [ΣT]; -1: any."""
        return None if self.hints is None else self.hints.forced_among(classes)


def checked_ids(sequence_ids: Sequence[int] | npt.NDArray[np.integer], n_sequences: int) -> IntArray:
    """Return the numbers of sequences [M] as an array; raise unless all are in 0 .. N-1."""
    chosen = np.asarray(sequence_ids, dtype=np.int64)
    if chosen.ndim != 1:
        raise InputError(f"sequence_ids must be 1-D, got {chosen.ndim}-D")
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_sequences):
        raise InputError(f"sequence_ids must be in 0..{n_sequences - 1}, got {chosen.min()}..{chosen.max()}")
    return chosen


def chosen_rows(x: Sequences, chosen: IntArray) -> Sequences:
    """Return some rows of attributes, as one sequence."""
    by_row = Sequences(
        np.arange(len(x.indptr), dtype=np.int64),
        x.indptr,
        x.indices,
        x.values,
        x.n_attributes,
    ).subset(chosen)
    bounds = np.array([0, len(chosen)], np.int64)
    return Sequences(bounds, by_row.indptr, by_row.indices, by_row.values, by_row.n_attributes)


def gather(bounds: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the bounds [M+1] of the chosen ranges laid end to end, and the old place of every element."""
    starts = bounds[chosen]  # [M]
    new_bounds = offsets_of(bounds[chosen + 1] - starts)
    shift = np.repeat(starts - new_bounds[:-1], np.diff(new_bounds))
    return new_bounds, np.arange(new_bounds[-1], dtype=np.int64) + shift


def offsets_of(lengths: npt.ArrayLike) -> IntArray:
    """Return the offsets [N+1] of sequences with these lengths [N], laid end to end."""
    counts = np.asarray(lengths, dtype=np.int64)
    offsets = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def whole_pieces(offsets: IntArray, positions: int = 1 << 20) -> Iterator[tuple[int, int]]:
    """Yield ranges of sequences, first .. last - 1, of about so many positions, which cover all of them.

    Work on one range at a time needs little memory, even if the data is larger than memory.
    """
    first, n = 0, offsets.size - 1
    while first < n:
        end = int(np.searchsorted(offsets, offsets[first] + positions, side="right")) - 1
        last = min(n, max(end, first + 1))
        yield first, last
        first = last


def first_positions(offsets: IntArray) -> IntArray:
    """Return the place of the first position of every sequence that is not empty."""
    return offsets[:-1][offsets[:-1] < offsets[1:]]


def inner_positions(offsets: IntArray) -> BoolArray:
    """Tell for every position [ΣT] whether another one of its sequence comes before it."""
    inner = np.ones(int(offsets[-1]), np.bool_)
    inner[first_positions(offsets)] = False
    return inner


def place_of(offsets: IntArray, position: int | np.integer[Any]) -> tuple[int, int]:
    """Return the sequence of a position of the batch, and the position within that sequence."""
    sequence = int(np.searchsorted(offsets, position, side="right")) - 1
    return sequence, int(position - offsets[sequence])
