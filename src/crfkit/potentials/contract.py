"""The contract of potentials. Models differ in their potential, and share everything else.

A ``Scorer`` computes the scores of a batch: linear weights, trees, kernels, a network. A ``Parametric``
potential is also a function of a vector w, and turns a gradient with respect to its scores into one with
respect to w. The general objective (``objectives/likelihood.py``) trains every ``Parametric`` potential.

    scores(batch, w) -> scores of a structure -> log Z, marginals, best labelling
    backward(batch, expected - observed)      -> gradient with respect to w
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from crfkit.arrays import FloatArray

Batch = TypeVar("Batch", contravariant=True)
S = TypeVar("S", covariant=True)  # the scores of a structure, e.g. a Lattice
D = TypeVar("D", contravariant=True)  # derivatives with respect to them, e.g. a ScoreGradient


class Scorer(Protocol[Batch, S]):
    """A fitted source of scores."""

    def scores(self, batch: Batch, *, n_jobs: int | None = None) -> S:
        """Return the scores of a batch."""


class Parametric(Scorer[Batch, S], Protocol[Batch, S, D]):
    """A source of scores that are a differentiable function of a vector w."""

    @property
    def n_parameters(self) -> int:
        """Length of w."""

    def scores(self, batch: Batch, w: FloatArray | None = None, *, n_jobs: int | None = None) -> S:
        """Return the scores of a batch at w; None: at the potential's own weights."""

    def backward(self, batch: Batch, d_scores: D) -> FloatArray:
        """Return the gradient with respect to w, given that with respect to the last call's scores."""


@runtime_checkable
class Curved(Protocol):
    """A parametric potential that can estimate the Hessian's diagonal, which speeds up training."""

    def curvature(self, batch: object, expected: object) -> FloatArray:
        """Return an estimate of the diagonal [P] from the expected counts."""
