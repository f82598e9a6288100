"""Learning from mistakes, one example at a time: what the perceptron and its kin share.

An example is decided with the variables so far. If the decision ŷ is not the true one y, the variables move
towards it, by Δ = C(y) - C(ŷ), the difference of their features:

    x += τ Σ Δ,    τ = loss / (Δᵀ Σ Δ + slack), within bounds,    loss = S(ŷ) - S(y) + wrong^power

The trainers differ in these few numbers only, so that an epoch is one call of the function.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from crfkit.arrays import IdArray
from crfkit.optim.problem import Callback, Result, Save, State, Step, Vector
from crfkit.optim.sgd import random_state, set_random


@dataclass(frozen=True)
class UpdateRule:
    """How a mistake changes the variables. An example of weight v has v times the bounds, and slack / v."""

    least: float = 0.0  # bounds of τ
    most: float = float("inf")
    slack: float = 0.0
    power: float = 0.0  # of the number of wrong parts in the loss
    variance: float = 0.0  # Σ at the start; every mistake adds Δ² / slack to Σ⁻¹. 0: Σ = 1 for ever
    averaged: bool = False  # the result is the mean of the variables over all examples


class Mistakes(NamedTuple):
    """The mistakes of an epoch."""

    loss: float  # sum over examples
    share: float  # sum over examples of the share of wrong parts


@dataclass(frozen=True)
class OnlineTrainer:
    """One of the methods: its rule, and when it ends."""

    rule: UpdateRule
    loss: Callable[[Mistakes], float]
    reached: Callable[[float], bool]  # whether the mean loss of an epoch is small enough


class Learner(Protocol):
    """Variables that learn from mistakes."""

    def run(self, examples: IdArray) -> Mistakes:
        """Take the examples in this order; each mistake changes the variables."""

    def skip(self, n: int) -> None:
        """Count n examples as taken without a mistake."""

    def point(self) -> Vector:
        """Return the variables, or their mean so far if the rule is averaged."""

    def state(self) -> State:
        """Return what is needed to continue as if it had never stopped."""

    def restore(self, state: State) -> None:
        """Continue from such a state."""


@runtime_checkable
class Decides(Protocol):
    """A function of variables that also decides examples."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    def order(self, random: np.random.Generator) -> IdArray:
        """Return the examples in the random order of an epoch."""

    def learner(self, x: Vector, rule: UpdateRule) -> Learner:
        """Return a learner that starts at x."""


def learn_from_mistakes(
    function: Decides,
    x: Vector,
    trainer: OnlineTrainer,
    *,
    max_iterations: int,
    seed: int | None,
    callback: Callback,
    save: Save | None,
    resume: State | None,
) -> Result:
    """Run epochs over the examples in random order, until the mean loss of one has reached its goal.

    There is no gradient, so the method ends well by definition after ``max_iterations`` epochs too. After an
    epoch without a mistake nothing changes any more except means, so that the epochs left need no decoding.
    """
    began = time.perf_counter() - (0.0 if resume is None else resume["seconds"])
    random = np.random.default_rng(seed)
    learner = function.learner(x, trainer.rule)
    n, done, value = function.n_examples, 0, float("nan")
    found = Mistakes(np.inf, np.inf)
    if resume is not None:
        learner.restore(resume["learner"])
        set_random(random, resume["random"])
        found, done = Mistakes(*resume["mistakes"]), resume["epoch"]
        x, value = learner.point(), trainer.loss(found)
    message, interrupted = f"it ran max_iterations={max_iterations} epochs", False
    try:
        for epoch in range(done + 1, max_iterations + 1):
            if any(found):
                found = learner.run(function.order(random))
            else:
                learner.skip(n)
            value = trainer.loss(found)
            here = learner.point()
            if not (np.isfinite(value) and np.isfinite(here).all()):
                return Result(x, value, epoch, False, "the weights are not finite: scale the values of X")
            x, done = here, epoch
            step = Step(epoch, x, value, None, None, float(epoch), time.perf_counter() - began)
            if callback(step):
                message = "stopped by the callback"
                break
            if trainer.reached(value / max(n, 1)):
                message = "the mean loss of an epoch has reached epsilon"
                break
            if save is not None:
                save(
                    lambda: {  # called at once, if at all
                        "learner": learner.state(),
                        "random": random_state(random),
                        "mistakes": list(found),  # noqa: B023
                        "epoch": epoch,  # noqa: B023
                        "seconds": time.perf_counter() - began,
                    }
                )
    except KeyboardInterrupt:
        x, message, interrupted = learner.point(), "it was interrupted", True
    return Result(x, value, done, not interrupted, message, interrupted=interrupted)
