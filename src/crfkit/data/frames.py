"""One data frame with the rows of all sequences: pandas, polars, Arrow and others, through narwhals.

A model that was trained on a frame remembers its columns: names and kinds, which column has the labels, and
which columns identify the sequence. Rows of one sequence need not stand together; labels come back in the
order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.data.raw_columns import category, is_missing
from crfkit.data.reading import MISSING_HINT, is_frame
from crfkit.exceptions import InputError, InputWarning, ModelFileError
from crfkit.optional import needed
from crfkit.warn import warn

KINDS = ("text", "category", "number")
_MALFORMED = "cannot read the model: its record of the training table is malformed"
_FEW_ROWS = 20  # a leak cannot be told from fewer


@dataclass(frozen=True)
class TableColumn:
    """A column of a ``Table``, with the methods of a pandas or polars series that the readers use."""

    values: npt.NDArray[Any]  # [ΣT] numbers with NaN, or str with None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def to_numpy(self) -> npt.NDArray[Any]:
        return self.values

    def to_list(self) -> list[Any]:
        found: list[Any] = self.values.tolist()
        return found

    tolist = to_list


class Table:
    """Columns of all sequences, end to end; the readers of X take it for a data frame."""

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self._columns = {name: TableColumn(values) for name, values in columns.items()}

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        return [column.dtype for column in self._columns.values()]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> TableColumn:
        return self._columns[name]


@dataclass(frozen=True)
class TableRows:
    """The rows of a data frame, in the order of their sequences."""

    table: Table  # without labels and sequence columns
    order: IntArray  # [ΣT] the row of each position
    lengths: list[int]  # [N]
    labels: list[list[Any]] | None  # [N][T]
    groups: list[Any] | None  # [N]
    frame: Any  # as it was given
    label: str

    def aligned(self, labels: Sequence[Sequence[Any]]) -> Any:
        """Return labels [N][T] as a column like those of the frame, in the order of its rows."""
        nw = _narwhals()
        flat = np.empty(len(self.order), dtype=object)
        flat[self.order] = [label for sequence in labels for label in sequence]
        given = nw.from_native(self.frame, eager_only=True)
        series = nw.new_series(self.label, flat.tolist(), backend=nw.get_native_namespace(given)).to_native()
        if hasattr(self.frame, "index") and hasattr(series, "index"):
            series.index = self.frame.index
        return series


@dataclass(frozen=True)
class TableRecord:
    """What a model remembers of the data frame that it was trained on."""

    kinds: dict[str, str]  # of each column that it uses, in their order: one of KINDS
    label: str
    sequence: tuple[str, ...]
    # For kernels: mean and deviation of numbers, values of categories.
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def learn(
        cls, frame: Any, label: str, sequence: str | Sequence[str] | None, group: str | None
    ) -> tuple[TableRecord, TableRows]:
        """Return the record of a training frame, and its rows."""
        given = _opened(frame)
        keys = () if sequence is None else (sequence,) if isinstance(sequence, str) else tuple(sequence)
        for name in (label, *keys, *(() if group is None else (group,))):
            if name not in given.columns:
                raise InputError(
                    f"the table has no column {name!r}; its columns are {', '.join(given.columns)}"
                )
        used = [name for name in given.columns if name not in (label, group, *keys)]
        if not used:
            raise InputError(f"the table has no column beside {', '.join((label, *keys))}")
        record = cls({name: _kind(given[name]) for name in used}, label, keys)
        rows = record.read(frame, labelled=True, group=group)
        _warn_of_leaks(record, rows)
        return record, rows

    def read(self, frame: Any, *, labelled: bool = False, group: str | None = None) -> TableRows:
        """Return the rows of a frame with the same columns; its labels are only read if ``labelled``."""
        given = _opened(frame)
        needed = [*self.kinds, *self.sequence, *((self.label,) if labelled else ())]
        missing = [name for name in needed if name not in given.columns]
        if missing:
            raise InputError(
                f"the model was trained on a column {missing[0]!r}, but the table has no such column; its "
                f"columns are {', '.join(given.columns)}"
            )
        order, lengths = _sequences(given, self.sequence)
        columns = {name: _values(given[name], name, kind)[order] for name, kind in self.kinds.items()}
        labels = _cut(_labels(given[self.label], self.label)[order], lengths) if labelled else None
        groups = None
        if group is not None:
            of_rows = _cut(np.array(given[group].to_list(), dtype=object)[order], lengths)
            groups = [values[0] for values in of_rows]
            for i, values in enumerate(of_rows):
                if len(set(values)) > 1:
                    raise InputError(f"sequence {i} has several values in the column {group!r}: {values[:2]}")
        return TableRows(Table(columns), order, lengths, labels, groups, frame, self.label)

    def to_json(self) -> dict[str, Any]:
        """Return the record for the header of a model file."""
        record = {"kinds": self.kinds, "label": self.label, "sequence": list(self.sequence)}
        more = {"scales": {name: list(pair) for name, pair in self.scales.items()}, "levels": self.levels}
        return {**record, **{name: value for name, value in more.items() if value}}

    @classmethod
    def from_json(cls, record: Any) -> TableRecord:
        """Return the record in the header of a model file."""
        kinds = record.get("kinds") if isinstance(record, dict) else None
        sequence = record.get("sequence") if isinstance(record, dict) else None
        if (
            not isinstance(kinds, dict)
            or not all(kind in KINDS for kind in kinds.values())
            or not isinstance(sequence, list)
            or not all(isinstance(name, str) for name in [record.get("label"), *sequence])
        ):
            raise ModelFileError(_MALFORMED)
        scales, levels = record.get("scales", {}), record.get("levels", {})
        try:
            pairs = {name: (float(mean), float(deviation)) for name, (mean, deviation) in scales.items()}
            lists = {name: [str(value) for value in values] for name, values in levels.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelFileError(_MALFORMED) from error
        if (pairs or lists) and {*pairs, *lists} != set(kinds):
            raise ModelFileError(_MALFORMED)
        return cls(dict(kinds), record["label"], tuple(sequence), pairs, lists)


def is_one_frame(X: Any) -> bool:
    """Tell whether X is one data frame, of any library, and not a list of sequences."""
    return is_frame(X) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")


def _narwhals() -> Any:
    return needed("narwhals", "a data frame with label=")


def _opened(frame: Any) -> Any:
    """Return a data frame of any library as one of narwhals."""
    nw = _narwhals()
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputError(
            "label= and sequence= go with one data frame (pandas, polars, Arrow, …), got "
            f"{type(frame).__name__}"
        ) from error


def _kind(series: Any) -> str:
    nw, dtype = _narwhals(), series.dtype
    if dtype.is_numeric():
        return "number"
    if dtype in (nw.Boolean, nw.Categorical, nw.Enum):
        return "category"
    if dtype in (nw.String, nw.Object, nw.Unknown):
        return "text"
    raise InputError(
        f"column {series.name!r} holds values of type {dtype}; turn it into text or numbers, or leave it out"
    )


def _values(series: Any, name: str, kind: str) -> npt.NDArray[Any]:
    """Return a column [rows]: numbers with NaN for missing ones, or text with None for missing categories."""
    found = _kind(series)
    if kind == "number":
        if found != "number":
            raise InputError(f"column {name!r}: expected numbers, as in training, got {series.dtype}")
        return np.array([np.nan if value is None else value for value in series.to_list()], dtype=np.float64)
    values = np.empty(len(series), dtype=object)
    values[:] = [None if is_missing(value) else value for value in series.to_list()]
    if kind == "category":
        values[:] = [None if v is None else v if isinstance(v, str) else category(v) for v in values]
        return values
    for row, value in enumerate(values):
        if value is None:
            raise missing_text(name, row)
        if not isinstance(value, str):
            raise InputError(f"column {name!r}, row {row}: expected text, got {value!r:.60}")
    return values


def missing_text(column: Any, row: int) -> InputError:
    """Return the error for a missing cell in a column of text."""
    return InputError(f"column {column!r}, row {row}: the text is missing. {MISSING_HINT}")


def _labels(series: Any, name: str) -> npt.NDArray[Any]:
    values = np.empty(len(series), dtype=object)
    values[:] = [None if is_missing(value) else value for value in series.to_list()]
    if all(value is None for value in values):
        raise InputError(f"the column of the labels, {name!r}, is empty")
    return values


def _sequences(given: Any, keys: Sequence[str]) -> tuple[IntArray, list[int]]:
    """Return the rows in the order of their sequences [ΣT], and the lengths of these [N].

    Sequences are in the order of their first rows. A missing id means: the same as above.
    """
    n = len(given)
    if not keys:
        return np.arange(n), [n] if n else []
    number = np.zeros(n, np.int64)
    places: dict[Any, int] = {}
    columns = [given[key].to_list() for key in keys]
    current: list[Any] = [None] * len(keys)
    for row, ids in enumerate(zip(*columns, strict=True)):
        current = [old if is_missing(new) else new for new, old in zip(ids, current, strict=True)]
        number[row] = places.setdefault(tuple(current), len(places))
    order = np.argsort(number, kind="stable")
    return order, np.bincount(number, minlength=len(places)).tolist()


def _cut(values: npt.NDArray[Any], lengths: Sequence[int]) -> list[list[Any]]:
    bounds = np.cumsum([0, *lengths]).tolist()
    return [values[a:b].tolist() for a, b in pairwise(bounds)]


def _warn_of_leaks(record: TableRecord, rows: TableRows) -> None:
    """Warn of columns that are the labels, or another name for each of them."""
    labels = [label for sequence in rows.labels or () for label in sequence]
    if len(labels) < _FEW_ROWS or len(set(labels)) < 2:
        return
    for name in record.kinds:
        values = rows.table[name].to_list()
        pairs = set(zip(values, labels, strict=True))
        if len(pairs) == len({value for value, _ in pairs}) == len({label for _, label in pairs}):
            same = "equals" if all(value == label for value, label in pairs) else "has one value for each of"
            warn(
                f"column {name!r} {same} the labels in {record.label!r}: if it is not known for new data, "
                f"leave it out of the table",
                InputWarning,
            )
