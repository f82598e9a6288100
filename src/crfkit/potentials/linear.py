"""The linear potential: node_t(l) = Σ_a value_a · w[a, l], edge(k, l) = w[k, l], and longer label n-grams.

Attributes may also score label pairs. Then every position has its own edge scores:
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
from crfkit.inference import LabelNgrams, Lattice
from crfkit.inference.chain import ScoreGradient
from crfkit.threads import thread_count

_MOST_PAIR_SCORES = 1 << 27  # in one batch: 1 GiB


@dataclass(frozen=True)
class LinearWeights:
    """One weight per feature of an index: a vector in the order of ``FeatureIndex.sizes``, and its parts.

    The parts are views of the vector, or arrays of a model file, which are copied only when ``vector`` is
    read.
    """

    edge: FloatArray  # [L, L]
    ngrams: FloatArray  # [M]
    pair: FloatArray  # [G]
    state: FloatArray  # [F]

    @classmethod
    def of(cls, index: FeatureIndex, vector: FloatArray) -> LinearWeights:
        """Return the parts of a vector."""
        edge, ngrams, pair, state = np.split(vector, np.cumsum(index.sizes)[:-1])
        L = index.n_labels
        return cls(edge.reshape(L, L), ngrams, pair, state)

    @property
    def vector(self) -> FloatArray:
        """All weights as one vector."""
        return np.concatenate([self.edge.ravel(), self.ngrams, self.pair, self.state])


class LinearPotential:
    """Weights on the features of an index (a ``Parametric`` potential)."""

    def __init__(self, index: FeatureIndex, weights: LinearWeights | FloatArray | None = None) -> None:
        if weights is None:
            weights = np.zeros(sum(index.sizes))
        self.index = index
        self.weights = weights if isinstance(weights, LinearWeights) else LinearWeights.of(index, weights)
        L = index.n_labels
        self._states = _native.LinearScorer(index.state_indptr, index.state_labels, L)
        self._pairs = (
            _native.LinearScorer(index.pair_indptr, index.pair_ids, L * L) if len(index.pair_ids) else None
        )
        self.scores_per_position = L if self._pairs is None else L + L * L  # numbers in a lattice

    def __reduce__(self) -> tuple[type[LinearPotential], tuple[FeatureIndex, LinearWeights]]:
        return LinearPotential, (self.index, self.weights)

    @property
    def n_parameters(self) -> int:
        """Number of weights, including those of transitions without a feature."""
        return sum(self.index.sizes)

    def scores(self, batch: Sequences, w: FloatArray | None = None, *, n_jobs: int | None = None) -> Lattice:
        """Return the lattice of a batch whose attribute ids are those of the index."""
        weights = self.weights if w is None else LinearWeights.of(self.index, w)
        threads, n_positions = thread_count(n_jobs), len(batch.indptr) - 1
        node = np.empty((n_positions, self.index.n_labels))
        self._states.scores(batch.indptr, batch.indices, batch.values, weights.state, node, threads)
        edge = weights.edge
        if self._pairs is not None:
            L = self.index.n_labels
            if n_positions * L * L > _MOST_PAIR_SCORES:
                raise InputError(
                    f"{n_positions:,} positions with {L:,} labels have too many scores of label pairs "
                    "to hold at once: cut the sequences into shorter ones"
                )
            pairs = np.empty((n_positions, L * L))
            self._pairs.scores(batch.indptr, batch.indices, batch.values, weights.pair, pairs, threads)
            edge = np.add(pairs.reshape(-1, L, L), edge, out=pairs.reshape(-1, L, L))
        runs = LabelNgrams(self.index.ngrams, weights.ngrams) if self.index.order > 1 else None
        return Lattice(node, edge, batch.offsets, ngrams=runs)

    def backward(self, batch: Sequences, d_scores: ScoreGradient) -> FloatArray:
        """Return the gradient with respect to the weights; 0 for transitions without a feature."""
        index, gradient = self.index, np.zeros(self.n_parameters)
        parts = LinearWeights.of(index, gradient)
        self._states.backward(batch.indptr, batch.indices, batch.values, d_scores.node, parts.state)
        edge = d_scores.edge
        if self._pairs is not None:
            by_pair = edge.reshape(batch.n_positions, index.n_labels**2)
            self._pairs.backward(batch.indptr, batch.indices, batch.values, by_pair, parts.pair)
            edge = edge.sum(axis=0)
        np.copyto(parts.edge, edge, where=index.edges)
        if d_scores.ngrams is not None:
            parts.ngrams[:] = d_scores.ngrams
        return gradient
