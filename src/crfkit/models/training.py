"""Running an optimiser on the objective of a linear CRF: history, progress, dev set, interruption."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError
from crfkit.objectives.held_out import DevSet
from crfkit.objectives.likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Callback, Result, Step, dot
from crfkit.optim.sgd import minimize_sgd, stochastic_start
from crfkit.progress import Progress


@dataclass(frozen=True)
class TrainingProblem:
    """What an estimator has made of X and y: the data as the objective sees it, and where to start."""

    sequences: Sequences
    labels: Labels
    objective: LinearLikelihood
    start: FloatArray  # [P]
    dev: DevSet | None


@dataclass(frozen=True)
class Task:
    """What a training method is given."""

    objective: LinearLikelihood
    start: FloatArray  # [P]
    l1: FloatArray | None  # [P]
    max_iterations: int
    tol: float
    seed: int | None
    callback: Callback
    say: Callable[[str], None]  # a word on what goes on, for those who watch


@dataclass(frozen=True)
class Method:
    """A training method: how to run it, and how many iterations it may take by default."""

    run: Callable[[Task], Result]
    max_iterations: int
    l1: bool  # whether it can handle c1 > 0


def _lbfgs(task: Task) -> Result:
    return minimize_lbfgs(
        task.objective,
        task.start,
        l1=task.l1,
        max_iterations=task.max_iterations,
        tol=task.tol,
        n_threads=task.objective.n_threads,
        callback=task.callback,
    )


def _sgd(task: Task) -> Result:
    return minimize_sgd(
        task.objective,
        task.start,
        max_iterations=task.max_iterations,
        tol=100 * task.tol,  # an epoch's progress is noisy
        seed=task.seed,
        callback=task.callback,
    )


def _auto(task: Task) -> Result:
    """L-BFGS, after a few stochastic epochs where the data is large enough for them to pay.

    They cost less than the batch passes they save: on CoNLL-2000, half of all.
    """
    large = task.objective.n_examples >= _STOCHASTIC_FROM
    if not large or task.start.any() or task.objective.continues:
        return _lbfgs(task)
    began = time.perf_counter()
    task.say(f"{_EPOCHS} stochastic epochs to start with")
    start, interrupted = stochastic_start(task.objective, task.start, epochs=_EPOCHS, seed=task.seed or 0)
    if interrupted:
        penalty = 0.0 if task.l1 is None else dot(task.l1, np.abs(start))
        return Result(
            start, task.objective(start).value + penalty, 0, False, "it was interrupted", interrupted=True
        )
    spent = time.perf_counter() - began

    def shifted(step: Step) -> bool:
        return task.callback(replace(step, passes=step.passes + _EPOCHS, seconds=step.seconds + spent))

    return _lbfgs(replace(task, start=start, callback=shifted))


_STOCHASTIC_FROM = 500  # sequences
_EPOCHS = 5
ALGORITHMS: dict[str, Method] = {
    "auto": Method(_auto, max_iterations=1000, l1=True),
    "lbfgs": Method(_lbfgs, max_iterations=1000, l1=True),
    "sgd": Method(_sgd, max_iterations=50, l1=False),
}


@dataclass(frozen=True)
class Outcome:
    """A trained model's parameters and how they came about."""

    x: FloatArray  # [P]
    value: float
    converged: bool
    message: str
    history: list[dict[str, Any]]


class Watch:
    """The optimiser's callback: records, shows, and watches the dev set."""

    def __init__(
        self, objective: LinearLikelihood, dev: DevSet | None, patience: int, progress: Progress
    ) -> None:
        self.history: list[dict[str, Any]] = []
        self.best: tuple[float, FloatArray, float] | None = None  # dev accuracy, x, objective
        self.exhausted = False
        self._objective, self._dev, self._patience, self._progress = objective, dev, patience, progress
        self._waited = 0

    def __call__(self, step: Step) -> bool:
        """One iteration; True where the dev set says that it is enough."""
        record: dict[str, Any] = {
            "iteration": step.iteration,
            "objective": step.value,
            "gradient_norm": step.gradient_norm,
            "step": step.step,
            "passes": step.passes,
            "seconds": step.seconds,
        }
        if self._dev is not None:
            accuracy = self._dev.accuracy(self._objective.weights(step.x))
            record["dev_accuracy"] = accuracy
            self._judge(accuracy, step)
        self.history.append(record)
        self._progress.show(record)
        return self.exhausted

    def _judge(self, accuracy: float, step: Step) -> None:
        """Remember the best model on the dev set, and whether patience has run out."""
        if self.best is None or accuracy > self.best[0]:
            self.best, self._waited = (accuracy, step.x.copy(), step.value), 0
        else:
            self._waited += 1
        self.exhausted = self._waited >= self._patience


def train(
    objective: LinearLikelihood,
    start: FloatArray,
    *,
    algorithm: str,
    c1: float,
    max_iterations: int | None,
    tol: float,
    dev: DevSet | None,
    patience: int,
    seed: int | None,
    verbose: bool | int,
) -> Outcome:
    """Minimise the objective from ``start``; with a dev set, return the iterate that was best on it."""
    method = ALGORITHMS[algorithm]
    if c1 > 0 and not method.l1:
        raise InputError(f"algorithm={algorithm!r} cannot train with c1 > 0: use 'auto' or 'lbfgs'")
    limit = max_iterations or method.max_iterations
    progress = Progress(verbose, max_iterations)
    watch = Watch(objective, dev, patience, progress)
    result = method.run(Task(objective, start, objective.l1(c1), limit, tol, seed, watch, progress.say))
    x, value, converged, message = result.x, result.value, result.converged, result.message
    if watch.best is not None:
        accuracy, x, value = watch.best
        if watch.exhausted:
            converged = True
            message = f"no better dev accuracy than {accuracy:.4f} in {patience} iterations"
    if not converged:
        message = (
            f"training stopped before it converged: {message}. The best model so far is kept; "
            "raise max_iterations or tol, or regularise more, if that is not what you want"
        )
    progress.close(message)
    return Outcome(x, value, converged, message, watch.history)
