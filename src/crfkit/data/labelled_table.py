"""Training data of trees: a table of numbers and categories with its labels and weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.tables import Table, TableSchema
from crfkit.data.training_data import (
    check_label_count,
    class_weights,
    cut_as,
    sequence_weights,
    with_unlabelled,
)
from crfkit.exceptions import InputError


@dataclass(frozen=True)
class LabelledTable:
    """N sequences of rows with their labels."""

    schema: TableSchema
    classes: list[Any]  # [L] sorted
    table: Table
    labels: Labels
    weights: FloatArray | None  # [N]; None: all 1
    categories: list[int]  # the columns that hold categories
    class_weights: FloatArray | None = None  # [L]; None: all 1

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        lengths: Any = None,
        categorical: Collection[str | int] | None = None,
        class_weight: Any = None,
        fitted: tuple[TableSchema, list[Any]] | None = None,  # columns and labels of a fitted model
    ) -> LabelledTable:
        """Read X and y as ``TreeCRF.fit`` takes them."""
        y = label_lists(with_unlabelled(X, y, lengths), lengths=lengths)
        classes = label_set(y) if fitted is None else fitted[1]
        cut = cut_as(X, y, lengths)
        if fitted is None:
            schema, table = TableSchema.learn(X, cut, categorical)
        else:
            schema, table = fitted[0], fitted[0].encode(X, cut)
        if table.n_positions == 0:
            raise InputError("there is nothing to train on: X has no sequences, or all of them are empty")
        if not classes:
            raise InputError("there is nothing to learn: every label in y is None")
        check_label_count(len(classes))
        labels = encode_labels(y, classes, table.offsets)
        weights = sequence_weights(sample_weight, table.n_sequences)
        categories = [k for k, column in enumerate(schema.columns) if column.is_category]
        of_classes = class_weights(class_weight, labels, classes)
        return cls(schema, classes, table, labels, weights, categories, of_classes)

    def category_column(self, by: str | int) -> int:
        """Return the number of a column of categories, given by its name or its place."""
        k = self.schema.number_of(by)
        if k is None:
            names = [column.name for column in self.schema.columns]
            raise InputError(f"by={by!r}: there is no such column; X has {names!r:.200}")
        if k not in self.categories:
            raise InputError(f"by={by!r} must be a column of categories, but it holds numbers")
        return k

    def subset(self, sequences: IntArray) -> LabelledTable:
        """Return the given sequences, of the same columns and classes."""
        return LabelledTable(
            self.schema,
            self.classes,
            self.table.subset(sequences),
            self.labels.subset(sequences, self.table.offsets),
            None if self.weights is None else self.weights[sequences],
            self.categories,
            self.class_weights,
        )
