"""Training on one data frame, and predicting the labels of another: the part that all estimators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from crfkit.data.columns import Columns
from crfkit.data.frames import TableRecord, TableRows, is_one_frame
from crfkit.exceptions import InputError
from crfkit.upper_floors import elsewhere, upstairs

_Self = TypeVar("_Self", bound="TakesFrames")


class TakesFrames:
    """An estimator whose ``fit`` takes ``label=`` and ``sequence=``, the names of columns of a data frame."""

    table_: TableRecord

    @property
    def _has_folds(self) -> bool:
        """Whether ``fit`` has folds that keep groups together; otherwise their column is only left out."""
        return True

    def _is_table(self, label: str | None, sequence: Any, group: str | None) -> bool:
        """Tell whether ``fit`` was given a data frame by names; forget the one of an earlier ``fit``."""
        self.__dict__.pop("table_", None)
        return label is not None or sequence is not None or group is not None

    def _fit_table(
        self: _Self,
        X: Any,
        y: Any,
        label: str | None,
        sequence: str | Sequence[str] | None,
        group: str | None,
        X_dev: Any,
        **more: Any,
    ) -> _Self:
        """Train on a data frame whose column ``label`` has the labels."""
        if label is None or y is not None or more.get("lengths") is not None:
            raise InputError(
                "a data frame needs label=, the name of the column with the labels, and no y and lengths"
            )
        parted = elsewhere("source", X) is not None
        record, rows = TableRecord.learn(
            X.get_partition(0).compute() if parted else X, label, sequence, group
        )
        record = self._complete(record, rows)
        if group is not None and self._has_folds:
            more["groups"] = rows.groups
        if X_dev is not None:
            dev = record.read(X_dev, labelled=True)
            more |= {"X_dev": self._of_rows(dev, record), "y_dev": dev.labels}
        with self._set_for(record, rows):
            fit: Any = self.fit  # type: ignore[attr-defined]
            if parted:
                fit(upstairs("frame parts")(X, record, self), **more)
            else:
                fit(self._of_rows(rows, record), rows.labels, **{**more, "lengths": self._lengths_of(rows)})
        self.table_ = record
        return self

    def _set_for(self, record: TableRecord, rows: TableRows) -> AbstractContextManager[None]:
        """Return a context in which the estimator is set for the columns of a frame."""
        return nullcontext()

    def _complete(self, record: TableRecord, rows: TableRows) -> TableRecord:
        """Return the record of a frame with what the model needs to read others."""
        return record

    def _of_rows(self, rows: TableRows, record: TableRecord) -> Any:
        """Return the rows of a frame in the form that ``fit`` takes."""
        return rows.table

    def _of_tokens(self, tokens: list[str]) -> Any:
        """Return the tokens of one text in the form that the model takes."""
        return Columns.from_rows([[[token] for token in tokens]])

    def _lengths_of(self, rows: TableRows) -> list[int] | None:
        return rows.lengths

    def _given(self, X: Any, lengths: Any = None) -> tuple[Any, Any, TableRows | None]:
        """Return X and its lengths; if it is a frame like the one that was trained on, its rows as well."""
        record: TableRecord | None = getattr(self, "table_", None)
        if record is None or lengths is not None or not is_one_frame(X):
            return X, lengths, None
        rows = record.read(X)
        return self._of_rows(rows, record), self._lengths_of(rows), rows

    def _labelled(self, X: Any, y: Any, lengths: Any) -> tuple[Any, Any, Any]:
        """Return X, y and lengths; those of a data frame if X is one and y is None."""
        record: TableRecord | None = getattr(self, "table_", None)
        if y is not None or record is None or not is_one_frame(X):
            return X, y, lengths
        rows = record.read(X, labelled=True)
        return self._of_rows(rows, record), rows.labels, self._lengths_of(rows)

    def _frame_record(self) -> dict[str, Any]:
        """Return the entries of a model file's header."""
        record: TableRecord | None = getattr(self, "table_", None)
        return {} if record is None else {"data_frame": record.to_json()}

    def _restore_frame(self, header: Mapping[str, Any]) -> None:
        if "data_frame" in header:
            self.table_ = TableRecord.from_json(header["data_frame"])
