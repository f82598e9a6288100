"""Tables that show what attributes a sentence has: plain text at a prompt, HTML in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from crfkit.io.text_width import pad, width_of

_WIDTH = 110  # characters of a line of text
_WIDEST = 24  # of a cell; longer ones are cut


@dataclass(frozen=True, repr=False)
class Explanation:
    """A table with one row per extractor and one column per position.

    A value stands for ``name=value``, ✓ for the attribute ``name``, a number for the attribute's value; an
    empty cell means no attribute.
    """

    names: list[str]
    cells: list[list[str]]  # [names][T]

    def __repr__(self) -> str:
        n_positions = len(self.cells[0]) if self.cells else 0
        table = [["", *map(str, range(n_positions))]]
        table += [[name, *row] for name, row in zip(self.names, self.cells, strict=True)]
        widths = [max(width_of(row[k]) for row in table) for k in range(n_positions + 1)]
        parts = []
        start = 1
        while True:
            stop = start
            while stop <= n_positions and (
                stop == start or widths[0] + sum(w + 2 for w in widths[start : stop + 1]) <= _WIDTH
            ):
                stop += 1
            columns = [0, *range(start, stop)]
            parts.append(
                "\n".join("  ".join(pad(row[k], widths[k]) for k in columns).rstrip() for row in table)
            )
            start = stop
            if start > n_positions:
                return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        n_positions = len(self.cells[0]) if self.cells else 0
        head = "".join(f"<th>{t}</th>" for t in range(n_positions))
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row)
            + "</tr>"
            for name, row in zip(self.names, self.cells, strict=True)
        )
        return (
            f"<div style='overflow-x:auto'><table><thead><tr><th></th>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )


def shown(attribute: object, name: str) -> str:
    """Return an attribute, or a name with its number, as shown in the extractor's row."""
    if isinstance(attribute, tuple):
        key, number = attribute
        value = f"{number:.4g}" if isinstance(number, float) else f"[{len(number)} numbers]"
        return value if key == name else f"{_rest(key, name)}: {value}"
    return "✓" if attribute == name else _rest(str(attribute), name)


def _rest(attribute: str, name: str) -> str:
    """Return the part after the name, with unprintable characters escaped, cut to a readable length."""
    text = attribute[len(name) + 1 :]
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    if not text or text.isspace():
        text = repr(text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
