"""Sentences in any of the supported shapes, read column by column.

A sentence is a list of tokens; a list of rows (lists, tuples, dicts, or objects with attributes); a data
frame; a dict of columns; or a 2-D array. All sentences together may also be one table: a data frame or array
cut by lengths or by a column of sequence ids, or the result of ``crfkit.io.read_columns``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby
from typing import Any

import numpy as np

from crfkit.data.columns import Columns
from crfkit.data.reading import MISSING_HINT, cut_rows, is_frame, sequences_in, undivided
from crfkit.exceptions import InputError
from crfkit.features.cells import is_missing

Key = int | str
_BLOCK = 1 << 15  # positions read together: enough to amortise Python's overhead


class Block(ABC):
    """Some whole sentences, one after the other."""

    def __init__(self, first: int, lengths: list[int]) -> None:
        self.first = first  # number in X of the block's first sentence
        self.lengths = lengths  # [N]
        self.offsets = [0, *accumulate(lengths)]  # [N+1]

    @abstractmethod
    def cells(self, key: Key, optional: bool) -> list[Any]:
        """Return the cells of a column [ΣT]; with ``optional``, None for rows without the column."""

    @abstractmethod
    def sentence(self, i: int) -> Any:
        """Return the i-th sentence of the block as the user gave it."""

    def place(self, i: int) -> str:
        """Return the place of the i-th of all positions [ΣT], for messages."""
        sentence = bisect_right(self.offsets, i) - 1
        return f"sequence {self.first + sentence}, position {i - self.offsets[sentence]}"


def read_blocks(X: Any, lengths: Any = None, sequence_column: Key | None = None) -> Iterator[Block]:
    """Read X in blocks of whole sentences."""
    if lengths is not None and sequence_column is not None:
        raise InputError("give lengths or sequence_column, not both: either says where sequences end")
    if isinstance(X, Columns):
        return _table_blocks(_ColumnFile(X), X.lengths.tolist())
    if lengths is not None:
        if isinstance(X, (str, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(
                f"lengths goes with one data frame, array or list of rows, got {type(X).__name__}"
            )
        return _table_blocks(_Table(X), np.diff(cut_rows(len(X), lengths)).tolist())
    if is_frame(X):
        if sequence_column is None:
            raise undivided(X, " make it Features(…, sequence_column='…'),")
        return _table_blocks(_Table(X), _run_lengths(X, sequence_column))
    if sequence_column is not None:
        raise InputError(f"sequence_column goes with a single data frame, got {type(X).__name__}")
    return _sentence_blocks(sequences_in(X, of="sentences"))


def _run_lengths(frame: Any, column: Key) -> list[int]:
    ids = _column_of(frame, column, False, lambda i: f"row {i}")
    lengths = []
    seen = set()
    row = 0
    for name, run in groupby(ids):
        n = sum(1 for _ in run)
        if is_missing(name):
            raise InputError(f"row {row}: the sequence column {column!r} has no value there")
        if name in seen:
            raise InputError(
                f"row {row}: sequence {name!r} begins again; the rows of a sequence must lie together: "
                "sort the data frame, or give each sequence an id of its own"
            )
        seen.add(name)
        lengths.append(n)
        row += n
    return lengths


# ---- sentence by sentence


class _Sentences(Block):
    def __init__(self, first: int, sentences: list[Any], lengths: list[int]) -> None:
        super().__init__(first, lengths)
        self.sentences = sentences
        self.by_rows = not any(map(_has_columns, sentences))

    def cells(self, key: Key, optional: bool) -> list[Any]:
        if self.by_rows:
            return _cells_of_rows(list(chain.from_iterable(self.sentences)), key, optional, self.place)
        cells: list[Any] = []
        for i, sentence in enumerate(self.sentences):
            start = self.offsets[i]
            cells += _column_of(sentence, key, optional, lambda t, start=start: self.place(start + t))
        return cells

    def sentence(self, i: int) -> Any:
        return self.sentences[i]


def _sentence_blocks(X: Iterable[Any]) -> Iterator[Block]:
    sentences: list[Any] = []
    lengths: list[int] = []
    first = positions = 0
    for sentence in X:
        kept, n = _measured(sentence, first + len(sentences))
        sentences.append(kept)
        lengths.append(n)
        positions += n
        if positions >= _BLOCK:
            yield _Sentences(first, sentences, lengths)
            first += len(sentences)
            sentences, lengths, positions = [], [], 0
    if sentences:
        yield _Sentences(first, sentences, lengths)


def _measured(sentence: Any, i: int) -> tuple[Any, int]:
    """Return the sentence, as a list if it was an iterator, and its length."""
    if isinstance(sentence, (str, bytes)):
        raise InputError(
            f"sequence {i}: a sentence must be a list of tokens or rows, got the string {sentence!r}; "
            "split it first, and for a single sentence write [sentence]"
        )
    if isinstance(sentence, Mapping):
        lengths = {str(key): len(column) for key, column in sentence.items() if hasattr(column, "__len__")}
        if len(lengths) < len(sentence) or len(set(lengths.values())) > 1 or not lengths:
            raise InputError(
                f"sequence {i}: a dict as a sentence needs columns of one length, got {_kinds(sentence)}; "
                "for a single sentence of dicts write [sentence]"
            )
        return sentence, next(iter(lengths.values()))
    if isinstance(sentence, np.ndarray) and sentence.ndim not in (1, 2):
        raise InputError(f"sequence {i}: expected an array [T] or [T, columns], got {sentence.ndim}-D")
    if hasattr(sentence, "__len__"):
        return sentence, len(sentence)
    if not isinstance(sentence, Iterable):
        raise InputError(
            f"sequence {i}: a sentence must be a list of tokens or rows, got {type(sentence).__name__}"
        )
    items = list(sentence)
    return items, len(items)


def _kinds(sentence: Mapping[Any, Any]) -> str:
    sizes = [
        f"{key!r}: {len(column) if hasattr(column, '__len__') else type(column).__name__}"
        for key, column in list(sentence.items())[:5]
    ]
    return "{" + ", ".join(sizes) + "}"


# ---- one table of all positions


class _Table:
    """A frame, array or list of rows with all positions."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.read: dict[tuple[Key, bool], list[Any]] = {}

    def column(self, key: Key, optional: bool) -> list[Any]:
        if (key, optional) not in self.read:
            self.read[key, optional] = _column_of(self.X, key, optional, lambda i: f"row {i}")
        return self.read[key, optional]

    def sentence(self, i: int, start: int, stop: int) -> Any:
        return self.X.iloc[start:stop] if hasattr(self.X, "iloc") else self.X[start:stop]

    def place(self, row: int) -> str:
        """Return the beginning of messages about this row."""
        return ""


class _ColumnFile(_Table):
    """A column file's cells, or those of a CSV file, whose columns have names."""

    X: Columns

    def column(self, key: Key, optional: bool) -> list[Any]:
        if (key, optional) not in self.read:
            names = getattr(self.X, "names", ())
            k = names.index(key) if key in names else key
            if isinstance(k, int) and -self.X.n_columns <= k < self.X.n_columns:
                self.read[key, optional] = list(chain.from_iterable(self.X.column(k)))
            elif optional or self.X.n_positions == 0:  # a file without rows has no columns
                self.read[key, optional] = [None] * self.X.n_positions
            else:
                known = _listed(list(names)) if names else f"columns 0 to {self.X.n_columns - 1}"
                raise InputError(f"{self.X.source}: there is no column {key!r}, but {known}")
        return self.read[key, optional]

    def sentence(self, i: int, start: int, stop: int) -> Any:
        return self.X[i]

    def place(self, row: int) -> str:
        return f"{self.X.source}:{self.X.lines[row]}: "


def place_in_columns(columns: Columns) -> Callable[[int], str]:
    """Return a function from a row to its place in messages: the line of the file, and the sequence."""
    table = _ColumnFile(columns)

    def place(row: int) -> str:
        sequence, at = columns.place(row)
        return f"{table.place(row)}sequence {sequence}, position {at}"

    return place


class _Slice(Block):
    def __init__(self, table: _Table, first: int, start: int, lengths: list[int]) -> None:
        super().__init__(first, lengths)
        self.table = table
        self.start = start  # the block's first row in the table

    def place(self, i: int) -> str:
        return self.table.place(self.start + i) + super().place(i)

    def cells(self, key: Key, optional: bool) -> list[Any]:
        return self.table.column(key, optional)[self.start : self.start + self.offsets[-1]]

    def sentence(self, i: int) -> Any:
        return self.table.sentence(
            self.first + i, self.start + self.offsets[i], self.start + self.offsets[i + 1]
        )


def _table_blocks(table: _Table, lengths: list[int]) -> Iterator[Block]:
    first = start = rows = 0
    for i, n in enumerate(lengths):
        rows += n
        if rows >= _BLOCK or i + 1 == len(lengths):
            yield _Slice(table, first, start, lengths[first : i + 1])
            first, start, rows = i + 1, start + rows, 0


# ---- columns


def _has_columns(sentence: Any) -> bool:
    return (
        isinstance(sentence, Mapping)
        or is_frame(sentence)
        or (isinstance(sentence, np.ndarray) and sentence.ndim == 2)
    )


def _column_of(sentence: Any, key: Key, optional: bool, place: Any) -> list[Any]:
    if isinstance(sentence, np.ndarray) and sentence.ndim == 2:
        if not isinstance(key, int) or not -sentence.shape[1] <= key < sentence.shape[1]:
            raise InputError(
                f"{place(0)}: there is no column {key!r}: the array has columns 0 to {sentence.shape[1] - 1}"
            )
        column: list[Any] = sentence[:, key].tolist()
        return column
    if not _has_columns(sentence):
        return _cells_of_rows(list(sentence), key, optional, place)
    names = list(sentence.columns) if is_frame(sentence) else list(sentence)
    if key not in names and isinstance(key, int) and is_frame(sentence) and -len(names) <= key < len(names):
        key = names[key]
    if key not in names:
        if optional:
            n = len(sentence) if is_frame(sentence) else len(next(iter(sentence.values())))
            return [None] * n
        raise InputError(f"{place(0)}: there is no column {key!r}, but {_listed(names)}{_OPTIONAL}")
    if names.count(key) > 1:
        raise InputError(f"{place(0)}: there are two columns called {key!r}; rename one")
    cells = sentence[key]
    return cells.tolist() if hasattr(cells, "tolist") else list(cells)


_OPTIONAL = "; if it may be missing, write column(…, optional=True)"


def _cells_of_rows(rows: Sequence[Any], key: Key, optional: bool, place: Any) -> list[Any]:
    kinds = set(map(type, rows))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        if key in (0, -1):
            return list(rows)
        raise InputError(
            f"{place(0)}: there is no column {key!r}: the sentence is a list of tokens, which are column 0"
        )
    texts = any(issubclass(kind, str) for kind in kinds)
    gap = next((i for i, row in enumerate(rows) if is_missing(row)), None) if texts else None
    if gap is not None:
        raise InputError(f"{place(gap)}: the token is missing, got {rows[gap]!r}. {MISSING_HINT}")
    try:
        if texts:  # row[0] would be a character
            raise TypeError
        if isinstance(key, int) or all(issubclass(kind, Mapping) for kind in kinds):
            if optional and isinstance(key, str):
                return [row.get(key) for row in rows]
            return [row[key] for row in rows]
    except (TypeError, KeyError, IndexError):
        pass
    return [_cell(row, key, optional, i, place) for i, row in enumerate(rows)]


def _cell(row: Any, key: Key, optional: bool, i: int, place: Any) -> Any:
    """Return the cell of one row, or raise an error about it; slow."""
    if isinstance(row, str):
        raise InputError(f"{place(i)}: expected a row with columns like the others, got the string {row!r}")
    if isinstance(row, Mapping):
        if key in row or (optional and isinstance(key, str)):
            return row.get(key)
        names = list(row)
        hint = "; name the column: column('…')" if isinstance(key, int) else _OPTIONAL
        raise InputError(f"{place(i)}: there is no column {key!r}, but {_listed(names)}{hint}")
    if isinstance(key, str):
        # A list has attributes of its own, such as "index"; a named tuple's fields are wanted.
        if hasattr(row, key) and (not isinstance(row, (list, tuple, np.ndarray)) or hasattr(row, "_fields")):
            return getattr(row, key)
        raise InputError(
            f"{place(i)}: there is no column {key!r} in a {type(row).__name__}; columns of lists and tuples "
            "have numbers: column(0)"
        )
    try:
        return row[key]
    except (TypeError, IndexError, KeyError):
        if optional and hasattr(row, "__len__"):
            return None
        cells = f"{len(row)} cells" if hasattr(row, "__len__") else "no cells"
        raise InputError(
            f"{place(i)}: there is no column {key}: the row has {cells}, {_short(row)}"
        ) from None


def _listed(names: list[Any]) -> str:
    return ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")


def _short(row: Any) -> str:
    text = repr(row)
    return text if len(text) <= 60 else f"{text[:57]}..."
