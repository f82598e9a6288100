"""CSV files (comma, semicolon or tab, quoted cells) to columns of text; docs/formats.md has the rules."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

import numpy as np
import numpy.typing as npt

from crfkit.data.columns import Columns
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.text_lines import text_lines
from crfkit.io.writing import open_output

_DELIMITERS = ",;\t"
_SNIFFED = 20  # records used to detect the delimiter
_POSITIONS = 65536
_FORMULAS = ("=", "+", "-", "@")  # first characters of a cell that a spreadsheet computes


@dataclass(frozen=True, eq=False, repr=False)
class NamedColumns(Columns):
    """Columns with the names of a header."""

    names: tuple[str, ...] = ()  # [K]
    sequence_place: int | None = None  # of the column that identifies sequences, if it was kept

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        _, fields = super().__reduce__()
        return (NamedColumns, (*fields, self.names, self.sequence_place))

    def column_number(self, name: str) -> int:
        """Return the number of the column with this name, for ``column``, ``codes`` and ``without``."""
        return _place(name, self.names, self.source)

    def select(self, places: Sequence[int]) -> NamedColumns:
        """Return the columns at these places, in this order, with their names."""
        names = tuple(self.names[self._column_index(k)] for k in places)
        return self.of(super().select(places), names)

    def subset(self, sequence_ids: Sequence[int] | npt.NDArray[np.integer]) -> NamedColumns:
        """Return the given sequences, in the given order; a sequence may come more than once."""
        return self.of(super().subset(sequence_ids), self.names)

    @staticmethod
    def of(columns: Columns, names: tuple[str, ...]) -> NamedColumns:
        """Return the same columns with names."""
        return NamedColumns(
            columns.cells, columns.ids, columns.offsets, columns.lines, columns.source, names=names
        )


def read_csv(
    source: Source,
    *,
    sequence_column: str | int | None = None,
    delimiter: str | None = None,
    header: bool = True,
    keep_sequence_column: bool = False,
) -> NamedColumns:
    """Read all sequences of a CSV file: a path (gzipped or not), ``-``, or a binary file object.

    A new sequence begins after an empty line (or a row of empty cells), and where the value of
    ``sequence_column`` (a name, or a number from 0) changes; an empty cell there means "the same as above".
    That column is left out of the result unless it is kept. ``delimiter=None`` detects comma, semicolon or
    tab from the first lines. With ``header=False`` the columns are called "0", "1", …
    """
    reader = _Reader(source, sequence_column, delimiter, header, keep_sequence_column)
    for piece in reader.pieces(sys.maxsize):
        return piece
    return reader.columns([], [], [0])


def stream_csv(
    source: Source,
    *,
    sequence_column: str | int | None = None,
    delimiter: str | None = None,
    header: bool = True,
    keep_sequence_column: bool = False,
    positions: int = _POSITIONS,
    prompt: bool = False,
) -> Iterator[NamedColumns]:
    """Yield the sequences in pieces of whole sequences with about ``positions`` rows, in bounded memory.

    ``prompt=True`` yields sequences as soon as they are complete.
    """
    if positions < 1:
        raise InputError(f"positions must be at least 1, got {positions}")
    reader = _Reader(source, sequence_column, delimiter, header, keep_sequence_column)
    return reader.pieces(1 if prompt else positions)


def write_csv(
    path: str | os.PathLike[str] | IO[bytes],
    tables: Iterable[NamedColumns],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write tables, one after the other, as one CSV file with an empty line between sequences.

    With ``spreadsheet_safe``, an apostrophe is put before cells that spreadsheets take for formulas.
    """
    with open_output(path) as file:
        rows = CsvRows(spreadsheet_safe=spreadsheet_safe)
        for table in tables:
            rows.write_header(table.names)
            for sentence in table:
                rows.write_sequence(sentence)
            file.write(rows.take())


def protected(cell: str) -> str:
    """Return a cell that spreadsheets take for text: with an apostrophe if it looks like a formula."""
    return f"'{cell}" if cell.startswith(_FORMULAS) else cell


class CsvRows:
    """A writer of a header and sequences of rows, with an empty line between sequences, to bytes."""

    def __init__(self, delimiter: str = ",", *, spreadsheet_safe: bool = False) -> None:
        self._text = io.StringIO(newline="")
        self._rows = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._headed = self._begun = False
        self._safe = spreadsheet_safe

    def write_header(self, names: Iterable[str]) -> None:
        """Write the names of the columns, unless they have been written."""
        if not self._headed:
            self._rows.writerow(map(protected, names) if self._safe else names)
            self._headed = True

    def write_sequence(self, rows: Iterable[Iterable[str]]) -> None:
        """Write the rows of one sequence."""
        if self._begun:
            self._text.write("\n")
        self._rows.writerows((map(protected, row) for row in rows) if self._safe else rows)
        self._begun = True

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        text = self._text.getvalue().encode()
        self._text.seek(0)
        self._text.truncate()
        return text


class _Reader:
    """A reader of records, which it checks and numbers, and of the header."""

    def __init__(
        self,
        source: Source,
        sequence_column: str | int | None,
        delimiter: str | None,
        header: bool,
        keep_key: bool,
    ) -> None:
        if delimiter is not None and len(delimiter) != 1:
            raise InputError(f"delimiter must be one character, got {delimiter!r}")
        self._source = source
        self._name = source_name(source)
        self._sequence_column = sequence_column
        self._delimiter = delimiter
        self._header = header
        self._keep_key = keep_key
        self._all_names: tuple[str, ...] = ()  # with the sequence column
        self._key: int | None = None  # its place

    def pieces(self, positions: int) -> Iterator[NamedColumns]:
        cells: list[str] = []  # [ΣT * K]
        lines: list[int] = []  # [ΣT]
        offsets = [0]  # [N+1]
        current = ""  # the value of the sequence column
        with open_input(self._source) as file:
            for line, row in self._records(file):
                ends = not row
                if row and self._key is not None:
                    key = (row[self._key] if self._keep_key else row.pop(self._key)) or current
                    ends, current = key != current, key
                if ends and len(lines) > offsets[-1]:
                    offsets.append(len(lines))
                    if len(lines) >= positions:
                        yield self.columns(cells, lines, offsets)
                        cells, lines, offsets = [], [], [0]
                if row:
                    cells += row
                    lines.append(line)
        if len(lines) > offsets[-1]:
            offsets.append(len(lines))
        if lines:
            yield self.columns(cells, lines, offsets)

    def columns(self, cells: list[str], lines: list[int], offsets: list[int]) -> NamedColumns:
        """Return the cells [ΣT * K], row by row, as columns."""
        kept = self._keep_key and self._key is not None
        names = tuple(name for k, name in enumerate(self._all_names) if kept or k != self._key)
        vocabulary = Vocabulary()
        return NamedColumns(
            cells=vocabulary,
            ids=vocabulary.add(cells).reshape(len(lines), len(names)),
            offsets=np.array(offsets, dtype=np.int64),
            lines=np.array(lines, dtype=np.int64),
            source=self._name,
            names=names,
            sequence_place=self._key if kept else None,
        )

    def _records(self, file: IO[bytes]) -> Iterator[tuple[int, list[str]]]:
        """Yield rows with one cell per column, and empty rows, each with its line number."""
        first = file.readline()
        numbered = text_lines(chain([first] if first else [], file), self._name)
        text = (line for _, line in numbered)
        head = list(islice(text, 1))
        delimiter = self._delimiter or _sniff(head, file)
        rows = csv.reader(chain(head, text), delimiter=delimiter, strict=True)
        while True:
            line = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                raise InputError(
                    f"{self._name}:{line}: not a CSV record ({error}); a quotation mark inside a quoted cell "
                    'is written twice, and a cell that is only a quotation mark as """"'
                ) from error
            if not any(row) or (len(row) == 1 and not row[0].strip(" \t")):
                row = []
            if not self._all_names:
                if not row:
                    continue
                self._set_names(row if self._header else [str(k) for k in range(len(row))], line)
                if self._header:
                    continue
            if row and len(row) != len(self._all_names):
                raise InputError(
                    f"{self._name}:{line}: expected {len(self._all_names)} cells "
                    f"({', '.join(self._all_names)}) between {delimiter!r}, got {len(row)}: {row!r:.80}"
                )
            yield line, row

    def _set_names(self, names: list[str], line: int) -> None:
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise InputError(
                f"{self._name}:{line}: two columns are called {repeated[0]!r}: rename one, or pass "
                "header=False if there is no header"
            )
        self._all_names = tuple(names)
        if isinstance(self._sequence_column, str):
            self._key = _place(self._sequence_column, self._all_names, self._name)
        elif self._sequence_column is not None:
            if not -len(names) <= self._sequence_column < len(names):
                raise InputError(
                    f"{self._name}: there is no column {self._sequence_column}: it has {len(names)} columns"
                )
            self._key = self._sequence_column % len(names)
        if self._key is not None and len(names) == 1:
            raise InputError(
                f"{self._name}:{line}: there is no column except the sequence column {names[0]!r}"
            )


def _sniff(head: list[str], file: IO[bytes]) -> str:
    """Return the delimiter that splits the first records into equally many cells, preferably the most."""
    more = file.peek(1).decode(errors="replace").split("\n")  # type: ignore[attr-defined]
    sample = head + [f"{line}\n" for line in more[:-1]]  # the last one may be cut off

    def fit(delimiter: str) -> tuple[bool, int]:
        widths = []
        try:
            for row in islice(csv.reader(sample, delimiter=delimiter), _SNIFFED):
                if row:
                    widths.append(len(row))
        except csv.Error:
            return False, 0
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(_DELIMITERS, key=fit)


def _place(name: str, names: Sequence[str], source: str) -> int:
    if name not in names:
        raise InputError(f"{source}: there is no column {name!r}: the columns are {', '.join(names)}")
    return names.index(name)
