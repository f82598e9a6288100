"""A parsed template, in either dialect: lines of literal text and macros."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from crfkit.exceptions import InputError

LARGEST = 2**31 - 1  # row or column
_SHOWN = 200  # characters of a line in messages

Scope: TypeAlias = Literal["node", "edge", "both"]


@dataclass(frozen=True)
class Macro:
    """A macro such as ``%x[row,column]``: text made from one cell."""

    text: str  # as written in the template
    command: Literal["x", "t", "m"]  # the cell; whether the pattern matches; what it matches
    row: int  # from the anchor
    column: int
    anchor: Literal["here", "first", "last"] = "here"  # the position itself, row 0, the row after the last
    fold: bool = False  # ASCII capitals become lower case
    pattern: str = ""  # of the commands t and m


@dataclass(frozen=True)
class Line:
    """A template line: at each position, one attribute made of its pieces."""

    number: int  # in the source, from 1
    scope: Scope
    pieces: tuple[str | Macro, ...]  # in order; no two strings side by side

    @property
    def macros(self) -> tuple[Macro, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Macro))


def cut_line(
    line: str, macro: re.Pattern[str], made: Callable[[re.Match[str] | None, str], Macro]
) -> tuple[str | Macro, ...]:
    """Cut a line into text and macros, which begin with ``%``.

    ``made`` gets the match of each ``%`` and some text from there on; it raises if it is not a macro.
    """
    pieces: list[str | Macro] = []
    end = 0
    while (start := line.find("%", end)) >= 0:
        if start > end:
            pieces.append(line[end:start])
        found = made(macro.match(line, start), line[start : start + _SHOWN])
        pieces.append(found)
        end = start + len(found.text)
    if end < len(line):
        pieces.append(line[end:])
    return tuple(pieces)


def whole_number(digits: str, base: int = 10) -> int:
    """Parse digits, with an optional sign or 0x; a number that is too long becomes LARGEST + 1."""
    sign = -1 if digits.startswith("-") else 1
    body = digits.lstrip("+-").removeprefix("0x").removeprefix("0X").lstrip("0")
    return sign * (LARGEST + 1 if len(body) > 20 else int(body or "0", base))


def fail(source: str, number: int, problem: str, line: str) -> NoReturn:
    """Raise the error for an invalid template line."""
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
    raise InputError(f"{source}:{number}: {problem}: {shown!r}")
