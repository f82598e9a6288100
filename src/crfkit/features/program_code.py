"""The bytes of feature programs: what makes attributes of cells, as ``native/program`` runs it.

docs/model-file.md has the layout. The order of the names in the lists below is the order of the enumerations
in ``native/program/feature_program.h`` and ``step.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from crfkit.exceptions import InputError

VERSION = 1
STEPS = (
    "lower",
    "upper",
    "fold",
    "shape",
    "short_shape",
    "prefix",
    "suffix",
    "beginning",
    "ending",
    "skip",
    "length",
    "strip",
    "remove",
    "tail",
    "digit_share",
    "marks",
    "match",
    "find",
    "ascii_lower",
    "test",
    "any",
    "all",
)
TESTS = (
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "istitle",
    "isupper",
)
INPUTS = ("text", "number", "vector", "gap")
NODES = (
    "input",
    "step",
    "phrases",
    "always",
    "first",
    "last",
    "not",
    "bin",
    "number",
    "parsed",
    "place",
    "place_from_end",
    "standardised",
)
ANCHORS = ("here", "first", "last")
ESCAPES = ("none", "borders", "joined")


def number(value: int) -> bytes:
    """Return a number below 2³¹: seven bits per byte, the lowest first; the highest bit: more follow."""
    if value >= 1 << 31:
        raise InputError(f"expected a number below 2^31, got {value}")
    return _varint(value)


def signed(value: int) -> bytes:
    """Return a number that may be negative: 0, -1, 1, -2, … are stored as 0, 1, 2, 3, …"""
    if not -(1 << 31) <= value < 1 << 31:
        raise InputError(f"expected a number of at most 31 bits, got {value}")
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: str) -> bytes:
    """Return a text: its size in bytes, and its UTF-8."""
    try:
        content = value.encode()
    except UnicodeEncodeError:
        raise InputError(f"a lone surrogate cannot be stored as UTF-8, got {value!r:.60}") from None
    return number(len(content)) + content


def flag(value: bool) -> bytes:
    """Return a byte, 0 or 1."""
    return b"\1" if value else b"\0"


def real(value: float) -> bytes:
    """Return a float64."""
    return struct.pack("<d", value)


def many(things: Sequence[bytes]) -> bytes:
    """Return several things after their number."""
    return number(len(things)) + b"".join(things)


def step(kind: str, *arguments: bytes) -> bytes:
    """Return a step, with its arguments as bytes."""
    return bytes([STEPS.index(kind)]) + b"".join(arguments)


class Part(NamedTuple):
    """A node at a row around the position."""

    node: int
    row: int
    shown: bool = True  # else it only decides whether there is an attribute
    anchor: str = "here"

    def bytes(self) -> bytes:
        return bytes([ANCHORS.index(self.anchor)]) + signed(self.row) + number(self.node) + flag(self.shown)


class ProgramCode:
    """A program that is being written. Equal inputs, gazetteers and nodes are written once."""

    def __init__(self) -> None:
        self.inputs: dict[bytes, int] = {}
        self.gazetteers: dict[bytes, int] = {}
        self.nodes: dict[bytes, int] = {}
        self.lines: list[bytes] = []

    def input(
        self, kind: str, key: int | str, title: str, *, optional: bool = False, computed: bool = False
    ) -> int:
        """Add a column that the program reads; a ``computed`` one is made by Python functions."""
        where = flag(True) + text(key) if isinstance(key, str) else flag(False) + signed(key)
        code = bytes([INPUTS.index(kind)]) + flag(optional) + flag(computed) + where + text(title)
        return self.inputs.setdefault(code, len(self.inputs))

    def node(self, kind: str, *content: bytes) -> int:
        code = bytes([NODES.index(kind)]) + b"".join(content)
        return self.nodes.setdefault(code, len(self.nodes))

    def gazetteer(self, phrases: Iterable[tuple[str, ...]], ignore_case: bool) -> int:
        listed = [many([text(token) for token in phrase]) for phrase in sorted(phrases)]
        return self.gazetteers.setdefault(flag(ignore_case) + many(listed), len(self.gazetteers))

    def line(
        self,
        literals: Sequence[str],  # [parts + 1], around the parts
        parts: Sequence[Part] = (),
        numbers: Sequence[Part] = (),
        *,
        escape: Literal["none", "borders", "joined"] = "none",
        from_second: bool = False,
    ) -> None:
        """Add a line: at most one attribute per position."""
        around = [part.bytes() + text(after) for part, after in zip(parts, literals[1:], strict=True)]
        self.lines.append(
            flag(from_second)
            + bytes([ESCAPES.index(escape)])
            + flag(False)
            + text(literals[0])
            + many(around)
            + many([part.bytes() for part in numbers])
        )

    def vector_line(self, name: str, of: int, row: int) -> None:
        """Add a line that makes one attribute per element of a vector: the name and the element's index."""
        self.lines.append(flag(False) + b"\0" + flag(True) + text(name) + number(of) + signed(row))

    def finish(
        self, before: Sequence[str] = (), after: Sequence[str] = (), *, borders_pass: bool = False
    ) -> bytes:
        """Return the program.

        ``before`` and ``after`` are the texts outside the sentence, from the nearest on; the last stands for
        all beyond. With ``borders_pass`` steps are applied to them.
        """
        return b"".join(
            [
                bytes([VERSION]),
                many(list(self.inputs)),
                flag(borders_pass),
                many([text(border) for border in before]),
                many([text(border) for border in after]),
                many(list(self.gazetteers)),
                many(list(self.nodes)),
                many(self.lines),
            ]
        )
