"""The linear potential: node_t(l) = Σ_a value_a · w[a, l], edge(k, l) = w[k, l], and trigrams in order 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex
from crfkit.inference import Lattice
from crfkit.inference.threads import thread_count

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearWeights:
    """One weight a feature of a FeatureIndex; transitions without a feature have weight 0."""

    state: FloatArray  # [F]
    edge: FloatArray  # [L, L]
    edge2: FloatArray | None = None  # [L, L, L]
    pair: FloatArray | None = None  # [G]


class LinearPotential:
    """Weights on the features of an index."""

    def __init__(self, index: FeatureIndex, weights: LinearWeights) -> None:
        self.index = index
        self.weights = weights
        self._scorer = _native.LinearScorer(
            index.state_indptr, index.state_labels, weights.state, index.n_labels
        )

    def __reduce__(self) -> tuple[type[LinearPotential], tuple[FeatureIndex, LinearWeights]]:
        return LinearPotential, (self.index, self.weights)

    def scores(self, batch: Sequences, *, n_jobs: int | None = None) -> Lattice:
        """The lattice of a batch whose attribute ids are those of the index."""
        node = np.empty((batch.n_positions, self.index.n_labels))
        self._scorer.scores(batch.indptr, batch.indices, batch.values, node, thread_count(n_jobs))
        return Lattice(node, self.weights.edge, batch.offsets, edge2=self.weights.edge2)

    def backward(self, batch: Sequences, d_node: FloatArray, *d_edges: FloatArray) -> LinearWeights:
        """The gradient by the weights, from the gradient by the scores: d_node [ΣT, L], d_edges [L, L], …."""
        from scipy.sparse import csr_matrix  # only training methods come here; tagging need not wait for it

        values = np.ones(len(batch.indices)) if batch.values is None else batch.values
        attributes = csr_matrix(
            (values, batch.indices, batch.indptr), shape=(batch.n_positions, self.index.n_attributes)
        )
        by_attribute = attributes.T @ d_node  # [A, L]
        rows = np.repeat(np.arange(self.index.n_attributes), np.diff(self.index.state_indptr))
        edge = np.where(self.index.edges, d_edges[0], 0.0)
        edge2 = None if self.index.edges2 is None else np.where(self.index.edges2, d_edges[1], 0.0)
        return LinearWeights(by_attribute[rows, self.index.state_labels], edge, edge2)
