"""A batch of graphs with rows of values: numbers and categories of nodes and edges, for trees and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.graph_layout import GraphLayout
from crfkit.data.sequences import Batch
from crfkit.data.tables import Table
from crfkit.data.topology import Topology
from crfkit.potentials.edge_tables import GivenScores, typed_topology

_Self = TypeVar("_Self", bound="GraphTable")


@dataclass(frozen=True)
class GraphTable(Batch):
    """Graphs with a row of values per node, and possibly per edge.

    The rows of edges are their own values, with ``ends`` those of their two nodes, and their type (if there
    are several). An edge without a direction has a second row, with its nodes exchanged.
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
    def typed_topology(self) -> Topology:
        """The edges, of which those of one type (and of those, with or without direction) share scores."""
        return typed_topology(self.layout)

    def given(self, node: FloatArray, edge: FloatArray | None) -> GivenScores:
        """Return scores of nodes [ΣV, L] and, if there are any, of edges [ΣE, L, L], to which tables add."""
        return GivenScores(self.layout, node, edge, self.typed_topology if edge is None else self.topology)

    @cached_property
    def exchanged(self) -> IntArray:
        """The edges that have a second row [U]: the rows E, E+1, …"""
        return np.flatnonzero(~self.layout.directed) if self.ends else np.zeros(0, np.int64)

    @cached_property
    def edge_rows(self) -> Table | None:
        """The rows of edges [E+U, C]; None if they have no values."""
        if self.of_edges is None and not self.ends:
            return None
        own = np.zeros((self.layout.n_edges, 0)) if self.of_edges is None else self.of_edges.values
        outside = np.zeros(0) if self.of_edges is None else self.of_edges.outside
        rows, types = own, self.layout.types
        if self.ends:
            first, second = self.nodes.values[self.layout.edges.T]
            again = self.exchanged
            mirrored = np.hstack([own[again], second[again], first[again]])
            rows = np.concatenate([np.hstack([own, first, second]), mirrored])
            types = np.concatenate([types, types[again]])
            outside = np.concatenate([outside, self.nodes.outside, self.nodes.outside])
        rows, outside = self._typed(rows, types, outside)
        return Table(np.ascontiguousarray(rows), outside, np.array([0, len(rows)], np.int64))

    def _typed(self, rows: FloatArray, types: IdArray, outside: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows [M, C] with the types of their edges, if there are several: a category at the end."""
        if self.layout.n_types < 2:
            return rows, outside
        return np.column_stack([rows, types]), np.append(outside, float(self.layout.n_types))

    def edge_categories(self, of_nodes: Sequence[int], of_edges: Sequence[int]) -> list[int]:
        """Return the columns of ``edge_rows`` that hold categories, given those of nodes and edges."""
        own = 0 if self.of_edges is None else self.of_edges.values.shape[1]
        found, width = list(of_edges), 2 * self.nodes.values.shape[1] * self.ends
        if self.ends:
            found += [own + end * width // 2 + k for end in (0, 1) for k in of_nodes]
        return [*found, own + width] if self.layout.n_types > 1 else found

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

    def subset(self: _Self, graphs: Sequence[int] | npt.NDArray[np.integer]) -> _Self:
        layout, _ = self.layout.subset(graphs)
        chosen = np.asarray(graphs, np.int64)
        of_edges = None if self.of_edges is None else self.of_edges.subset(chosen)
        return type(self)(layout, self.nodes.subset(chosen), of_edges, self.ends)


class GraphPoints(GraphTable):
    """Graphs whose rows are compared by kernels: edges of different types have different columns."""

    @property
    def untyped_edge_rows(self) -> FloatArray:
        """The rows of edges without their types [E+U, C / R], for the bandwidth of a kernel.

        Edges of different types are as far apart as their rows are from 0, which says nothing about how far
        apart edges of one type are.
        """
        rows = np.zeros((0, 0)) if self.edge_rows is None else self.edge_rows.values
        R = max(1, self.layout.n_types)
        untyped: FloatArray = rows.reshape(len(rows), R, rows.shape[1] // R).sum(axis=1)  # others are 0
        return untyped

    def _typed(self, rows: FloatArray, types: IdArray, outside: FloatArray) -> tuple[FloatArray, FloatArray]:
        R, (n, width) = max(1, self.layout.n_types), rows.shape
        blocks = np.zeros((n, R, width))
        blocks[np.arange(n), types] = rows
        return blocks.reshape(n, R * width), np.tile(outside, R)
