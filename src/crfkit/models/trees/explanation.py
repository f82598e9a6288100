"""The reasons of trees for a label and against its rival (``models/explanation.py``).

On its way from the root to a leaf, the mean of the leaves below (weighted by training rows) changes at every
split. The changes, summed by feature over all trees of the label, minus those of its rival, are the reasons;
with the means at the roots they add up to the difference of the scores (Saabas 2014).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.tables import Table
from crfkit.models.explanation import Reason, transition_reasons
from crfkit.models.trees.tagger import TreeTagger
from crfkit.potentials.forest import CATEGORY, MISSING_LEFT


class TreeReasons:
    """The reasons of a model at the positions of one table."""

    def __init__(self, tagger: TreeTagger, table: Table) -> None:
        self._tagger, self._table, self._forest = tagger, table, tagger.potential.forest
        self._names = tagger.feature_names
        # As lists: single elements of arrays are slow, and every position walks through many trees.
        forest = self._forest
        self._feature, self._threshold, self._flags, self._left, self._right, self._leaf, self._count = (
            array.tolist()
            for array in (
                *(forest.feature, forest.threshold, forest.flags, forest.left, forest.right),
                *(forest.leaf, forest.leaf_count),
            )
        )
        self._roots: list[list[int]] = [
            forest.root[forest.label == label].tolist() for label in range(forest.n_labels)
        ]
        self._categories: dict[int, frozenset[int]] = {}  # of a node
        self._mean: dict[int, tuple[float, int]] = {}  # of the leaves below a node, and their training rows

    def __call__(self, labels: IntArray, start: int, stop: int, t: int, rival: int) -> Iterator[Reason]:
        chosen, tagger = int(labels[t]), self._tagger
        changed = labels.copy()
        changed[t] = rival
        row = self._row(labels, start, t)
        good, bad = self._parts(row, chosen), self._parts(row, rival)
        for feature in sorted(good.keys() | bad.keys()):
            weight = good.get(feature, 0.0) - bad.get(feature, 0.0)
            if weight:
                yield Reason(self._in_words(feature, row), weight)
        tables = tagger.potential.tables
        if tables is not None:
            ends = (tables.start, tables.end)
            yield from transition_reasons(
                tagger.classes, (tables.edge, tables.edge2), ends, labels[start:stop], t - start, rival
            )
        elif t + 1 < stop:  # trees of the next position see this label
            after = int(labels[t + 1])
            scores = [
                sum(self._parts(self._row(path, start, t + 1), after).values()) for path in (labels, changed)
            ]
            if scores[0] != scores[1]:
                what = f"{tagger.classes[chosen]} → {tagger.classes[after]}"
                yield Reason(what, scores[0] - scores[1])

    def _row(self, labels: IntArray, start: int, t: int) -> FloatArray:
        """Return the features of a position [n_features]."""
        row: FloatArray = self._table.windows(np.array([t]), *self._tagger.potential.window)[0]
        if not self._forest.context:
            return row
        return np.append(row, labels[t - 1] if t > start else self._forest.n_labels)

    def _parts(self, row: FloatArray, label: int) -> dict[int, float]:
        """Return the part of each feature in the score of a label; -1: the means at the roots."""
        parts, values = {-1: 0.0}, row.tolist()
        for root in self._roots[label]:
            node, before = root, self._below(root)[0]
            parts[-1] += before
            while node >= 0:
                feature = self._feature[node]
                node = (self._left if self._goes_left(node, values[feature]) else self._right)[node]
                after = self._below(node)[0]
                parts[feature] = parts.get(feature, 0.0) + after - before
                before = after
        return parts

    def _goes_left(self, node: int, value: float) -> bool:
        flags = self._flags[node]
        if flags & CATEGORY:
            if node not in self._categories:
                self._categories[node] = frozenset(self._forest.categories(node))
            return not math.isnan(value) and int(value) in self._categories[node]
        return bool(flags & MISSING_LEFT) if math.isnan(value) else value <= self._threshold[node]

    def _below(self, node: int) -> tuple[float, int]:
        """Return the mean of the leaves below a node, and the number of their training rows."""
        if node < 0:
            return self._leaf[~node], self._count[~node]
        if node not in self._mean:
            (a, n), (b, m) = self._below(self._left[node]), self._below(self._right[node])
            self._mean[node] = ((n * a + m * b) / (n + m) if n + m else (a + b) / 2, n + m)
        return self._mean[node]

    def _in_words(self, feature: int, row: FloatArray) -> str:
        if feature < 0:
            return "(mean of the trees)"
        value: Any = row[feature]
        if np.isnan(value):
            return f"{self._names[feature]} missing"
        texts = self._tagger.category_names(feature)
        shown = texts[int(value)] if 0 <= value < len(texts) else f"{value:.6g}"
        return f"{self._names[feature]} = {shown}"
