"""The edges of a batch of graphs, laid end to end: the nodes of graph i follow those of graph i-1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.graphs import Graph
from crfkit.data.sequences import Batch, checked_ids, gather, offsets_of
from crfkit.exceptions import InputError

ONLY = ""  # the type of edges in graphs without types


@dataclass(frozen=True)
class GraphLayout(Batch):
    """N graphs with ΣV nodes and ΣE edges."""

    offsets: IntArray  # [N+1] of nodes
    edges: IntArray  # [ΣE, 2] places of nodes in the batch
    edge_offsets: IntArray  # [N+1]
    types: IdArray  # [ΣE]
    directed: BoolArray  # [ΣE]
    n_types: int

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @property
    def graph_of_edge(self) -> IntArray:
        """The graph of each edge [ΣE]."""
        return np.repeat(np.arange(self.n_sequences), np.diff(self.edge_offsets))

    def subset(self, graphs: Sequence[int] | npt.NDArray[np.integer]) -> tuple[GraphLayout, IntArray]:
        """Return the given graphs in the given order, and the old places of their edges."""
        chosen = checked_ids(graphs, self.n_sequences)
        offsets, _ = gather(self.offsets, chosen)
        edge_offsets, places = gather(self.edge_offsets, chosen)
        shift = np.repeat(offsets[:-1] - self.offsets[chosen], np.diff(edge_offsets))
        edges = self.edges[places] + shift[:, None]
        types, directed = self.types[places], self.directed[places]
        return GraphLayout(offsets, edges, edge_offsets, types, directed, self.n_types), places


def edge_types_of(graphs: Sequence[Graph]) -> list[str]:
    """Return the types of all edges, sorted."""
    found: set[str] = set()
    for graph in graphs:
        if graph.n_edges:
            found.update([ONLY] if graph.edge_types is None else graph.edge_types)
    return sorted(found)


def lay_out(graphs: Sequence[Graph], types: Sequence[str]) -> GraphLayout:
    """Lay graphs end to end; their edges must have known types."""
    place = {name: k for k, name in enumerate(types)}
    offsets = offsets_of([graph.n_nodes for graph in graphs])
    counts = [graph.n_edges for graph in graphs]
    numbers: list[int] = []
    for i, graph in enumerate(graphs):
        names = [ONLY] * graph.n_edges if graph.edge_types is None else graph.edge_types
        unknown = next((name for name in names if name not in place), None)
        if unknown is not None:
            raise InputError(_unknown_type(i, unknown, types))
        numbers += [place[name] for name in names]
    shifted = [graph.edges + offset for graph, offset in zip(graphs, offsets[:-1].tolist(), strict=True)]
    return GraphLayout(
        offsets,
        np.concatenate([np.zeros((0, 2), np.int64), *shifted]),
        offsets_of(counts),
        np.array(numbers, np.int32),
        np.repeat(np.array([graph.directed for graph in graphs], np.bool_), counts),
        len(types),
    )


def _unknown_type(graph: int, name: str, types: Sequence[str]) -> str:
    if not types:
        return f"graph {graph} has edges, but in training there were none: the model cannot score them"
    if name == ONLY:
        return f"graph {graph}: its edges have no types, but in training they had ({', '.join(types)})"
    known = ", ".join(types) if any(types) else "none"
    return f"graph {graph}: the model knows no edges of type {name!r}; types of training: {known}"
