"""Which columns of a table are what: the true labels, labels known beforehand, and those for the template.

A template counts the columns without those of labels, so that it fits data with and without them, and labels
that do not stand in the last column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.data.columns import Columns


@dataclass(frozen=True)
class Roles:
    """Places of columns in a row; None where there is no such column."""

    label: int | None
    known: int | None = None
    seen: tuple[int, ...] | None = None  # for the template, where a header names them

    def for_template(self, columns: Columns) -> Columns:
        """The columns without those of labels: no template may look at what is to be found out."""
        if self.seen is not None:
            return columns.select(self.seen)
        for place in sorted({place for place in (self.label, self.known) if place is not None}, reverse=True):
            columns = columns.without(place)
        return columns


def column_place(columns: Columns, named: str, option: str) -> int:
    """The place of the column that an option names: a number, negative from the end, or a header's name."""
    return place_of(named, option, columns.source, columns.n_columns, getattr(columns, "names", None))


def place_of(named: str, option: str, source: str, n: int, names: Sequence[str] | None) -> int:
    """The same in a table with n columns, whose names are known or not."""
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
    """The column of the labels in training data: the last unless an option says otherwise."""
    n = columns.n_columns
    if n == 1:
        raise InputError(
            f"{columns.source}: rows have one column; training needs cells and a label in each row "
            "(tokens without labels cannot be trained on)"
        )
    return n - 1 if label_column is None else column_place(columns, label_column, "--label-column")


def tagging_roles(
    columns: Columns,
    needed: int,
    record: dict[str, Any] | None,
    label_column: str | None,
    known_column: str | None,
) -> Roles:
    """Roles in data to be tagged.

    ``needed`` columns are what the template looks at; ``record`` is what the model remembers of its training
    data: how many columns it had, and which was the label.
    """
    n = int(columns.ids.shape[1])
    known = None if known_column is None else column_place(columns, known_column, "--known-column")
    rest = [place for place in range(n) if place != known]  # columns of the data itself
    names = getattr(columns, "names", None)
    if names is not None and record is not None and "names" in record:
        return _roles_by_name(columns, names, record, label_column, known)
    if label_column is not None:
        label = None if label_column == "none" else column_place(columns, label_column, "--label-column")
        roles = Roles(label, known)
    elif record is not None and len(rest) in (record["columns"], record["columns"] - 1):
        roles = Roles(rest[record["label_column"]] if len(rest) == record["columns"] else None, known)
    elif record is not None and len(rest) != needed:
        raise InputError(
            f"{columns.source}: rows have {len(rest)} columns{_besides(known)}; the model was trained on "
            f"{record['columns']}, the label being column {record['label_column']}, and tags rows of "
            f"{record['columns']} (with the true label) or {record['columns'] - 1} (without); "
            "--label-column K says which it is, --label-column none that there is none"
        )
    else:
        roles = Roles(rest[-1] if len(rest) > needed else None, known)
    left = n - len({place for place in (roles.label, roles.known) if place is not None})
    if left < needed:
        raise InputError(
            f"{columns.source}: the model's template looks at {needed} columns, but rows have {left}"
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
    """Roles where both the training data and these have a header: columns may stand in any order."""
    trained = list(record["names"])
    label_name = trained.pop(record["label_column"])
    missing = [name for name in trained if name not in names]
    if missing:
        raise InputError(
            f"{columns.source}: there is no column {missing[0]!r}, which the model was trained on; the "
            f"columns are {', '.join(names)}"
        )
    label = names.index(label_name) if label_name in names else None
    if label_column is not None:
        label = None if label_column == "none" else column_place(columns, label_column, "--label-column")
    return Roles(label, known, tuple(names.index(name) for name in trained))


def _besides(known: int | None) -> str:
    return "" if known is None else " beside the known labels"
