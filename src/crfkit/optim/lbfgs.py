"""L-BFGS for smooth objectives, and OWL-QN for objectives with an L1 penalty.

Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35 (1980); Andrew
and Gao, "Scalable training of L1-regularized log-linear models", ICML 2007.

Two things differ from the textbook. The initial inverse Hessian is not a multiple of the identity but of
d^(-1/2), where d is the objective's estimate of its Hessian's diagonal, renewed every few iterations. This is
half-way (on the logarithmic scale) between no scaling, which is slow for rare features, and full diagonal
scaling, which is slow along correlated frequent ones. And near the optimum, differences of the objective
below its rounding error count as no difference. A sum over 10⁶ positions has an error of some 10⁻⁶, but its
gradient is exact enough to tell whether a step goes down, as in Hager and Zhang, "A new conjugate gradient
method with guaranteed descent and an efficient line search", SIAM Journal on Optimization 16 (2005).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from crfkit._native import CurvatureHistory
from crfkit.optim.measured import Measured
from crfkit.optim.problem import (
    Callback,
    Evaluation,
    Result,
    Save,
    Smooth,
    State,
    Step,
    Vector,
    dot,
    interruption,
    norm,
)
from crfkit.optim.promise import Promise

_NOISE = 1e-7  # relative rounding error of an objective summed from single-precision scores
_BLUR = 1e-5  # the same if positions are very many and their losses small
_PERIOD = 10  # iterations over which progress is judged, and after which the scaling is renewed
_SUFFICIENT, _CURVATURE = 1e-4, 0.9  # Wolfe's conditions
_MAX_TRIALS = 30  # per line search


def minimize_lbfgs(
    function: Smooth,
    x: Vector,
    *,
    l1: Vector | None = None,
    units: Vector | None = None,
    max_iterations: int = 1000,
    tol: float = 1e-5,
    share: float = 1e-3,
    memory: int = 10,
    n_threads: int = 1,
    callback: Callback | None = None,
    history: CurvatureHistory | None = None,
    save: Save | None = None,
    resume: State | None = None,
) -> Result:
    """Minimise ``function(x) + Σ l1·|x|`` from ``x``.

    Stops when the objective fell by less than ``tol`` (relative) over the last ten iterations, when the
    (pseudo-)gradient is below ``tol`` times the norm of x, or when no step improves it beyond rounding. In
    the first and the last case it has converged only if the gradient promises little more (``Promise``): at
    most a ``share`` of the objective (and at least 100 times tol); inf where it has kinks.
    With ``units`` [P] the variables are x·units inside, which should all have about the same curvature.
    ``history`` is the curvature estimate of an earlier run on nearly the same function; it is updated.
    ``save`` is offered the state after each iteration; with ``resume``, such a state, the run continues from
    there instead of ``x``.
    """
    began = time.perf_counter() - (0.0 if resume is None else resume["seconds"])
    x = x.copy()
    if units is not None:
        function, x, l1 = Measured(function, units), x * units, None if l1 is None else l1 / units
    done = 0  # iterations, also those that were tried in vain
    if resume is not None:
        x, done = resume["x"].copy(), resume["iteration"]
    here = function(x, diagonal=done % _PERIOD == 0)
    passes = 1.0
    value = here.value + _penalty(x, l1)
    slope = _pseudo_gradient(x, here.gradient, l1)
    first_norm = norm(slope)
    if history is None:
        history = CurvatureHistory(memory, len(x), n_threads)
    values = [value]
    if resume is not None:
        passes, first_norm, values = resume["passes"], resume["first_norm"], resume["values"].tolist()
        history.restore(*resume["history"])
    promise = Promise(max(share, 100 * tol), values[0])
    if resume is not None:
        promise.diagonal = resume["diagonal"]
    stuck_at: int | None = None
    message, converged, interrupted = f"it reached max_iterations={max_iterations}", False, False
    try:
        for iteration in range(done + 1, max_iterations + 1):
            if here.diagonal is not None:
                promise.diagonal = here.diagonal
                history.set_base(1 / np.sqrt(np.maximum(here.diagonal, 1e-12)))
            direction = np.empty_like(x)
            history.multiply(slope, direction)
            np.negative(direction, out=direction)
            if l1 is not None:
                direction[slope == 0] = 0  # variables that the penalty holds at zero stay there
            descent = dot(slope, direction)
            if not descent < 0:
                if len(history):  # the curvature estimate is wrong: try again without it
                    history.forget()
                    continue
                converged = norm(slope) == 0
                message = "the gradient vanished" if converged else "the objective is not finite here"
                break
            first = 1.0 if len(history) else 1 / max(1.0, norm(direction))
            found = _search(
                function, x, value, slope, direction, descent, l1, first, iteration % _PERIOD == 0
            )
            passes += found.trials
            if not found.improved:
                if len(history):
                    history.forget()
                    continue
                message, converged = "no step improves the objective beyond rounding", True
                if not promise.is_kept(slope, value):
                    message, converged = (
                        "no step improves the objective, but its gradient is not small",
                        False,
                    )
                    stuck_at = promise.greatest(slope)
                break
            history.add(found.x - x, found.evaluation.gradient - here.gradient)
            x, here, value = found.x, found.evaluation, found.value
            slope = _pseudo_gradient(x, here.gradient, l1)
            values.append(value)
            steepness = norm(slope)
            seconds = time.perf_counter() - began
            if callback is not None and callback(
                _as_given(
                    Step(len(values) - 1, x, value, steepness, found.step, passes, seconds), slope, units
                )
            ):
                message = "it was stopped by the callback"
                break
            if steepness <= tol * max(1.0, norm(x)):
                message, converged = "the gradient is below tol", True
                break
            little = len(values) > _PERIOD and values[-1 - _PERIOD] - value <= tol * abs(value)
            if little and promise.is_kept(slope, value):
                message = f"the objective changed by less than tol over {_PERIOD} iterations"
                converged = True
                break
            if save is not None:
                save(
                    lambda: {  # called at once, if at all
                        "x": x,  # noqa: B023
                        "iteration": iteration,  # noqa: B023
                        "values": np.array(values),
                        "passes": passes,  # noqa: B023
                        "first_norm": first_norm,
                        "diagonal": promise.diagonal,
                        "history": list(history.remembered()),
                        "seconds": time.perf_counter() - began,
                    }
                )
    except KeyboardInterrupt:
        message, interrupted = interruption(len(values) - 1), True
    return Result(
        x if units is None else x / units,
        value,
        len(values) - 1,
        converged,
        message,
        first_norm,
        norm(slope),
        interrupted=interrupted,
        stuck_at=stuck_at,
    )


def _as_given(step: Step, slope: Vector, units: Vector | None) -> Step:
    """Return a step in the variables as they were given."""
    if units is None:
        return step
    return replace(step, x=step.x / units, gradient_norm=norm(slope * units))


class _Found:
    """The result of a line search."""

    def __init__(
        self, x: Vector, value: float, evaluation: Evaluation, step: float, trials: int, improved: bool
    ):
        self.x, self.value, self.evaluation = x, value, evaluation
        self.step, self.trials, self.improved = step, trials, improved


def _search(
    function: Smooth,
    x: Vector,
    value: float,
    slope: Vector,
    direction: Vector,
    descent: float,
    l1: Vector | None,
    step: float,
    diagonal: bool,
) -> _Found:
    """Find a step by bisection that meets Wolfe's conditions (L1: sufficient decrease in the orthant)."""
    low, high = 0.0, np.inf
    noise = _NOISE * abs(value)
    orthant = np.where(x != 0, np.sign(x), -np.sign(slope)) if l1 is not None else None
    for trial in range(1, _MAX_TRIALS + 1):
        at = x + step * direction
        if orthant is not None:
            at[at * orthant <= 0] = 0
        evaluation = function(at, diagonal=diagonal)
        new = evaluation.value + _penalty(at, l1)
        predicted = step * descent if l1 is None else dot(slope, at - x)
        falls = bool(new <= value + _SUFFICIENT * predicted + noise)
        blurred = not falls and abs(new - value) <= _BLUR * abs(value)
        if blurred:
            here = evaluation.gradient if orthant is None else evaluation.gradient + l1 * orthant
            after = dot(here, at - x)
            falls = -after > noise / 100  # it goes down at the end, too: if convex, it fell by that at least
        if not predicted < 0 or not falls:
            high = step  # too long (or, with L1, turned uphill by the orthant)
        elif l1 is None and dot(evaluation.gradient, direction) < _CURVATURE * descent:
            low = step
        else:
            improved = new < value + noise / 2 or low > 0 or blurred
            return _Found(at, new, evaluation, step, trial, improved)
        step = 2 * step if high == np.inf else (low + high) / 2
        if high - low <= 1e-12 * high or -step * descent <= noise / 100:
            break  # the remaining gain is below rounding
    return _Found(at, new, evaluation, step, trial, new < value)


def _penalty(x: Vector, l1: Vector | None) -> float:
    return 0.0 if l1 is None else dot(l1, np.abs(x))


def _pseudo_gradient(x: Vector, gradient: Vector, l1: Vector | None) -> Vector:
    """Return the pseudo-gradient of ``f(x) + Σ l1·|x|``: zero where the penalty holds a variable at zero."""
    if l1 is None:
        return gradient
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0)
    return np.where(x != 0, gradient + np.sign(x) * l1, at_zero)
