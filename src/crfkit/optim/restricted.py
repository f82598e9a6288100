"""A penalised function of some of its variables; the others stay where the centre has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Evaluation, Vector


@dataclass(frozen=True)
class _Part:
    """The function without its penalties, of the distances of the free variables from the centre."""

    objective: Penalised[Any]
    free: IntArray  # [M] places of the variables
    n: int  # P

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        here = self.objective.function(self.objective.whole(self.widened(x)), diagonal=diagonal)
        estimate = None if here.diagonal is None else here.diagonal[self.free]
        return Evaluation(here.value, here.gradient[self.free], estimate)

    def widened(self, z: Vector) -> Vector:
        x = np.zeros(self.n)
        x[self.free] = z
        return x

    @property
    def n_threads(self) -> int:
        return self.objective.n_threads


class Restricted(Penalised[_Part]):
    """An objective in the M free variables of another one in P variables."""

    def __init__(self, objective: Penalised[Any], free: IntArray, n: int) -> None:
        super().__init__(
            _Part(objective, free, n),
            objective.l2,
            None if objective.l1 is None else objective.l1[free],
            hold=None if objective.hold is None else objective.hold[free],
        )

    def widened(self, z: Vector) -> Vector:
        """Return all variables [P] of the other objective."""
        return self.function.widened(z)

    @property
    def units(self) -> Vector | None:
        """Units [M] in which an optimiser should measure z; None: all 1."""
        units = self.function.objective.units
        return None if units is None else units[self.function.free]
