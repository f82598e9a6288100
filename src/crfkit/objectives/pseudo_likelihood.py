"""The pseudo-likelihood of any parametric potential over graphs, and its gradient.

    f(w) = -Σ_i weight_i · Σ_v log p(y_v | the labels of v's neighbours, x_i; w)        (Besag, 1975)

It needs no sum over labellings, so that it is exact and fast on any graph. Labels may be partial: nodes with
an unlabelled neighbour are left out, and for a node with several possible labels p is that of all of them.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.topology import Topology
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphGradient, GraphScores
from crfkit.objectives.likelihood import Likelihood, Residuals

Batch = TypeVar("Batch")


class PseudoLikelihood(Likelihood[Batch, GraphScores, GraphGradient], Generic[Batch]):
    """-Σ weight · log pseudo-likelihood as a smooth function of the potential's vector."""

    def _residuals(self, scores: GraphScores, expected: bool) -> Residuals[GraphGradient]:
        return pseudo_likelihood_residuals(scores, self._labels, self._weights)


def pseudo_likelihood_residuals(
    scores: GraphScores, labels: Labels, weights: FloatArray | None = None
) -> Residuals[GraphGradient]:
    """Return the log pseudo-likelihood of each graph and the gradient of -Σ weight · its value."""
    topology, L = scores.topology, scores.n_labels
    used = _with_known_neighbours(topology, labels)
    if len(used) and not used.any():
        raise InputError(
            "the pseudo-likelihood needs nodes whose neighbours all have labels, but there are none: label "
            "more nodes, or train with another objective"
        )
    permitted = labels.permitted(L)
    local = conditional_scores(scores, labels.ids)  # [ΣV, L]
    log_all, log_right = _log_sum(local), _log_sum(np.where(permitted, local, -np.inf))
    if not np.isfinite(log_right[used]).all():
        raise InputError("the scores forbid labels that y has: the pseudo-likelihood is 0")
    graph = np.repeat(np.arange(topology.n_sequences), np.diff(topology.offsets))  # [ΣV]
    log_p = _sums(graph, np.where(used, log_right - log_all, 0.0), topology.n_sequences)
    share = used.astype(np.float64) if weights is None else used * weights[graph]
    with np.errstate(invalid="ignore"):  # -inf - -inf at nodes that are not used
        q = np.exp(local - log_all[:, None])
        right = np.where(permitted, np.exp(local - log_right[:, None]), 0.0)
    q[~used], right[~used] = 0.0, 0.0
    expected, observed = (spread(scores, labels.ids, table * share[:, None]) for table in (q, right))
    d_scores = GraphGradient(expected.node - observed.node, expected.edge - observed.edge)
    return Residuals(log_p, d_scores, expected, observed)


def conditional_scores(scores: GraphScores, ids: IdArray) -> FloatArray:
    """Return the score of every label of a node, given the labels of its neighbours [ΣV, L].

    A neighbour without a label (-1) counts as one with the first label.
    """
    n, L = scores.node.shape
    edges, y = scores.topology.edges.astype(np.int64), np.maximum(ids, 0)
    tables, (a, b) = scores.topology.tables, edges.T
    to_first = scores.edge[tables, :, y[b]]  # [ΣE, L]
    to_second = scores.edge[tables, y[a]]  # [ΣE, L]
    places = np.concatenate([a, b])[:, None] * L + np.arange(L)
    given = np.concatenate([to_first, to_second])
    with np.errstate(invalid="ignore"):
        return scores.node + _sums(places, given, n * L).reshape(n, L)


def spread(scores: GraphScores, ids: IdArray, table: FloatArray) -> GraphGradient:
    """Return numbers for the labels of nodes [ΣV, L] as numbers for the scores that make them up."""
    L = scores.n_labels
    edges, y = scores.topology.edges.astype(np.int64), np.maximum(ids, 0)
    a, b = edges.T
    base = np.asarray(scores.topology.tables, np.int64)[:, None] * L * L
    every = np.arange(L)
    at_first = base + every * L + y[b][:, None]  # [ΣE, L]
    at_second = base + y[a][:, None] * L + every
    edge = _sums(
        np.concatenate([at_first, at_second]), np.concatenate([table[a], table[b]]), scores.edge.size
    )
    return GraphGradient(table, edge.reshape(scores.edge.shape))


def _with_known_neighbours(topology: Topology, labels: Labels) -> BoolArray:
    """Return which nodes have neighbours with one known label each [ΣV]."""
    used = np.ones(topology.n_positions, np.bool_)
    unknown = labels.ids < 0
    for end, other in ((0, 1), (1, 0)):
        used[topology.edges[unknown[topology.edges[:, other]], end]] = False
    return used


def _sums(places: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sums of the values at each place [size]."""
    return np.bincount(places.ravel(), values.ravel(), size).astype(np.float64, copy=False)


def _log_sum(scores: FloatArray) -> FloatArray:
    """Return log Σ exp of the rows [n, L]."""
    top = scores.max(axis=1, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: FloatArray = np.log(np.exp(scores - shift[:, None]).sum(axis=1)) + shift
    return total
