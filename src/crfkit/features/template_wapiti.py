r"""Wapiti's templates ("patterns").

A line begins with ``u`` (an attribute of the label), ``b`` (of the pair of labels) or ``*`` (both), in either
case; the attribute begins with the lower-case letter. Unlike in CRF++, ``#`` starts a comment anywhere, even
inside a pattern, and white space at the end of a line is dropped. The macros:

- ``%x[row,column]`` is the cell.
- ``%t[row,column,"pattern"]`` is ``true`` or ``false``: whether the pattern matches anywhere in the cell.
- ``%m[row,column,"pattern"]`` is the first match in the cell, or empty.
- With a capital ``%X``, ``%T``, ``%M``, the result's ASCII capitals become lower case.

A row counts from the current position, or with ``@`` from the first row of the sequence (``@1``), or from its
last (``@-1``). Outside the sequence the cells are ``_x-1`` to ``_x-4`` and then ``_x-#`` before it, and
``_x+1`` to ``_x+4`` and ``_x+#`` after it; patterns are matched against these texts too. A row is read as C
reads numbers: ``+1`` is 1, ``0x10`` is 16, and ``010`` is 8.

Patterns work on bytes: ``.`` is any byte; ``\d \a \w \l \u \p \s`` are ASCII digits, letters, both, small
letters, capitals, punctuation, white space, and with a capital the complement; a backslash before anything
else takes it literally; ``^`` and ``$`` stand for the ends, at the pattern's ends alone; ``*`` repeats the
byte before it, as often as needed and no more; ``?`` makes it optional.
"""

from __future__ import annotations

import re
from typing import Literal

from crfkit.features.template_syntax import LARGEST, Line, Macro, Scope, cut_line, fail, whole_number

BEFORE = ("_x-1", "_x-2", "_x-3", "_x-4", "_x-#")
AFTER = ("_x+1", "_x+2", "_x+3", "_x+4", "_x+#")

_SPACE = " \t\v\f\r"
_SCOPES: dict[str, Scope] = {"u": "node", "b": "edge", "*": "both"}
# What C's scanf accepts for "[@%i,%u" or "[%i,%u".
_MACRO = re.compile(
    r"%([xtmXTM])\[(@?)[ \t\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*),[ \t\v\f\r]*(\+?[0-9]+)"
    r'(?:,"((?:[^"\\]|\\.)*)")?\]'
)


def parse_wapiti(text: str, source: str) -> list[Line]:
    """Parse a Wapiti template; an ``InputError`` names source and line of an invalid line."""
    lines = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.partition("#")[0].rstrip(_SPACE)
        if not line:
            continue
        letter = line[0].lower()
        if letter not in _SCOPES:
            fail(source, number, "a Wapiti template line begins with u, b, * or #", raw)
        lines.append(Line(number, _SCOPES[letter], _pieces(letter + line[1:], source, number, raw)))
    return lines


def _pieces(line: str, source: str, number: int, raw: str) -> tuple[str | Macro, ...]:
    def made(macro: re.Match[str] | None, rest: str) -> Macro:
        if not macro or (macro[6] is None) != (macro[1] in "xX"):
            hint = "; # begins a comment, in patterns too" if "#" in raw else ""
            fail(
                source,
                number,
                'expected %x[row,column], %t[row,column,"pattern"] or %m[row,column,"pattern"], '
                f"got {rest[:30]!r}{hint}",
                raw,
            )
        return _macro(macro, source, number, raw)

    return cut_line(line, _MACRO, made)


def _macro(found: re.Match[str], source: str, number: int, raw: str) -> Macro:
    letter, at, sign, digits, column_digits, pattern = found.groups()
    row = _c_integer(sign, digits)
    column = whole_number(column_digits)
    if abs(row) > LARGEST or column > LARGEST:
        fail(source, number, f"the row or the column is too large in {found[0]!r}", raw)
    command: Literal["x", "t", "m"] = "x" if letter in "xX" else "t" if letter in "tT" else "m"
    if pattern is not None:
        _check_pattern(pattern, source, number, raw)
    fold = letter.isupper()
    if not at:
        return Macro(found[0], command, row, column, "here", fold, pattern or "")
    if row < 0:
        return Macro(found[0], command, row, column, "last", fold, pattern or "")
    return Macro(found[0], command, row - 1, column, "first", fold, pattern or "")  # @1 is row 0


def _c_integer(sign: str, digits: str) -> int:
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    value = whole_number(digits, base)
    return -value if sign == "-" else value


def _check_pattern(pattern: str, source: str, number: int, raw: str) -> None:
    i = 1 if pattern.startswith("^") else 0
    while i < len(pattern):
        if pattern[i] in "*?":
            problem = (
                f"{pattern[i]!r} follows nothing in {pattern!r}; to match it itself, write \\{pattern[i]}"
            )
            fail(source, number, problem, raw)
        i += 2 if pattern[i] == "\\" else 1
        if pattern[i : i + 1] in ("*", "?"):
            i += 1
