"""Which format a data file has, told by its name and its first lines."""

from __future__ import annotations

import re
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


def format_by_name(path: str) -> str | None:
    """The format that the file's ending stands for; None where it says nothing."""
    name = PurePath(path)
    if name.suffix.lower() in (".gz", ".gzip"):
        name = name.with_suffix("")
    return _BY_NAME.get(name.suffix.lower())


def format_by_content(head: bytes) -> str:
    """The format that the first bytes of a file look like.

    Attributes, such as ``w[0]=the``, are in most cells, or rows are of all lengths: CRFsuite's lie between
    tabs behind the label, MALLET's between blanks before it. In column files most rows are equally long: a
    stray line should be named by the parser, not turn the file into another format.
    """
    lines = head.split(b"\n")
    if len(head) >= HEAD:
        lines.pop()  # cut off
    rows = [line for line in lines if line.strip()]
    tabs = sum(b"\t" in row for row in rows) > len(rows) / 2
    cells = [row.split(b"\t") if tabs else row.split() for row in rows]
    named = [bool(_NAMED.match(cell)) for row in cells for cell in (row[1:] if tabs else row[:-1])]
    _, most = Counter(map(len, cells)).most_common(1)[0] if rows else (0, 0)
    if sum(named) <= len(named) / 2 and most >= len(rows) / 2:
        return "columns"
    return "crfsuite" if tabs else "mallet"


# An attribute: a name with a letter in it (12:30 is a time), = or :, and something after it.
_NAMED = re.compile(rb"[^=:]*[A-Za-z_][^=:]*[=:].")
