"""The roles of a table's columns: true labels, known labels, and columns for the template.

A template counts columns without the label columns. So it fits data with and without labels, and labels may
be in any column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.data.columns import Columns


class Roles(NamedTuple):
    """Indices of columns in a row; None if there is no such column."""

    label: int | None
    known: int | None = None
    seen: tuple[int, ...] | None = None  # columns for the template, if a header names them
    key: int | None = None  # identifies the sequence

    def for_template(self, columns: Columns) -> Columns:
        """Return the table without its label columns, which a template must not see."""
        if self.seen is not None:
            return columns.select(self.seen)
        others = {place for place in (self.label, self.known, self.key) if place is not None}
        for place in sorted(others, reverse=True):
            columns = columns.without(place)
        return columns


def column_place(columns: Columns, named: str, option: str) -> int:
    """Return the index of the column that an option names: a number (negative: from the end) or a name."""
    return place_of(named, option, columns.source, columns.n_columns, getattr(columns, "names", None))


def column_title(columns: Columns, place: int) -> str:
    """Return how messages name a column: by its name, or by its number as options do."""
    names = getattr(columns, "names", None)
    return str(place) if names is None else repr(names[place])


def place_of(named: str, option: str, source: str, n: int, names: Sequence[str] | None) -> int:
    """Return the index of the column that an option names, in a table with n columns."""
    if names is not None and named in names:
        return list(names).index(named)
    try:
        place = int(named)
    except ValueError:
        known = (
            f"the columns are {', '.join(names)}" if names else "columns are numbered 0, 1, … or -1, -2, …"
        )
        raise InputError(f"{source}: {option} {named}: there is no such column; {known}") from None
    if not -n <= place < n:
        raise InputError(f"{source}: {option} {named}: the rows have {n} columns, 0 to {n - 1}")
    return place % n


def label_place(columns: Columns, label_column: str | None) -> int:
    """Return the index of the label column in training data: the last, unless an option names another."""
    n = columns.n_columns
    if n == 1:
        raise InputError(
            f"{columns.source}: rows have one column; training needs one or more cells and a label per row"
            + (
                "; the cells have commas: use --separator , and, if the first line is data, --no-header"
                if any("," in cell for cell in columns.cells.strings(0, min(len(columns.cells), 10)))
                else ""
            )
        )
    return n - 1 if label_column is None else column_place(columns, label_column, "--label-column")


def tagging_roles(
    columns: Columns,
    needed: int,
    record: dict[str, Any] | None,
    label_column: str | None,
    known_column: str | None,
) -> Roles:
    """Return the column roles in data to tag.

    ``needed`` is the number of columns that the template uses. ``record`` describes the training data: how
    many columns it had, and which was the label.
    """
    n = int(columns.ids.shape[1])
    known = None if known_column is None else column_place(columns, known_column, "--known-column")
    key = getattr(columns, "sequence_place", None)
    rest = [place for place in range(n) if place not in (known, key)]  # columns of the data itself
    names = getattr(columns, "names", None)
    if names is not None and record is not None and "names" in record:
        return _roles_by_name(columns, names, record, label_column, known)
    if label_column is not None:
        label = None if label_column == "none" else column_place(columns, label_column, "--label-column")
        roles = Roles(label, known, key=key)
    elif record is not None and len(rest) in (record["columns"], record["columns"] - 1):
        roles = Roles(
            rest[record["label_column"]] if len(rest) == record["columns"] else None, known, key=key
        )
    elif hasattr(columns, "tokenizer") and needed != 1:
        raise InputError(
            f"{columns.source}: a text gives one column, its tokens, but the model takes {needed}: give data "
            "with these columns, or train a model on the tokens alone"
        )
    elif record is not None and len(rest) != needed:
        raise InputError(
            f"{columns.source}: rows have {len(rest)} columns{_besides(known)}; the model was trained on "
            f"{record['columns']} (the label is column {record['label_column']}) and tags rows with "
            f"{record['columns']} columns (with the true label) or {record['columns'] - 1} (without it); "
            "name the label column with --label-column K, or use --label-column none if there is none"
        )
    else:
        roles = Roles(rest[-1] if len(rest) > needed else None, known, key=key)
    left = n - len({place for place in (roles.label, known, key) if place is not None})
    if left < needed:
        raise InputError(
            f"{columns.source}: the model's template uses {needed} columns, but rows have {left}"
            f"{_besides(known)}" + (" beside the label" if roles.label is not None else "")
        )
    return roles


def _roles_by_name(
    columns: Columns,
    names: tuple[str, ...],
    record: dict[str, Any],
    label_column: str | None,
    known: int | None,
) -> Roles:
    """Return the roles if both this data and the training data have a header; any column order will do."""
    trained = list(record["names"])
    label_name = trained.pop(record["label_column"])
    missing = [name for name in trained if name not in names]
    if missing and len(trained) == len(names) == 1 and hasattr(columns, "tokenizer"):
        return Roles(None, known, (0,))  # a plain text has tokens, whatever training called them
    if missing:
        raise InputError(
            f"{columns.source}: the model was trained on a column {missing[0]!r}, but the data has no such "
            f"column; its columns are {', '.join(names)}"
        )
    label = names.index(label_name) if label_name in names else None
    if label_column is not None:
        label = None if label_column == "none" else column_place(columns, label_column, "--label-column")
    return Roles(label, known, tuple(names.index(name) for name in trained))


def _besides(known: int | None) -> str:
    return "" if known is None else " beside the known labels"
