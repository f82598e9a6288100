"""How wide a kernel is: gamma from the data.

The median heuristic: two positions at the median distance have an RBF similarity of 1/e. It is a start;
cross-validation over factors of it (scikit-learn's GridSearchCV over ``gamma``) is better.
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np

from crfkit.data.positions import Rows
from crfkit.exceptions import InputError, InputWarning

_SAMPLE = 1000  # rows whose distances are looked at


def median_gamma(rows: Rows, seed: int = 0) -> float:
    """1 / the median squared distance between different rows (of at most 1000, drawn with this seed).

    Rows that are equal are not counted; where all are, gamma is 1.
    """
    from sklearn.metrics.pairwise import euclidean_distances

    n = rows.shape[0]
    if n > _SAMPLE:
        rows = rows[np.sort(np.random.default_rng(seed).choice(n, _SAMPLE, replace=False))]
    squares = euclidean_distances(rows, squared=True)  # [n, n]
    apart = squares[np.triu_indices(len(squares), 1)]
    apart = apart[apart > 1e-12 * max(1.0, float(apart.max(initial=0.0)))]
    return 1.0 / float(np.median(apart)) if len(apart) else 1.0


def scale_gamma(rows: Rows) -> float:
    """1 / (d · the variance of all numbers): scikit-learn's "scale"."""
    d = max(1, rows.shape[1])
    if hasattr(rows, "tocsr"):
        variance = float(rows.multiply(rows).mean() - rows.mean() ** 2) if rows.shape[0] else 0.0
    else:
        variance = float(rows.var()) if rows.size else 0.0
    return 1.0 / (d * variance) if variance > 0 else 1.0


def find_gamma(gamma: float | str, rows: Rows, seed: int = 0) -> float:
    """The number that ``gamma`` means for these rows."""
    if isinstance(gamma, str):
        if gamma == "median":
            return median_gamma(rows, seed)
        if gamma == "scale":
            return scale_gamma(rows)
    elif isinstance(gamma, Real) and not isinstance(gamma, bool) and 0 < float(gamma) < np.inf:
        return float(gamma)
    raise InputError(f"gamma must be a number above 0, 'median' or 'scale', got {gamma!r}")


def warn_of_constant_rows(rows: Rows) -> None:
    """Warn where all positions look the same: then there is nothing to learn but the transitions."""
    if isinstance(rows, list) or rows.shape[0] < 2:
        return
    if hasattr(rows, "tocsr"):
        spread = rows.max(axis=0).toarray() - rows.min(axis=0).toarray()
    else:
        spread = np.ptp(rows, axis=0)
    if not (spread > 0).any():
        warnings.warn(
            f"all {rows.shape[0]:,} positions have the same features: a kernel cannot tell them apart, and "
            "the model learns nothing but the transitions",
            InputWarning,
            stacklevel=4,
        )
