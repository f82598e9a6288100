"""The unit of each attribute: how large its values are, as the optimiser should see them.

An optimiser treats all weights alike. A weight w on values of size m acts like a weight w·m on values of
size 1, so variables are measured in z = w·unit. Without a penalty the unit is m. An L2 penalty
c2·w² = c2·(z/unit)² adds to the curvature, which is about (Σ value² / 4 + 2·c2) / unit² in z. The unit makes
it that of an attribute of values 1 seen as often:

    unit² = (Σ value² + 8·c2) / (count + 8·c2)

Units are powers of two, so that dividing by them rounds nothing. They change the path to the optimum, never
the objective or where its optimum is.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex


class AttributeSizes:
    """How often each attribute occurs, and the sum of its squared values."""

    def __init__(self, sequences: Sequences) -> None:
        values = sequences.values
        self.plain = values is None or all(
            (np.abs(values[part]) == 1).all() for part in sequences.entry_pieces()
        )
        if values is not None and not self.plain:
            self.count = sequences.by_attribute()  # [A]
            self.squares = sequences.by_attribute(lambda part: values[part] ** 2)  # [A]

    @classmethod
    def of_sums(cls, count: FloatArray, squares: FloatArray) -> AttributeSizes:
        """Return the sizes of attributes that were counted in parts [A]."""
        sizes = cls.__new__(cls)
        sizes.plain = bool((count == squares).all())
        sizes.count, sizes.squares = count, squares
        return sizes

    def units(self, c2: float) -> FloatArray | None:
        """Return the unit of each attribute [A] under an L2 penalty; None if all are 1."""
        if self.plain:
            return None
        seen, pull = self.squares > 0, 8 * c2
        units = np.ones(len(self.count))
        units[seen] = np.sqrt((self.squares[seen] + pull) / (self.count[seen] + pull))
        return np.exp2(np.rint(np.log2(units)))


def by_feature(units: FloatArray, index: FeatureIndex) -> FloatArray:
    """Return the unit of each feature, in the order of ``index.sizes``; 1 for transitions."""
    edges, ngrams, _, _ = index.sizes
    pairs = np.repeat(units, np.diff(index.pair_indptr))
    return np.concatenate([np.ones(edges + ngrams), pairs, np.repeat(units, np.diff(index.state_indptr))])
