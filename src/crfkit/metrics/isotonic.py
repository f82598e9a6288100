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

        Each pool of neighbouring probabilities has one value, from its first to its last. 0, which means
        impossible, is mapped to 0.
        """
        given, outcomes = np.asarray(probability, np.float64), np.asarray(outcome, np.float64)
        p, inverse = np.unique(given[given > 0], return_inverse=True)
        counts, totals = np.bincount(inverse), np.bincount(inverse, weights=outcomes[given > 0])
        pools: list[tuple[float, float, float]] = []  # first probability, sum of outcomes, number
        for first, total, n in zip(p.tolist(), totals.tolist(), counts.tolist(), strict=True):
            while pools and pools[-1][1] * n >= total * pools[-1][2]:  # the mean before is not below this one
                first, more, n_more = pools.pop()
                total, n = total + more, n + n_more
            pools.append((first, total, n))
        firsts = np.array([first for first, _, _ in pools])
        lasts = p[np.append(np.searchsorted(p, firsts[1:]), len(p)) - 1]
        x = np.concatenate([[0.0], np.stack([firsts, lasts], axis=1).ravel()])
        y = np.concatenate([[0.0], np.repeat([total / n for _, total, n in pools], 2)])
        kept = np.append(True, np.diff(x) > 0)  # a pool of one probability is one point
        return cls(x[kept], y[kept])

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
