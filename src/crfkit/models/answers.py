"""What a fitted model says about scores, in terms of its labels: one class per structure.

``FittedModel`` decodes, calibrates, applies constraints and makes lists; how labels and probabilities follow
from scores is here, so that it need not know the structure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from crfkit.arrays import FloatArray, IdArray
from crfkit.inference import (
    Constraints,
    Lattice,
    NBest,
    constrain,
    force_where_possible,
    log_partition,
    marginals,
    max_expected_gain,
    max_marginal,
    nbest,
    path_score,
    viterbi,
)

if TYPE_CHECKING:
    from crfkit.inference import SegmentRules, Segments
    from crfkit.inference.structure import Structure

S = TypeVar("S")


class Answers(Protocol[S]):
    """Labels and probabilities from scores S of N sequences with ΣT positions; labels are ids 0..L-1."""

    def decode(
        self,
        scores: S,
        how: str,  # "viterbi" or "marginal"
        boundary_gain: float = 0.0,  # of a right boundary, in "marginal"
        *,
        with_marginals: bool = False,
        n_jobs: int | None = None,
    ) -> tuple[IdArray, FloatArray | None]:
        """Return labels [ΣT]; if asked for and if they are a by-product, the marginals [ΣT, L] as well."""

    def marginals(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        """Return p(y_t = l | x) [ΣT, L]."""

    def score(self, scores: S, labels: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        """Return the score [N] of the labels [ΣT]."""

    def log_partition(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        """Return log Z [N]."""

    def nbest(self, scores: S, k: int, *, n_jobs: int | None = None) -> NBest:
        """Return the k best labellings of each sequence."""

    def segment_probabilities(
        self, scores: S, rules: SegmentRules, segments: Segments, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the probability [M] of each segment, exactly from its start to its stop."""

    def constrain(self, scores: S, constraints: Constraints) -> S:
        """Return scores in which everything that the constraints forbid is -inf."""

    def force(self, scores: S, labels: IdArray, *, n_jobs: int | None = None) -> S:
        """Return scores with forced labels [ΣT] (-1: none), except where they would leave no labelling."""


class StructureAnswers(ABC, Generic[S]):
    """The answers that follow from a ``Structure`` in the same way for segments and graphs."""

    def __init__(self, structure: Structure[S, Any]) -> None:
        self.structure = structure

    @abstractmethod
    def best(self, scores: S, n_jobs: int | None) -> IdArray:
        """Return the labels [ΣT] of the best labelling."""

    @abstractmethod
    def most_right(self, scores: S, marginals: FloatArray, n_jobs: int | None) -> IdArray:
        """Return the permitted labels [ΣT] of which the most are expected to be right."""

    @abstractmethod
    def marginals(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        """Return p(y_t = l | x) [ΣT, L]."""

    def decode(
        self,
        scores: S,
        how: str,
        boundary_gain: float = 0.0,
        *,
        with_marginals: bool = False,
        n_jobs: int | None = None,
    ) -> tuple[IdArray, FloatArray | None]:
        if how == "viterbi":
            return self.best(scores, n_jobs), None
        found = self.marginals(scores, n_jobs=n_jobs)
        return self.most_right(scores, found, n_jobs), found if with_marginals else None

    def log_partition(self, scores: S, *, n_jobs: int | None = None) -> FloatArray:
        return self.structure.log_partition(scores, n_jobs=n_jobs)


class ChainAnswers:
    """The answers of a linear chain: the functions of ``crfkit.inference`` on lattices."""

    def decode(
        self,
        scores: Lattice,
        how: str,
        boundary_gain: float = 0.0,
        *,
        with_marginals: bool = False,
        n_jobs: int | None = None,
    ) -> tuple[IdArray, FloatArray | None]:
        if how == "viterbi":
            return viterbi(scores, n_jobs=n_jobs).labels, None
        if boundary_gain:
            return max_expected_gain(scores, boundary_gain, n_jobs=n_jobs), None
        found = max_marginal(scores, posterior=with_marginals, n_jobs=n_jobs)
        return found.labels, found.posterior

    def marginals(self, scores: Lattice, *, n_jobs: int | None = None) -> FloatArray:
        return marginals(scores, n_jobs=n_jobs).node

    def score(self, scores: Lattice, labels: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        return path_score(scores, labels, n_jobs=n_jobs)

    def log_partition(self, scores: Lattice, *, n_jobs: int | None = None) -> FloatArray:
        return log_partition(scores, n_jobs=n_jobs)

    def nbest(self, scores: Lattice, k: int, *, n_jobs: int | None = None) -> NBest:
        return nbest(scores, k, n_jobs=n_jobs)

    def segment_probabilities(
        self, scores: Lattice, rules: SegmentRules, segments: Segments, *, n_jobs: int | None = None
    ) -> FloatArray:
        from crfkit.inference import segment_probabilities  # only needed here

        return segment_probabilities(scores, rules, segments, n_jobs=n_jobs)

    def constrain(self, scores: Lattice, constraints: Constraints) -> Lattice:
        return constrain(scores, constraints)

    def force(self, scores: Lattice, labels: IdArray, *, n_jobs: int | None = None) -> Lattice:
        return force_where_possible(scores, labels, n_jobs=n_jobs)


CHAIN_ANSWERS = ChainAnswers()
