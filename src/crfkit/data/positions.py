"""X for kernels: the positions of all sequences as rows of one table, with offsets.

Rows are numbers (a dense array or a sparse matrix in CSR form) or, for kernels that are functions of the
user's own, any objects that the function compares, such as strings or trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.data.columns import Columns
from crfkit.data.reading import (
    cut,
    is_frame,
    is_matrix,
    is_sparse,
    listed,
    place,
    refuse_masked,
    sequences_in,
)
from crfkit.data.sequences import Batch, gather, offsets_of
from crfkit.exceptions import InputError
from crfkit.optional import needed

Rows = Any  # [n, d] float64 array, CSR matrix of float64, or a list of n objects


@dataclass(frozen=True)
class Positions(Batch):
    """N sequences with ΣT positions."""

    rows: Rows  # ΣT of them
    offsets: IntArray  # [N+1]

    @property
    def width(self) -> int | None:
        """How many numbers a row has; None if rows are objects."""
        return None if isinstance(self.rows, list) else int(self.rows.shape[1])

    def tables(self) -> list[Rows]:
        """Return the rows of each sequence."""
        return [self.rows[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def subset(self, sequences: npt.NDArray[np.integer]) -> Positions:
        offsets, places = gather(self.offsets, np.asarray(sequences, np.int64))
        return Positions(take_rows(self.rows, places), offsets)


def take_rows(rows: Rows, places: npt.NDArray[np.integer]) -> Rows:
    """Return the rows at the given places."""
    if isinstance(rows, list):
        return [rows[i] for i in places.tolist()]
    return rows[places]


def n_rows(rows: Rows) -> int:
    """Return the number of rows."""
    return len(rows) if isinstance(rows, list) else int(rows.shape[0])


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """Stack the rows of several tables."""
    if all(isinstance(part, list) for part in parts):
        return [row for part in parts for row in part]
    if any(is_sparse(part) for part in parts):
        sparse = needed("scipy.sparse", "a sparse X")
        return sparse.csr_matrix(sparse.vstack(parts))
    return np.concatenate(parts)


def read_positions(
    X: Any, lengths: Any = None, *, objects: bool = False, width: int | None = None, name: str = "X"
) -> Positions:
    """Read X as positions.

    X is a list of arrays or sparse matrices [T, d], one per sequence; an array [N, T, d]; or one table with
    the rows of all sequences and their ``lengths``. With ``objects`` a sequence may be a list (or a string)
    of T objects as well. ``width`` is the expected d. The cells of ``Columns`` are read as numbers; if a row
    has more than ``width`` cells, the first ``width`` are used.
    """
    if isinstance(X, Columns):
        return _read_columns(X, width)
    if lengths is not None:
        offsets = cut(X, lengths, name)
        rows = _numbers(X, name)
        _check_width(rows.shape[1], width, name)
        _check_finite(rows, offsets, name)
        return Positions(rows, offsets)
    sequences = list(sequences_in(X, name))
    if objects and sequences and not _are_tables(sequences):
        return read_objects(sequences, name)
    parts: list[Rows] = []
    for i, sequence in enumerate(sequences):
        where = f"{name}, sequence {i}"
        part = _numbers(sequence, where)
        if part.shape[0] == 0 and part.shape[1] == 0:
            part = None  # an empty list: no positions, of any width
        else:
            _check_width(part.shape[1], width, where)
            width = part.shape[1]
        parts.append(part)
    empty = np.zeros((0, width or 0))
    filled = [empty if part is None else part for part in parts]
    offsets = offsets_of([part.shape[0] for part in filled])
    rows = stack_rows(filled) if filled else empty
    _check_finite(rows, offsets, name)
    return Positions(rows, offsets)


def read_objects(sequences: Iterable[Any], name: str = "X") -> Positions:
    """Read sequences of objects, even if they look like rows of numbers."""
    rows: list[Any] = []
    counts = []
    for i, sequence in enumerate(listed(sequences, name)):
        if isinstance(sequence, Mapping) or not isinstance(sequence, Iterable):
            raise InputError(f"{name}, sequence {i}: expected a list of items, got {type(sequence).__name__}")
        items = list(sequence)
        rows += items
        counts.append(len(items))
    return Positions(rows, offsets_of(counts))


def _read_columns(X: Columns, width: int | None) -> Positions:
    """Read the cells of a text file as numbers."""
    width = X.n_columns if width is None else width
    if X.n_columns < width:
        raise InputError(f"{X.source}: expected {width} columns of numbers, got {X.n_columns}")
    numbers = np.full(len(X.cells), np.nan)
    for i, cell in enumerate(X.cells.strings()):
        try:
            numbers[i] = float(cell)
        except ValueError:
            continue  # a word: an error only if it is in a column that is used
    rows = np.ascontiguousarray(numbers[X.ids[:, :width]])  # [ΣT, d]
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = (int(place) for place in bad[0])
        cell = X.cells.strings()[X.ids[row, column]]
        raise InputError(
            f"{X.source}:{X.lines[row]}: expected a finite number in column {column}, got {cell!r}"
        )
    return Positions(rows, X.offsets)


def _are_tables(sequences: Sequence[Any]) -> bool:
    """Tell whether sequences are tables of numbers and not lists of objects, such as tuples of any length."""
    if any(is_matrix(sequence) or is_frame(sequence) for sequence in sequences):
        return True
    lists = [s for s in sequences if isinstance(s, Sequence) and not isinstance(s, (str, bytes))]
    if len(lists) < len(sequences):
        return False
    widths = {_width_of(item) for sequence in lists for item in sequence}
    return len(widths) == 1 and widths != {0}


def _width_of(item: Any) -> int:
    """Return the number of numbers in a row; 0 if it is not a row of numbers."""
    if not isinstance(item, (list, tuple, np.ndarray)) or getattr(item, "ndim", 1) != 1:
        return 0
    return len(item) if all(isinstance(value, (int, float, np.number)) for value in item) else 0


def _numbers(table: Any, where: str) -> Rows:
    """Return a table of numbers as float64, dense or CSR."""
    if is_sparse(table):
        csr = table.tocsr()
        if csr.dtype.kind not in "biuf":
            raise InputError(f"{where}: values must be real numbers, got {csr.dtype}")
        return csr.astype(np.float64)
    if is_frame(table):
        table = table.to_numpy()
    refuse_masked(table, where)
    try:
        array = np.asarray(table)
        if array.dtype.kind not in "biuf":
            array = np.asarray(table, dtype=np.float64) if array.size == 0 else array
    except ValueError as error:
        raise InputError(f"{where}: expected an array [T, d] of numbers: {error}") from error
    if array.size == 0 and array.ndim == 1:
        return np.zeros((0, 0))
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{where}: expected an array or sparse matrix [T, d] of numbers, got {array.ndim}-D "
            f"{array.dtype}; words and other objects need a kernel that is a function of them"
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_width(found: int, expected: int | None, where: str) -> None:
    if expected is not None and found != expected:
        raise InputError(f"{where}: expected {expected} columns as before, got {found}")


def _check_finite(rows: Rows, offsets: IntArray, name: str) -> None:
    if is_sparse(rows):
        good = np.isfinite(rows.data)
        if good.all():
            return
        entry = int(np.argmin(good))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        column, value = int(rows.indices[entry]), rows.data[entry]
    else:
        good = np.isfinite(rows)
        if good.all():
            return
        row, column = (int(place) for place in np.argwhere(~good)[0])
        value = rows[row, column]
    raise InputError(f"{name}, {place(offsets, row)}, column {column}: expected a finite number, got {value}")
