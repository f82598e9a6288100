"""Training methods by name: ways to minimise a penalised objective. Nothing here depends on CRFs.

A new method is one file in this folder and one line in ``ALGORITHMS``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.optim import arow, averaged_perceptron, passive_aggressive
from crfkit.optim.algorithm_name import split_name
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.online import OnlineTrainer, learn_from_mistakes
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Callback, Result, Save, State, Step
from crfkit.optim.sgd import Start, minimize_sgd, stochastic_start
from crfkit.parameters import Rule


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
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the method


@dataclass(frozen=True)
class Method:
    """A training method: how to run it, and how many iterations it may take by default."""

    run: Callable[[Task], Result]
    max_iterations: int
    tol_factor: float | None = None  # its tolerance over the task's; None: it takes all its iterations
    l1: bool = True  # whether it can handle an L1 penalty
    centre: bool = True  # whether it can minimise around a centre
    restricted: bool = True  # whether some variables can stay where they are
    settings: Mapping[str, Rule] = field(default_factory=dict)


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


_NOISY = 100  # tolerance of an epoch's progress over that of an iteration


def _sgd(task: Task) -> Result:
    return minimize_sgd(
        task.objective,
        task.start,
        max_iterations=task.max_iterations,
        units=task.objective.units,
        tol=_NOISY * task.tol,
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
    saved, save = {} if task.resume is None else task.resume, task.save
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
            return Result(start.x, value, 0, False, _KEPT, interrupted=True)
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
        return Result(start.x, objective.value(start.x), 0, False, _KEPT, interrupted=True)


def _online(trainer: Callable[..., OnlineTrainer], settings: Mapping[str, Rule]) -> Method:
    """Return the method of a trainer that learns from mistakes; it has no penalties."""

    def run(task: Task) -> Result:
        return learn_from_mistakes(
            task.objective,
            task.start,
            trainer(**task.settings),
            max_iterations=task.max_iterations,
            seed=task.seed or 0,
            callback=task.callback,
            save=task.save,
            resume=task.resume,
        )

    return Method(run, max_iterations=100, l1=False, restricted=False, settings=settings)


_STOCHASTIC_FROM = 500  # sequences
_EPOCHS = 5
_KEPT = "the weights that its stochastic epochs have found so far are kept"
ALGORITHMS: dict[str, Method] = {
    "auto": Method(_auto, max_iterations=1000, tol_factor=1),
    "lbfgs": Method(_lbfgs, max_iterations=1000, tol_factor=1),
    "sgd": Method(_sgd, max_iterations=50, tol_factor=_NOISY, l1=False, centre=False),
    "ap": _online(averaged_perceptron.trainer, averaged_perceptron.SETTINGS),
    "pa": _online(passive_aggressive.trainer, passive_aggressive.SETTINGS),
    "arow": _online(arow.trainer, arow.SETTINGS),
}


def algorithm_rule() -> Rule:
    """Return the rule for the name of a method, alone or with settings: ``"pa"``, ``"pa(c=0.5)"``."""
    names = ", ".join(map(repr, ALGORITHMS))
    return f"one of {names}, with settings as in 'pa(c=0.5)'", _is_algorithm


def _is_algorithm(text: Any) -> bool:
    try:
        find_method(text)
    except InputError:
        if isinstance(text, str) and "(" in text:
            raise  # it says which setting is wrong
        return False
    return True


def find_method(text: str) -> tuple[Method, dict[str, Any]]:
    """Return the method with this name, and its settings."""
    try:
        name, settings = split_name(text) if isinstance(text, str) else ("", {})
    except ValueError as error:
        raise InputError(f"algorithm={text!r}: {error}") from None
    if name not in ALGORITHMS:
        raise InputError(f"algorithm={text!r}: expected one of {', '.join(map(repr, ALGORITHMS))}")
    known = ALGORITHMS[name].settings
    for setting, value in settings.items():
        if setting not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"algorithm={text!r}: {name!r} has no setting {setting!r}; {has}")
        expected, check = known[setting]
        if not check(value):
            raise InputError(f"algorithm={text!r}: {setting} must be {expected}, got {value!r}")
    return ALGORITHMS[name], settings


def minimise(algorithm: str, task: Task) -> Result:
    """Run the training method with this name and settings."""
    method, settings = find_method(algorithm)
    if task.objective.l1 is not None and not method.l1:
        raise InputError(f"algorithm={algorithm!r} cannot train with c1 > 0: use 'auto' or 'lbfgs'")
    if task.objective.centre is not None and not method.centre:
        raise InputError(f"partial_fit cannot use algorithm={algorithm!r}: take 'auto' or 'lbfgs'")
    iterations = task.max_iterations or method.max_iterations
    return method.run(replace(task, max_iterations=iterations, settings=settings))
