"""Tables in plain text: aligned columns, and matrices cut into blocks that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from crfkit.io.text_width import pad, shorten, width_of

__all__ = [
    "fact_lines",
    "file_size",
    "matrix",
    "pad",
    "score_matrix",
    "screen_width",
    "shorten",
    "terminal_columns",
    "width_of",
]


def terminal_columns() -> int:
    """Return the width of the terminal, from COLUMNS or the system; 80 if unknown.

    (shutil has such a function, but importing it loads three compression libraries.)
    """
    named = os.environ.get("COLUMNS", "")
    if named.isdigit() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # no terminal
        return 80


def screen_width() -> int | None:
    """Return the width of the terminal on standard output; None if that is a file or a pipe."""
    return terminal_columns() if sys.stdout.isatty() else None


def matrix(
    corner: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], gap: str = " "
) -> Iterable[str]:
    """Yield the lines of a table with named rows and columns, in blocks of columns that fit the screen."""
    first = max(map(width_of, (corner, *rows)))
    widths = [
        max(width_of(name), *(width_of(row[j]) for row in cells)) if cells else width_of(name)
        for j, name in enumerate(columns)
    ]
    for block in _blocks([width + len(gap) for width in widths], first):
        if block.start:
            yield ""
        yield pad(corner, first) + "".join(gap + pad(columns[j], widths[j], right=True) for j in block)
        for name, row in zip(rows, cells, strict=True):
            yield pad(name, first) + "".join(gap + pad(row[j], widths[j], right=True) for j in block)


def score_matrix(labels: Sequence[Any], scores: Any) -> list[str]:
    """Return the lines of a table of scores [L, L] from label to label."""
    names = [str(label) for label in labels]
    return list(
        matrix("from \\ to", names, names, [[f"{score:.2f}" for score in row] for row in scores.tolist()])
    )


def fact_lines(facts: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return one line per fact: its name, a number, and an explanation."""
    return [f"  {name:15}{number:>11}  {words}".rstrip() for name, number, words in facts]


def file_size(path: str) -> str:
    """Return the size of a model file, to follow other text; empty for standard input."""
    return "" if path == "-" else f", {os.path.getsize(path) / 1e6:,.1f} MB"


def _blocks(widths: Sequence[int], first: int) -> Iterable[range]:
    """Yield ranges of columns that fit on the screen side by side, at least one column each."""
    limit = screen_width()
    if limit is None:
        yield range(len(widths))
        return
    start, used = 0, first
    for j, width in enumerate(widths):
        if j > start and used + width > limit:
            yield range(start, j)
            start, used = j, first
        used += width
    yield range(start, len(widths))
