"""The output of ``crfkit tag``: rows with a label at the end, an empty line after each sequence.

    The     DT      B-NP    B-NP                    the cells of the input, then the predicted label
    The     DT      B-NP    B-NP    0.998215        --marginals
    The     DT      B-NP    B-NP    B-NP:0.998215   O:0.001785      … --marginals all
    The  DT  B-NP  B-NP  0.998  O  0.001  U12:DT +5.04  U02:The +2.21      --why: rival and reasons

Tables with a header are written as csv, with the column ``predicted`` and with ``probability``, or
``probability of …`` for each label; with ``--why`` also the rival and one cell of reasons. An empty line
separates sequences.

``--score`` writes a line ``# probability`` before each sequence. ``--nbest`` writes a line ``# rank
probability`` before each labelling; the best has rank 0. Both formats are those of CRF++'s crf_test, except
that probabilities below 0.0001 have an exponent: those of long sequences would all be 0.000000.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crfkit.arrays import IntArray
from crfkit.cli.batches import Batch
from crfkit.data.columns import Columns
from crfkit.data.labels import decode_labels
from crfkit.models.fitted_model import Decoded
from crfkit.models.results import PredictedSegment

if TYPE_CHECKING:
    from crfkit.io.csv_data import CsvRows
    from crfkit.models.explanation import Decision


_LN_10 = math.log(10)
_SMALL = math.log(1e-4)  # below, six decimals say too little


class Layout:
    """Formats the output of each batch as bytes; the batches must come in order."""

    def __init__(self, labels: list[str], arguments: argparse.Namespace) -> None:
        self._labels = labels  # [L]
        self._label_only: bool = arguments.label_only
        self._marginals: str | None = arguments.marginals
        self._why: int | None = arguments.why
        self._separator: Literal[" ", "\t"] = " " if arguments.blanks else "\t"
        # One format string for the probabilities of a position; % in a label is escaped.
        escaped = [label.replace("%", "%%") for label in labels]
        self._all = self._separator.join(f"{label}:%.6f" for label in escaped)
        self._csv: CsvRows | None = None  # of tables with names
        self._no_header: bool = arguments.no_header
        self._delimiter: str = {None: ",", "tab": "\t", "\\t": "\t"}.get(
            arguments.separator, arguments.separator
        )
        self._safe: bool = arguments.spreadsheet_safe

    def one(
        self, batch: Batch, decoded: Decoded, segments: Callable[[], list[list[PredictedSegment]]]
    ) -> bytes:
        """Format one labelling of each sequence; ``segments`` returns the segments of the labels."""
        own: Any = getattr(batch.table, "labelled", None)  # of formats with a shape of their own
        if own is not None and not self._label_only:
            written: bytes = own(decode_labels(decoded.labels, batch.offsets, self._labels), segments)
            return written
        if batch.table is not None and self._is_plain(batch.table, decoded):
            return batch.table.text((self._labels, decoded.labels), separator=self._separator)
        predicted = decode_labels(decoded.labels, batch.offsets, self._labels)
        probabilities = self._probabilities(batch.offsets, decoded)
        shown = self._given(batch)
        if batch.table is not None and hasattr(batch.table, "names"):
            return self._csv_text(batch.table, [*shown, predicted], decoded)
        heads: Iterable[str] = [""] * len(predicted)
        if decoded.log_probability is not None:
            heads = [f"# {probability_text(log)}\n" for log in decoded.log_probability.tolist()]
        join = self._separator.join
        text = []
        for i, (head, labels) in enumerate(zip(heads, predicted, strict=True)):
            rows = zip(*(column[i] for column in shown), labels, *(p[i] for p in probabilities), strict=True)
            text.append(head + "\n".join(map(join, rows)))
        return _sequences(text)

    def several(self, batch: Batch, labellings: Iterable[list[tuple[Any, float]]]) -> bytes:
        """Format several labellings of each sequence, which come with their log probabilities."""
        shown = self._given(batch)
        join = self._separator.join
        names = np.array(self._labels, dtype=object)  # [L]
        text = []
        for i, paths in enumerate(labellings):
            for rank, (path, log) in enumerate(paths):
                rows = zip(*(column[i] for column in shown), names[path].tolist(), strict=True)
                text.append(f"# {rank} {probability_text(log)}\n" + "\n".join(map(join, rows)))
        return _sequences(text)

    def with_reasons(self, batch: Batch, explained: Iterator[list[Decision]]) -> bytes:
        """Format the best labelling of each sequence, each label with its rival and the reasons."""
        shown = self._given(batch)
        sequences = []
        for i, decisions in enumerate(explained):
            rows = []
            for t, decision in enumerate(decisions):
                reasons = [f"{reason.what} {reason.weight:+.2f}" for reason in decision.reasons[: self._why]]
                found = (str(decision.label), f"{decision.probability:.6f}")
                rival = (
                    "_" if decision.rival is None else str(decision.rival),
                    f"{decision.rival_probability:.6f}",
                )
                rows.append(([*(column[i][t] for column in shown), *found, *rival], reasons))
            sequences.append(rows)
        if batch.table is None or not hasattr(batch.table, "names"):
            return _sequences(["\n".join("\t".join([*c, *r]) for c, r in rows) for rows in sequences])
        writer = self._csv_rows(batch.table, ["probability", "rival", "probability of the rival", "why"])
        for rows in sequences:
            writer.write_sequence([*cells, "; ".join(reasons)] for cells, reasons in rows)
        return writer.take()

    def _csv_rows(self, table: Columns, extra: list[str]) -> CsvRows:
        """Return the writer of the table, which has written the header; ``extra``: behind ``predicted``."""
        from crfkit.io.csv_data import CsvRows  # imported only for csv tables

        self._csv = self._csv or CsvRows(self._delimiter, spreadsheet_safe=self._safe)
        if not self._no_header:
            self._csv.write_header(
                [*(() if self._label_only else getattr(table, "names", ())), "predicted", *extra]
            )
        return self._csv

    def _csv_text(self, table: Columns, columns: list[list[list[str]]], decoded: Decoded) -> bytes:
        extra: list[str] = []
        if decoded.marginals is not None and self._marginals == "all":
            extra = [f"probability of {label}" for label in self._labels]
            texts = [["%.6f" % p for p in row] for row in decoded.marginals.tolist()]  # noqa: UP031
        elif decoded.marginals is not None:
            extra = ["probability"]
            texts = [[p] for found in self._probabilities(table.offsets, decoded)[0] for p in found]
        else:
            texts = [[] for _ in decoded.labels]
        writer, bounds = self._csv_rows(table, extra), table.offsets.tolist()
        for i, sentence in enumerate(zip(*columns, strict=True)):
            rows = zip(zip(*sentence, strict=True), texts[bounds[i] : bounds[i + 1]], strict=True)
            writer.write_sequence((*row, *more) for row, more in rows)
        return writer.take()

    def _is_plain(self, table: Columns, decoded: Decoded) -> bool:
        """Return whether rows are just the cells and a label: then the C++ core formats them."""
        return not (
            hasattr(table, "names")
            or self._label_only
            or decoded.marginals is not None
            or decoded.log_probability is not None
        )

    def _given(self, batch: Batch) -> list[list[list[str]]]:
        """Return the columns before the predicted label: the input's; for attribute files the true label."""
        if self._label_only:
            return []
        if batch.table is not None:
            return [batch.table.column(k) for k in range(batch.table.n_columns)]
        if batch.gold is None:
            return []
        names, ids = batch.gold
        return [decode_labels(np.where(ids < 0, len(names), ids), batch.offsets, [*names, "_"])]

    def _probabilities(self, offsets: IntArray, decoded: Decoded) -> list[list[list[str]]]:
        if decoded.marginals is None:
            return []
        if self._marginals == "all":
            texts = [self._all % tuple(row) for row in decoded.marginals.tolist()]
        else:
            chosen = decoded.marginals[np.arange(len(decoded.labels)), decoded.labels]  # [ΣT]
            texts = ["%.6f" % p for p in chosen.tolist()]  # noqa: UP031  (twice as fast as an f-string here)
        return [[texts[start:stop] for start, stop in pairwise(offsets.tolist())]]


def probability_text(log: float) -> str:
    """Return exp(log) with six decimals or, if it is small, an exponent, which may exceed those of floats."""
    if log > _SMALL:
        return f"{math.exp(log):.6f}"
    if log == -math.inf:
        return "0.000000"
    exponent = math.floor(log / _LN_10)
    mantissa = f"{math.exp(log - exponent * _LN_10):.6f}"
    if mantissa == "10.000000":  # it was rounded up
        mantissa, exponent = "1.000000", exponent + 1
    return f"{mantissa}e{exponent:+03d}"


def _sequences(texts: list[str]) -> bytes:
    return ("\n\n".join(texts) + "\n\n").encode() if texts else b""
