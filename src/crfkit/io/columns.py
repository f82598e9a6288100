"""CoNLL column files: one token a line, columns between blanks or tabs, an empty line between sentences."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from crfkit.exceptions import InputError

Row = list[str]


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    if zipped:
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _sentences(path: Path) -> Iterator[list[Row]]:
    sentence: list[Row] = []
    n_columns = 0  # of the first token line
    with _open(path) as file:
        try:
            for number, line in enumerate(file, 1):
                # Not str.split(): other blanks, such as the no-break space, belong to tokens.
                row = [field for field in line.replace("\t", " ").rstrip("\n").split(" ") if field]
                if not row or row[0] == "-DOCSTART-":
                    if sentence:
                        yield sentence
                        sentence = []
                    continue
                n_columns = n_columns or len(row)
                if len(row) != n_columns:
                    raise InputError(
                        f"{path}:{number}: expected {n_columns} columns as in the lines before, "
                        f"got {len(row)}: {line.rstrip()!r}"
                    )
                sentence.append(row)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text ({error}); convert the file to UTF-8") from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: damaged or cut-off gzip file ({error})") from error
    if sentence:
        yield sentence


def read_columns(path: str | os.PathLike[str]) -> list[list[Row]]:
    """Read a column file, plain or gzipped, into sentences of rows of strings.

    All token lines must have the same number of columns; otherwise an ``InputError`` names path and line.
    ``-DOCSTART-`` lines separate sentences and are left out.
    """
    return list(_sentences(Path(path)))
