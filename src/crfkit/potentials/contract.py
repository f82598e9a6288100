"""What every source of scores offers. Methods differ in it, and share everything else.

A ``Scorer`` gives the scores of a batch: linear weights, trees, kernels, a network. A ``Parametric`` one is
a function of a vector w as well, and takes a gradient by its scores back to one by w: whatever is
``Parametric`` trains by the one general objective (``objectives/likelihood.py``).

    scores(batch, w) -> scores of a structure -> log Z, marginals, best labelling
    backward(batch, expected - observed)      -> gradient by w
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from crfkit.arrays import FloatArray

Batch = TypeVar("Batch", contravariant=True)
S = TypeVar("S", covariant=True)  # the scores of a structure, e.g. a Lattice
D = TypeVar("D", contravariant=True)  # derivatives by them, e.g. a ScoreGradient


class Scorer(Protocol[Batch, S]):
    """A source of scores, fitted."""

    def scores(self, batch: Batch, *, n_jobs: int | None = None) -> S:
        """Return the scores of a batch."""


class Parametric(Scorer[Batch, S], Protocol[Batch, S, D]):
    """A source of scores that are a differentiable function of a vector w."""

    @property
    def n_parameters(self) -> int:
        """The length of w."""

    def scores(self, batch: Batch, w: FloatArray | None = None, *, n_jobs: int | None = None) -> S:
        """Return the scores of a batch at w; None: at the weights that the potential holds."""

    def backward(self, batch: Batch, d_scores: D) -> FloatArray:
        """Return the gradient by w, from the gradient by the scores of the last call of ``scores``."""


@runtime_checkable
class Curved(Protocol):
    """A parametric potential that can estimate the Hessian's diagonal, which speeds up training."""

    def curvature(self, batch: object, expected: object) -> FloatArray:
        """Return an estimate of the diagonal [P] from the expected counts."""
