"""Coarse-to-fine pruning, and how much probability it leaves out.

Mueller, Schmid and Schütze, "Efficient higher-order CRFs for morphological tagging" (EMNLP 2013): a label
whose probability at a position is small in the same model without its label n-grams of three and more is left
out there. Training does so in the core (native/orders/ngram_posterior.h); here is the same on lattices. What
was left out is not estimated but computed, by one pass without pruning: 1 - Z(pruned) / Z.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray
from crfkit.inference.lattice import Lattice
from crfkit.inference.posterior import log_partition, marginals


class PrunedShare(NamedTuple):
    """The share of the probability that pruning leaves out, over some sequences."""

    mean: float
    largest: float  # of one sequence
    n_sequences: int  # for which it was computed


def pruned(
    lattice: Lattice, threshold: float, kept: BoolArray | None = None, *, n_jobs: int | None = None
) -> Lattice:
    """Return the lattice without labels whose probability is below the threshold in order 1.

    Labels in ``kept`` [ΣT, L] and the most probable label of each position stay.
    """
    p = marginals(lattice.changed(ngrams=None, edge2=None), n_jobs=n_jobs).node
    stay = (p >= threshold) | (p == p.max(axis=1, initial=0.0, keepdims=True))
    if kept is not None:
        stay |= kept
    return lattice.changed(node=np.where(stay, lattice.node, -np.inf))


def pruned_shares(
    lattice: Lattice, threshold: float, kept: BoolArray | None = None, *, n_jobs: int | None = None
) -> FloatArray:
    """Return 1 - Z(pruned) / Z of each sequence [N]."""
    fewer = pruned(lattice, threshold, kept, n_jobs=n_jobs)
    lost = log_partition(fewer, n_jobs=n_jobs) - log_partition(lattice, n_jobs=n_jobs)
    shares: FloatArray = 0.0 - np.expm1(np.minimum(lost, 0.0))  # -0.0 would be shown as such
    return shares
