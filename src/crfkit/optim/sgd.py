"""Stochastic gradient descent with a calibrated, decreasing step.

Bottou, "Large-scale machine learning with stochastic gradient descent", COMPSTAT 2010: the first step size is
the best one on a sample of the data, searched in factors of two.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import numpy as np

from crfkit.arrays import IdArray
from crfkit.optim.measured import Measured
from crfkit.optim.problem import Callback, Result, Save, State, Step, Stochastic, Vector, interruption, norm
from crfkit.optim.promise import Promise

_SAMPLE = 1000  # examples the step is calibrated on
_FIRST_STEP = 0.1
_SMALLEST_SAMPLE = 50
_MOST_TRIALS = 60  # steps tried
_SHARE = 0.05  # of the objective (or 10 tol) that the gradient may promise where it counts as a minimum
_PERIOD = 10  # epochs over which progress is judged


@dataclass(frozen=True)
class Start:
    """The point from which a batch method continues."""

    x: Vector
    passes: float  # passes over the data that it took
    interrupted: bool


def stochastic_start(
    function: Stochastic,
    x: Vector,
    *,
    epochs: int,
    most_passes: float,
    seed: int | None = None,
    save: Save | None = None,
    resume: State | None = None,
) -> Start:
    """Run a few epochs from x, in at most ``most_passes`` passes over the data with those for the step.

    If the epochs do not improve on x, or if there are not passes enough for one, return x itself. ``save`` is
    offered the state after each epoch; with ``resume``, such a state, the epochs continue from there.
    """
    random = np.random.default_rng(seed)
    n = function.n_examples
    epochs = min(epochs, int(most_passes // 2))
    if not epochs:
        return Start(x, 0.0, False)
    # Calibration may take the other passes. About eight steps are tried, each in two passes over the sample.
    for_step = (most_passes - epochs) * n  # examples
    sample = min(n, _SAMPLE, max(_SMALLEST_SAMPLE, int(for_step) // 16))
    passes, interrupted, done = 0.0, False, 0
    function.begin(x)
    try:
        if resume is None:
            chosen = random.permutation(n)[:sample].astype(np.int32)
            step, tried = _calibrate(function, x, chosen, int(for_step) // (2 * sample))
            passes += 2 * tried * sample / n
            function.begin(x)
        else:
            step, passes, done = resume["step"], resume["passes"], resume["epoch"]
            set_random(random, resume["random"])
            function.begin(resume["x"])
        for epoch in range(done, epochs):
            function.steps(function.order(random), step, float(epoch * n))
            passes += 1
            here = function.end()
            function.begin(here)  # with or without checkpoints: both round in the same way
            if save is not None:
                save(
                    lambda: {  # called at once, if at all
                        "x": here,  # noqa: B023
                        "epoch": epoch + 1,  # noqa: B023
                        "step": step,
                        "passes": passes,  # noqa: B023
                        "random": random_state(random),
                    }
                )
    except KeyboardInterrupt:
        interrupted = True
    found = function.end()
    better = bool(np.isfinite(found).all()) and function(found).value < function(x).value
    return Start(found if better else x, passes, interrupted)


def minimize_sgd(
    function: Stochastic,
    x: Vector,
    *,
    units: Vector | None = None,
    max_iterations: int = 50,
    tol: float = 1e-3,
    seed: int | None = None,
    callback: Callback | None = None,
    save: Save | None = None,
    resume: State | None = None,
) -> Result:
    """Minimise from x; an iteration is an epoch. ``save`` and ``resume`` are those of ``minimize_lbfgs``.

    Stops when the best objective fell by less than ``tol`` (relative) over the last ten epochs, and returns
    the best point. It has converged if the gradient there promises little more (``Promise``), with variables
    measured in ``units`` [P].
    """
    began = time.perf_counter() - (0.0 if resume is None else resume["seconds"])
    random = np.random.default_rng(seed)
    n = function.n_examples
    values: list[float] = []
    best, best_value = x, np.inf
    if resume is not None:
        x, best, best_value = resume["x"], resume["best"], resume["best_value"]
        values = resume["values"].tolist()
        set_random(random, resume["random"])
    stuck_at: int | None = None
    message, converged, interrupted = f"it reached max_iterations={max_iterations}", False, False
    try:
        if resume is None:
            step, _ = _calibrate(function, x, random.permutation(n)[:_SAMPLE].astype(np.int32))
        else:
            step = resume["step"]
        for epoch in range(len(values) + 1, max_iterations + 1):
            function.begin(x)
            function.steps(function.order(random), step, (epoch - 1.0) * n)
            x = function.end()
            here = function(x)
            values.append(here.value)
            if here.value < best_value:
                best, best_value = x, here.value
            steepness = norm(here.gradient)
            seconds = time.perf_counter() - began
            if callback is not None and callback(
                Step(epoch, x, here.value, steepness, step, 2.0 * epoch, seconds)
            ):
                message = "stopped by the callback"
                break
            if len(values) > _PERIOD and min(values[:-_PERIOD]) - best_value <= tol * abs(best_value):
                message = f"the best objective fell by less than tol over {_PERIOD} epochs"
                sizes = np.ones_like(best) if units is None else units
                there = Measured(function, sizes)(best * sizes, diagonal=True)
                promise = Promise(max(_SHARE, 10 * tol), values[0], there.diagonal)
                converged = promise.is_kept(there.gradient, there.value)
                if not converged:
                    message += ", but the gradient is not small"
                    stuck_at = promise.greatest(there.gradient)
                break
            if save is not None:
                save(
                    lambda: {  # called at once, if at all
                        "x": x,  # noqa: B023
                        "best": best,  # noqa: B023
                        "best_value": best_value,  # noqa: B023
                        "values": np.array(values),
                        "step": step,
                        "random": random_state(random),
                        "seconds": time.perf_counter() - began,
                    }
                )
    except KeyboardInterrupt:
        message, interrupted = interruption(len(values)), True
    if best_value == np.inf:
        best_value = function(best).value
    return Result(
        best, best_value, len(values), converged, message, interrupted=interrupted, stuck_at=stuck_at
    )


def random_state(random: np.random.Generator) -> str:
    """Return the state of a random generator as text: its integers are too long for a model file."""
    return json.dumps(random.bit_generator.state)


def set_random(random: np.random.Generator, state: str) -> None:
    """Put a random generator into such a state."""
    random.bit_generator.state = json.loads(state)


def _calibrate(
    function: Stochastic, x: Vector, sample: IdArray, most_trials: int = _MOST_TRIALS
) -> tuple[float, int]:
    """Return the step 0.1·2^k with the smallest loss over two passes through the sample, and the trials."""
    trials = 0

    def loss(step: float) -> float:
        nonlocal trials
        trials += 1
        function.begin(x)
        function.steps(sample, step, 0.0)
        found = function.steps(sample, step, float(len(sample)))
        return found if np.isfinite(found) else np.inf

    step, value = _FIRST_STEP, loss(_FIRST_STEP)
    factor = 2.0 if value < np.inf else 0.5
    turned = factor < 1
    while trials < min(most_trials, _MOST_TRIALS):
        other = loss(step * factor)
        if other < value or value == np.inf:
            step, value, turned = step * factor, other, True
        elif turned:
            break
        else:
            factor, turned = 0.5, True
    return step, trials
