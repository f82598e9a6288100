"""Lists of records that a notebook shows as a table; everywhere else they are lists like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any, TypeVar

from crfkit.io.shown_table import ShownTable
from crfkit.optional import needed

Item = TypeVar("Item")
_MOST = 40  # rows that are shown
_LONGEST = 60  # characters of a cell


class ShownList(list[Item]):
    """A list of dicts, named tuples or dataclasses: a row each, in a notebook."""

    def _records(self) -> Iterator[dict[str, Any]]:
        return (_record(item) for item in self)

    def _repr_html_(self) -> str:
        return _table(list(self._records())).html()

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per item."""
        return needed("pandas", "to_frame").DataFrame(list(self._records()))


class ShownLists(ShownList[Any]):
    """A list of lists of records, one list per sequence: a row per record, with the sequence's number."""

    def _records(self) -> Iterator[dict[str, Any]]:
        for i, items in enumerate(self):
            for record in items._records() if isinstance(items, ShownList) else map(_record, items):
                yield {"sequence": i, **record}


def _record(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return dict(zip(item._fields, item, strict=True))
    if is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    return {"": item}


def _table(records: list[dict[str, Any]]) -> ShownTable:
    names = list(dict.fromkeys(name for record in records for name in record))
    hidden = len(records) - _MOST
    kept = [*records[: _MOST // 2], *records[-_MOST // 2 :]] if hidden > 0 else records
    rows = [[_cell(record.get(name)) for name in names] for record in kept]
    groups = [rows[: _MOST // 2], rows[_MOST // 2 :]] if hidden > 0 else [rows]
    notes = (
        [f"{hidden:,} rows between the first and the last {_MOST // 2} are left out"] if hidden > 0 else []
    )
    texts = any(isinstance(value, (str, list, tuple)) for record in kept for value in record.values())
    return ShownTable(names or ["nothing"], groups, notes, left=texts)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Real):
        return f"{value:,}" if isinstance(value, int) else f"{float(value):.6g}"
    if isinstance(value, Mapping):
        text = ", ".join(f"{key}: {_cell(one)}" for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        text = " ".join(map(_cell, value))
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
