"""The bandwidth of a kernel: gamma chosen from the data.

With the median heuristic, two positions at the median distance have an RBF similarity of 1/e. Multiples of it
can be cross-validated (scikit-learn's GridSearchCV over ``gamma``), which is better.
"""

from __future__ import annotations

from numbers import Real

import numpy as np

from crfkit.data.positions import Rows
from crfkit.exceptions import InputError, InputWarning
from crfkit.optional import needed
from crfkit.warn import warn

_SAMPLE = 1000  # rows whose distances are computed


def median_gamma(rows: Rows, seed: int = 0) -> float:
    """Return 1 / the median squared distance between rows (at most 1000 rows, drawn with this seed).

    Pairs of equal rows are not counted; if all rows are equal, gamma is 1.
    """
    pairwise = needed("sklearn.metrics.pairwise", "gamma='median'", "kernels")
    n = rows.shape[0]
    if n > _SAMPLE:
        rows = rows[np.sort(np.random.default_rng(seed).choice(n, _SAMPLE, replace=False))]
    squares = pairwise.euclidean_distances(rows, squared=True)  # [n, n]
    apart = squares[np.triu_indices(len(squares), 1)]
    apart = apart[apart > 1e-12 * max(1.0, float(apart.max(initial=0.0)))]
    return 1.0 / float(np.median(apart)) if len(apart) else 1.0


def scale_gamma(rows: Rows) -> float:
    """Return 1 / (d · the variance of all numbers): scikit-learn's "scale"."""
    d = max(1, rows.shape[1])
    if hasattr(rows, "tocsr"):
        variance = float(rows.multiply(rows).mean() - rows.mean() ** 2) if rows.shape[0] else 0.0
    else:
        variance = float(rows.var()) if rows.size else 0.0
    return 1.0 / (d * variance) if variance > 0 else 1.0


def find_gamma(gamma: float | str, rows: Rows, seed: int = 0) -> float:
    """Return the number that ``gamma`` stands for on these rows."""
    if isinstance(gamma, str):
        if gamma == "median":
            return median_gamma(rows, seed)
        if gamma == "scale":
            return scale_gamma(rows)
    elif isinstance(gamma, Real) and not isinstance(gamma, bool) and 0 < float(gamma) < np.inf:
        return float(gamma)
    raise InputError(f"gamma must be a number above 0, 'median' or 'scale', got {gamma!r}")


def warn_of_constant_rows(rows: Rows) -> None:
    """Warn if all positions have the same features: then only the transitions can be learned."""
    if isinstance(rows, list) or rows.shape[0] < 2:
        return
    if hasattr(rows, "tocsr"):
        spread = rows.max(axis=0).toarray() - rows.min(axis=0).toarray()
    else:
        spread = np.ptp(rows, axis=0)
    if not (spread > 0).any():
        warn(
            f"all {rows.shape[0]:,} positions have the same features: a kernel cannot tell them apart, and "
            "the model learns only the transitions",
            InputWarning,
        )
