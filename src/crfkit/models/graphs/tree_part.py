"""Models of graphs with boosted trees: columns of nodes and edges, trees, and tables of label pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.graphs import Graph, items_of, words_of_graphs
from crfkit.data.tables import Table, TableSchema
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.explanation import Reason
from crfkit.models.graphs.names import GraphNames, edge_items
from crfkit.models.graphs.part import whole_node
from crfkit.potentials.edge_tables import EdgeTables
from crfkit.potentials.forest import Forest
from crfkit.potentials.graph_table import GraphTable
from crfkit.potentials.graph_trees import GraphTrees


@dataclass(frozen=True)
class GraphColumns:
    """The columns of nodes and edges: numbers, categories and missing values."""

    names: GraphNames
    nodes: TableSchema
    edges: TableSchema | None

    @classmethod
    def learn(cls, graphs: Sequence[Graph], names: GraphNames) -> tuple[GraphColumns, GraphTable]:
        """Return the columns of training graphs, and the graphs with their values."""
        with words_of_graphs():
            schema, nodes = TableSchema.learn([_dense(graph.nodes) for graph in graphs])
        of_edges, on_edges = None, None
        if names.featured:
            with words_of_graphs("edge"):
                of_edges, on_edges = TableSchema.learn([_dense(rows) for rows in edge_items(graphs)])
        own = cls(names, schema, of_edges)
        return own, own._joined(graphs, nodes, on_edges)

    def encode(self, graphs: Sequence[Graph]) -> GraphTable:
        """Return graphs with their values."""
        on_edges = None
        with words_of_graphs():
            nodes = self.nodes.encode([_dense(graph.nodes) for graph in graphs])
        if self.edges is not None:
            with words_of_graphs("edge"):
                on_edges = self.edges.encode([_dense(rows) for rows in edge_items(graphs)])
        return self._joined(graphs, nodes, on_edges)

    def _joined(self, graphs: Sequence[Graph], nodes: Table, on_edges: Table | None) -> GraphTable:
        return GraphTable(self.names.layout(graphs), nodes, on_edges, self.names.ends)

    def categories(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the columns of categories, of nodes and of edges."""
        schemas = (self.nodes, self.edges)
        found = [[] if own is None else _categories(own) for own in schemas]
        return found[0], found[1]

    @property
    def n_on_edges(self) -> int:
        """Number of values of a row of edges; 0 if they have none."""
        own = 0 if self.edges is None else len(self.edges.columns)
        total = own + 2 * len(self.nodes.columns) * self.names.ends
        return total + (len(self.names.types) > 1) if total else 0


@dataclass(frozen=True)
class TreePart:
    """Trees over the columns of nodes and edges."""

    name: ClassVar[str] = "trees"
    columns: GraphColumns
    potential: GraphTrees

    @property
    def names(self) -> GraphNames:
        return self.columns.names

    def encode(self, X: Any) -> GraphTable:
        return self.columns.encode(self.names.graphs(X))

    def scores(self, batch: GraphTable, *, n_jobs: int | None = None) -> GraphScores:
        return self.potential.scores(batch, n_jobs=n_jobs)

    def unknown(self, batch: GraphTable) -> str | None:
        values = batch.nodes.values
        return "has only missing values" if values.size and np.isnan(values).all() else None

    @property
    def tables(self) -> FloatArray:
        return self.potential.tables.tables

    def facts(self) -> dict[str, str]:
        forests = (self.potential.nodes, self.potential.edges)
        trees = [0 if forest is None else forest.n_trees for forest in forests]
        return {
            "columns": f"{len(self.columns.nodes.columns):,} of nodes",
            "trees": "{:,} of nodes, {:,} of edges".format(*trees),
        }

    def node_reasons(
        self, batch: GraphTable, scores: GraphScores, v: int, label: int, rival: int
    ) -> Iterable[Reason]:
        return whole_node(scores.node, v, label, rival)

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        own, potential = self.columns, self.potential
        arrays: Arrays = {"tables": potential.tables.tables}
        for name, forest in (("nodes.", potential.nodes), ("edges.", potential.edges)):
            if forest is not None:
                arrays |= {name + key: array for key, array in forest.to_arrays().items()}
        columns = {
            "node_columns": own.nodes.to_header(),
            "edge_columns": None if own.edges is None else own.edges.to_header(),
        }
        return {**self.names.to_header(), **columns}, arrays

    @classmethod
    def of_parts(cls, n_labels: int, header: Mapping[str, Any], arrays: ModelArrays) -> TreePart:
        L, on_edges = n_labels, header.get("edge_columns")
        names = GraphNames.of_header(header, arrays, on_edges is not None)
        own = GraphColumns(
            names,
            TableSchema.from_header(header.get("node_columns"), arrays.name),
            None if on_edges is None else TableSchema.from_header(on_edges, arrays.name),
        )

        def forest(prefix: str, n_features: int, n_outputs: int) -> Forest:
            mine = ModelArrays(arrays.under(prefix), arrays.name)
            return Forest.from_arrays(mine, n_features=n_features, n_labels=n_outputs, context=False)

        tables = arrays.take("tables", np.float64, (len(names.types), L, L))
        edges = forest("edges.", own.n_on_edges, L * L) if own.n_on_edges else None
        potential = GraphTrees(forest("nodes.", len(own.nodes.columns), L), edges, EdgeTables(tables))
        return cls(own, potential)


def _categories(schema: TableSchema) -> list[int]:
    return [k for k, column in enumerate(schema.columns) if column.is_category]


def _dense(rows: Any) -> Any:
    """Return features for ``TableSchema``: no sparse matrices, and a string is a row of one value."""
    if not isinstance(rows, list) and hasattr(rows, "toarray"):
        if rows.shape[0] * rows.shape[1] > _MOST_VALUES:
            raise InputError(f"trees take dense values: a sparse matrix of shape {rows.shape} is too large")
        return rows.toarray()
    return items_of(rows)


_MOST_VALUES = 1 << 27
