"""Tables of scores for the pairs of labels of edges, one per type, added to given scores of nodes and edges.

As a function of the tables it is a ``Parametric`` potential: the counterpart of ``potentials/transitions.py``
for graphs. If an edge has no direction, its scores are the mean of a table and its transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.graph_layout import GraphLayout
from crfkit.data.topology import Topology
from crfkit.inference.graph_scores import GraphGradient, GraphScores


class GivenScores(NamedTuple):
    """Graphs with given scores of nodes and, if edges have values of their own, of edges."""

    layout: GraphLayout
    node: FloatArray  # [ΣV, L]
    edge: FloatArray | None  # [ΣE, L, L]
    topology: Topology  # of these edges, or with one kind per type and direction


def typed_topology(layout: GraphLayout) -> Topology:
    """Return the edges of graphs with one kind per type, and another per type without direction."""
    kinds = layout.types + layout.n_types * ~layout.directed
    return Topology(layout.edges, layout.offsets, layout.edge_offsets, kinds)


@dataclass(frozen=True)
class EdgeTables:
    """One table per type of edge (a ``Parametric`` potential)."""

    tables: FloatArray  # [R, L, L]

    @property
    def n_parameters(self) -> int:
        return int(self.tables.size)

    def scores(
        self, batch: GivenScores, w: FloatArray | None = None, *, n_jobs: int | None = None
    ) -> GraphScores:
        tables = self.tables if w is None else w.reshape(self.tables.shape)
        both = np.concatenate([tables, (tables + tables.transpose(0, 2, 1)) / 2])  # [2R, L, L]
        if batch.edge is not None:
            both = batch.edge + both[batch.layout.types + batch.layout.n_types * ~batch.layout.directed]
        return GraphScores(batch.node, both, batch.topology)

    def backward(self, batch: GivenScores, d_scores: GraphGradient) -> FloatArray:
        both, R = d_scores.edge, len(self.tables)
        if batch.edge is not None:
            both = np.zeros((2 * R, *d_scores.edge.shape[1:]))
            np.add.at(both, batch.layout.types + R * ~batch.layout.directed, d_scores.edge)
        loose = both[R:]
        return (both[:R] + (loose + loose.transpose(0, 2, 1)) / 2).reshape(-1)
