"""Sequences of rows of text cells: what a column file holds.

A cell is the id of its text in a vocabulary of the distinct cells: a table takes four bytes per cell, and
every text is kept once. Python strings are made only when rows or columns are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import IdArray, IntArray
from crfkit.data.sequences import Batch, checked_ids, gather
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

Row = list[str]

NO_FILE = "rows"  # the source of data that was not read from a file


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Batch, Sequence[list[Row]]):
    """Sequences of rows of K cells, end to end; as a Python sequence, one list of rows per sentence.

    ``columns[i]`` is the list of rows of sequence i, ``columns[a:b]`` the ``Columns`` of some sequences.
    """

    cells: Vocabulary  # the distinct cells
    ids: IdArray  # [ΣT, K], places in cells
    offsets: IntArray  # [N+1]
    lines: IntArray  # [ΣT], line numbers in the source, from 1
    source: str  # where it comes from, for messages
    _texts: list[npt.NDArray[np.object_]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        shapes = {"ids": (np.int32, 2), "offsets": (np.int64, 1), "lines": (np.int64, 1)}
        for name, (dtype, rank) in shapes.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != rank or not array.flags.c_contiguous:
                raise InputError(
                    f"{name} must be a contiguous {rank}-D {np.dtype(dtype)} array, "
                    f"got {array.ndim}-D {array.dtype}"
                )
        ends_meet = (
            self.offsets.size > 0
            and self.offsets[0] == 0
            and self.offsets[-1] == len(self.ids) == self.lines.size
            and bool((np.diff(self.offsets) >= 0).all())
        )
        if not ends_meet:
            raise InputError(
                f"offsets, ids and lines do not fit together: {self.offsets.size - 1} sequences, "
                f"{len(self.ids)} rows, {self.lines.size} line numbers"
            )

    @classmethod
    def from_rows(cls, sentences: Iterable[Iterable[Sequence[str]]], source: str = NO_FILE) -> Columns:
        """Make columns of sentences of rows of str; line numbers are those of a file written from them.

        >>> Columns.from_rows([[("The", "DT"), ("dog", "NN")]]).column(1)
        [['DT', 'NN']]
        """
        return cls.from_native(_native.columns_from_rows(sentences), source)

    @classmethod
    def from_native(
        cls, arrays: tuple[_native.Vocabulary, IdArray, IntArray, IntArray], source: str
    ) -> Columns:
        """Make columns of the native readers' result: cells, ids [ΣT, K], offsets [N+1] and lines [ΣT]."""
        cells, ids, offsets, lines = arrays
        return cls(Vocabulary.from_native(cells), ids, offsets, lines, source)

    @property
    def n_columns(self) -> int:
        """K, the number of cells in every row; 0 if there are no rows."""
        return int(self.ids.shape[1])

    def __len__(self) -> int:
        return self.n_sequences

    @overload
    def __getitem__(self, index: int) -> list[Row]: ...
    @overload
    def __getitem__(self, index: slice) -> Columns: ...
    def __getitem__(self, index: int | slice) -> list[Row] | Columns:
        if isinstance(index, slice):
            return self.subset(np.arange(self.n_sequences)[index])
        i = range(self.n_sequences)[index]
        rows: list[Row] = self._text()[self.ids[self.offsets[i] : self.offsets[i + 1]]].tolist()
        return rows

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Columns, list)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it compares equal to lists

    def __repr__(self) -> str:
        return (
            f"Columns({self.n_sequences} sequences, {self.n_positions} rows, {self.n_columns} columns, "
            f"from {self.source!r})"
        )

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        return (Columns, (self.cells, self.ids, self.offsets, self.lines, self.source))

    def column(self, k: int) -> list[list[str]]:
        """Return the cells of column k, one list per sequence; -1 is the last column."""
        texts = self._text()[self.ids[:, self._column_index(k)]].tolist()
        return [texts[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def codes(self, k: int) -> tuple[list[str], IdArray]:
        """Return the distinct cells of column k in order of appearance, and every row's code, [ΣT]."""
        ids = np.ascontiguousarray(self.ids[:, self._column_index(k)])
        chosen, codes = _native.renumber(ids, len(self.cells))
        return [self.cells.strings(i, i + 1)[0] for i in chosen.tolist()], codes

    def without(self, k: int) -> Columns:
        """Return all columns except k: those that a template may read when column k holds the labels."""
        left_out = self._column_index(k)
        return self.select([place for place in range(self.n_columns) if place != left_out])

    def select(self, places: Sequence[int]) -> Columns:
        """Return the columns at these places, in this order."""
        ids = np.ascontiguousarray(self.ids[:, [self._column_index(k) for k in places]])
        return Columns(self.cells, ids, self.offsets, self.lines, self.source)

    def subset(self, sequence_ids: Sequence[int] | npt.NDArray[np.integer]) -> Columns:
        """Return the given sequences, in the given order; a sequence may come more than once."""
        offsets, rows = gather(self.offsets, checked_ids(sequence_ids, self.n_sequences))
        return Columns(self.cells, self.ids[rows], offsets, self.lines[rows], self.source)

    def text(
        self,
        *more: tuple[Sequence[str], npt.NDArray[np.integer]],
        separator: Literal["\t", " "] = "\t",
    ) -> bytes:
        """Return the bytes of the column file, with an empty line after every sequence.

        Each of ``more`` is an additional last column, as ``codes`` returns it: strings, and every row's place
        in them, [ΣT]. A cell that would not be read back as one cell raises ``InputError``.
        """
        if separator not in ("\t", " "):
            raise InputError(f"separator must be a tab or a blank, got {separator!r}")
        names: list[str] = []
        codes = np.empty((self.n_positions, len(more)), dtype=np.int32)  # [ΣT, E]
        for e, (strings, places) in enumerate(more):
            codes[:, e] = places
            if places.size and not (places.min() >= 0 and places.max() < len(strings)):
                raise InputError(
                    f"places must be in 0..{len(strings) - 1}, got {places.min()}..{places.max()}"
                )
            codes[:, e] += len(names)
            names.extend(strings)
        return _native.columns_text(self.cells.native, self.ids, self.offsets, names, codes, separator)

    def _column_index(self, k: int) -> int:
        if not -self.n_columns <= k < self.n_columns:
            raise InputError(
                f"{self.source}: there is no column {k}: the rows have {self.n_columns} columns"
                + (f", 0 to {self.n_columns - 1}" if self.n_columns else "")
            )
        return k % self.n_columns

    def _text(self) -> npt.NDArray[np.object_]:
        """Return the distinct cells as Python strings, [len(cells)]; they are made once."""
        if not self._texts:
            strings: list[Any] = self.cells.strings()
            texts = np.empty(len(strings), dtype=object)
            texts[:] = strings
            self._texts.append(texts)
        return self._texts[0]
