"""What every model of graphs knows of their edges: the types, and what else its file says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crfkit.data.graph_layout import GraphLayout, edge_types_of, lay_out
from crfkit.data.graphs import Graph, graphs_of
from crfkit.exceptions import InputError
from crfkit.io.model_arrays import ModelArrays


@dataclass(frozen=True)
class GraphNames:
    """Types of edges; unknown ones are refused."""

    types: list[str]
    featured: bool  # whether edges have features of their own
    ends: bool  # whether features of nodes are also features of their edges
    label: str | None = None  # the attribute of networkx's nodes that is their label

    @classmethod
    def learn(cls, graphs: Sequence[Graph], ends: bool, label: str | None) -> GraphNames:
        """Return the names of training graphs."""
        featured = any(graph.edge_features is not None for graph in graphs)
        names = cls(edge_types_of(graphs), featured, ends, label)
        names.check(graphs)
        return names

    def graphs(self, X: Any) -> list[Graph]:
        """Return X as graphs that are like those of training."""
        graphs = graphs_of(X, self.label)
        self.check(graphs)
        return graphs

    def check(self, graphs: Sequence[Graph]) -> None:
        """Raise if some graphs have features of edges and others do not."""
        for i, graph in enumerate(graphs):
            if self.featured and graph.n_edges and graph.edge_features is None:
                raise InputError(f"graph {i} has edges without edge_features, but other graphs have them")
            if not self.featured and graph.edge_features is not None:
                raise InputError(f"graph {i} has edge_features, but the model was trained without")

    def layout(self, graphs: Sequence[Graph]) -> GraphLayout:
        """Lay graphs end to end."""
        return lay_out(graphs, self.types)

    def to_header(self) -> dict[str, Any]:
        """Return the entries of a model file's header."""
        return {"edge_types": self.types, "ends": self.ends, "label_attribute": self.label}

    @classmethod
    def of_header(cls, header: Mapping[str, Any], arrays: ModelArrays, featured: bool) -> GraphNames:
        """Return the names in a model file."""
        types, ends, label = (header.get(name) for name in ("edge_types", "ends", "label_attribute"))
        if (
            not isinstance(types, list)
            or not all(isinstance(name, str) for name in types)
            or len(set(types)) < len(types)
            or not isinstance(ends, bool)
            or not isinstance(label, (str, type(None)))
        ):
            raise arrays.wrong("its types of edges are malformed")
        return cls(types, featured, ends, label)


def edge_items(graphs: Sequence[Graph]) -> list[Any]:
    """Return the features of the edges of each graph; [] if a graph has no edges."""
    return [[] if graph.edge_features is None else graph.edge_features for graph in graphs]
