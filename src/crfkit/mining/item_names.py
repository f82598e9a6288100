"""Readable names of items: ``word[-1]=the`` instead of ``U01:the`` from line 1 of a template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from crfkit.features.template import Template

_NUMBERED = re.compile(r"[Uu*]?[:_]?\d*[:=_]?")  # only identifies the line
_OUTSIDE = {"crf++": re.compile(r"_B([+-])(\d+)"), "wapiti": re.compile(r"_x([+-])(\d+|#)")}
_PARTS = re.compile(r"(.[^=:]*?)([=:])(.+)", re.DOTALL)


class Item(NamedTuple):
    """An item in two parts: its place and its value. ``str`` joins them."""

    where: str  # "word[-1]"; "" if there is only one part
    sign: str  # "=" or ":" between them
    what: str

    def __str__(self) -> str:
        return "".join(self)


class ItemNames:
    """Names for the items of rules, and the order in which to read them.

    Attributes of a template's lines with one cell are named by the place of the cell, ``x[row,column]``, or
    with the names of the ``columns`` as ``name[row]``. Lines that have a descriptive name keep it, unless
    columns are named. Places before the first and after the last row are ``(start)``, ``(start-1)``, … and
    ``(end)``, ``(end+1)``, …. All other items are unchanged.
    """

    def __init__(self, template: Template | None = None, columns: Sequence[str] | None = None) -> None:
        self._wheres: dict[str, str] = {}  # by prefix
        self._orders: dict[str, tuple[int, int]] = {}
        self._outside = None if template is None else _OUTSIDE[template.dialect]
        for prefix, macro in ({} if template is None else template.single_cells).items():
            if macro.anchor == "here":
                self._orders[prefix] = (macro.row, macro.column)
            plain = macro.command == "x" and macro.anchor == "here"
            if plain and columns is not None and macro.column < len(columns):
                self._wheres[prefix] = f"{columns[macro.column]}[{macro.row}]"
            elif _NUMBERED.fullmatch(prefix):
                self._wheres[prefix] = macro.text.removeprefix("%")

    def __call__(self, item: str) -> Item:
        prefix = self._prefix(item)
        if prefix in self._wheres:
            return Item(self._wheres[prefix], "=", self._what(prefix, item[len(prefix) :]))
        parts = _PARTS.fullmatch(item)
        return Item("", "", item) if parts is None else Item(*parts.groups())

    def _what(self, prefix: str, cell: str) -> str:
        """Return the cell, or its place if it is outside of the sequence."""
        outside = None if self._outside is None else self._outside.fullmatch(cell)
        row, _ = self._orders.get(prefix, (0, 0))
        if outside is None or row == 0 or (row < 0) != (outside[1] == "-"):
            return cell
        end = "start" if row < 0 else "end"
        return f"({end})" if outside[2] == "1" else f"({end}{outside[1]}{_one_less(outside[2])})"

    def of_rule(self, items: Sequence[str]) -> list[Item]:
        """Return the items of a rule in parts, in the order of their places in the text."""
        last = (1 << 31, 0)
        return [self(item) for item in sorted(items, key=lambda i: self._orders.get(self._prefix(i), last))]

    def _prefix(self, item: str) -> str:
        """Return the longest known prefix of the item, which identifies the template's line."""
        end = len(item)
        while end > 0 and item[:end] not in self._orders and item[:end] not in self._wheres:
            end -= 1
        return item[:end]


def _one_less(number: str) -> str:
    return str(int(number) - 1) if number.isdigit() else number
