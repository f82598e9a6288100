"""Tables of mixed values, read column by column; ``data.tables`` converts them to numbers.

A column is an array of numbers, an array of Python objects with None where a value is missing, or, for text
files, the distinct cells with each row's place in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IdArray, IntArray
from crfkit.data.columns import NO_FILE, Columns
from crfkit.data.reading import cut, frame_columns, is_frame, is_sparse, place, sequences_in
from crfkit.data.sequences import Encoded, offsets_of
from crfkit.exceptions import InputError


@dataclass(frozen=True)
class TextColumn:
    """Cells of a text file, which may be text or numbers."""

    cells: list[str]  # the distinct ones
    codes: IdArray  # [ΣT] places in them


RawColumn = npt.NDArray[Any] | TextColumn


@dataclass(frozen=True)
class RawTable:
    """The columns of all positions by name.

    ``named`` is False if columns are identified by place; their names are places, or come from a header.
    """

    columns: dict[str, RawColumn]  # each [ΣT]
    offsets: IntArray  # [N+1]
    named: bool
    lines: tuple[str, IntArray] | None = None  # of files: the name, and the line of each position [ΣT]
    header: bool = False  # whether columns that are identified by place also have names

    def name_of(self, meant: str | int) -> str | None:
        """Return the name of a column, given by its name or its place; None if there is no such column."""
        text = str(meant)
        if text in self.columns and (self.named or isinstance(meant, str)):
            return text
        if self.named or not text.isdecimal() or int(text) >= len(self.columns):
            return None
        return list(self.columns)[int(text)]

    def place(self, position: int) -> str:
        if self.lines is not None:
            return f"{self.lines[0]}:{self.lines[1][position]}"
        return place(self.offsets, position)


def read_raw(X: Any, lengths: Any = None) -> RawTable:
    """Read X column by column.

    X is a list of sequences of items (dicts of name to value; lists of values; or single values), a list of
    arrays [T, K] or [T] or of data frames, one array or data frame with all rows and ``lengths``, or
    ``Columns``. A value is a str, a bool or a number; None, NaN and a name that is not there are missing.
    """
    if isinstance(X, Columns):
        return _of_cells(X)
    if isinstance(X, Encoded):
        raise InputError(
            "X holds sparse attributes, but trees take columns: pass dicts, arrays, data frames or Columns "
            "as they are, without a step that makes attributes of them"
        )
    if lengths is not None:
        offsets = cut(X, lengths)
        columns = _frame_columns(X, "X") if is_frame(X) else _array_columns(X, "X")
        return RawTable(columns, offsets, is_frame(X))
    sequences = list(sequences_in(X))
    first = next((sequence for sequence in sequences if _length(sequence)), None)
    if is_frame(first):
        return _of_frames(sequences)
    if isinstance(first, np.ndarray) or is_sparse(first):
        return _of_arrays(sequences)
    return _of_items(sequences)


def _length(sequence: Any) -> int:
    try:
        return len(sequence)
    except TypeError:
        return 1  # the reader reports its type


def _of_cells(X: Columns) -> RawTable:
    n = X.n_columns if X.n_positions else 0
    header: Sequence[str] | None = getattr(X, "names", None)  # those of a csv file have one
    names = map(str, range(n)) if header is None else header[:n]
    columns: dict[str, RawColumn] = {name: TextColumn(*X.codes(k)) for k, name in enumerate(names)}
    lines = None if X.source == NO_FILE else (X.source, X.lines)
    return RawTable(columns, X.offsets, False, lines, header is not None)


# ---- frames and arrays


def _frame_columns(frame: Any, where: str) -> dict[str, RawColumn]:
    return {name: _series(column) for name, column in frame_columns(frame, where).items()}


def category(value: Any) -> str:
    """Return a value as a category; for numbers that are categories, 1, 1.0 and True are all "1"."""
    if isinstance(value, str):
        return value
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _series(series: Any) -> npt.NDArray[Any]:
    if str(series.dtype).lower().startswith("categor"):  # numbers are categories, too
        found = series.to_list()
        return _objects([None if is_missing(v) else category(v) if isinstance(v, Real) else v for v in found])
    values = series.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    return _present(series.to_list())


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, or one of pandas' missing values."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _present(values: Iterable[Any]) -> npt.NDArray[np.object_]:
    """Return the values with None for all that are missing."""
    return _objects([None if is_missing(value) else value for value in values])


def _objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _of_frames(frames: list[Any]) -> RawTable:
    # An empty sequence may be of any type: it need not have columns.
    parts = {i: _frame_columns(frame, f"sequence {i}") for i, frame in enumerate(frames) if _length(frame)}
    first = next(iter(parts))
    names = list(parts[first])
    for i, part in parts.items():
        different = set(part) ^ set(names)
        if different:
            raise InputError(
                f"sequence {i}: its columns are {', '.join(part)}, those of sequence {first} "
                f"{', '.join(names)}; all data frames must have the same (not so {sorted(different)[0]!r})"
            )
    return _joined(parts, frames, named=True)


def _joined(parts: dict[int, dict[str, RawColumn]], sequences: list[Any], named: bool) -> RawTable:
    """Concatenate the parts; sequences without a part are empty."""
    names = next(iter(parts.values()))
    columns: dict[str, RawColumn] = {
        name: _end_to_end([part[name] for part in parts.values()]) for name in names
    }
    return RawTable(columns, offsets_of([len(sequence) for sequence in sequences]), named)


def _end_to_end(parts: list[Any]) -> npt.NDArray[Any]:
    """Concatenate arrays; numbers and objects become objects (a column of None may be either)."""
    if len({part.dtype.kind == "O" for part in parts}) > 1:
        return _present(chain.from_iterable(part.tolist() for part in parts))
    joined: npt.NDArray[Any] = np.concatenate(parts)
    return joined


def _array_columns(array: Any, where: str) -> dict[str, RawColumn]:
    if not isinstance(array, np.ndarray):
        what = "a sparse matrix (pass .toarray())" if is_sparse(array) else type(array).__name__
        raise InputError(f"{where}: expected a 2-D array like the other sequences, got {what}")
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2:
        raise InputError(f"{where}: expected a 2-D array, one row per position, got {array.ndim}-D")
    if table.dtype.kind == "c":
        raise InputError(f"{where}: values must be real numbers, got {table.dtype}")
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(np.float64), np.nan)
    columns = {str(k): table[:, k] for k in range(table.shape[1])}
    if table.dtype.kind in "biuf":
        return dict(columns)
    return {name: _present(column.tolist()) for name, column in columns.items()}


def _of_arrays(arrays: list[Any]) -> RawTable:
    # An empty sequence may be of any type and width.
    parts = {i: _array_columns(array, f"sequence {i}") for i, array in enumerate(arrays) if _length(array)}
    first = next(iter(parts))
    for i, part in parts.items():
        if len(part) != len(parts[first]):
            raise InputError(
                f"sequence {i}: expected {len(parts[first])} columns like sequence {first}, got {len(part)}"
            )
    return _joined(parts, arrays, named=False)


# ---- items: Python objects


def _of_items(sequences: list[Any]) -> RawTable:
    for i, sequence in enumerate(sequences):
        if isinstance(sequence, (str, bytes, Mapping)) or not hasattr(sequence, "__len__"):
            hint = "; the letters of a word are list(word)" if isinstance(sequence, str) else ""
            raise InputError(
                f"sequence {i}: expected a list of items, one per position, got {type(sequence).__name__} "
                f"{sequence!r:.60}{hint}"
            )
    offsets = offsets_of([len(sequence) for sequence in sequences])
    items = list(chain.from_iterable(sequence for sequence in sequences if len(sequence)))
    if items and isinstance(items[0], Mapping):
        return RawTable(_named_columns(items, offsets), offsets, True)
    return RawTable(_cell_columns(items, offsets), offsets, False)


def _named_columns(items: list[Any], offsets: IntArray) -> dict[str, RawColumn]:
    columns: dict[str, npt.NDArray[np.object_]] = {}
    for t, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise _unlike(t, offsets, "a dict", item)
        for name, value in item.items():
            column = columns.get(name)
            if column is None:
                if not isinstance(name, str):
                    raise InputError(
                        f"{place(offsets, t)}: the name of a feature must be a str, got {name!r:.60}"
                    )
                column = columns[name] = np.full(len(items), None, dtype=object)
            column[t] = value
    return dict(columns)


def _cell_columns(items: list[Any], offsets: IntArray) -> dict[str, RawColumn]:
    """Return the columns of items that are lists of values, or single values (one column)."""
    if items and not isinstance(items[0], (list, tuple)):
        for t, item in enumerate(items):
            if isinstance(item, (list, tuple, Mapping, np.ndarray)):
                raise _unlike(t, offsets, "a single value", item)
        return {"0": _objects(items)}
    width = len(items[0]) if items else 0
    for t, item in enumerate(items):
        if not isinstance(item, (list, tuple)):
            raise _unlike(t, offsets, "a list of values", item)
        if len(item) != width:
            raise InputError(
                f"{place(offsets, t)}: expected {width} values like the first item, got {len(item)}"
            )
    return {str(k): _objects(column) for k, column in enumerate(zip(*items, strict=True))}


def _unlike(position: int, offsets: IntArray, expected: str, item: Any) -> InputError:
    where, kind = place(offsets, position), type(item).__name__
    return InputError(f"{where}: expected {expected} like the first item, got {kind} {item!r:.60}")
