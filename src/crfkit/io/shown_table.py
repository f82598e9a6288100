"""Tables of results: plain text at a prompt, HTML in a notebook, a data frame for further work.

A result that is a table inherits from :class:`Tabular` and says what its cells are; nothing else writes
tables of results. The HTML has no colours of its own, so it is readable on light and dark pages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import Any

from crfkit.io.text_width import pad, visible, width_of
from crfkit.optional import needed

_LINE = "1px solid rgba(128,128,128,.45)"


@dataclass(frozen=True)
class ShownTable:
    """The cells of a table as text: a head, rows in groups, and notes below."""

    head: Sequence[str]  # [K] the first is the corner above the names of the rows
    groups: Sequence[Sequence[Sequence[str]]]  # rows [K]; a blank line or a rule divides groups
    notes: Sequence[str] = ()  # lines below the table
    left: bool = False  # whether cells are texts; otherwise they are numbers, and end at the same place

    def text(self, width: int | None = None) -> str:
        """Return the table as lines; columns that do not fit into ``width`` are continued below."""
        head = [visible(cell) for cell in self.head]
        groups = [[[visible(cell) for cell in row] for row in rows] for rows in self.groups]
        every = [head, *chain.from_iterable(groups)]
        widths = [max(width_of(row[k]) for row in every) for k in range(len(head))]

        def line(row: Sequence[str], columns: Iterable[int]) -> str:
            cells = [pad(row[0], widths[0])]
            cells += [pad(row[k], widths[k], right=not self.left) for k in columns]
            return "  ".join(cells).rstrip()

        parts = []
        for columns in _blocks(widths, width):
            lines = [line(head, columns)]
            for g, rows in enumerate(groups):
                lines += [""] if g else []
                lines += [line(row, columns) for row in rows]
            parts.append("\n".join(lines))
        notes = "\n".join(map(visible, self.notes))
        return "\n\n".join([*parts, notes] if notes else parts)

    def html(self) -> str:
        """Return the table as HTML, to be put into a page or a notebook."""
        side = "left" if self.left else "right"

        def cell(tag: str, text: str, k: int) -> str:
            style = f"text-align:{'left' if k == 0 else side};white-space:nowrap;padding:.1em .6em"
            return f"<{tag} style='{style}'>{escape(text)}</{tag}>"

        head = "".join(cell("th", text, k) for k, text in enumerate(self.head))
        bodies = []
        for rows in self.groups:
            lines = (
                "".join(cell("td" if k else "th", text, k) for k, text in enumerate(row)) for row in rows
            )
            content = "".join(f"<tr>{line}</tr>" for line in lines)
            bodies.append(f"<tbody style='border-top:{_LINE}'>{content}</tbody>")
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return (
            "<div style='overflow-x:auto'>"
            "<table style='border-collapse:collapse;font-variant-numeric:tabular-nums'>"
            f"<thead><tr>{head}</tr></thead>{''.join(bodies)}</table>{notes}</div>"
        )


def _blocks(widths: Sequence[int], limit: int | None) -> Iterator[range]:
    """Yield ranges of columns that fit beside the first one, at least one column each."""
    start = 1
    while True:
        stop = start
        while stop < len(widths) and (
            limit is None
            or stop == start
            or widths[0] + sum(width + 2 for width in widths[start : stop + 1]) <= limit
        ):
            stop += 1
        yield range(start, stop)
        start = stop
        if start >= len(widths):
            return


class Tabular:
    """A result that prints as a table, shows as HTML in a notebook, and converts to a data frame."""

    @abstractmethod
    def _shown(self) -> ShownTable:
        """Return the cells as text."""

    @abstractmethod
    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the numbers."""

    def __str__(self) -> str:
        return self._shown().text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._shown().html()


class TabularRecords(Tabular):
    """A table whose data frame has one row per record."""

    @abstractmethod
    def _records(self) -> Iterable[Mapping[str, Any]]:
        """Return one record per row of the data frame, with numbers as they are."""

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per row of the table."""
        return needed("pandas", "to_frame").DataFrame(list(self._records()))
