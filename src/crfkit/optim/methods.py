"""Training methods by name: ways to minimise a penalised objective. Nothing here depends on CRFs.

A new method is one file in this folder and one line in ``ALGORITHMS``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Callback, Result, Save, State, Step
from crfkit.optim.sgd import Start, minimize_sgd, stochastic_start


@dataclass(frozen=True)
class Task:
    """The input of a training method."""

    objective: Penalised[Any]
    start: FloatArray  # [P]
    max_iterations: int  # 0: the method's default
    tol: float
    seed: int | None
    callback: Callback
    say: Callable[[str], None]  # progress callback
    save: Save | None = None  # is offered the method's state again and again
    resume: State | None = None  # such a state, from which to continue


@dataclass(frozen=True)
class Method:
    """A training method: how to run it, and how many iterations it may take by default."""

    run: Callable[[Task], Result]
    max_iterations: int
    l1: bool = True  # whether it can handle an L1 penalty


def _lbfgs(task: Task) -> Result:
    return minimize_lbfgs(
        task.objective,
        task.start,
        l1=task.objective.l1,
        units=task.objective.units,
        max_iterations=task.max_iterations,
        tol=task.tol,
        n_threads=task.objective.n_threads,
        callback=task.callback,
        save=task.save,
        resume=task.resume,
    )


def _sgd(task: Task) -> Result:
    return minimize_sgd(
        task.objective,
        task.start,
        max_iterations=task.max_iterations,
        units=task.objective.units,
        tol=100 * task.tol,  # an epoch's progress is noisy
        seed=task.seed,
        callback=task.callback,
        save=task.save,
        resume=task.resume,
    )


def _auto(task: Task) -> Result:
    """Run L-BFGS; on large data, start with a few stochastic epochs.

    The epochs cost less than the batch passes that they save: on CoNLL-2000, half of all passes. They take at
    most ``max_iterations`` passes, with those for their step size.
    """
    objective = task.objective
    if not objective.is_stochastic or objective.n_examples < _STOCHASTIC_FROM or task.start.any():
        return _lbfgs(task)
    saved, save = task.resume or {}, task.save
    began = time.perf_counter() - saved.get("spent", 0.0)
    if "epochs" in saved or not saved:
        task.say(f"{_EPOCHS} stochastic epochs to start with")
        start = stochastic_start(
            objective,
            task.start,
            epochs=_EPOCHS,
            most_passes=task.max_iterations,
            seed=task.seed or 0,
            save=save and (lambda own: save(lambda: {"epochs": own(), "spent": time.perf_counter() - began})),
            resume=saved.get("epochs"),
        )
        if start.interrupted:
            value = objective.value(start.x)
            return Result(start.x, value, 0, False, "it was interrupted", interrupted=True)
        spent = time.perf_counter() - began
    else:
        start, spent = Start(task.start, saved["passes"], interrupted=False), saved["spent"]

    def shifted(step: Step) -> bool:
        return task.callback(replace(step, passes=step.passes + start.passes, seconds=step.seconds + spent))

    batch = replace(
        task,
        start=start.x,
        callback=shifted,
        save=save and (lambda own: save(lambda: {"lbfgs": own(), "passes": start.passes, "spent": spent})),
        resume=saved.get("lbfgs"),
    )
    try:
        return _lbfgs(batch)
    except KeyboardInterrupt:  # in its first evaluation; what the epochs have learnt is kept
        return Result(start.x, objective.value(start.x), 0, False, "it was interrupted", interrupted=True)


_STOCHASTIC_FROM = 500  # sequences
_EPOCHS = 5
ALGORITHMS: dict[str, Method] = {
    "auto": Method(_auto, max_iterations=1000),
    "lbfgs": Method(_lbfgs, max_iterations=1000),
    "sgd": Method(_sgd, max_iterations=50, l1=False),
}


def minimise(algorithm: str, task: Task) -> Result:
    """Run the training method with this name."""
    method = ALGORITHMS[algorithm]
    if task.objective.l1 is not None and not method.l1:
        raise InputError(f"algorithm={algorithm!r} cannot train with c1 > 0: use 'auto' or 'lbfgs'")
    return method.run(task if task.max_iterations else replace(task, max_iterations=method.max_iterations))
