"""Input and output of an optimiser. Nothing here depends on CRFs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from crfkit.arrays import FloatArray, IdArray

Vector = FloatArray


@dataclass(frozen=True)
class Evaluation:
    """The value and derivatives of a smooth function at a point."""

    value: float
    gradient: Vector  # [P]
    diagonal: Vector | None = None  # [P] estimate of the Hessian's diagonal, if requested


class Smooth(Protocol):
    """A smooth function of P variables."""

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """Return value, gradient and, if requested, an estimate of the Hessian's (positive) diagonal at x."""


@runtime_checkable
class SumOverExamples(Smooth, Protocol):
    """A smooth sum over examples that can take steps on single examples."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    def order(self, random: np.random.Generator) -> IdArray:
        """Return the examples in the random order of an epoch."""

    def begin(self, x: Vector) -> None:
        """Start at x."""

    def steps(self, examples: IdArray, step: float, t: float, l2: float) -> float:
        """Take one step per example on the sum with an L2 penalty, and return the sum of their losses.

        t is the number of previous steps. Steps have the size step / (1 + step·t·2·l2/N).
        """

    def end(self) -> Vector:
        """Return the point after all steps."""


class Stochastic(Smooth, Protocol):
    """A smooth function with penalty that can take steps on single examples."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    def order(self, random: np.random.Generator) -> IdArray:
        """Return the examples in the random order of an epoch."""

    def begin(self, x: Vector) -> None:
        """Start at x."""

    def steps(self, examples: IdArray, step: float, t: float) -> float:
        """Take one step per example after t previous steps; return the sum of their losses."""

    def end(self) -> Vector:
        """Return the point after all steps."""


@dataclass(frozen=True)
class Step:
    """The state of an optimiser after an iteration."""

    iteration: int
    x: Vector  # [P]; the optimiser's own array: copy it to keep it
    value: float  # objective with all penalties
    gradient_norm: float | None  # None: the method has no gradient
    step: float | None
    passes: float  # passes over the data so far
    seconds: float


Callback = Callable[[Step], bool]  # True stops the optimisation

# What an optimiser needs to continue exactly as if it had never stopped: numbers, strings, arrays, and lists
# and dicts of them.
State: TypeAlias = dict[str, Any]
Save = Callable[
    [Callable[[], State]], None
]  # is offered the state after an iteration; it need not ask for it


def interruption(n_iterations: int) -> str:
    """Return the message of a result that Ctrl-C has ended after this number of iterations."""
    return "it was interrupted" if n_iterations else "the weights that it started from are kept"


@dataclass(frozen=True)
class Result:
    """The result of an optimiser, with the reason why it ended."""

    x: Vector
    value: float
    iterations: int
    converged: bool
    message: str
    first_gradient_norm: float = float("nan")  # at the start
    gradient_norm: float = float("nan")  # at the end
    stuck_at: int | None = (
        None  # where no step helps but the gradient is large: the variable that promises most
    )
    interrupted: bool = False  # by Ctrl-C; the exception is swallowed, so callers must check this


def dot(a: Vector, b: Vector) -> float:
    """Return a · b without BLAS, whose threads cost more than they save here."""
    return float(np.einsum("i,i", a, b))


def norm(a: Vector) -> float:
    """Return ‖a‖."""
    return float(np.sqrt(dot(a, a)))
