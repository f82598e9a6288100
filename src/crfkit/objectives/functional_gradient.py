"""The gradient of log p(y|x) by the scores themselves: what the next function added to them should look like.

Dietterich, Ashenfelter and Bulatov, "Training conditional random fields via gradient tree boosting" (ICML
2004), proposition 1: by the score of labels u, v at positions t-1, t it is the error on a probability scale,

    I(y_{t-1} = u, y_t = v) - p(y_{t-1} = u, y_t = v | x),

and by the score of a label v at t: I(y_t = v) - p(y_t = v | x). The second derivatives are -p (1 - p). The
pseudo-likelihood Σ_t log p(y_t | y_{t-1}, y_{t+1}, x) needs no forward-backward and is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.exceptions import InputError
from crfkit.inference import (
    Lattice,
    constrain,
    log_partition,
    marginals,
    path_score,
    permitted_labels,
)


@dataclass(frozen=True)
class Errors:
    """Observed minus expected, score by score, and what the expectation is worth as a second derivative."""

    value: float  # Σ weight · log p(y|x), or the pseudo-likelihood
    node: FloatArray  # [ΣT, L]
    node_curvature: FloatArray  # [ΣT, L] p (1 - p)
    edge: FloatArray | None  # [ΣT, L, L] where every position has edge scores of its own
    edge_curvature: FloatArray | None  # [ΣT, L, L]


def likelihood_errors(
    lattice: Lattice, labels: Labels, weights: FloatArray | None = None, n_jobs: int | None = None
) -> Errors:
    """The functional gradient of Σ weight · log p(y|x); weights [N] are those of the sequences.

    Labels that are not fully known stand for all that they may be: what is observed is then expected too,
    under the labels that are left.
    """
    pairs = lattice.edge.ndim == 3
    all_ = marginals(lattice, edge=pairs, n_jobs=n_jobs)
    if labels.allowed is not None:
        known = constrain(lattice, permitted_labels(labels.allowed))
        right = marginals(known, edge=pairs, n_jobs=n_jobs)
        node, edge, log_right = right.node, right.edge, right.log_z
    else:
        node = _one_hot(labels.ids, lattice.n_labels)
        edge = _pairs_one_hot(labels.ids, lattice) if pairs else None
        log_right = path_score(lattice, labels.ids, n_jobs=n_jobs)
    share = None if weights is None else np.repeat(weights, np.diff(lattice.offsets))  # [ΣT]
    value = log_right - all_.log_z
    node_curvature = all_.node * (1 - all_.node)
    node -= all_.node
    edge_curvature = None
    if edge is not None and all_.edge is not None:
        edge -= all_.edge
        edge_curvature = all_.edge
        edge_curvature *= 1 - edge_curvature
    if share is not None:
        for array in (node, node_curvature, edge, edge_curvature):
            if array is not None:
                array *= share.reshape(-1, *[1] * (array.ndim - 1))
    total = float(value.sum() if weights is None else value @ weights)
    return Errors(total, node, node_curvature, edge, edge_curvature)


def log_likelihood(lattice: Lattice, labels: Labels, n_jobs: int | None = None) -> FloatArray:
    """Log p(y|x) of each sequence [N]."""
    if labels.allowed is None:
        right = path_score(lattice, labels.ids, n_jobs=n_jobs)
    else:
        right = log_partition(constrain(lattice, permitted_labels(labels.allowed)), n_jobs=n_jobs)
    return right - log_partition(lattice, n_jobs=n_jobs)


def pseudo_likelihood_errors(lattice: Lattice, labels: Labels, weights: FloatArray | None = None) -> Errors:
    """The functional gradient of Σ weight · log p(y_t | y_{t-1}, y_{t+1}, x), summed over all positions."""
    if labels.allowed is not None:
        raise InputError("the pseudo-likelihood needs every label: some are missing or one of several")
    if lattice.edge2 is not None:
        raise InputError("the pseudo-likelihood is there for lattices of order 1")
    y, L, n = labels.ids.astype(np.int64), lattice.n_labels, lattice.n_positions
    rows = np.arange(n)
    inner = _inner(lattice)  # [I] positions that have one before them
    pairs = lattice.edge.ndim == 3
    local = lattice.node.copy()  # [ΣT, L] scores of a label between its true neighbours
    nonempty = np.flatnonzero(np.diff(lattice.offsets) > 0)
    first, last = lattice.offsets[nonempty], lattice.offsets[nonempty + 1] - 1
    if lattice.start is not None:
        local[first] += lattice.start
    if lattice.end is not None:
        local[last] += lattice.end
    local[inner] += lattice.edge[inner, y[inner - 1]] if pairs else lattice.edge[y[inner - 1]]
    local[inner - 1] += lattice.edge[inner, :, y[inner]] if pairs else lattice.edge[:, y[inner]].T
    local -= local.max(axis=1, keepdims=True)
    log_q = local - np.log(np.exp(local).sum(axis=1, keepdims=True))
    q = np.exp(log_q)
    share = np.ones(n) if weights is None else np.repeat(weights, np.diff(lattice.offsets))  # [ΣT]
    node = (_one_hot(labels.ids, L) - q) * share[:, None]
    curvature = q * (1 - q) * share[:, None]
    value = float(log_q[rows, y] @ share)
    if pairs:
        edge, edge_curvature = np.zeros((n, L, L)), np.zeros((n, L, L))
        for whole, part in ((edge, node), (edge_curvature, curvature)):
            whole[inner, y[inner - 1]] += part[inner]
            whole[inner, :, y[inner]] += part[inner - 1]
        return Errors(value, node, curvature, edge, edge_curvature)
    return Errors(value, node, curvature, None, None)


def _inner(lattice: Lattice) -> IntArray:
    """The positions that are not the first of their sequence."""
    flags = np.ones(lattice.n_positions + 1, dtype=np.bool_)
    flags[lattice.offsets[:-1]] = False
    return np.flatnonzero(flags[:-1])


def _one_hot(ids: IdArray, n_labels: int) -> FloatArray:
    table = np.zeros((len(ids), n_labels))
    table[np.arange(len(ids)), ids] = 1.0
    return table


def _pairs_one_hot(ids: IdArray, lattice: Lattice) -> FloatArray:
    table = np.zeros((lattice.n_positions, lattice.n_labels, lattice.n_labels))
    inner = _inner(lattice)
    table[inner, ids[inner - 1], ids[inner]] = 1.0
    return table
