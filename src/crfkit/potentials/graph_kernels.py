"""Kernel potentials of graphs: functions of vertices and of edges, spanned by selected ones.

    node_v(y) = bias[y] + Σ_j α_j(y) K(x_j, x_v)        edge_e(y, z) = w[r, y, z] + Σ_j α_j(y, z) K(x_j, x_e)

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004), on
any graph. The row x_e of an edge has its own values and those of its two nodes; r is its type. In training f
is the expansion of ``kernel_expansion.py``, for which ``GraphStretch`` makes scores of graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.inference.graph_scores import GraphGradient, GraphScores
from crfkit.kernels.matrix import KernelMatrix
from crfkit.potentials.edge_tables import EdgeTables
from crfkit.potentials.graph_table import GraphPoints
from crfkit.potentials.kernel import KernelTerm, Summand
from crfkit.potentials.kernel_expansion import CliqueTables, Family


class GraphStretch(NamedTuple):
    """Graphs whose vertices and edges are neighbouring rows of the kernel matrices (a ``CliqueBatch``)."""

    batch: GraphPoints
    first: tuple[int, int]  # rows: of vertices in their matrices, of edges in theirs
    n_on_vertices: int  # how many matrices are on vertices; the others are on edges
    edge_cliques: bool

    def rows(self, edge: bool) -> slice:
        n = self._n_rows if edge else self.batch.n_positions
        return slice(self.first[edge], self.first[edge] + n)

    @property
    def _n_rows(self) -> int:
        rows = self.batch.edge_rows
        return 0 if rows is None else len(rows.values)

    def scores(
        self, summands: Sequence[Summand], transitions: FloatArray, bias: FloatArray, edge_cliques: bool
    ) -> GraphScores:
        return _summed(self.batch, summands, transitions, bias, edge_cliques)

    def tables(self, d_scores: GraphGradient) -> CliqueTables:
        L, batch = d_scores.node.shape[1], self.batch
        rows = batch.per_row(d_scores.edge) if self.edge_cliques else np.zeros((1, L * L))
        zeros = EdgeTables(np.zeros((batch.layout.n_types, L, L)))
        given = batch.given(d_scores.node, d_scores.edge if self.edge_cliques else None)
        return CliqueTables(d_scores.node, rows, zeros.backward(given, d_scores))

    def families(self, matrices: Sequence[KernelMatrix], edge_cliques: bool) -> list[Family]:
        return [
            Family(s, s >= self.n_on_vertices, np.ones(len(matrix.candidates), np.bool_))
            for s, matrix in enumerate(matrices)
        ]


@dataclass(frozen=True, eq=False)
class GraphKernels:
    """Coefficients on selected vertices and edges, and tables of label pairs (a ``Scorer`` of graphs)."""

    terms: list[KernelTerm]
    tables: FloatArray  # [R, L, L]
    bias: FloatArray  # [L]

    @property
    def has_edge_cliques(self) -> bool:
        return any(term.edge is not None for term in self.terms)

    def scores(self, batch: GraphPoints, *, n_jobs: int | None = None) -> GraphScores:
        summands = []
        for term in self.terms:
            edge = term.edge is not None
            table = batch.edge_rows if edge else batch.nodes
            coefficients = term.edge if term.edge is not None else term.vertex
            if table is not None and coefficients is not None:
                rows = term.kernel.represent(table.values)
                values = term.kernel.between(rows, term.support)
                summands.append(
                    Summand(edge, slice(None), values, coefficients.reshape(len(coefficients), -1))
                )
        return _summed(batch, summands, self.tables, self.bias, self.has_edge_cliques)


def _summed(
    batch: GraphPoints,
    summands: Sequence[Summand],
    tables: FloatArray,  # [R, L, L]
    bias: FloatArray,  # [L]
    edge_cliques: bool,
) -> GraphScores:
    """Return the sum of bias, tables and summands; without ``edge_cliques``, none are on edges."""
    n_rows = 0 if batch.edge_rows is None else len(batch.edge_rows.values)
    node, rows = np.tile(bias, (batch.n_positions, 1)), np.zeros((n_rows, len(bias) ** 2))
    for edge, labelings, values, coefficients in summands:
        (rows if edge else node)[:, labelings] += values @ coefficients
    return EdgeTables(tables).scores(batch.given(node, batch.per_edge(rows) if edge_cliques else None))
