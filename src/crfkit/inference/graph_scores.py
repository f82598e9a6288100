"""Scores of the labellings of graphs: the counterpart of the lattice for any graph.

    S(y) = Σ_v node[v, y_v] + Σ_e edge[kind_e, y_a, y_b]        e = (a, b)

and p(y) = exp(S(y)) / Z. A score of -inf forbids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.topology import Topology
from crfkit.exceptions import InputError
from crfkit.inference.lattice import ScoredSequences, checked_scores


@dataclass(frozen=True, eq=False, init=False)
class GraphScores(ScoredSequences):
    """Scores of N graphs over L labels; ΣV nodes and ΣE edges in all.

    Parameters
    ----------
    node
        [ΣV, L] score of each label at each node.
    edge
        [K, L, L]: ``edge[k, i, j]`` is the score of label i at the first end and j at the second end of an
        edge of kind k. Without kinds in the topology, K is ΣE: each edge has a table of its own.
    topology
        Which nodes are linked.
    """

    node: FloatArray  # [ΣV, L]
    edge: FloatArray  # [K, L, L]
    topology: Topology

    def __init__(self, node: npt.ArrayLike, edge: npt.ArrayLike, topology: Topology) -> None:
        shape, tables = np.shape(node), np.shape(edge)
        if len(shape) != 2 or shape[1] == 0:
            raise InputError(f"node must have shape [ΣV, L] with at least one label; got {shape}")
        if shape[0] != topology.n_positions:
            raise InputError(f"node must have one row per node, {topology.n_positions}; got {shape[0]}")
        L, K = shape[1], topology.n_kinds
        enough = len(tables) == 3 and (tables[0] >= K if topology.kinds is not None else tables[0] == K)
        if not enough or tables[1:] != (L, L):
            which = "one table per edge" if topology.kinds is None else "one table per kind of edge"
            raise InputError(f"edge must have shape [{K}, {L}, {L}], {which}; got {tables}")
        put = object.__setattr__
        put(self, "topology", topology)
        put(self, "node", checked_scores("node", node, shape, topology.offsets, ("graph", "node")))
        by_edge = topology.edge_offsets, ("graph", "edge")
        by_kind = np.arange(tables[0] + 1), ("edges of kind", "table")
        bounds, words = by_edge if topology.kinds is None else by_kind
        put(self, "edge", checked_scores("edge", edge, tables, bounds, words))

    @property
    def offsets(self) -> IntArray:  # type: ignore[override]
        return self.topology.offsets

    @property
    def n_labels(self) -> int:
        return int(self.node.shape[1])

    def __repr__(self) -> str:
        return (
            f"GraphScores({self.n_sequences} graphs, {self.n_positions} nodes, {self.topology.n_edges} "
            f"edges, {self.n_labels} labels)"
        )


class GraphGradient(NamedTuple):
    """One number per score of ``GraphScores``, in the shapes of its fields."""

    node: FloatArray  # [ΣV, L]
    edge: FloatArray  # [K, L, L]


def graph_labelling_score(scores: GraphScores, ids: IdArray) -> FloatArray:
    """Return the score [N] of one labelling [ΣV]."""
    by_node = scores.node[np.arange(len(ids)), ids]
    by_edge = scores.edge[(scores.topology.tables, *_ends(scores.topology, ids))]
    node = _sums(by_node, scores.topology.offsets)
    return node + _sums(by_edge, scores.topology.edge_offsets)


def graph_labelling_counts(
    scores: GraphScores, ids: IdArray, weights: FloatArray | None = None
) -> GraphGradient:
    """Return what one labelling [ΣV] consists of, times weights [N]."""
    topology = scores.topology
    share = np.ones(scores.n_sequences) if weights is None else weights
    node, edge = np.zeros(scores.node.shape), np.zeros(scores.edge.shape)
    node[np.arange(len(ids)), ids] = np.repeat(share, np.diff(topology.offsets))
    by_edge = np.repeat(share, np.diff(topology.edge_offsets))
    np.add.at(edge, (topology.tables, *_ends(topology, ids)), by_edge)
    return GraphGradient(node, edge)


def forbid(scores: GraphScores, allowed: BoolArray) -> GraphScores:
    """Return the scores with -inf for labels that nodes may not have; allowed [ΣV, L]."""
    return scores.changed(node=np.where(allowed, scores.node, -np.inf))


def _ends(topology: Topology, ids: IdArray) -> tuple[IdArray, IdArray]:
    return ids[topology.edges[:, 0]], ids[topology.edges[:, 1]]


def _sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the sums [N] of runs of values."""
    N = len(offsets) - 1
    return np.bincount(np.repeat(np.arange(N), np.diff(offsets)), values, N).astype(np.float64, copy=False)
