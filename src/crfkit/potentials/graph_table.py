"""A batch of graphs with rows of values: numbers and categories of nodes and edges, for trees and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.graph_layout import GraphLayout
from crfkit.data.sequences import Batch
from crfkit.data.tables import Table
from crfkit.data.topology import Topology


@dataclass(frozen=True)
class GraphTable(Batch):
    """Graphs with a row of values per node, and possibly per edge.

    The rows of edges are their type (if there are several), their own values and, with ``ends``, those of
    their two nodes. An edge without a direction has a second row, with its nodes exchanged.
    """

    layout: GraphLayout
    nodes: Table  # N graphs, ΣV rows
    of_edges: Table | None  # N graphs, ΣE rows
    ends: bool

    @property
    def offsets(self) -> IntArray:  # type: ignore[override]
        return self.layout.offsets

    @cached_property
    def topology(self) -> Topology:
        """The edges; each has scores of its own."""
        return Topology(self.layout.edges, self.layout.offsets, self.layout.edge_offsets)

    @cached_property
    def exchanged(self) -> IntArray:
        """The edges that have a second row [U]: the rows E, E+1, …"""
        return np.flatnonzero(~self.layout.directed) if self.ends else np.zeros(0, np.int64)

    @cached_property
    def edge_rows(self) -> Table | None:
        """The rows of edges [E+U, C]; None if they have no values."""
        if self.of_edges is None and not self.ends:
            return None
        parts, outside = [], []
        if self.of_edges is not None:
            parts.append(self.of_edges.values)
            outside.append(self.of_edges.outside)
        if self.layout.n_types > 1:
            parts.append(self.layout.types[:, None].astype(np.float64))
            outside.append(np.array([float(self.layout.n_types)]))
        rows = np.hstack([np.zeros((self.layout.n_edges, 0)), *parts])
        if self.ends:
            first, second = self.nodes.values[self.layout.edges.T]
            again = self.exchanged
            rows = np.hstack([rows, first, second])
            mirrored = np.hstack([rows[again, : -2 * first.shape[1]], second[again], first[again]])
            rows = np.concatenate([rows, mirrored])
            outside += [self.nodes.outside] * 2
        offsets = np.array([0, len(rows)], np.int64)
        return Table(np.ascontiguousarray(rows), np.concatenate(outside), offsets)

    def edge_categories(self, of_nodes: Sequence[int], of_edges: Sequence[int]) -> list[int]:
        """Return the columns of ``edge_rows`` that hold categories, given those of nodes and edges."""
        own = 0 if self.of_edges is None else self.of_edges.values.shape[1]
        typed, width = int(self.layout.n_types > 1), self.nodes.values.shape[1]
        found = [*of_edges, *([own] if typed else [])]
        if self.ends:
            found += [own + typed + end * width + k for end in (0, 1) for k in of_nodes]
        return found

    def per_edge(self, rows: FloatArray) -> FloatArray:
        """Return scores [E, L, L] from those of the rows [E+U, L²]: the mean if an edge has two rows."""
        E, L = self.layout.n_edges, round(rows.shape[1] ** 0.5)
        edge = rows[:E].reshape(-1, L, L).copy()
        again = rows[E:].reshape(-1, L, L).transpose(0, 2, 1)
        if self.ends:
            edge[self.exchanged] = (edge[self.exchanged] + again) / 2
            return edge
        loose = ~self.layout.directed
        edge[loose] = (edge[loose] + edge[loose].transpose(0, 2, 1)) / 2
        return edge

    def per_row(self, edge: FloatArray) -> FloatArray:
        """Return the gradient with respect to the rows [E+U, L²], given that with respect to ``per_edge``."""
        edge = edge.copy()
        if self.ends:
            edge[self.exchanged] /= 2
            again = edge[self.exchanged].transpose(0, 2, 1)
            return np.concatenate([edge, again]).reshape(-1, edge.shape[1] ** 2)
        loose = ~self.layout.directed
        edge[loose] = (edge[loose] + edge[loose].transpose(0, 2, 1)) / 2
        return edge.reshape(-1, edge.shape[1] ** 2)

    def subset(self, graphs: Sequence[int] | npt.NDArray[np.integer]) -> GraphTable:
        layout, _ = self.layout.subset(graphs)
        chosen = np.asarray(graphs, np.int64)
        of_edges = None if self.of_edges is None else self.of_edges.subset(chosen)
        return GraphTable(layout, self.nodes.subset(chosen), of_edges, self.ends)
