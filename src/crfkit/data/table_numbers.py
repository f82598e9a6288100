"""The cells of text files as numbers for a kernel: standardised numbers, and one column per category.

A missing value is 0, the mean of its column; an unknown category is 0 in all columns of its column.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.columns import Columns
from crfkit.data.positions import Positions
from crfkit.data.tables import Table, TableSchema
from crfkit.exceptions import InputError, ModelFileError

_MOST_CATEGORIES = 1000  # of a column


@dataclass(frozen=True)
class TableNumbers:
    """The columns of the training data, with the scales of those that hold numbers."""

    schema: TableSchema  # K columns
    scales: tuple[tuple[float, float], ...]  # [K] mean and standard deviation; of categories 0 and 1

    @classmethod
    def learn(
        cls, columns: Columns, categorical: Collection[str | int] | None = None
    ) -> tuple[TableNumbers, Positions]:
        """Learn from training data, and return the result with the data as numbers."""
        schema, table = TableSchema.learn(columns, categorical=categorical)
        scales = []
        for column, values in zip(schema.columns, table.values.T, strict=True):
            if column.categories is not None:
                if len(column.categories) > _MOST_CATEGORIES:
                    raise InputError(
                        f"{columns.source}: column {column.name!r} has {len(column.categories):,} different "
                        f"texts, too many for a kernel (at most {_MOST_CATEGORIES:,}): leave it out, or "
                        "train a linear model"
                    )
                scales.append((0.0, 1.0))
                continue
            known = values[~np.isnan(values)]
            scales.append((float(known.mean()), float(known.std()) or 1.0))
        numbers = cls(schema, tuple(scales))
        return numbers, numbers._positions(table)

    def encode(self, columns: Columns) -> Positions:
        """Return other data as numbers."""
        return self._positions(self.schema.encode(columns))

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return sum(1 if c.categories is None else len(c.categories) for c in self.schema.columns)

    def _positions(self, table: Table) -> Positions:
        parts: list[FloatArray] = [np.zeros((len(table.values), 0))]
        for k, column in enumerate(self.schema.columns):
            values = table.values[:, k, None]  # [ΣT, 1]
            if column.categories is None:
                mean, deviation = self.scales[k]
                parts.append(np.nan_to_num((values - mean) / deviation))
            else:
                parts.append((values == np.arange(len(column.categories))).astype(np.float64))
        return Positions(np.concatenate(parts, axis=1), table.offsets)

    # ---- the model file

    def to_header(self) -> dict[str, Any]:
        return {"table": self.schema.to_header(), "scales": [list(pair) for pair in self.scales]}

    @classmethod
    def from_header(cls, record: Any, name: str) -> TableNumbers:
        """Return what a model file's header has of them."""
        if not isinstance(record, dict):
            raise ModelFileError(f"cannot read the model {name}: its columns are malformed")
        schema, scales = TableSchema.from_header(record.get("table"), name), record.get("scales")
        if (
            not isinstance(scales, list)
            or len(scales) != len(schema.columns)
            or not all(isinstance(pair, list) and list(map(type, pair)) == [float, float] for pair in scales)
            or not all(pair[1] > 0 for pair in scales)
        ):
            raise ModelFileError(f"cannot read the model {name}: the scales of its columns are malformed")
        return cls(schema, tuple((mean, deviation) for mean, deviation in scales))
