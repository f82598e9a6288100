"""Sums of regression trees in flat arrays: their scores, importances and paths.

Using the trees does not need the library that grew them. ``native/trees/forest.h`` evaluates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.tables import Table
from crfkit.io.model_arrays import ModelArrays
from crfkit.threads import thread_count

# Flags of inner nodes. A missing number goes left or right, a missing category right; the third flag says
# that training had missing values there.
CATEGORY, MISSING_LEFT, SEEN_MISSING = 1, 2, 4


@dataclass(frozen=True, eq=False)
class Forest:
    """M trees with I inner nodes and V leaves in all. Every tree adds to the score of one label.

    A feature is a column at one place of the window, ``place * K + column``; after the last of these comes
    the previous label. A child >= 0 is an inner node, a child < 0 is the leaf ``~child``.
    """

    feature: IdArray  # [I]
    threshold: FloatArray  # [I] left if number <= threshold; for categories: the number of the node's set
    flags: npt.NDArray[np.uint8]  # [I]
    left: IdArray  # [I]
    right: IdArray  # [I]
    gain: npt.NDArray[np.float32]  # [I] gain of the split when it was made
    set_indptr: IntArray  # [C+1]
    set_words: npt.NDArray[np.uint32]  # bit b of word w: category 32 w + b goes left
    leaf: FloatArray  # [V] amount that a leaf adds to the score
    leaf_count: IntArray  # [V] rows of training data in it
    root: IdArray  # [M]
    label: IdArray  # [M]
    n_features: int
    n_labels: int
    context: bool  # whether the last feature is the previous label
    _native: list[_native.Forest] = field(default_factory=list, init=False)

    def parts(self) -> list[Any]:
        """Return the arguments that make the same forest."""
        return [getattr(self, each.name) for each in fields(self) if each.init]

    @classmethod
    def empty(cls, n_features: int, n_labels: int, context: bool) -> Forest:
        """Return a forest without trees: every score is 0."""
        ints, floats = np.empty(0, np.int32), np.empty(0)
        return cls(
            ints,
            floats,
            np.empty(0, np.uint8),
            ints,
            ints,
            np.empty(0, np.float32),
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
            floats,
            np.empty(0, np.int64),
            ints,
            ints,
            n_features,
            n_labels,
            context,
        )

    @classmethod
    def end_to_end(cls, parts: Sequence[Forest]) -> Forest:
        """Return the trees of several forests, one after the other."""
        nodes = np.cumsum([0, *(len(part.feature) for part in parts)])
        leaves = np.cumsum([0, *(len(part.leaf) for part in parts)])
        sets = np.cumsum([0, *(len(part.set_indptr) - 1 for part in parts)])
        words = np.cumsum([0, *(len(part.set_words) for part in parts)])

        def moved(children: IdArray, p: int) -> IdArray:
            there: IdArray = np.where(children >= 0, children + nodes[p], children - leaves[p])
            return there.astype(np.int32)

        def joined(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        indptr = [part.set_indptr[1:] + words[p] for p, part in enumerate(parts)]
        threshold = [
            np.where(part.flags & CATEGORY, part.threshold + sets[p], part.threshold)
            for p, part in enumerate(parts)
        ]
        return cls(
            joined("feature"),
            np.concatenate(threshold),
            joined("flags"),
            np.concatenate([moved(part.left, p) for p, part in enumerate(parts)]),
            np.concatenate([moved(part.right, p) for p, part in enumerate(parts)]),
            joined("gain"),
            np.concatenate([np.zeros(1, np.int64), *indptr]),
            joined("set_words"),
            joined("leaf"),
            joined("leaf_count"),
            np.concatenate([moved(part.root, p) for p, part in enumerate(parts)]),
            joined("label"),
            parts[0].n_features,
            parts[0].n_labels,
            parts[0].context,
        )

    @property
    def n_trees(self) -> int:
        return len(self.root)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_native", [])

    def relabelled(self, label: IdArray) -> Forest:
        """Return the same trees, each adding to another label."""
        return replace(self, label=label)

    def scaled(self, factor: float) -> Forest:
        """Return the same trees with all leaf values multiplied by a factor."""
        return replace(self, leaf=self.leaf * factor)

    def add_scores(
        self,
        table: Table,
        window: tuple[int, int],
        node: FloatArray,  # [ΣT, L]
        edge: FloatArray | None,  # [ΣT, L, L]
        *,
        first: int = 0,
        last: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Add trees first..last-1 to the scores of a table.

        ``window`` is the number of positions that trees see before and after a position. Trees that use the
        previous label add to ``edge``, and at first positions to ``node``; others always add to ``node``.
        """
        if not self._native:
            self._native.append(
                _native.Forest(
                    self.feature,
                    self.threshold,
                    self.flags,
                    self.left,
                    self.right,
                    self.set_indptr,
                    self.set_words,
                    self.leaf,
                    self.root,
                    self.label,
                    self.n_features,
                    self.n_labels,
                    self.context,
                )
            )
        self._native[0].add_scores(
            first,
            self.n_trees if last is None else last,
            np.ascontiguousarray(table.values),
            table.outside,
            np.ascontiguousarray(table.offsets),
            window[0],
            window[0] + 1 + window[1],
            node,
            edge,
            thread_count(n_jobs),
        )

    def importances(self) -> FloatArray:
        """Return each feature's share of the total gain of all splits [n_features]."""
        gains: FloatArray = np.zeros(self.n_features)
        np.add.at(gains, self.feature, self.gain)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def categories(self, node: int) -> list[int]:
        """Return the categories that go left at an inner node on a category."""
        chosen = int(self.threshold[node])
        words = self.set_words[self.set_indptr[chosen] : self.set_indptr[chosen + 1]]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        found: list[int] = np.flatnonzero(bits).tolist()
        return found

    # ---- the model file

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        names = (f.name for f in fields(self) if f.name not in _PLAIN)
        return {f"trees.{name}": getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: ModelArrays, *, n_features: int, n_labels: int, context: bool) -> Forest:
        """Return the forest in a model file; the core checks that all parts fit together."""
        # A threshold may be infinite: numbers to the left, missing ones to the right.
        found: dict[str, Any] = {
            key: arrays.take(f"trees.{key}", dtype, (None,), infinite=key == "threshold")
            for key, dtype in _DTYPES.items()
        }
        forest = cls(**found, n_features=n_features, n_labels=n_labels, context=context)
        one = np.zeros(1, np.int64)
        if len(forest.gain) != len(forest.feature) or len(forest.leaf_count) != len(forest.leaf):
            raise arrays.wrong("its trees do not fit together")
        columns = n_features - int(context)
        nothing = Table(np.empty((0, columns)), np.full(columns, np.nan), one)
        edge = np.empty((0, n_labels, n_labels)) if context else None
        try:
            forest.add_scores(nothing, (0, 0), np.empty((0, n_labels)), edge, n_jobs=1)
        except ValueError as error:
            raise arrays.wrong(f"its trees do not fit together: {error}") from error
        return forest


_PLAIN = ("n_features", "n_labels", "context", "_native")
_DTYPES: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float64,
    "flags": np.uint8,
    "left": np.int32,
    "right": np.int32,
    "gain": np.float32,
    "set_indptr": np.int64,
    "set_words": np.uint32,
    "leaf": np.float64,
    "leaf_count": np.int64,
    "root": np.int32,
    "label": np.int32,
}
