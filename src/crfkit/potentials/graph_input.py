"""A batch of graphs with attributes of nodes and edges, and its edges sorted into kinds.

Edges with the same type and the same attributes have the same scores, so that these are computed once per
kind. On grids of a few colours there are far fewer kinds than edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.graph_layout import GraphLayout
from crfkit.data.sequences import Batch, Sequences, gather, offsets_of
from crfkit.data.topology import Topology


@dataclass(frozen=True)
class EdgeKinds:
    """The different edges of a batch."""

    topology: Topology  # with the kind of each edge
    types: IdArray  # [K]
    symmetric: BoolArray  # [K] whether the order of the two labels makes no difference
    mirror: IntArray  # [K] the kind of the same edge with its ends exchanged
    attributes: Sequences  # of kind k at position k; attribute a of type r has the id a · n_types + r


@dataclass(frozen=True)
class GraphInput(Batch):
    """Graphs with sparse attributes of their nodes, and possibly of their edges."""

    layout: GraphLayout
    nodes: Sequences  # N graphs, ΣV nodes
    of_edges: Sequences | None  # N graphs, ΣE edges
    ends: bool  # whether the attributes of both nodes of an edge are attributes of the edge as well

    @property
    def offsets(self) -> IntArray:  # type: ignore[override]
        return self.layout.offsets

    @property
    def n_edge_attributes(self) -> int:
        """Number of attributes that an edge of one type may have."""
        own = 0 if self.of_edges is None else self.of_edges.n_attributes
        return own + (2 * self.nodes.n_attributes if self.ends else 0)

    def subset(self, graphs: Sequence[int] | npt.NDArray[np.integer]) -> GraphInput:
        layout, _ = self.layout.subset(graphs)
        of_edges = None if self.of_edges is None else self.of_edges.subset(graphs)
        return GraphInput(layout, self.nodes.subset(graphs), of_edges, self.ends)

    @cached_property
    def kinds(self) -> EdgeKinds:
        layout, E = self.layout, self.layout.n_edges
        keys = np.zeros(
            (E, 5), np.int64
        )  # type, symmetric, own attributes, those of the first and second end
        keys[:, 0], keys[:, 1] = layout.types, ~layout.directed
        if self.of_edges is not None:
            own, first_own = distinct_rows(self.of_edges)
            keys[:, 2] = own
        if self.ends:
            of_node, first_node = distinct_rows(self.nodes)
            keys[:, 3:] = of_node[layout.edges]
        mirrored = keys[keys[:, 1] == 1][:, [0, 1, 2, 4, 3]]
        found, places = np.unique(np.concatenate([keys, mirrored]), axis=0, return_inverse=True)
        places = places.reshape(-1)
        K = len(found)
        mirror = np.arange(K)
        mirror[places[:E][keys[:, 1] == 1]] = places[E:]
        mirror[places[E:]] = places[:E][keys[:, 1] == 1]
        parts: list[tuple[Sequences, IntArray, int]] = []  # rows, which of them, first attribute
        first = 0
        if self.of_edges is not None:
            parts.append((self.of_edges, first_own[found[:, 2]], first))
            first += self.of_edges.n_attributes
        if self.ends:
            parts += [
                (self.nodes, first_node[found[:, 3 + end]], first + end * self.nodes.n_attributes)
                for end in (0, 1)
            ]
        types = found[:, 0].astype(np.int32)
        attributes = _side_by_side(parts, types, layout.n_types, self.n_edge_attributes)
        topology = Topology(layout.edges, layout.offsets, layout.edge_offsets, places[:E])
        return EdgeKinds(topology, types, found[:, 1] == 1, mirror, attributes)


def distinct_rows(rows: Sequences) -> tuple[IntArray, IntArray]:
    """Return which of the different rows each position has [n], and where each first occurs [U]."""
    numbers: dict[bytes, int] = {}
    indices, values = rows.indices.tobytes(), None if rows.values is None else rows.values.tobytes()
    of = np.empty(len(rows.indptr) - 1, np.int64)
    first: list[int] = []
    bounds = rows.indptr.tolist()
    for t in range(len(of)):
        a, b = bounds[t], bounds[t + 1]
        key = indices[4 * a : 4 * b]
        if values is not None:
            key += values[8 * a : 8 * b]
        number = numbers.setdefault(key, len(first))
        if number == len(first):
            first.append(t)
        of[t] = number
    return of, np.array(first, np.int64)


def _side_by_side(
    parts: list[tuple[Sequences, IntArray, int]], types: IdArray, n_types: int, n_attributes: int
) -> Sequences:
    """Return rows made of one row of each part, with attributes of each type of their own [K]."""
    K = len(types)
    kind, indices, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for rows, chosen, first in parts:
        indptr, entries = gather(rows.indptr, chosen)
        owner = np.repeat(np.arange(K), np.diff(indptr))
        kind.append(owner)
        indices.append((rows.indices[entries] + first) * np.int64(n_types) + types[owner])
        values.append(np.ones(len(entries)) if rows.values is None else rows.values[entries])
    owners, ids, numbers = np.concatenate(kind), np.concatenate(indices), np.concatenate(values)
    order = np.argsort(owners, kind="stable")
    weights: FloatArray | None = numbers[order]
    if bool((numbers == 1.0).all()):
        weights = None
    return Sequences(
        np.array([0, K], np.int64),
        offsets_of(np.bincount(owners, minlength=K)),
        ids[order].astype(np.int32),
        weights,
        n_attributes * n_types,
    )
