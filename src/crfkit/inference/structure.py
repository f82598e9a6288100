"""The structure contract: which labellings there are, and sums over all of them.

A potential gives scores; a structure says what they are scores of. Objectives ask nothing but the structure,
so that chains, segments and graphs can stand beside each other. S is the type of its scores (of a
chain: ``Lattice``), D that of numbers with the fields of the scores (``ScoreGradient``): derivatives by the
scores, and expected counts, which are derivatives of log Z.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import Labels

S = TypeVar("S")
D = TypeVar("D", covariant=True)


class Structure(Protocol[S, D]):
    """N sequences (or graphs) with ΣT positions and L labels, given by their scores."""

    def log_partition(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        """Return log Z [N]."""

    def expectations(
        self, scores: S, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, D]:
        """Return log Z [N] and expected counts: the gradient of Σ weight · log Z, weights [N]."""

    def labelling_score(self, scores: S, ids: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        """Return the score [N] of one labelling [ΣT]."""

    def labelling_counts(self, scores: S, ids: IdArray, *, weights: FloatArray | None = None) -> D:
        """Return what one labelling [ΣT] consists of: the gradient of Σ weight · its score."""

    def permit(self, scores: S, labels: Labels) -> S:
        """Return the scores with everything forbidden that (partial) labels rule out."""

    def raise_wrong(self, scores: S, labels: Labels, costs: FloatArray) -> S:
        """Return the scores of a softmax-margin: wrong labels gain ``costs`` [L] of the right one."""

    def best(self, scores: S, *, n_jobs: int | None = None) -> IdArray:
        """Return the best labelling [ΣT]."""

    def sample(self, scores: S, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        """Return labellings drawn from p(y|x) [n_samples, ΣT]."""
