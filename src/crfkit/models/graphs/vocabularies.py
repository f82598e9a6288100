"""The attributes of nodes and of edges, for the potentials that see them as numbers under names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crfkit.data.encode import encode
from crfkit.data.graphs import Graph, items_of, words_of_graphs
from crfkit.data.vocabulary import Vocabulary
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.graphs.names import GraphNames, edge_items
from crfkit.potentials.graph_input import GraphInput


@dataclass(frozen=True)
class GraphVocabularies:
    """The attributes of nodes and edges. Unknown ones are ignored, unless the vocabularies may grow."""

    names: GraphNames
    nodes: Vocabulary
    edges: Vocabulary

    @classmethod
    def learn(cls, graphs: Sequence[Graph], names: GraphNames) -> tuple[GraphVocabularies, GraphInput]:
        """Return the attributes of training graphs, and the graphs with their ids."""
        own = cls(names, Vocabulary(), Vocabulary())
        return own, own.encode(graphs, grow=True)

    def encode(self, graphs: Sequence[Graph], *, grow: bool = False) -> GraphInput:
        """Return graphs with the ids of the vocabularies."""
        of_edges = None
        with words_of_graphs():
            nodes = encode([items_of(graph.nodes) for graph in graphs], self.nodes, grow=grow)
        if self.names.featured:
            with words_of_graphs("edge"):
                of_edges = encode(list(map(items_of, edge_items(graphs))), self.edges, grow=grow)
        return GraphInput(self.names.layout(graphs), nodes, of_edges, self.names.ends)

    def unknown(self, found: bool) -> str | None:
        """Return what a batch lacks; None if its nodes have known attributes (``found``) or need none."""
        if found or not len(self.nodes) or self.nodes.names_columns():
            return None
        known = ", ".join(map(repr, self.nodes.strings(0, 3)))
        return f"has no attribute that the model knows (such as {known})"

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return entries of a model file's header, and arrays."""
        arrays: Arrays = {f"vocabulary.{name}": array for name, array in self.nodes.to_arrays().items()}
        if self.names.featured:
            arrays |= {f"edge_vocabulary.{name}": array for name, array in self.edges.to_arrays().items()}
        return self.names.to_header(), arrays

    @classmethod
    def of_parts(cls, header: Mapping[str, Any], arrays: ModelArrays) -> GraphVocabularies:
        """Return the vocabularies in a model file."""
        on_edges = arrays.under("edge_vocabulary.")
        return cls(
            GraphNames.of_header(header, arrays, bool(on_edges)),
            Vocabulary.from_arrays(arrays.under("vocabulary.")),
            Vocabulary.from_arrays(on_edges) if on_edges else Vocabulary(),
        )
