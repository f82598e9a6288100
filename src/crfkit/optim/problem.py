"""What an optimiser is given and what it gives back. Nothing here knows about CRFs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from crfkit.arrays import FloatArray, IdArray

Vector = FloatArray


@dataclass(frozen=True)
class Evaluation:
    """A smooth function at a point."""

    value: float
    gradient: Vector  # [P]
    diagonal: Vector | None = None  # [P] estimate of the Hessian's diagonal, where it was asked for


class Smooth(Protocol):
    """A smooth function of P variables."""

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """Value, gradient and, if asked for, an estimate of the Hessian's (positive) diagonal at x."""


@runtime_checkable
class SumOverExamples(Smooth, Protocol):
    """A smooth sum over examples whose core takes steps on single ones."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    def begin(self, x: Vector) -> None:
        """Start at x."""

    def steps(self, examples: IdArray, step: float, t: float, l2: float) -> float:
        """Take one step per example on the sum with an L2 penalty, and return the loss met on the way.

        t counts the steps before. Steps have the size step / (1 + step·t·2·l2/N).
        """

    def end(self) -> Vector:
        """Return where the steps have led."""


class Stochastic(Smooth, Protocol):
    """A smooth function that can take steps on single examples, its penalty included."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    def begin(self, x: Vector) -> None:
        """Start at x."""

    def steps(self, examples: IdArray, step: float, t: float) -> float:
        """Take one step per example, t counting the steps before; return the loss met on the way."""

    def end(self) -> Vector:
        """Return where the steps have led."""


@dataclass(frozen=True)
class Step:
    """Where an optimiser stands after an iteration."""

    iteration: int
    x: Vector  # [P]; the optimiser's own array: copy it to keep it
    value: float  # objective with all penalties
    gradient_norm: float
    step: float
    passes: float  # passes over the data so far
    seconds: float


Callback = Callable[[Step], bool]  # True stops the optimisation


@dataclass(frozen=True)
class Result:
    """Where an optimiser ended, and why in words."""

    x: Vector
    value: float
    iterations: int
    converged: bool
    message: str
    first_gradient_norm: float = float("nan")  # at the start
    gradient_norm: float = float("nan")  # at the end
    interrupted: bool = False  # by Ctrl-C; the exception is swallowed, so callers must check this


def dot(a: Vector, b: Vector) -> float:
    """a · b, without BLAS: its threads cost more than they save here, most of all on a busy machine."""
    return float(np.einsum("i,i", a, b))


def norm(a: Vector) -> float:
    """‖a‖."""
    return float(np.sqrt(dot(a, a)))
