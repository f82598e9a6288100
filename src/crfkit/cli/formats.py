"""Which format a data file has, told by its name and its first lines."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

HEAD = 1 << 16  # bytes that are looked at

_BY_NAME = {
    ".csv": "csv",
    ".mallet": "mallet",
    ".crfsuite": "crfsuite",
    ".conll": "columns",
    ".bio": "columns",
    ".iob": "columns",
}
_MOST = 0.8  # share of the lines that must look alike


def format_by_name(path: str) -> str | None:
    """The format that the file's ending stands for; None where it says nothing."""
    name = PurePath(path)
    if name.suffix.lower() in (".gz", ".gzip"):
        name = name.with_suffix("")
    return _BY_NAME.get(name.suffix.lower())


def format_by_content(head: bytes) -> str:
    """The format that the first bytes of a file look like.

    Column files have the same number of cells in (nearly) every line: a stray line should be named by the
    parser, not turn the file into another format. Items have attributes such as ``w[0]=the`` in most cells;
    CRFsuite's lie between tabs behind the label, MALLET's between blanks before it.
    """
    lines = head.split(b"\n")
    if len(head) >= HEAD:
        lines.pop()  # cut off
    rows = [line for line in lines if line.strip()]
    if not rows:
        return "columns"
    tabs = sum(b"\t" in row for row in rows) > len(rows) / 2
    cells = [row.split() for row in rows]
    between = [row.split(b"\t")[1:] if tabs else row.split()[:-1] for row in rows]
    n_cells = sum(map(len, between))
    if n_cells and sum(_is_named(cell) for row in between for cell in row) > n_cells / 2:
        return "crfsuite" if tabs else "mallet"
    (_, most), *_ = Counter(map(len, cells)).most_common(1)
    if most >= _MOST * len(rows):
        return "columns"
    return "crfsuite" if tabs else "mallet"


def _is_named(cell: bytes) -> bool:
    """Whether a cell looks like an attribute: ``name=value`` or ``name:value``."""
    return b"=" in cell[1:] or b":" in cell[1:]
