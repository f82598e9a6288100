"""A smooth function with penalties on its variables.

    f(centre + x) + Σ (l2 + hold) · x²,    to which the optimiser adds Σ l1 · |x|

If there is a centre, x is the distance from it, and all penalties pull towards it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from crfkit.arrays import IdArray
from crfkit.optim.online import Decides, Learner, Mistakes, UpdateRule
from crfkit.optim.problem import Evaluation, Smooth, State, SumOverExamples, Vector, dot

F = TypeVar("F", bound=Smooth)


@dataclass(frozen=True)
class Penalised(Generic[F]):
    """A function with penalties. If it is a ``SumOverExamples``, the result is a ``Stochastic`` function."""

    function: F
    l2: float | Vector = 0.0  # one number, or one per variable [P]
    l1: Vector | None = None  # [P]
    centre: Vector | None = None  # [P]; None: 0
    hold: Vector | None = None  # [P] what holds single variables in addition to l2; None: nothing

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """Return value and gradient at x, without the L1 term."""
        here = self.function(self.whole(x), diagonal=diagonal)
        l2 = self.l2 if self.hold is None else self.l2 + self.hold
        pull = l2 * x
        cost = dot(pull, x)
        gradient = np.add(here.gradient, np.add(pull, pull, out=pull), out=pull)  # in place, to save memory
        estimate = None if here.diagonal is None else here.diagonal + 2 * l2
        return Evaluation(here.value + cost, gradient, estimate)

    def whole(self, x: Vector) -> Vector:
        """Return the variables of the function itself: centre + x."""
        return x if self.centre is None else x + self.centre

    def value(self, x: Vector) -> float:
        """Return the value at x, with the L1 term."""
        return self(x).value + (0.0 if self.l1 is None else dot(self.l1, np.abs(x)))

    @property
    def units(self) -> Vector | None:
        """Units [P] in which an optimiser should measure x; None: all 1."""
        return None

    @property
    def n_threads(self) -> int:
        """Number of threads for the optimiser's own work."""
        return getattr(self.function, "n_threads", 1)

    # ---- steps on single examples

    @property
    def is_stochastic(self) -> bool:
        """Whether it can take steps on single examples: only without a centre, and with one l2."""
        return isinstance(self.function, SumOverExamples) and self.centre is None and np.ndim(self.l2) == 0

    @property
    def n_examples(self) -> int:
        return self._sum.n_examples

    def order(self, random: np.random.Generator) -> IdArray:
        return self._sum.order(random)

    def begin(self, x: Vector) -> None:
        self._sum.begin(x)

    def steps(self, examples: IdArray, step: float, t: float) -> float:
        return self._sum.steps(examples, step, t, float(self.l2))

    def end(self) -> Vector:
        return self._sum.end()

    def learner(self, x: Vector, rule: UpdateRule) -> Learner:
        """Return a learner that starts at x; it learns without the penalties."""
        if not isinstance(self.function, Decides):
            raise TypeError(f"{type(self.function).__name__} cannot learn from mistakes")
        learner = self.function.learner(self.whole(x), rule)
        return learner if self.centre is None else _Around(learner, self.centre)

    @property
    def _sum(self) -> SumOverExamples:
        if isinstance(self.function, SumOverExamples):
            return self.function
        raise TypeError(f"{type(self.function).__name__} cannot take steps on single examples")


@dataclass(frozen=True)
class _Around:
    """A learner whose point is its distance from a centre."""

    learner: Learner
    centre: Vector  # [P]

    def run(self, examples: IdArray) -> Mistakes:
        return self.learner.run(examples)

    def skip(self, n: int) -> None:
        self.learner.skip(n)

    def point(self) -> Vector:
        return self.learner.point() - self.centre

    def state(self) -> State:
        return self.learner.state()

    def restore(self, state: State) -> None:
        self.learner.restore(state)
