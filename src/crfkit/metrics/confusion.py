"""Confusion matrices: which labels are mistaken for which."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.label_codes import LabelSequences
from crfkit.exceptions import InputError
from crfkit.io.axes import draw_matrix
from crfkit.io.shown_table import ShownTable, Tabular
from crfkit.metrics.pairs import Pairs, sorted_labels
from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class ConfusionMatrix(Tabular):
    """Token counts by true label (rows) and predicted label (columns)."""

    labels: tuple[Hashable, ...]  # [L]
    counts: IntArray  # [L, L]

    def most_confused(self, n: int = 10) -> list[tuple[Hashable, Hashable, int]]:
        """Return the ``n`` commonest mistakes as (true label, predicted label, count), in order."""
        mistakes = self.counts * (1 - np.eye(len(self.labels), dtype=np.int64))
        order = np.argsort(-mistakes, axis=None, kind="stable")[:n]
        cells = [(int(flat) // len(self.labels), int(flat) % len(self.labels)) for flat in order]
        return [(self.labels[t], self.labels[p], int(mistakes[t, p])) for t, p in cells if mistakes[t, p]]

    def _shown(self) -> ShownTable:
        names = [str(label) for label in self.labels]
        rows = [
            [name, *(str(n or ".") for n in row)]
            for name, row in zip(names, self.counts.tolist(), strict=True)
        ]
        return ShownTable(["true / predicted", *names], [rows])

    def plot(self, ax: Axes | None = None, *, normalise: bool = True) -> Axes:
        """Draw the matrix: true labels in rows, predicted ones in columns. Needs matplotlib.

        The colour of a cell is its share of the row, or with ``normalise=False`` its count; the numbers are
        counts.
        """
        totals = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        names = [str(label) for label in self.labels]
        ax = draw_matrix(
            self.counts / totals if normalise else self.counts.astype(np.float64),
            names,
            names,
            ax,
            written=[[f"{n:,}" if n else "" for n in row] for row in self.counts.tolist()],
            name="share of the true label" if normalise else "tokens",
        )
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        return ax

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the counts: rows are true labels, columns predicted ones."""
        pandas = needed("pandas", "to_frame")
        return pandas.DataFrame(
            self.counts,
            index=pandas.Index(self.labels, name="true", tupleize_cols=False),
            columns=pandas.Index(self.labels, name="predicted", tupleize_cols=False),
        )


def confusion_matrix(
    y_true: LabelSequences, y_pred: LabelSequences, *, labels: Sequence[Hashable] | None = None
) -> ConfusionMatrix:
    """Count tokens by true and predicted label.

    ``labels`` chooses the labels and their order; tokens with another true or predicted label are left out.
    """
    pairs = Pairs.of(y_true, y_pred)
    shown = tuple(sorted_labels(pairs.names) if labels is None else labels)
    if not shown:
        raise InputError("no tokens to count: all sequences are empty")
    n = len(shown)
    place = {label: i for i, label in enumerate(shown)}
    table = np.array([place.get(name, n) for name in pairs.names], dtype=np.int64)  # [K] n: not shown
    true, pred = table[pairs.true], table[pairs.pred]
    counts = np.bincount(true * (n + 1) + pred, minlength=(n + 1) ** 2).reshape(n + 1, n + 1)
    return ConfusionMatrix(shown, counts[:n, :n])
