"""Data frames for linear models: default features of their columns, or cells for a template."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

from crfkit.data.columns import Columns
from crfkit.data.frames import TableRecord, TableRows
from crfkit.exceptions import InputError
from crfkit.features.builder import Features, column
from crfkit.features.default_features import default_features, word_columns
from crfkit.models.data_frames import TakesFrames


class LinearFrames(TakesFrames):
    """A linear model that takes data frames."""

    template: Any
    extractor: Any

    @contextmanager
    def _set_for(self, record: TableRecord, rows: TableRows) -> Iterator[None]:
        given = self.extractor
        if given is None and self.template is None:
            self.extractor = features_of(record, rows)
        try:
            yield
        finally:
            self.extractor = given

    def _of_rows(self, rows: TableRows, record: TableRecord) -> Any:
        return rows.table if self.template is None else _cells(rows, record)

    def _of_tokens(self, tokens: list[str]) -> Any:
        record: TableRecord | None = getattr(self, "table_", None)
        if record is None or self.template is not None:
            return super()._of_tokens(tokens)
        return [dict.fromkeys(record.kinds, tokens)]  # its one column

    def _lengths_of(self, rows: TableRows) -> list[int] | None:
        return rows.lengths if self.template is None else None


def features_of(record: TableRecord, rows: TableRows) -> Features:
    """Return the default features of a frame: of words, of classes, and standardised numbers."""
    kinds = record.kinds
    text = [name for name, kind in kinds.items() if kind == "text"]
    words = [text[k] for k in word_columns([len(set(rows.table[name])) for name in text])] if text else []
    classes = [name for name, kind in kinds.items() if kind != "number" and name not in words]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    parts = [*default_features(words, classes).extractors] if words or classes else []
    return Features(
        *parts, *(column(name, optional=True).number().standardised().window(-1, 1) for name in numbers)
    )


def _cells(rows: TableRows, record: TableRecord) -> Columns:
    """Return the columns of text and categories for a template."""
    numbers = [name for name, kind in record.kinds.items() if kind == "number"]
    if numbers:
        raise InputError(
            f"a template takes text, but column {numbers[0]!r} holds numbers: leave it out, or use "
            "extractor=Features(…)"
        )
    cells = list(zip(*(rows.table[name].to_list() for name in record.kinds), strict=True))
    texts = [["" if cell is None else cell for cell in row] for row in cells]
    return Columns.from_rows([texts[a:b] for a, b in pairwise(accumulate(rows.lengths, initial=0))])
