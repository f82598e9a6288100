"""Coarse-to-fine pruning: which labels are likely, and how much probability is left out with the others.

Mueller, Schmid and Schütze, "Efficient higher-order CRFs for morphological tagging" (EMNLP 2013): a model of
low order says which labels are likely at a position, and a model of higher order looks at these alone. What
was left out is not estimated but computed, by one pass without pruning: 1 - Z(pruned) / Z.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice
from crfkit.inference.posterior import log_partition, marginals


class PrunedShare(NamedTuple):
    """The share of the probability that pruning leaves out, over some sequences."""

    mean: float
    largest: float  # of one sequence
    n_sequences: int  # for which it was computed


def likely_labels(lattice: Lattice, threshold: float, *, n_jobs: int | None = None) -> BoolArray:
    """Tell which labels have at least this probability at their position, or are the best there [ΣT, L]."""
    p = marginals(lattice, n_jobs=n_jobs).node
    likely: BoolArray = (p >= threshold) | (p == p.max(axis=1, initial=0.0, keepdims=True))
    return likely


def pruned_shares(lattice: Lattice, kept: BoolArray, *, n_jobs: int | None = None) -> FloatArray:
    """Return 1 - Z(pruned) / Z of each sequence [N], if only the labels in ``kept`` [ΣT, L] are permitted."""
    if np.shape(kept) != lattice.node.shape:
        raise InputError(
            f"kept must have shape {lattice.node.shape}, one flag per label; got {np.shape(kept)}"
        )
    fewer = lattice.changed(node=np.where(kept, lattice.node, -np.inf))
    lost = log_partition(fewer, n_jobs=n_jobs) - log_partition(lattice, n_jobs=n_jobs)
    shares: FloatArray = 0.0 - np.expm1(np.minimum(lost, 0.0))  # -0.0 would be shown as such
    return shares
