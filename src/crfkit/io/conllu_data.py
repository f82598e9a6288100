"""CoNLL-U: ten columns of Universal Dependencies, one word per line.

Comments, multi-word tokens (ids such as 3-4) and empty nodes (5.1) are no words; they are kept and written
back. The columns have their names (form, lemma, upos, xpos, feats, head, deprel, deps, misc), and each key of
the last one can be named as ``misc:KEY``, for example the labels of named entities. ``_`` is an empty cell.
https://universaldependencies.org/format.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from crfkit.data.columns import Columns
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.csv_data import NamedColumns
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.text_lines import text_lines
from crfkit.io.writing import open_output

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
DEFAULT_LABEL = "upos"
_POSITIONS = 65536


@dataclass(frozen=True, eq=False, repr=False)
class ConlluColumns(NamedColumns):
    """The column ``form`` and the column of the labels, with all lines of the file."""

    texts: tuple[tuple[str, ...], ...] = ()  # [N] the lines of each sentence

    def select(self, places: Sequence[int]) -> NamedColumns:
        """Return the columns at these places; the lines belong to the whole table only."""
        return NamedColumns.of(Columns.select(self, places), tuple(self.names[k] for k in places))

    def subset(self, sequence_ids: Sequence[int] | npt.NDArray[np.integer]) -> ConlluColumns:
        """Return the given sequences, in the given order; a sequence may come more than once."""
        some = Columns.subset(self, sequence_ids)
        texts = tuple(self.texts[i] for i in np.asarray(sequence_ids, np.int64).tolist())
        return ConlluColumns(
            some.cells, some.ids, some.offsets, some.lines, some.source, names=self.names, texts=texts
        )

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        _, fields = super().__reduce__()
        return (ConlluColumns, (*fields, self.texts))

    def labelled(self, labels: Sequence[Sequence[str]], segments: object = None) -> bytes:
        """Return the file with these labels [N][T] in the column of the labels."""
        lines: list[str] = []
        for text, found in zip(self.texts, labels, strict=True):
            rest = iter(found)
            for line in text:
                lines.append(_with_label(line, self.names[1], next(rest)) if _is_word(line) else line)
            lines.append("")
        return ("\n".join(lines) + "\n").encode() if lines else b""


def read_conllu(
    source: Source, *, label_key: str | None = None, default_label: str | None = None
) -> ConlluColumns:
    """Read all sentences.

    ``label_key`` names the column of the labels, or a key of misc as misc:KEY. None means the default, which
    is upos if that is None, too.
    """
    label_key = label_key or default_label or DEFAULT_LABEL
    for piece in stream_conllu(source, label_key=label_key, positions=sys.maxsize):
        return piece
    return _columns([], [], [], source_name(source), label_key)


def stream_conllu(
    source: Source,
    *,
    label_key: str | None = None,
    default_label: str | None = None,
    positions: int = _POSITIONS,
    prompt: bool = False,
) -> Iterator[ConlluColumns]:
    """Yield the sentences in pieces with about ``positions`` words; with ``prompt`` one by one."""
    if positions < 1:
        raise InputError(f"positions must be at least 1, got {positions}")
    name = label_key or default_label or DEFAULT_LABEL
    if name not in COLUMNS and not name.startswith("misc:"):
        raise InputError(
            f"the column of the labels must be one of {', '.join(COLUMNS)} or misc:KEY, got {name!r}"
        )
    return _pieces(source, name, 1 if prompt else positions)


def write_conllu(path: str | os.PathLike[str] | IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables: the first column as form, the last of several as the column of its name, or upos."""
    with open_output(path) as file:
        for table in tables:
            last = getattr(table, "names", ("",))[-1]
            name = last if last in COLUMNS[1:] else DEFAULT_LABEL
            lines: list[str] = []
            for rows in table:
                for i, row in enumerate(rows, 1):
                    if any("\t" in cell or "\n" in cell for cell in row):
                        raise InputError(f"{table.source}: a cell with a tab or a line break: {row!r:.60}")
                    line = "\t".join([str(i), row[0], *"_" * (len(COLUMNS) - 1)])
                    lines.append(_with_label(line, name, row[-1]) if len(row) > 1 else line)
                lines.append("")
            file.write(("\n".join(lines) + "\n").encode() if lines else b"")


def _pieces(source: Source, label: str, positions: int) -> Iterator[ConlluColumns]:
    name = source_name(source)
    texts: list[list[str]] = [[]]  # lines of each sentence
    rows: list[list[list[str]]] = [[]]
    lines: list[int] = []

    def ended() -> bool:
        """End the current sentence; tell whether the piece is large enough."""
        if rows[-1]:
            rows.append([])
            texts.append([])
        return len(lines) >= positions

    with open_input(source) as file:
        for number, text in text_lines(file, name):
            line = text.rstrip("\r\n")
            if not line.strip():
                if ended():
                    yield _columns(texts[:-1], rows[:-1], lines, name, label)
                    texts, rows, lines = [[]], [[]], []
                continue
            texts[-1].append(line)
            if line.startswith("#"):
                continue
            cells = line.split("\t")
            if len(cells) != len(COLUMNS) + 1:
                raise InputError(
                    f"{name}:{number}: expected {len(COLUMNS) + 1} columns between tabs, got {len(cells)}"
                )
            if not cells[1] or not cells[0].replace("-", "").replace(".", "").isdecimal():
                raise InputError(f"{name}:{number}: expected an id and a form, got {line!r:.60}")
            if _is_word(line):
                rows[-1].append([cells[1], _label(cells, label)])
                lines.append(number)
    ended()
    if rows[:-1]:
        yield _columns(texts[:-1], rows[:-1], lines, name, label)


def _columns(
    texts: list[list[str]], rows: list[list[list[str]]], lines: list[int], name: str, label: str
) -> ConlluColumns:
    cells = Vocabulary()
    ids = cells.add([cell for sentence in rows for row in sentence for cell in row])
    return ConlluColumns(
        cells=cells,
        ids=ids.reshape(len(lines), 2),
        offsets=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        lines=np.array(lines, dtype=np.int64),
        source=name,
        names=("form", label),
        texts=tuple(map(tuple, texts)),
    )


def _is_word(line: str) -> bool:
    return line.partition("\t")[0].isdecimal()


def _label(cells: Sequence[str], name: str) -> str:
    """Return the label in a line; "_" if there is none."""
    if name in COLUMNS:
        return cells[1 + COLUMNS.index(name)] or "_"
    key = name.removeprefix("misc:")
    return dict(part.partition("=")[::2] for part in cells[-1].split("|")).get(key) or "_"


def _with_label(line: str, name: str, label: str) -> str:
    """Return a line with a label in its place."""
    cells = line.split("\t")
    if name in COLUMNS:
        cells[1 + COLUMNS.index(name)] = label
    else:
        key = name.removeprefix("misc:")
        others = [part for part in cells[-1].split("|") if part != "_" and part.partition("=")[0] != key]
        cells[-1] = "|".join([*others, f"{key}={label}"])
    return "\t".join(cells)
