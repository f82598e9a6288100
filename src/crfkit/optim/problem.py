"""What an optimiser is given and what it gives back. Nothing here knows about CRFs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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
    interrupted: bool = False  # by Ctrl-C, which the optimiser has kept to itself: whoever goes on must look


def dot(a: Vector, b: Vector) -> float:
    """a · b, without BLAS: its threads cost more than they save here, most of all on a busy machine."""
    return float(np.einsum("i,i", a, b))


def norm(a: Vector) -> float:
    """‖a‖."""
    return float(np.sqrt(dot(a, a)))
