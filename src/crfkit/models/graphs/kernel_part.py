"""Models of graphs with kernels: rows of numbers of nodes and edges, and the ones they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.graphs import Graph
from crfkit.data.sequences import Sequences
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.explanation import Reason
from crfkit.models.graphs.names import GraphNames
from crfkit.models.graphs.part import whole_node
from crfkit.models.graphs.vocabularies import GraphVocabularies
from crfkit.models.kernels.kernel_file import load_term, store_terms
from crfkit.potentials.graph_input import GraphInput
from crfkit.potentials.graph_kernels import GraphKernels
from crfkit.potentials.graph_table import GraphPoints

_MOST_VALUES = 1 << 27


@dataclass(frozen=True)
class GraphNumbers:
    """The numbers of nodes and edges: a column per attribute."""

    vocabularies: GraphVocabularies

    @classmethod
    def learn(cls, graphs: Sequence[Graph], names: GraphNames) -> tuple[GraphNumbers, GraphPoints]:
        """Return the columns of training graphs, and the graphs as rows."""
        vocabularies, batch = GraphVocabularies.learn(graphs, names)
        if not len(vocabularies.nodes):
            raise InputError("nodes have no features: a kernel has nothing to compare them by")
        own = cls(vocabularies)
        return own, own._points(batch)

    def encode(self, graphs: Sequence[Graph]) -> GraphPoints:
        """Return graphs as rows of numbers."""
        return self._points(self.vocabularies.encode(graphs))

    def _points(self, batch: GraphInput) -> GraphPoints:
        nodes, of_edges = _dense(batch.nodes, "nodes"), None
        if batch.of_edges is not None:
            of_edges = _dense(batch.of_edges, "edges")
        return GraphPoints(batch.layout, nodes, of_edges, batch.ends)

    @property
    def widths(self) -> tuple[int, int]:
        """How many numbers nodes and edges have."""
        return len(self.vocabularies.nodes), len(self.vocabularies.edges)

    @property
    def n_on_edges(self) -> int:
        """Number of numbers that a row of edges has."""
        names, (on_nodes, own) = self.vocabularies.names, self.widths
        return (own + 2 * on_nodes * names.ends) * max(1, len(names.types))


def _dense(rows: Sequences, what: str) -> Table:
    n, width = rows.n_positions, rows.n_attributes
    if n * width > _MOST_VALUES:
        raise InputError(
            f"{n:,} {what} with {width:,} attributes are more than the {_MOST_VALUES:,} numbers that kernels "
            "on graphs take: use potential='linear', or fewer attributes"
        )
    values = np.zeros((n, width))
    places = np.repeat(np.arange(n), np.diff(rows.indptr))
    values[places, rows.indices] = 1.0 if rows.values is None else rows.values
    return Table(values, np.zeros(width), rows.offsets)


@dataclass(frozen=True)
class KernelPart:
    """Coefficients on selected nodes and edges of training."""

    name: ClassVar[str] = "kernel"
    numbers: GraphNumbers
    potential: GraphKernels

    @property
    def names(self) -> GraphNames:
        return self.numbers.vocabularies.names

    @property
    def tables(self) -> FloatArray:
        return self.potential.tables

    def encode(self, X: Any) -> GraphPoints:
        return self.numbers.encode(self.names.graphs(X))

    def scores(self, batch: GraphPoints, *, n_jobs: int | None = None) -> GraphScores:
        return self.potential.scores(batch, n_jobs=n_jobs)

    def unknown(self, batch: GraphPoints) -> str | None:
        return self.numbers.vocabularies.unknown(bool(batch.nodes.values.any()) or not batch.n_positions)

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
        header, arrays = self.numbers.vocabularies.to_parts()
        arrays |= {"tables": self.potential.tables, "bias": self.potential.bias}
        return {**header, "kernels": store_terms(self.potential.terms, arrays)}, arrays

    @classmethod
    def of_parts(cls, n_labels: int, header: Mapping[str, Any], arrays: ModelArrays) -> KernelPart:
        L, kernels = n_labels, header.get("kernels")
        if not isinstance(kernels, list):
            raise arrays.wrong("its kernels are malformed")
        numbers = GraphNumbers(GraphVocabularies.of_parts(header, arrays))
        terms = []
        for i, specification in enumerate(kernels):
            width = numbers.n_on_edges if f"{i}.edge" in arrays else numbers.widths[0]
            terms.append(load_term(i, specification, width, L, arrays))
        tables = arrays.take("tables", np.float64, (len(numbers.vocabularies.names.types), L, L))
        return cls(numbers, GraphKernels(terms, tables, arrays.take("bias", np.float64, (L,))))
