"""Classes of GC content: regions rich or poor in G and C use other codons, so they get their own chains.

The class of a position depends on the share of G and C around it. The bounds between classes divide the
training data into equal parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes.bases import UNKNOWN, Codes
from crfkit.arrays import FloatArray
from crfkit.data.sequences import offsets_of

Classes = npt.NDArray[np.intp]  # [T]

_AROUND = 1000  # bases on either side


def gc_content(codes: Codes) -> FloatArray:
    """Return the share of G and C around each position [T]; 0.5 if no base is known."""
    T = len(codes)
    at = np.arange(T)
    begin, end = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND + 1, T)
    strong, known = offsets_of((codes == 1) | (codes == 2)), offsets_of(codes < UNKNOWN)
    n = known[end] - known[begin]
    share: FloatArray = np.where(n > 0, (strong[end] - strong[begin]) / np.maximum(n, 1), 0.5)
    return share


def class_bounds(codes: Sequence[Codes], n_classes: int) -> FloatArray:
    """Return the bounds between the classes [n_classes - 1]."""
    shares = np.concatenate([gc_content(bases) for bases in codes])
    bounds: FloatArray = np.quantile(shares, np.arange(1, n_classes) / n_classes)
    return bounds


def gc_classes(codes: Codes, bounds: FloatArray) -> Classes:
    """Return the class of each position [T]."""
    if len(bounds) == 0:
        return np.zeros(len(codes), np.intp)
    return np.searchsorted(bounds, gc_content(codes), side="right")
