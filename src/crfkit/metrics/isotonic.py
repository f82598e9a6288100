"""Isotonic regression: the rising function nearest to the outcomes, by pooling adjacent violators.

Ayer et al. (1955); for probabilities: Zadrozny and Elkan, "Transforming classifier scores into accurate
multiclass probability estimates" (KDD 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A rising function on [0, 1]: linear between the points (x, y), constant outside of them."""

    x: FloatArray  # [K] ascending
    y: FloatArray  # [K] never falling

    @classmethod
    def fit(cls, probability: npt.ArrayLike, outcome: npt.ArrayLike) -> IsotonicMap:
        """Return the function that maps probabilities [M] to the shares of outcomes [M] that are true.

        Each pool of neighbouring probabilities becomes one point, at their mean. 0, which means impossible,
        is mapped to 0.
        """
        p, inverse = np.unique(np.asarray(probability, np.float64), return_inverse=True)
        count = np.bincount(inverse).astype(np.float64)
        total = np.bincount(inverse, weights=np.asarray(outcome, np.float64))
        pools: list[tuple[float, float, float]] = []  # sums: of probabilities, of outcomes, of counts
        for px, py, n in zip((p * count).tolist(), total.tolist(), count.tolist(), strict=True):
            while pools and pools[-1][1] * n >= py * pools[-1][2]:  # the mean before is not below this one
                before = pools.pop()
                px, py, n = px + before[0], py + before[1], n + before[2]
            pools.append((px, py, n))
        points = [(0.0, 0.0), *((px / n, py / n) for px, py, n in pools if px > 0)]
        x, y = np.array(points).T
        return cls(x, y)

    def __call__(self, probability: FloatArray) -> FloatArray:
        return np.interp(probability, self.x, self.y)

    def to_lists(self) -> list[list[float]]:
        """Return the points for a file: [x, y]."""
        return [self.x.tolist(), self.y.tolist()]

    @classmethod
    def of_lists(cls, points: Any) -> IsotonicMap | None:
        """Return the function with these points from a file; None if they are malformed."""
        try:
            x, y = (np.array(values, np.float64) for values in points)
        except (TypeError, ValueError):
            return None
        sound = x.ndim == 1 and x.shape == y.shape and len(x) > 0
        for values in (x, y):
            sound = (
                sound and bool(((values >= 0) & (values <= 1)).all()) and bool((np.diff(values) >= 0).all())
            )
        return cls(x, y) if sound else None
