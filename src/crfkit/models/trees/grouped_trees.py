"""Separate trees for each category of one column.

If that column nearly determines the label, as a letter does its sound, most labels are impossible at most
positions. Every category then gets trees for the labels seen with it, grown on its own positions only: fewer
and smaller trees. The scores start from the frequencies of the labels with each category.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.tables import Table
from crfkit.models.trees.grower import GrowthSettings, TrainingRows, TreeGrower
from crfkit.potentials.forest import CATEGORY, Forest

_UNSEEN = 0.1  # added to the count of each label


class GroupedGrower:
    """Grows trees for each category of a column, for the labels seen with it."""

    def __init__(
        self,
        table: Table,
        window: tuple[int, int],
        observed: FloatArray,  # [ΣT, L] which label each position has, or may have
        by: int,  # the column
        categories: list[int],  # the columns that hold categories
        settings: GrowthSettings,
    ) -> None:
        n_columns = int(table.values.shape[1])
        self._n_labels = observed.shape[1]
        self._n_features = (sum(window) + 1) * n_columns
        self._feature = window[0] * n_columns + by
        codes = table.values[:, by]
        self._counts: list[tuple[int, FloatArray]] = []
        self._groups: list[tuple[int, IntArray, IntArray, TreeGrower]] = []
        for code in np.unique(codes[~np.isnan(codes)]).astype(int).tolist():
            positions = np.flatnonzero(codes == code)
            counts = observed[positions].sum(axis=0)  # [L]
            self._counts.append((code, counts))
            labels = np.flatnonzero(counts > 0)
            if len(labels) > 1:
                rows = TrainingRows(table, window, len(labels), False, positions)
                self._groups.append((code, positions, labels, TreeGrower(rows, categories, settings)))
        self._total = observed.sum(axis=0)  # [L]

    def start(self) -> Forest:
        """Return trees with the log shares of the labels per category (overall if it is missing)."""
        shares = [(code, self._log_shares(counts)) for code, counts in self._counts]
        overall = self._log_shares(self._total)
        trees = [
            _lookup(self._feature, [(code, float(found[v])) for code, found in shares], float(overall[v]))
            for v in range(self._n_labels)
        ]
        return self._finished(trees, np.arange(self._n_labels))

    def grow(self, gradient: FloatArray, hessian: FloatArray, draw: int = 0) -> Forest | None:
        """Return the trees of one more round; None if no split reduces the objective.

        gradient and hessian [ΣT, L] are those of the objective to minimise, ``draw`` counts the calls.
        """
        trees, labels = [], []
        for code, positions, own, grower in self._groups:
            chosen = np.ix_(positions, own)
            grown = grower.grow(gradient[chosen], hessian[chosen], draw)
            if grown is not None:
                trees.append(_only_for(code, self._feature, grown))
                labels.append(own[grown.label])
        return self._finished(trees, np.concatenate(labels)) if trees else None

    def _log_shares(self, counts: FloatArray) -> FloatArray:
        smooth = counts + _UNSEEN
        shares: FloatArray = np.log(smooth / smooth.sum())
        return shares

    def _finished(self, trees: list[Forest], labels: IntArray) -> Forest:
        empty = Forest.empty(self._n_features, self._n_labels, False)
        return Forest.end_to_end([empty, *trees]).relabelled(labels.astype(np.int32))


def _only_for(code: int, feature: int, forest: Forest) -> Forest:
    """Return the trees restricted to one category of a feature; for other categories they add 0."""
    n_trees = forest.n_trees
    n_sets = len(forest.set_indptr) - 1
    words = np.zeros(code // 32 + 1, np.uint32)
    words[code // 32] = np.uint32(1 << code % 32)

    def moved(children: IdArray) -> IdArray:
        there: IdArray = np.where(children >= 0, children + n_trees, children)
        return there.astype(np.int32)

    nothing = np.full(n_trees, ~len(forest.leaf), np.int32)  # one more leaf, of value 0
    return Forest(
        np.concatenate([np.full(n_trees, feature, np.int32), forest.feature]),
        np.concatenate([np.full(n_trees, float(n_sets)), forest.threshold]),
        np.concatenate([np.full(n_trees, CATEGORY, np.uint8), forest.flags]),
        np.concatenate([moved(forest.root), moved(forest.left)]),
        np.concatenate([nothing, moved(forest.right)]),
        np.concatenate([np.zeros(n_trees, np.float32), forest.gain]),
        np.concatenate([forest.set_indptr, [forest.set_indptr[-1] + len(words)]]),
        np.concatenate([forest.set_words, words]),
        np.concatenate([forest.leaf, [0.0]]),
        np.concatenate([forest.leaf_count, [0]]),
        np.arange(n_trees, dtype=np.int32),
        forest.label,
        max(forest.n_features, feature + 1),
        forest.n_labels,
        False,
    )


def _lookup(feature: int, values: list[tuple[int, float]], otherwise: float) -> Forest:
    """Return a tree that adds one number per category, and ``otherwise`` for everything else."""
    left: list[int] = []
    right: list[int] = []
    sets: list[npt.NDArray[np.uint32]] = []
    leaves: list[float] = []

    def leaf(value: float) -> int:
        leaves.append(value)
        return ~(len(leaves) - 1)

    def split(part: list[tuple[int, float]]) -> int:
        """Add a balanced tree over some categories and return its root."""
        if len(part) == 1:
            return leaf(part[0][1])
        half = len(part) // 2
        node = new_node([code for code, _ in part[:half]])
        left[node] = split(part[:half])
        right[node] = split(part[half:])
        return node

    def new_node(codes: list[int]) -> int:
        words = np.zeros(max(codes) // 32 + 1, np.uint32)
        for code in codes:
            words[code // 32] |= np.uint32(1 << code % 32)
        sets.append(words)
        left.append(0)
        right.append(0)
        return len(left) - 1

    if values:
        root = new_node([code for code, _ in values])
        left[root] = split(values)
        right[root] = leaf(otherwise)
    else:  # the column is missing everywhere
        root = leaf(otherwise)
    n = len(left)
    return Forest(
        np.full(n, feature, np.int32),
        np.arange(n, dtype=np.float64),
        np.full(n, CATEGORY, np.uint8),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.zeros(n, np.float32),
        np.concatenate([[0], np.cumsum([len(words) for words in sets])]).astype(np.int64),
        np.concatenate([np.empty(0, np.uint32), *sets]),
        np.array(leaves),
        np.zeros(len(leaves), np.int64),
        np.array([root], np.int32),
        np.zeros(1, np.int32),
        feature + 1,
        1,
        False,
    )
