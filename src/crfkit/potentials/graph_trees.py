"""Potentials of graphs that are sums of regression trees.

    node_v(y) = F^y(x_v),    edge_e(y, z) = w[r, y, z] + G^{yz}(x_e)        r: the type of the edge

F^y and G^{yz} are sums of trees over the values of a node, and over those of an edge (with its type and, if
asked for, the values of its two nodes): Dietterich, Ashenfelter and Bulatov (ICML 2004) on any graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.inference.graph_scores import GraphScores
from crfkit.potentials.edge_tables import EdgeTables, GivenScores
from crfkit.potentials.forest import Forest
from crfkit.potentials.graph_table import GraphTable


@dataclass(frozen=True, eq=False)
class TreeScores:
    """The scores that trees give to a batch; more trees can be added at any time."""

    batch: GraphTable
    node: FloatArray  # [ΣV, L]
    rows: FloatArray | None  # [E+U, L²] of the rows of edges

    @classmethod
    def zeros(cls, batch: GraphTable, n_labels: int) -> TreeScores:
        """Return the scores without any trees."""
        of_rows = batch.edge_rows
        rows = None if of_rows is None else np.zeros((len(of_rows.values), n_labels**2))
        return cls(batch, np.zeros((batch.n_positions, n_labels)), rows)

    def add(self, nodes: Forest | None, edges: Forest | None, *, n_jobs: int | None = None) -> None:
        """Add trees of nodes and of edges."""
        if nodes is not None:
            nodes.add_scores(self.batch.nodes, (0, 0), self.node, None, n_jobs=n_jobs)
        of_rows = self.batch.edge_rows
        if edges is not None and self.rows is not None and of_rows is not None:
            edges.add_scores(of_rows, (0, 0), self.rows, None, n_jobs=n_jobs)

    def moved(self, step: float, direction: TreeScores) -> TreeScores:
        """Return the sum of these scores and ``step`` times others of the same batch."""
        rows = None
        if self.rows is not None and direction.rows is not None:
            rows = self.rows + step * direction.rows
        return TreeScores(self.batch, self.node + step * direction.node, rows)

    @property
    def given(self) -> GivenScores:
        """The scores, for tables that are added to those of edges."""
        return self.batch.given(self.node, None if self.rows is None else self.batch.per_edge(self.rows))


@dataclass(frozen=True, eq=False)
class GraphTrees:
    """Trees of nodes and of edges, and tables of label pairs (a ``Scorer`` of graphs)."""

    nodes: Forest
    edges: Forest | None
    tables: EdgeTables

    def scores(self, batch: GraphTable, *, n_jobs: int | None = None) -> GraphScores:
        found = TreeScores.zeros(batch, self.nodes.n_labels)
        found.add(self.nodes, self.edges, n_jobs=n_jobs)
        return self.tables.scores(found.given)
