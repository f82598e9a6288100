"""Matrices of labels as heat maps: a table whose cells have the colour of their value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.metrics.pairs import Pairs
from crfkit.report.label_colours import type_of

_MOST = 26  # labels in a matrix


class HeatCell(NamedTuple):
    """A cell: its text, its words, and how strong its colour is, from -1 to 1; 0: none."""

    text: str
    words: str
    strength: float
    diagonal: bool


class Heat(NamedTuple):
    """A heat map of labels by labels."""

    corner: str  # what rows and columns are
    names: list[str]
    rows: list[list[HeatCell]]
    note: str  # what was left out; may be empty


def confusion_heat(pairs: Pairs) -> Heat:
    """Return token counts by true label (rows) and predicted label (columns)."""
    n = len(pairs.names)
    counts = np.bincount(pairs.true * n + pairs.pred, minlength=n * n).reshape(n, n)
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    names = [str(name) for name in pairs.names]
    chosen, note = _chosen(names, wrong, "mistakes", counts.sum(axis=1))
    rows = []
    for i in chosen:
        total, row = max(1, int(counts[i].sum())), []
        for j in chosen:
            count = int(counts[i, j])
            words = f"{count:,} × {names[i]} predicted as {names[j]}, {100 * count / total:.1f} %"
            strength = math.sqrt(count / total) if count and i != j else 0.0
            row.append(HeatCell(f"{count:,}" if count else "", words, round(strength, 2), i == j))
        rows.append(row)
    return Heat("true ↓ predicted →", [names[i] for i in chosen], rows, note)


def transition_heat(classes: Sequence[Any], scores: FloatArray, mask: Any = None) -> Heat:
    """Return scores of transitions from label (rows) to label (columns); ``mask`` tells which there are."""
    names = [str(label) for label in classes]
    size = np.abs(np.where(np.isfinite(scores), scores, 0.0))
    chosen, note = _chosen(names, size.sum(axis=0) + size.sum(axis=1), "weights")
    most = float(size.max()) or 1.0
    rows = []
    for i in chosen:
        row = []
        for j in chosen:
            score = float(scores[i, j])
            if mask is not None and not mask[i, j]:
                row.append(HeatCell("", f"{names[i]} → {names[j]}: no feature", 0.0, False))
                continue
            text = f"{score:.1f}".replace("-0.0", "0.0") if math.isfinite(score) else "−∞"
            strength = score / most if math.isfinite(score) else -1.0
            row.append(HeatCell(text, f"{names[i]} → {names[j]}: {score:+.2f}", round(strength, 2), False))
        rows.append(row)
    return Heat("from ↓ to →", [names[i] for i in chosen], rows, note)


def side_by_side(names: Sequence[str], loudness: Any, most: int, counts: Any = None) -> list[int]:
    """Return the loudest labels, those of one type side by side, the types with most counts first."""
    loudest = np.argsort(-np.asarray(loudness), kind="stable")[:most].tolist()
    sizes: dict[str, float] = {}
    for k in loudest:
        size = float(loudness[k] if counts is None else counts[k])
        sizes[type_of(names[k])] = sizes.get(type_of(names[k]), 0.0) + size
    return sorted(
        loudest, key=lambda k: (names[k] == "O", -sizes[type_of(names[k])], type_of(names[k]), names[k])
    )


def _chosen(names: Sequence[str], loudness: Any, what: str, counts: Any = None) -> tuple[list[int], str]:
    """Return the labels to show, and a note if some are left out."""
    order = side_by_side(names, loudness, _MOST, counts)
    left = len(names) - len(order)
    return order, f"The {len(order)} labels with most {what} of {len(names):,}." if left > 0 else ""
