"""Labelled sequences of any form that ``fit`` takes, of which parts can be taken by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.frames import TableRecord, TableRows
from crfkit.data.labels import cut_labels, label_lists
from crfkit.data.reading import cut, is_frame, is_table, listed
from crfkit.data.sequences import Encoded, gather, offsets_of
from crfkit.data.training_data import sequence_weights
from crfkit.exceptions import InputError
from crfkit.optional import needed


@dataclass(frozen=True)
class LabelledSequences:
    """X and y by sequence. ``rows`` and ``names`` are for a data frame with named columns."""

    x: Any  # a list of sequences; or one table with all rows; or ``Columns`` or ``Encoded``
    y: list[Sequence[Any]]  # [N][T]
    offsets: IntArray  # [N+1] of the labels
    groups: Sequence[Any] | None  # [N]
    weights: FloatArray | None = None  # [N]
    has_rows: bool = False  # x is one table
    rows: TableRows | None = None
    names: dict[str, Any] | None = None  # label= and sequence= of ``fit``

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        groups: Sequence[Any] | None = None,
        *,
        lengths: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        label: str | None = None,
        sequence: str | Sequence[str] | None = None,
        group: str | None = None,
    ) -> LabelledSequences:
        """Read the arguments of ``tune`` and the like."""
        if label is not None or sequence is not None or group is not None:
            if label is None or y is not None or lengths is not None or groups is not None:
                raise InputError(
                    "a data frame needs label=, the name of the column with the labels, and no y, lengths "
                    "and groups; group= names its column of groups"
                )
            return cls._of_frame(X, label, sequence, group, sample_weight)
        if y is None:
            raise InputError("y is missing: give the labels, or label= with a data frame")
        listed(y, "y", "sequences of labels")
        has_rows = is_table(X)
        sequences = list(cut_labels(y, lengths))
        if has_rows:
            sizes = lengths if lengths is not None else [len(one) for one in label_lists(sequences)]
            sizes = np.diff(cut(X, sizes)).tolist()
        else:
            if lengths is not None:
                cut(X, lengths)  # raises the error
            X = X if isinstance(X, Encoded) or hasattr(X, "subset") else list(listed(X))
            sizes = _lengths(X)
        if len(sizes) != len(sequences):
            raise InputError(f"X has {len(sizes)} sequences but y has {len(sequences)}")
        whole = [[None] * n if one is None else one for one, n in zip(sequences, sizes, strict=True)]
        found = label_lists(whole)
        for i, (n, labels) in enumerate(zip(sizes, found, strict=True)):
            if n is not None and n != len(labels):
                raise InputError(f"sequence {i} has {n} items but {len(labels)} labels")
        weights = sequence_weights(sample_weight, len(found))
        return cls(X, found, offsets_of(list(map(len, found))), groups, weights, has_rows)

    @classmethod
    def _of_frame(
        cls, frame: Any, label: str, sequence: Any, group: str | None, sample_weight: Any
    ) -> LabelledSequences:
        record, rows = TableRecord.learn(frame, label, sequence, group)
        nw = needed("narwhals", "a data frame with label=")
        given = nw.from_native(frame, eager_only=True)
        if record.sequence:  # a missing id means: the same as above
            given = given.with_columns(
                *(nw.col(name).fill_null(strategy="forward") for name in record.sequence)
            )
        if group is not None:
            given = given.drop(group)
        labels = label_lists(rows.labels or [])
        return cls(
            given[rows.order].to_native(),
            labels,
            offsets_of(rows.lengths),
            rows.groups,
            sequence_weights(sample_weight, len(labels)),
            True,
            rows,
            {"label": label, "sequence": list(record.sequence) or None},
        )

    def part(self, numbers: IntArray) -> LabelledSequences:
        """Return the sequences with these numbers, which must rise."""
        y = [self.y[i] for i in numbers]
        groups = None if self.groups is None else [self.groups[i] for i in numbers]
        weights = None if self.weights is None else self.weights[numbers]
        if self.has_rows:
            _, positions = gather(self.offsets, np.asarray(numbers, np.int64))
            x = _rows(self.x, positions)
        elif isinstance(self.x, Encoded):
            if self.x.hints is not None and self.x.hints.forced is not None:
                raise InputError("encoded data with forced labels cannot be cut into folds")
            x = Encoded(self.x.sequences.subset(numbers), self.x.vocabulary, self.x.hints)
        elif hasattr(self.x, "subset"):
            x = self.x.subset(numbers)
        else:
            x = [self.x[i] for i in numbers]
        lengths = np.diff(self.offsets)[numbers]
        return LabelledSequences(x, y, offsets_of(lengths), groups, weights, self.has_rows, None, self.names)

    def fit(self, estimator: Any) -> Any:
        """Train an estimator; its own folds, if it has any, keep groups together as well."""
        more: dict[str, Any] = {}
        if self.weights is not None:
            more["sample_weight"] = self.weights
        has_folds = any(
            getattr(estimator, name, None) is not None for name in ("early_stopping", "committee")
        )
        if self.groups is not None and has_folds:
            more["groups"] = self.groups
        if self.names is not None:
            return estimator.fit(self.x, **self.names, **more)
        return estimator.fit(self.x, self.y, **self._lengths(), **more)

    def ask(self, estimator: Any, method: str, **options: Any) -> list[Any]:
        """Return what a method of a fitted estimator says, as a list with one entry per sequence."""
        found = getattr(estimator, method)(self.x, **self._lengths(), **options)
        if self.names is not None and not isinstance(found, list):  # a column, in the order of the rows
            flat = found.to_list() if hasattr(found, "to_list") else found.to_pylist()
            return list(cut_labels(flat, np.diff(self.offsets)))
        return list(found)

    def _lengths(self) -> dict[str, Any]:
        return {"lengths": np.diff(self.offsets)} if self.has_rows and self.names is None else {}


def _lengths(X: Any) -> list[int | None]:
    """Return the lengths of the sequences of X; None where a sequence has no length of its own."""
    sequences = X.sequences if isinstance(X, Encoded) else X
    if hasattr(sequences, "offsets"):
        found: list[int | None] = np.diff(sequences.offsets).tolist()
        return found
    return [_length(one) for one in X]


def _length(one: Any) -> int | None:
    if hasattr(one, "shape"):
        return int(one.shape[0])
    return len(one) if hasattr(one, "__len__") else None


def _rows(table: Any, positions: IntArray) -> Any:
    if is_frame(table) or not hasattr(table, "ndim"):
        nw = needed("narwhals", "a data frame")
        return nw.from_native(table, eager_only=True)[positions].to_native()
    return (table if hasattr(table, "__getitem__") else table.tocsr())[positions]
