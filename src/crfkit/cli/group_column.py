"""``--group-column``: the column of a table that says which sequences belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit.cli.column_roles import column_place, column_title
from crfkit.cli.messages import UsageError
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.data.columns import Columns

OPTION = """\
  --group-column NAME       csv: a column that says which rows belong together, such as a document: its
      sequences are never in different folds, and it is not a feature"""


def cut_groups(columns: Columns, label: int, named: str) -> tuple[Columns, int, list[str]]:
    """Return a table without its column of groups, the place of its labels, and each sequence's group."""
    if not hasattr(columns, "names"):
        raise UsageError(f"--group-column needs a table with a header, which {columns.source} is not")
    place = column_place(columns, named, "--group-column")
    if place == label:
        raise UsageError(f"--group-column {named}: this is the label column")
    if columns.n_columns < 3:
        raise InputError(f"{columns.source}: there is no column beside the labels and the groups")
    return columns.without(place), label - (place < label), _groups(columns, place)


def _groups(columns: Columns, place: int) -> list[str]:
    """Return the group of each sequence, which must be the same in all its rows."""
    found: list[str] = []
    line = 0
    for cells in columns.column(place):
        if len(set(cells)) > 1:
            other = next(k for k, cell in enumerate(cells) if cell != cells[0])
            raise InputError(
                f"{columns.source}:{columns.lines[line + other]}: the group {column_title(columns, place)} "
                f"changes from {cells[0]!r} to {cells[other]!r} within a sequence"
            )
        found.append(cells[0])
        line += len(cells)
    return found
