"""Column files: one token per line, columns separated by blanks or tabs, an empty line between sentences.

They are parsed natively, in pieces, so that a stream only takes memory for the current piece. The rules:

- Runs of blanks and tabs separate cells; with ``separator="tab"`` every single tab does, so that cells may be
  empty or hold blanks. Other white space (no-break space, …) belongs to cells.
- A line that is empty, or holds only blanks and tabs, ends a sentence; several such lines count once. A line
  whose first cell is ``-DOCSTART-`` also ends a sentence and is left out.
- A carriage return at the end of a line (CRLF files) and a UTF-8 byte-order mark at the start are dropped.
- All rows have the same number of columns. The text is UTF-8 and has no NUL bytes. Otherwise an
  ``InputError`` names path and line.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from crfkit import _native
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.column_pieces import PIECE, parsed_pieces
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.writing import open_output


def read_columns(source: Source, *, separator: str | None = None) -> Columns:
    """Read all sentences of a column file.

    Parameters
    ----------
    source : a path, ``"-"`` for standard input, or a binary file object; gzip is unpacked.
    separator : None for blanks and tabs, ``"tab"`` for single tabs.

    Returns
    -------
    ``Columns``: a sequence of sentences, each a list of rows, each a list of strings.
    """
    parser = _parser(source, separator)
    with open_input(source) as file:
        while piece := file.read1(PIECE):
            parser.feed(piece)
    parser.finish()
    return Columns.from_native(parser.take(), source_name(source))


def stream_columns(
    source: Source, *, separator: str | None = None, positions: int = 65536, prompt: bool = False
) -> Iterator[Columns]:
    """Yield the sentences of a column file in pieces: for files larger than memory, and for pipes.

    Each ``Columns`` has whole sentences, with about ``positions`` rows in all (a longer sentence stays
    whole). ``prompt=True`` yields sentences as soon as they are complete, for a pipe whose other end waits
    for the answer.
    """
    parser, name = _parser(source, separator), source_name(source)
    if positions < 1:
        raise InputError(f"positions must be at least 1, got {positions}")
    return parsed_pieces(parser, lambda: Columns.from_native(parser.take(), name), source, positions, prompt)


def write_columns(path: str | os.PathLike[str] | IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables, one after the other, as one column file with tabs between the cells.

    A cell with a tab or a line break raises ``InputError``. Cells that are empty or hold blanks are written,
    with a warning: read such a file with ``separator="tab"``.
    """
    blanks = False
    with open_output(path) as file:
        for table in tables:
            blanks |= _check_cells(table)
            text: list[str] = []
            for sentence in table:
                text += map("\t".join, sentence)
                text.append("")
            file.write(("\n".join(text) + "\n").encode())
    if blanks:
        warnings.warn(
            f"{source_name(path)}: some cells are empty or hold blanks; read it with --separator tab",
            InputWarning,
            stacklevel=2,
        )


def _check_cells(table: Columns) -> bool:
    """Tell whether the file needs ``separator="tab"``; raise if a cell cannot be written at all."""
    cells = table.cells.strings()
    broken = next((k for k, cell in enumerate(cells) if "\t" in cell or "\n" in cell or "\r" in cell), None)
    if broken is not None:
        at = np.flatnonzero((table.ids == broken).any(axis=1))
        if len(at):
            raise InputError(
                f"{table.source}:{table.lines[at[0]]}: the cell {cells[broken]!r} has a tab or a line break, "
                "which a column file cannot hold"
            )
    return any(not cell or " " in cell for cell in cells)


def _parser(source: Source, separator: str | None) -> _native.ColumnParser:
    if separator not in (None, "tab", "\t"):
        raise InputError(f"separator must be None (blanks and tabs) or 'tab', got {separator!r}")
    return _native.ColumnParser(source_name(source), separator is not None)
