"""Confusion matrices: which labels are mistaken for which."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.label_codes import LabelSequences
from crfkit.exceptions import InputError
from crfkit.metrics.pairs import Pairs, sorted_labels


@dataclass(frozen=True)
class ConfusionMatrix:
    """Token counts by true label (rows) and predicted label (columns)."""

    labels: tuple[Hashable, ...]  # [L]
    counts: IntArray  # [L, L]

    def most_confused(self, n: int = 10) -> list[tuple[Hashable, Hashable, int]]:
        """Return the ``n`` commonest mistakes as (true label, predicted label, count), in order."""
        mistakes = self.counts * (1 - np.eye(len(self.labels), dtype=np.int64))
        order = np.argsort(-mistakes, axis=None, kind="stable")[:n]
        cells = [(int(flat) // len(self.labels), int(flat) % len(self.labels)) for flat in order]
        return [(self.labels[t], self.labels[p], int(mistakes[t, p])) for t, p in cells if mistakes[t, p]]

    def __str__(self) -> str:
        names = [str(label) for label in self.labels]
        first = max([len("true \\ predicted"), *map(len, names)])
        widths = [max(len(name), len(str(self.counts.max()))) for name in names]
        header = f"{'true / predicted':{first}}  " + "  ".join(
            f"{name:>{width}}" for name, width in zip(names, widths, strict=True)
        )
        rows = [
            f"{name:{first}}  "
            + "  ".join(
                f"{int(count) or '.':>{width}}" for count, width in zip(self.counts[i], widths, strict=True)
            )
            for i, name in enumerate(names)
        ]
        return "\n".join([header, *rows])


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
