"""The largest L2 penalty under which a model still decodes its validation sets.

Where there are more features than the training data can contradict, plain training satisfies the validation
constraints by itself, and they decide nothing. What then tells one feasible model from another is the size of
its weights: of the minima

    w(c2) = argmin_w O(w) + c2·‖w‖²

the one of the largest c2 up to which h_j(w(c2)) <= τ for all j is looked for, by steps of a factor and then
by bisection on a logarithmic scale, each training going on from the one before. The constraints take the
place of cross-validation: one search instead of a training a fold and a penalty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from crfkit.objectives.likelihood import LinearLikelihood
from crfkit.objectives.validation import ValidationConstraints
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Callback, Step, Vector
from crfkit.optim.saddle import OuterStep

_FIRST = 1.0
_FACTOR = 4.0
_SMALLEST, _LARGEST = 1e-4, 1e3
_BISECTIONS = 2
_ROUGH = 1e-3  # tolerance of the trainings on the way


@dataclass(frozen=True)
class Training:
    """The minimum at one penalty."""

    c2: float
    x: Vector  # [P]
    step: OuterStep


def largest_penalty(
    objective: LinearLikelihood,
    constraints: ValidationConstraints,
    start: Vector,
    *,
    l1: Vector | None,
    tol: float,
    max_iterations: int,
    max_steps: int,
    callback: Callback,
    said: Callable[[Training], None],
) -> list[Training]:
    """Trainings at one penalty after the other; the last is the one to keep if it is feasible.

    None of them is feasible where no penalty from 0.0001 to 1000 will do.
    """
    began = time.perf_counter()
    tried: list[Training] = []
    passes = 0.0

    def train(c2: float, tolerance: float) -> Training:
        nonlocal passes
        near = min(tried, key=lambda t: abs(np.log(t.c2 / c2)), default=None)
        before, seen = passes, 0.0

        def watch(step: Step) -> bool:
            nonlocal seen
            seen = step.passes
            return callback(replace(step, passes=before + step.passes, seconds=time.perf_counter() - began))

        result = minimize_lbfgs(
            objective.with_penalty(c2),
            start if near is None else near.x,
            l1=l1,
            max_iterations=max_iterations,
            tol=tolerance,
            n_threads=objective.n_threads,
            callback=watch,
        )
        passes += seen
        h = constraints.violations(result.x)
        record = OuterStep(
            len(tried) + 1,
            result.value,
            np.zeros(0),
            h - constraints.tau,
            np.zeros(len(h)),
            result.iterations,
            passes,
            time.perf_counter() - began,
            0.0,
            0.0,
            False,
            bool((h <= constraints.tau).all()),
        )
        tried.append(Training(c2, result.x, record))
        said(tried[-1])
        return tried[-1]

    rough = max(tol, _ROUGH)
    here = train(_FIRST, rough)
    low = here if here.step.feasible else None
    factor = _FACTOR if here.step.feasible else 1 / _FACTOR
    while _SMALLEST <= here.c2 * factor <= _LARGEST and len(tried) < max_steps:
        here = train(here.c2 * factor, rough)
        if here.step.feasible:
            low = here
        if here.step.feasible != (factor > 1):
            break
    if low is None:
        return tried
    high = min((t.c2 for t in tried if t.c2 > low.c2), default=None)
    for _ in range(_BISECTIONS):
        if high is None or len(tried) >= max_steps:
            break
        here = train(float(np.sqrt(low.c2 * high)), rough)
        if here.step.feasible:
            low = here
        else:
            high = here.c2
    # At the full tolerance, and if that is not feasible, a little less.
    c2 = low.c2
    while len(tried) < max_steps + 1 and not train(c2, tol).step.feasible:
        c2 /= np.sqrt(2.0)
    if not tried[-1].step.feasible:
        tried.append(low)
    return tried
