"""The gradient of -log p(y|x) with respect to the scores, to which the next trees are fitted.

Dietterich, Ashenfelter and Bulatov, "Training conditional random fields via gradient tree boosting" (ICML
2004), proposition 1. For the score of labels u, v at positions t-1, t it is the error on a probability scale,

    p(y_{t-1} = u, y_t = v | x) - I(y_{t-1} = u, y_t = v),

and for the score of a label v at t: p(y_t = v | x) - I(y_t = v). The second derivatives are p (1 - p). The
pseudo-likelihood Σ_t log p(y_t | y_{t-1}, y_{t+1}, x) needs no forward-backward and is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import first_positions, inner_positions
from crfkit.exceptions import InputError
from crfkit.inference.chain import CHAIN, ScoreGradient
from crfkit.inference.lattice import Lattice
from crfkit.objectives.likelihood import expected_minus_observed, log_likelihood


@dataclass(frozen=True)
class Errors:
    """Expected minus observed counts of each score, and the second derivatives."""

    objective: float  # -Σ weight · log p(y|x)
    node: FloatArray  # [ΣT, L]
    node_curvature: FloatArray  # [ΣT, L] p (1 - p)
    edge: FloatArray | None  # [ΣT, L, L] if edge scores are per position
    edge_curvature: FloatArray | None  # [ΣT, L, L]


def likelihood_errors(
    lattice: Lattice, labels: Labels, weights: FloatArray | None = None, n_jobs: int | None = None
) -> Errors:
    """Return the functional gradient of -Σ weight · log p(y|x); weights [N] are those of the sequences."""
    found = expected_minus_observed(CHAIN, lattice, labels, expected=True, n_jobs=n_jobs)
    error, p = found.d_scores, cast(ScoreGradient, found.expected)
    p.node[...] *= 1 - p.node
    edge, edge_curvature = None, None
    if lattice.edge.ndim == 3:
        p.edge[...] *= 1 - p.edge
        edge, edge_curvature = error.edge, p.edge
    if weights is not None:
        share = np.repeat(weights, np.diff(lattice.offsets))  # [ΣT]
        for array in (error.node, p.node, edge, edge_curvature):
            if array is not None:
                array *= share.reshape(-1, *[1] * (array.ndim - 1))
    total = float(found.log_p.sum() if weights is None else found.log_p @ weights)
    return Errors(-total, error.node, p.node, edge, edge_curvature)


def minus_log_likelihood(
    lattice: Lattice, labels: Labels, weights: FloatArray | None = None, n_jobs: int | None = None
) -> float:
    """Return -Σ weight · log p(y|x); weights [N] are those of the sequences."""
    log_p = log_likelihood(CHAIN, lattice, labels, n_jobs)
    return -float(log_p.sum() if weights is None else log_p @ weights)


def pseudo_likelihood_errors(
    lattice: Lattice, labels: Labels, weights: FloatArray | None = None, n_jobs: int | None = None
) -> Errors:
    """Return the functional gradient of -Σ weight · log p(y_t | y_{t-1}, y_{t+1}, x) over all positions."""
    if labels.allowed is not None:
        raise InputError("the pseudo-likelihood needs every label: some are missing or one of several")
    if lattice.edge2 is not None:
        raise InputError("the pseudo-likelihood is implemented for lattices of order 1 only")
    objective = minus_log_likelihood(lattice, labels, weights, n_jobs)
    y, (n, L) = labels.ids.astype(np.int64), lattice.node.shape
    inner = np.flatnonzero(inner_positions(lattice.offsets))  # [I] positions that have one before them
    pairs = lattice.edge.ndim == 3
    local = lattice.node.copy()  # [ΣT, L] scores of a label between its true neighbours
    lengths = np.diff(lattice.offsets)
    first = first_positions(lattice.offsets)
    if lattice.start is not None:
        local[first] += lattice.start
    if lattice.end is not None:
        local[first + lengths[lengths > 0] - 1] += lattice.end
    local[inner] += lattice.edge[inner, y[inner - 1]] if pairs else lattice.edge[y[inner - 1]]
    local[inner - 1] += lattice.edge[inner, :, y[inner]] if pairs else lattice.edge[:, y[inner]].T
    local -= local.max(axis=1, keepdims=True)
    q = np.exp(local - np.log(np.exp(local).sum(axis=1, keepdims=True)))
    share = np.ones(n) if weights is None else np.repeat(weights, lengths)  # [ΣT]
    curvature = q * (1 - q) * share[:, None]
    q[np.arange(n), y] -= 1
    node = q * share[:, None]
    if not pairs:
        return Errors(objective, node, curvature, None, None)
    edge, edge_curvature = np.zeros((n, L, L)), np.zeros((n, L, L))
    for whole, part in ((edge, node), (edge_curvature, curvature)):
        whole[inner, y[inner - 1]] += part[inner]
        whole[inner, :, y[inner]] += part[inner - 1]
    return Errors(objective, node, curvature, edge, edge_curvature)
