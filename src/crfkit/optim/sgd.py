"""Stochastic gradient descent with a calibrated, decreasing step.

Bottou, "Large-scale machine learning with stochastic gradient descent", COMPSTAT 2010: the first step size is
the best one on a sample of the data, searched in factors of two.
"""

from __future__ import annotations

import time

import numpy as np

from crfkit.arrays import IdArray
from crfkit.optim.problem import Callback, Result, Step, Stochastic, Vector, norm

_SAMPLE = 1000  # examples the step is calibrated on
_FIRST_STEP = 0.1
_MOST_TRIALS = 60  # steps tried
_PERIOD = 10  # epochs over which progress is judged


def stochastic_start(
    function: Stochastic, x: Vector, *, epochs: int, seed: int | None = None
) -> tuple[Vector, bool]:
    """Run a few epochs from x; return the point, from which a batch method continues.

    If the epochs do not improve on x, return x itself. Also return whether the user interrupted them.
    """
    random = np.random.default_rng(seed)
    n = function.n_examples
    interrupted = False
    function.begin(x)
    try:
        step = _calibrate(function, x, random.permutation(n)[:_SAMPLE].astype(np.int32))
        function.begin(x)
        for epoch in range(epochs):
            function.steps(random.permutation(n).astype(np.int32), step, float(epoch * n))
    except KeyboardInterrupt:
        interrupted = True
    found = function.end()
    better = bool(np.isfinite(found).all()) and function(found).value < function(x).value
    return (found if better else x), interrupted


def minimize_sgd(
    function: Stochastic,
    x: Vector,
    *,
    max_iterations: int = 50,
    tol: float = 1e-3,
    seed: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise from x; an iteration is an epoch.

    Stops when the best objective fell by less than ``tol`` (relative) over the last ten epochs, and returns
    the best point. Variables of very different scale (real-valued features, say) make it noisy: scale them.
    """
    began = time.perf_counter()
    random = np.random.default_rng(seed)
    n = function.n_examples
    values: list[float] = []
    best, best_value = x, np.inf
    message, converged, interrupted = f"it reached max_iterations={max_iterations}", False, False
    try:
        step = _calibrate(function, x, random.permutation(n)[:_SAMPLE].astype(np.int32))
        for epoch in range(1, max_iterations + 1):
            function.begin(x)
            function.steps(random.permutation(n).astype(np.int32), step, (epoch - 1.0) * n)
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
                converged = True
                break
    except KeyboardInterrupt:
        message, interrupted = "it was interrupted", True
    if best_value == np.inf:
        best_value = function(best).value
    return Result(best, best_value, len(values), converged, message, interrupted=interrupted)


def _calibrate(function: Stochastic, x: Vector, sample: IdArray) -> float:
    """Return the step 0.1·2^k with the smallest loss over two passes through the sample."""

    def loss(step: float) -> float:
        function.begin(x)
        function.steps(sample, step, 0.0)
        found = function.steps(sample, step, float(len(sample)))
        return found if np.isfinite(found) else np.inf

    step, value = _FIRST_STEP, loss(_FIRST_STEP)
    factor = 2.0 if value < np.inf else 0.5
    other = loss(step * factor)
    if other >= value and factor > 1:
        factor = 0.5
        other = loss(step * factor)
    for _ in range(_MOST_TRIALS):
        if other >= value and value < np.inf:
            break
        step, value = step * factor, other
        other = loss(step * factor)
    return step
