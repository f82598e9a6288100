"""Tables of numbers and categories with missing values: the input of tree potentials.

A :class:`TableSchema` is learned from training data: the name of each column, whether it holds numbers or
categories, and which categories. It encodes other data as a :class:`Table`. Strings are categories; numbers
and bools are numbers; None, NaN and absent values are missing, and so are categories not seen in training.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.raw_columns import RawColumn, RawTable, TextColumn, category, read_raw
from crfkit.data.sequences import Batch, gather
from crfkit.exceptions import InputError, InputWarning, ModelFileError
from crfkit.parameters import unstorable
from crfkit.warn import warn

_MISSING_NUMBERS = {"", "?", "NA", "N/A", "NaN", "nan", "None", "null"}  # in a text column of numbers


@dataclass(frozen=True)
class TableColumn:
    """How a column is read."""

    name: str
    categories: tuple[str, ...] | None  # None: numbers
    declared: bool = False  # the user declared it as categories: numbers are accepted, too

    @property
    def is_category(self) -> bool:
        return self.categories is not None


@dataclass(frozen=True, eq=False)
class Table(Batch):
    """N sequences of positions with K values each."""

    values: FloatArray  # [ΣT, K] numbers, or places in the column's categories; NaN: missing
    outside: FloatArray  # [K] the values beyond the ends: NaN; for categories, their number
    offsets: IntArray  # [N+1]
    other_names: bool = False  # whether users were warned that the names of the columns seem to be wrong

    def piece(self, start: int, stop: int) -> Table:
        """Return the sequences start..stop-1."""
        low, high = int(self.offsets[start]), int(self.offsets[stop])
        return Table(self.values[low:high], self.outside, self.offsets[start : stop + 1] - low)

    def subset(self, sequences: npt.NDArray[np.integer]) -> Table:
        offsets, rows = gather(self.offsets, np.asarray(sequences, np.int64))
        return Table(self.values[rows], self.outside, offsets)

    def windows(self, positions: IntArray, before: int, after: int) -> FloatArray:
        """Return the windows around some positions [P, W·K], with this many positions before and after."""
        sequence = np.searchsorted(self.offsets, positions, side="right") - 1
        low, high = self.offsets[sequence], self.offsets[sequence + 1]
        n_columns = self.values.shape[1]
        result = np.empty((len(positions), (before + 1 + after) * n_columns))
        for place, step in enumerate(range(-before, after + 1)):
            around = positions + step
            inside = (around >= low) & (around < high)
            block = result[:, place * n_columns : (place + 1) * n_columns]
            block[inside] = self.values[around[inside]]
            block[~inside] = self.outside
        return result


@dataclass(frozen=True)
class TableSchema:
    """The columns of the training data, without those in which all values were missing."""

    columns: tuple[TableColumn, ...]  # [K]
    width: int | None  # how many values a row has if columns are identified by place; None: by name
    places: tuple[int, ...] = ()  # [K] of the columns in such rows

    @classmethod
    def learn(
        cls, X: Any, lengths: Any = None, categorical: Collection[str | int] | None = None
    ) -> tuple[TableSchema, Table]:
        """Learn the schema of training data, and return it with the encoded data.

        The columns in ``categorical`` (names, or numbers if columns are identified by place) hold categories
        even if they look like numbers.
        """
        raw = read_raw(X, lengths)
        named: set[str] = set()
        for meant in categorical or ():
            found = raw.name_of(meant)
            if found is None:
                raise InputError(
                    f"categorical names the column {str(meant)!r}, but X has no such column; it has "
                    f"{', '.join(list(raw.columns)[:20])}"
                )
            named.add(found)
        columns: list[TableColumn] = []
        places: list[int] = []
        empty: list[str] = []
        for place, (name, values) in enumerate(raw.columns.items()):
            column = _learned(name, values, name in named, raw)
            lost = None if column is None else unstorable([name, *(column.categories or ())])
            if lost is not None:
                raise InputError(
                    f"the name or a category of column {place} has {lost}, so that no model file can hold "
                    "it; decode the text with errors='replace', or clean it"
                )
            if column is None:
                empty.append(name)
            else:
                columns.append(column)
                places.append(place)
        if raw.offsets[-1] and not columns:
            raise InputError("X has no values: all values of all columns are missing")
        if empty:
            warn(
                f"nothing but missing values in {len(empty)} of {len(raw.columns)} columns "
                f"({', '.join(map(repr, empty[:5]))}{', …' if len(empty) > 5 else ''}): left out",
                InputWarning,
            )
        schema = cls(tuple(columns), None if raw.named else len(raw.columns), tuple(places))
        return schema, schema._table(raw)

    def encode(self, X: Any, lengths: Any = None) -> Table:
        raw = read_raw(X, lengths)
        other_names = bool(raw.offsets[-1]) and self._check_kind(raw)
        return replace(self._table(raw), other_names=other_names)

    def number_of(self, meant: str | int) -> int | None:
        """Return the number of a column, given by its name or its place; None if there is no such column."""
        for k, column in enumerate(self.columns):
            if column.name == str(meant) and (self.width is None or isinstance(meant, str)):
                return k
        if self.width is None or not str(meant).isdecimal() or int(meant) not in self.places:
            return None
        return self.places.index(int(meant))

    @property
    def outside(self) -> FloatArray:
        """The values before the first and after the last position [K]."""
        places = [math.nan if c.categories is None else len(c.categories) for c in self.columns]
        return np.array(places, dtype=np.float64)

    def _check_kind(self, raw: RawTable) -> bool:
        """Raise if X has no columns like those of training; return whether its names gave a warning."""
        if self.width is None and not raw.named:
            raise InputError(
                "the model was trained on named values (dicts or data frames with the columns "
                f"{', '.join(c.name for c in self.columns[:10])}), but X has values without names"
            )
        if self.width is not None and raw.named:
            raise InputError(
                f"the model was trained on rows of {self.width} values without names, but X has names "
                f"({', '.join(list(raw.columns)[:10])})"
            )
        if self.width is not None and len(raw.columns) != self.width:
            raise InputError(
                f"X has {len(raw.columns)} columns, but {self.width} were expected, as in training"
            )
        return self.width is None and self._warn_of_other_names(raw)

    def _warn_of_other_names(self, raw: RawTable) -> bool:
        """Warn if most columns of training are missing and there are unknown ones: the names may be wrong."""
        lacking = [column.name for column in self.columns if column.name not in raw.columns]
        unknown = set(raw.columns) - {column.name for column in self.columns}
        strange = bool(unknown) and 2 * len(lacking) > len(self.columns)
        if strange:
            warn(
                f"X has {len(self.columns) - len(lacking)} of the {len(self.columns)} columns of training: "
                f"{', '.join(map(repr, lacking[:5]))}{', …' if len(lacking) > 5 else ''} count as missing, "
                f"and others, such as {min(unknown)!r}, are ignored",
                InputWarning,
            )
        return strange

    def _table(self, raw: RawTable) -> Table:
        values = np.full((int(raw.offsets[-1]), len(self.columns)), np.nan)  # [ΣT, K]
        found_at = list(raw.columns.values())
        # Files with a header may have the columns in another order.
        by_name = raw.named or (raw.header and all(column.name in raw.columns for column in self.columns))
        for k, column in enumerate(self.columns):
            if by_name:
                found = raw.columns.get(column.name)
            else:
                found = found_at[self.places[k]] if found_at else None
            if found is not None:
                values[:, k] = _encoded(column, found, raw)
        return Table(values, self.outside, raw.offsets)

    # ---- the model file

    def to_header(self) -> dict[str, Any]:
        return {
            "columns": [
                {
                    "name": c.name,
                    "categories": None if c.categories is None else list(c.categories),
                    "declared": c.declared,
                }
                for c in self.columns
            ],
            "width": self.width,
            "places": list(self.places),
        }

    @classmethod
    def from_header(cls, record: Any, name: str) -> TableSchema:
        """Return the schema in a model file's header."""
        try:
            columns = tuple(
                TableColumn(
                    c["name"],
                    None if c["categories"] is None else tuple(c["categories"]),
                    c.get("declared", False) is True,
                )
                for c in record["columns"]
            )
            width, places = record["width"], tuple(record["places"])
            sound = (
                all(isinstance(c.name, str) for c in columns)
                and all(isinstance(text, str) for c in columns for text in c.categories or ())
                and (width is None or type(width) is int)
                and all(type(place) is int for place in places)
                and (width is None or (len(places) == len(columns) and all(0 <= p < width for p in places)))
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ModelFileError(f"cannot read the model {name}: its columns are malformed") from error
        if not sound:
            raise ModelFileError(f"cannot read the model {name}: its columns are malformed")
        return cls(columns, width, places)


# ---- one column


def _learned(name: str, values: RawColumn, categorical: bool, raw: RawTable) -> TableColumn | None:
    """Return the column learned from training values; None if all are missing."""
    if isinstance(values, TextColumn):
        filled = [cell for cell in values.cells if cell]
        numbers = [cell for cell in filled if cell not in _MISSING_NUMBERS]
        if not categorical and numbers and all(_number(cell) is not None for cell in numbers):
            return TableColumn(name, None)
        return TableColumn(name, tuple(sorted(filled)), categorical) if filled else None
    if values.dtype.kind in "biuf" and not categorical:
        return None if values.dtype.kind == "f" and np.isnan(values).all() else TableColumn(name, None)
    kinds = [(t, value) for t, value in enumerate(values.tolist()) if not _absent(value)]
    if not kinds:
        return None
    texts = isinstance(kinds[0][1], str)
    for t, value in kinds:
        _check_value(name, value, t, raw)
        if isinstance(value, str) != texts and not categorical:
            raise InputError(
                f"{raw.place(t)}: feature {name!r} holds {'text' if texts else 'numbers'} before, but here "
                f"{value!r:.60}: make it all text or all numbers, or name it in categorical=[…]"
            )
    if texts or categorical:
        return TableColumn(name, tuple(sorted({category(value) for _, value in kinds})), categorical)
    return TableColumn(name, None)


def _encoded(column: TableColumn, values: RawColumn, raw: RawTable) -> FloatArray:
    """Return the values of a column as numbers [ΣT]."""
    if isinstance(values, TextColumn):
        table = np.array([_cell(column, cell, values, raw) for cell in values.cells] or [math.nan])
        encoded: FloatArray = table[values.codes] if values.codes.size else np.empty(0)
    elif column.categories is None and values.dtype.kind in "biuf":
        encoded = values.astype(np.float64)
    else:
        place = {} if column.categories is None else {text: i for i, text in enumerate(column.categories)}
        encoded = np.full(len(values), math.nan)
        for t, value in enumerate(values.tolist()):
            if _absent(value):
                continue
            _check_value(column.name, value, t, raw)
            if column.categories is None:
                if isinstance(value, str):
                    raise _other_kind(column, value, raw.place(t))
                encoded[t] = value
            elif isinstance(value, str) or column.declared or _all_numbers(column.categories):
                encoded[t] = place.get(category(value), math.nan)
            else:
                raise _other_kind(column, value, raw.place(t))
    if column.categories is None and np.isinf(encoded).any():
        where = raw.place(int(np.flatnonzero(np.isinf(encoded))[0]))
        raise InputError(
            f"{where}: feature {column.name!r}: expected a finite number, or None where it is missing"
        )
    if column.categories is not None and len(encoded) >= _MANY and np.isnan(encoded).all():
        _warn_unseen(column, values)
    return encoded


_MANY = 20  # positions: if none of them has a known category, the data is probably of another kind


def _warn_unseen(column: TableColumn, values: RawColumn) -> None:
    cells: Sequence[Any] = values.cells if isinstance(values, TextColumn) else values.tolist()
    some = next((value for value in cells if not _absent(value) and value != ""), None)
    if some is not None:
        warn(
            f"none of the categories of {column.name!r} (such as {some!r:.40}) was seen in training: all "
            "count as missing",
            InputWarning,
        )


def _cell(column: TableColumn, cell: str, values: TextColumn, raw: RawTable) -> float:
    """Return a cell of a text file as a number."""
    if column.categories is not None:
        # categories are sorted
        place = int(np.searchsorted(np.array(column.categories, dtype=object), cell)) if cell else 0
        known = place < len(column.categories) and column.categories[place] == cell
        return float(place) if cell and known else math.nan
    if cell in _MISSING_NUMBERS:
        return math.nan
    number = _number(cell)
    if number is None:
        t = int(np.flatnonzero(values.codes == values.cells.index(cell))[0])
        raise _other_kind(column, cell, raw.place(t))
    return number


def _other_kind(column: TableColumn, value: Any, where: str) -> InputError:
    held = "numbers" if column.categories is None else "text"
    return InputError(
        f"{where}: feature {column.name!r} held {held} in training, but here {value!r:.60}: use the same "
        "kind as in training; None is a missing value"
    )


def _check_value(name: str, value: Any, t: int, raw: RawTable) -> None:
    if not isinstance(value, (str, bool, int, float, np.generic)):
        raise InputError(
            f"{raw.place(t)}: feature {name!r}: a value must be a str, a bool or a number, or None where it "
            f"is missing; got {type(value).__name__} {value!r:.60}"
        )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def _all_numbers(categories: tuple[str, ...]) -> bool:
    return all(_number(text) is not None for text in categories)


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None
