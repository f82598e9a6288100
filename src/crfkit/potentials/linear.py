"""The linear potential: node_t(l) = Σ_a value_a · w[a, l], edge(k, l) = w[k, l], and trigrams in order 2.

Attributes may score label pairs, too; then every position has edge scores of its own:
edge_t(k, l) = w[k, l] + Σ_a value_a · w[a, k, l].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.inference import Lattice
from crfkit.threads import thread_count

_MOST_PAIR_SCORES = 1 << 27  # in one batch: 1 GiB


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
        self._pair_scorer = None
        if index.pair_indptr is not None and index.pair_ids is not None and weights.pair is not None:
            self._pair_scorer = _native.LinearScorer(
                index.pair_indptr, index.pair_ids, weights.pair, index.n_labels**2
            )

    def __reduce__(self) -> tuple[type[LinearPotential], tuple[FeatureIndex, LinearWeights]]:
        return LinearPotential, (self.index, self.weights)

    def scores(self, batch: Sequences, *, n_jobs: int | None = None) -> Lattice:
        """The lattice of a batch whose attribute ids are those of the index."""
        node = np.empty((batch.n_positions, self.index.n_labels))
        self._scorer.scores(batch.indptr, batch.indices, batch.values, node, thread_count(n_jobs))
        edge = self.weights.edge
        if self._pair_scorer is not None:
            L = self.index.n_labels
            if batch.n_positions * L * L > _MOST_PAIR_SCORES:
                raise InputError(
                    f"{batch.n_positions:,} positions with {L:,} labels have too many scores of label pairs "
                    "to hold at once: cut the sequences into shorter ones"
                )
            pairs = np.empty((batch.n_positions, L * L))
            self._pair_scorer.scores(batch.indptr, batch.indices, batch.values, pairs, thread_count(n_jobs))
            edge = np.add(pairs.reshape(-1, L, L), edge, out=pairs.reshape(-1, L, L))
        return Lattice(node, edge, batch.offsets, edge2=self.weights.edge2)

    @property
    def scores_per_position(self) -> int:
        """How many numbers ``scores`` gives for each position."""
        L = self.index.n_labels
        return L if self._pair_scorer is None else L + L * L

    def backward(self, batch: Sequences, d_node: FloatArray, *d_edges: FloatArray) -> LinearWeights:
        """The gradient by the weights, from the gradient by the scores.

        d_node is [ΣT, L], d_edges [L, L] and [L, L, L]; with pair features the first of them is [ΣT, L, L].
        """
        from scipy.sparse import csr_matrix  # only training methods come here; tagging need not wait for it

        index, L = self.index, self.index.n_labels
        values = np.ones(len(batch.indices)) if batch.values is None else batch.values
        attributes = csr_matrix(
            (values, batch.indices, batch.indptr), shape=(batch.n_positions, index.n_attributes)
        )
        edge, pair = d_edges[0], None
        if index.pair_indptr is not None:
            inner = edge.copy()  # the first position of a sequence has no pair
            inner[batch.offsets[:-1][np.diff(batch.offsets) > 0]] = 0.0
            by_pair = attributes.T @ inner.reshape(-1, L * L)  # [A, L * L]
            keys = index.pair_keys()
            pair = by_pair[keys // L**2, keys % L**2]
            edge = inner.sum(axis=0)
        keys = index.state_keys()
        state = (attributes.T @ d_node)[keys // L, keys % L]
        edge2 = None if index.edges2 is None else np.where(index.edges2, d_edges[1], 0.0)
        return LinearWeights(state, np.where(index.edges, edge, 0.0), edge2, pair)
