"""CRF++'s templates.

A line ``U…`` makes an attribute of the label at each position, a line ``B…`` one of the pair of labels at
each position but the first. The line is copied with its name, and ``%x[row,column]`` in it is replaced by
the cell ``row`` lines further down. Rows are -8 to 8, written without a plus sign; outside the sequence the
cells are ``_B-1`` (just before it), ``_B-2``, … and ``_B+1`` (just after it), ``_B+2``, …

``#`` begins a comment at the start of a line only; later in a line it is copied like the rest, and so are
blanks at the end. CRF++ would copy a carriage return as well; here it is dropped, as CRF++ does on Windows.
"""

from __future__ import annotations

import re

from crfkit.features.template_syntax import LARGEST, Line, Macro, cut_line, fail, whole_number

FURTHEST_ROW = 8
BEFORE = tuple(f"_B-{n}" for n in range(1, FURTHEST_ROW + 1))
AFTER = tuple(f"_B+{n}" for n in range(1, FURTHEST_ROW + 1))

_MACRO = re.compile(r"%x\[(-?[0-9]+),([0-9]+)\]")


def parse_crfpp(text: str, source: str) -> list[Line]:
    """Parse a CRF++ template; an ``InputError`` names source and line of an invalid line."""
    lines = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip(" \t") or line.startswith("#"):
            continue
        if line[0] not in "UB":
            fail(source, number, "a CRF++ template line begins with U, B or #", line)
        lines.append(Line(number, "node" if line[0] == "U" else "edge", _pieces(line, source, number)))
    return lines


def _pieces(line: str, source: str, number: int) -> tuple[str | Macro, ...]:
    def made(macro: re.Match[str] | None, rest: str) -> Macro:
        if not macro:
            fail(source, number, f"expected %x[row,column], like %x[-1,0], got {rest[:20]!r}", line)
        row, column = (whole_number(digits) for digits in macro.groups())
        if column > LARGEST:
            fail(source, number, f"the column is too large in {macro[0]!r}", line)
        if abs(row) > FURTHEST_ROW:
            fail(source, number, f"rows are -{FURTHEST_ROW} to {FURTHEST_ROW}, got {row}", line)
        return Macro(macro[0], "x", row, column)

    return cut_line(line, _MACRO, made)
