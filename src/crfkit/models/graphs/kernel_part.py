"""Models of graphs with kernels: rows of numbers of nodes and edges, and the ones they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.graphs import Graph, words_of_graphs
from crfkit.data.positions import read_positions
from crfkit.data.reading import is_sparse
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.explanation import Reason
from crfkit.models.graphs.names import GraphNames, edge_items
from crfkit.models.graphs.part import whole_node
from crfkit.models.kernels.kernel_file import load_term, store_terms
from crfkit.potentials.graph_kernels import GraphKernels
from crfkit.potentials.graph_table import GraphPoints

_MOST_VALUES = 1 << 27


@dataclass(frozen=True)
class GraphNumbers:
    """How many numbers nodes and edges have."""

    names: GraphNames
    widths: tuple[int, int]  # of nodes and edges

    @classmethod
    def learn(cls, graphs: Sequence[Graph], names: GraphNames) -> tuple[GraphNumbers, GraphPoints]:
        """Return the widths of training graphs, and the graphs as rows."""
        points = _points(graphs, names, None)
        on_edges = 0 if points.of_edges is None else points.of_edges.values.shape[1]
        return cls(names, (points.nodes.values.shape[1], on_edges)), points

    def encode(self, graphs: Sequence[Graph]) -> GraphPoints:
        """Return graphs as rows of numbers."""
        return _points(graphs, self.names, self.widths)

    @property
    def n_on_edges(self) -> int:
        """Number of numbers that a row of edges has."""
        return (self.widths[1] + 2 * self.widths[0] * self.names.ends) * max(1, len(self.names.types))


def _points(graphs: Sequence[Graph], names: GraphNames, widths: tuple[int, int] | None) -> GraphPoints:
    given = (None, None) if widths is None else widths
    with words_of_graphs():
        nodes = _rows([graph.nodes for graph in graphs], given[0])
    of_edges = None
    if names.featured:
        with words_of_graphs("edge"):
            of_edges = _rows(edge_items(graphs), given[1])
    return GraphPoints(names.layout(graphs), nodes, of_edges, names.ends)


def _rows(tables: list[Any], width: int | None) -> Table:
    found = read_positions(tables, width=width)
    rows: Any = found.rows
    if is_sparse(rows):
        if rows.shape[0] * rows.shape[1] > _MOST_VALUES:
            raise InputError(f"kernels on graphs take dense rows: shape {rows.shape} is too large")
        rows = rows.toarray()
    return Table(rows, np.zeros(rows.shape[1]), found.offsets)


@dataclass(frozen=True)
class KernelPart:
    """Coefficients on selected nodes and edges of training."""

    name: ClassVar[str] = "kernel"
    numbers: GraphNumbers
    potential: GraphKernels

    @property
    def names(self) -> GraphNames:
        return self.numbers.names

    @property
    def tables(self) -> FloatArray:
        return self.potential.tables

    def encode(self, X: Any) -> GraphPoints:
        return self.numbers.encode(self.names.graphs(X))

    def scores(self, batch: GraphPoints, *, n_jobs: int | None = None) -> GraphScores:
        return self.potential.scores(batch, n_jobs=n_jobs)

    def unknown(self, batch: GraphPoints) -> str | None:
        return None

    def facts(self) -> dict[str, str]:
        counts = {"nodes": 0, "edges": 0}
        for term in self.potential.terms:
            table = term.edge if term.edge is not None else term.vertex
            counts["nodes" if term.edge is None else "edges"] += 0 if table is None else len(table)
        kernels = ", ".join(dict.fromkeys(term.kernel.name for term in self.potential.terms))
        return {
            "kernels": kernels or "none",
            "compared with": " and ".join(f"{n:,} {what}" for what, n in counts.items()),
        }

    def node_reasons(
        self, batch: GraphPoints, scores: GraphScores, v: int, label: int, rival: int
    ) -> Iterable[Reason]:
        return whole_node(scores.node, v, label, rival)

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {"tables": self.potential.tables, "bias": self.potential.bias}
        kernels = store_terms(self.potential.terms, arrays)
        own = {"kernels": kernels, "widths": list(self.numbers.widths), "featured": self.names.featured}
        return {**self.names.to_header(), **own}, arrays

    @classmethod
    def of_parts(cls, n_labels: int, header: Mapping[str, Any], arrays: ModelArrays) -> KernelPart:
        L, kernels, widths = n_labels, header.get("kernels"), header.get("widths")
        if (
            not isinstance(kernels, list)
            or not isinstance(widths, list)
            or len(widths) != 2
            or not all(type(width) is int and width >= 0 for width in widths)
            or not isinstance(header.get("featured"), bool)
        ):
            raise arrays.wrong("its kernels are malformed")
        numbers = GraphNumbers(
            GraphNames.of_header(header, arrays, header["featured"]), (widths[0], widths[1])
        )
        terms = []
        for i, specification in enumerate(kernels):
            width = numbers.n_on_edges if f"{i}.edge" in arrays else widths[0]
            terms.append(load_term(i, specification, width, L, arrays))
        tables = arrays.take("tables", np.float64, (len(numbers.names.types), L, L))
        return cls(numbers, GraphKernels(terms, tables, arrays.take("bias", np.float64, (L,))))
