"""The accuracy of the proposals, as a curve over the sentences labelled so far.

Each proposal was made before its sentence was labelled, so every sentence is test data for the model of its
time. On sentences chosen for their uncertainty the accuracy is lower than on the data as a whole; the random
sample tells the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crfkit.annotate.store import Answer

WINDOW = 20  # most sentences that a point is the mean of; at the beginning the latest half, because
_LEAST = 5  # the model still gets better fast
_POINTS = 200  # most points of a line


class Point(NamedTuple):
    """Accuracy after ``n`` labelled sentences, over the last few of them."""

    n: int
    accuracy: float


def counted(answer: Answer) -> tuple[int, int]:
    """Return how many labels of a proposal were right, and how many labels are known."""
    if answer.proposed is None:
        return 0, 0
    pairs = [(a, b) for a, b in zip(answer.labels, answer.proposed, strict=True) if a is not None]
    return sum(a == b for a, b in pairs), len(pairs)


def curve(answers: Sequence[Answer], *, sampled: bool) -> list[Point]:
    """Return the moving accuracy of the proposals, of the random sample or of the other sentences."""
    counts = [(n, *counted(one)) for n, one in enumerate(answers, 1) if one.sampled == sampled]
    table = np.array([row for row in counts if row[2]], dtype=np.int64).reshape(-1, 3)  # n, right, known
    if not len(table):
        return []
    sums = np.vstack([[0, 0], np.cumsum(table[:, 1:], axis=0)])
    last = np.arange(1, len(sums))
    moving = sums[last] - sums[np.maximum(last - np.clip(last // 2, _LEAST, WINDOW), 0)]
    shown = np.unique(np.linspace(0, len(table) - 1, min(len(table), _POINTS)).round().astype(np.int64))
    return [Point(int(table[k, 0]), float(moving[k, 0] / moving[k, 1])) for k in shown]
