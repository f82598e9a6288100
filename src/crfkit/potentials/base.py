"""What every source of scores offers: scores for a batch, and a way back for their gradient.

    potential.scores(batch) -> Lattice -> log Z, marginals, paths
    potential.backward(batch, d_node, d_edge) <- marginals - observed

A linear potential answers the second with the gradient of its weights, boosted trees with the targets of
their next round, kernels with coefficients on their cliques.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from crfkit.arrays import FloatArray
from crfkit.inference import Lattice

Batch = TypeVar("Batch", contravariant=True)


class Potential(Protocol[Batch]):
    """A source of node and edge scores."""

    def scores(self, batch: Batch, *, n_jobs: int | None = None) -> Lattice:
        """Node scores [ΣT, L] and edge scores of a batch of sequences."""

    def backward(self, batch: Batch, d_node: FloatArray, *d_edges: FloatArray) -> Any:
        """What the derivatives of an objective by the scores mean for the potential's own parameters."""
