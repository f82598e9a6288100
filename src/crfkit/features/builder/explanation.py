"""Tables that show what attributes a sentence has: plain text at a prompt, HTML in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crfkit.io.shown_table import ShownTable, Tabular
from crfkit.optional import needed

_WIDTH = 110  # characters of a line of text
_WIDEST = 24  # of a cell; longer ones are cut


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """A table with one row per extractor and one column per position.

    A value stands for ``name=value``, ✓ for the attribute ``name``, a number for the attribute's value; an
    empty cell means no attribute.
    """

    names: list[str]
    cells: list[list[str]]  # [names][T]

    def _shown(self) -> ShownTable:
        n_positions = len(self.cells[0]) if self.cells else 0
        rows = [[name, *row] for name, row in zip(self.names, self.cells, strict=True)]
        return ShownTable(["", *map(str, range(n_positions))], [rows], left=True)

    def __str__(self) -> str:
        return self._shown().text(_WIDTH)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the cells: one row per extractor, one column per position."""
        n_positions = len(self.cells[0]) if self.cells else 0
        return needed("pandas", "to_frame").DataFrame(
            self.cells, index=self.names, columns=range(n_positions)
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
