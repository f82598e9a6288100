"""Linear models of graphs: weights on the attributes of nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.inference.graph_scores import GraphScores
from crfkit.inference.lattice import LARGEST_SCORE
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.explanation import Reason
from crfkit.models.graphs.names import GraphNames
from crfkit.models.graphs.vocabularies import GraphVocabularies
from crfkit.potentials.graph_input import GraphInput
from crfkit.potentials.graphs import GraphFeatures, GraphPotential
from crfkit.potentials.segments import Rows


@dataclass(frozen=True)
class LinearPart:
    """Weights on attributes of nodes and edges."""

    name: ClassVar[str] = "linear"
    vocabularies: GraphVocabularies
    potential: GraphPotential

    @property
    def names(self) -> GraphNames:
        return self.vocabularies.names

    def encode(self, X: Any) -> GraphInput:
        return self.vocabularies.encode(self.names.graphs(X))

    def scores(self, batch: GraphInput, *, n_jobs: int | None = None) -> GraphScores:
        return self.potential.scores(batch, n_jobs=n_jobs)

    def unknown(self, batch: GraphInput) -> str | None:
        return self.vocabularies.unknown(bool(len(batch.nodes.indices)) or not batch.n_positions)

    @property
    def tables(self) -> FloatArray:
        return self.potential.weights.edge

    def facts(self) -> dict[str, str]:
        own, weights = self.vocabularies, self.potential.vector
        on_edges = f", {len(own.edges):,} of edges" if self.names.featured else ""
        return {
            "attributes": f"{len(own.nodes):,} of nodes{on_edges}",
            "features": f"{len(weights):,}, {int(np.count_nonzero(weights)):,} of them not 0",
        }

    def node_reasons(
        self, batch: GraphInput, scores: GraphScores, v: int, label: int, rival: int
    ) -> Iterator[Reason]:
        rows, weights, nodes = self.potential.features.states, self.potential.weights, batch.nodes
        if weights.bias[label] != weights.bias[rival]:
            yield Reason("bias", float(weights.bias[label] - weights.bias[rival]))
        for i in range(nodes.indptr[v], nodes.indptr[v + 1]):
            a = int(nodes.indices[i])
            own = slice(rows.indptr[a], rows.indptr[a + 1])
            found = dict(zip(rows.ids[own].tolist(), weights.state[own].tolist(), strict=True))
            value = 1.0 if nodes.values is None else float(nodes.values[i])
            difference = value * (found.get(label, 0.0) - found.get(rival, 0.0))
            if difference:
                yield Reason(self.vocabularies.nodes.strings(a, a + 1)[0], difference)

    # ---- weights by name

    def state_weights(self) -> Iterator[tuple[str, int, float]]:
        """Yield the weights of nodes that are not 0: attribute or (bias), label id, weight."""
        weights, rows = self.potential.weights, self.potential.features.states
        names = self.vocabularies.nodes
        yield from (("(bias)", label, w) for label, w in enumerate(weights.bias.tolist()) if w)
        attributes = np.repeat(np.arange(len(names)), np.diff(rows.indptr))
        for k in np.flatnonzero(weights.state).tolist():
            a = int(attributes[k])
            yield names.strings(a, a + 1)[0], int(rows.ids[k]), float(weights.state[k])

    def pair_weights(self) -> Iterator[tuple[str, int, int, float]]:
        """Yield the weights of edges that are not 0: type and attribute, two label ids, weight."""
        weights, rows = self.potential.weights, self.potential.features.pairs
        types, names = self.names.types, self._edge_attributes()
        for r, first, second in np.argwhere(weights.edge).tolist():
            yield types[r], first, second, float(weights.edge[r, first, second])
        if rows is not None:
            attributes = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
            for k in np.flatnonzero(weights.pair).tolist():
                a, r = divmod(int(attributes[k]), len(types))
                first, second = divmod(int(rows.ids[k]), self.potential.features.n_labels)
                yield f"{types[r]} {names[a]}".strip(), first, second, float(weights.pair[k])

    def _edge_attributes(self) -> list[str]:
        """Return the names of the attributes that edges of each type have."""
        nodes = self.vocabularies.nodes.strings() if self.names.ends else []
        ends = [f"{end}:{name}" for end in ("first", "second") for name in nodes]
        return self.vocabularies.edges.strings() + ends

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        features, (header, arrays) = self.potential.features, self.vocabularies.to_parts()
        for name, rows in (("state", features.states), ("pair", features.pairs)):
            if rows is not None:
                arrays |= {f"{name}.indptr": rows.indptr, f"{name}.ids": rows.ids}
        return header, {**arrays, "weights": self.potential.vector}

    @classmethod
    def of_parts(cls, n_labels: int, header: Mapping[str, Any], arrays: ModelArrays) -> LinearPart:
        L, own = n_labels, GraphVocabularies.of_parts(header, arrays)
        names = own.names

        def rows(name: str, n_attributes: int, width: int) -> Rows:
            indptr = arrays.take(f"{name}.indptr", np.int64, (n_attributes + 1,))
            ids = arrays.take(f"{name}.ids", np.int32, (None,))
            arrays.check_rows(indptr, ids, width, "its list of features")
            return Rows(indptr, ids)

        n_pairs = (len(own.edges) + 2 * len(own.nodes) * names.ends) * len(names.types)
        states = rows("state", len(own.nodes), L)
        pairs = rows("pair", n_pairs, L * L) if n_pairs else None
        features = GraphFeatures(L, len(names.types), states, pairs)
        weights = arrays.take("weights", np.float64, (sum(features.sizes),))
        if len(weights) and np.abs(weights).max() > LARGEST_SCORE:
            raise arrays.wrong(f"it has weights above {LARGEST_SCORE:g} in size; no score may be that large")
        return cls(own, GraphPotential(features, weights))
