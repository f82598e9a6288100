"""The linear potential of graphs: weights on attributes of nodes and of edges, and on types of edges.

    node_v(y)    = bias[y] + Σ_a value_a · w[a, y]
    edge_e(y, z) = w[r, y, z] + Σ_b value_b · w[r, b, y, z]       e has the type r and the labels y and z

Attributes b are those of the edge and, if asked for, of its two nodes. If an edge has no direction, its score
is the mean over both directions, so that the order of its nodes makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray
from crfkit.data.sequences import Sequences
from crfkit.inference.graph_scores import GraphGradient, GraphScores
from crfkit.potentials.graph_input import EdgeKinds, GraphInput
from crfkit.potentials.segments import Rows
from crfkit.threads import thread_count


@dataclass(frozen=True, eq=False)
class GraphFeatures:
    """What has a weight. A vector of weights has the parts in the order of ``sizes``."""

    n_labels: int
    n_types: int  # of edges
    states: Rows  # attributes of nodes, over L labels
    pairs: Rows | None = None  # attributes of edges of each type, over L² pairs of labels
    sizes: tuple[int, ...] = field(init=False)  # L, R·L², F, G

    def __post_init__(self) -> None:
        L, n_pairs = self.n_labels, 0 if self.pairs is None else len(self.pairs.ids)
        object.__setattr__(self, "sizes", (L, self.n_types * L * L, len(self.states.ids), n_pairs))


class GraphWeights(NamedTuple):
    """A vector of weights, in parts: views of it."""

    bias: FloatArray  # [L]
    edge: FloatArray  # [R, L, L] of types
    state: FloatArray  # [F]
    pair: FloatArray  # [G]

    @classmethod
    def of(cls, features: GraphFeatures, w: FloatArray) -> GraphWeights:
        """Cut a vector into its parts."""
        L = features.n_labels
        bias, edge, state, pair = np.split(w, np.cumsum(features.sizes)[:-1])
        return cls(bias, edge.reshape(-1, L, L), state, pair)


class GraphPotential:
    """A ``Parametric`` potential over graphs."""

    def __init__(self, features: GraphFeatures, weights: FloatArray | None = None) -> None:
        self.features = features
        self.vector = np.zeros(sum(features.sizes)) if weights is None else weights  # [P]
        L = features.n_labels
        self._states = _native.LinearScorer(*features.states, L)
        self._pairs = None if features.pairs is None else _native.LinearScorer(*features.pairs, L * L)

    def __reduce__(self) -> tuple[type[GraphPotential], tuple[GraphFeatures, FloatArray]]:
        return GraphPotential, (self.features, self.vector)

    @property
    def n_parameters(self) -> int:
        return len(self.vector)

    @property
    def weights(self) -> GraphWeights:
        return GraphWeights.of(self.features, self.vector)

    def scores(
        self, batch: GraphInput, w: FloatArray | None = None, *, n_jobs: int | None = None
    ) -> GraphScores:
        parts = GraphWeights.of(self.features, self.vector if w is None else w)
        threads, L, kinds = thread_count(n_jobs), self.features.n_labels, batch.kinds

        def scored(scorer: _native.LinearScorer, x: Sequences, weights: FloatArray, width: int) -> FloatArray:
            out = np.empty((len(x.indptr) - 1, width))
            scorer.scores(x.indptr, x.indices, x.values, np.ascontiguousarray(weights), out, threads)
            return out

        node = scored(self._states, batch.nodes, parts.state, L)
        node += parts.bias
        edge = parts.edge[kinds.types]  # [K, L, L]
        if self._pairs is not None:
            edge += scored(self._pairs, kinds.attributes, parts.pair, L * L).reshape(-1, L, L)
        return GraphScores(node, _without_direction(edge, kinds), kinds.topology)

    def backward(self, batch: GraphInput, d_scores: GraphGradient) -> FloatArray:
        gradient = np.zeros(self.n_parameters)
        parts, kinds, x = GraphWeights.of(self.features, gradient), batch.kinds, batch.nodes
        parts.bias[:] = d_scores.node.sum(axis=0)
        self._states.backward(x.indptr, x.indices, x.values, d_scores.node, parts.state)
        edge = _with_direction(d_scores.edge, kinds)  # [K, L, L]
        np.add.at(parts.edge, kinds.types, edge)
        if self._pairs is not None:
            rows = kinds.attributes
            by_pair = edge.reshape(len(edge), -1)
            self._pairs.backward(rows.indptr, rows.indices, rows.values, by_pair, parts.pair)
        return gradient


def _without_direction(edge: FloatArray, kinds: EdgeKinds) -> FloatArray:
    """Return scores [K, L, L] in which kinds without a direction have the mean of both directions."""
    if not kinds.symmetric.any():
        return edge
    both = (edge + edge[kinds.mirror].transpose(0, 2, 1)) / 2
    return np.where(kinds.symmetric[:, None, None], both, edge)


def _with_direction(d_edge: FloatArray, kinds: EdgeKinds) -> FloatArray:
    """Return the gradient with respect to the argument of ``_without_direction``."""
    if not kinds.symmetric.any():
        return d_edge
    half = d_edge / 2
    other = np.zeros_like(d_edge)
    other[kinds.mirror] = half.transpose(0, 2, 1)  # a kind is the mirror of one kind only
    return np.where(kinds.symmetric[:, None, None], half + other, d_edge)
