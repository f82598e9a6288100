"""BFGS with a dense inverse Hessian, for few variables and for series of growing problems.

Nocedal and Wright, Numerical Optimization, chapter 6. The estimate of the inverse Hessian is an argument and
a result: when a problem grows by a variable, the estimate for the others is reused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.optim.problem import Evaluation, Result, Smooth, Vector, dot

_NOISE = 1e-7  # relative rounding error of an objective summed from single-precision scores
_SUFFICIENT = 1e-4
_SHARE = 1e-3  # where no step helps, a minimum promises less than this share of the objective
_LONGEST = 10.0  # largest first step of a variable without curvature estimate


@dataclass(frozen=True)
class Curved:
    """A result and the inverse Hessian near it."""

    result: Result
    inverse: FloatArray  # [P, P]


def minimize_bfgs(
    function: Smooth,
    x: Vector,
    inverse: FloatArray,
    *,
    max_iterations: int = 500,
    tol: float = 1e-6,
    noise: float = _NOISE,
    longest: float = np.inf,
    max_trials: int = 40,
    callback: Callable[[Vector, Evaluation], bool] | None = None,
) -> Curved:
    """Minimise ``function`` from x, with an estimate of its inverse Hessian [P, P].

    If a diagonal entry is NaN, the function's own estimate is used for that variable. ``noise`` is the
    relative error of the function. Stops when the expected decrease of the next step is less than
    ``tol / 10`` of the objective, or than its error. No variable moves by more than ``longest`` in one step.
    ``callback`` sees every accepted point, the start included; True ends the search.
    """
    here = function(x, diagonal=bool(np.isnan(np.diagonal(inverse)).any()))
    inverse = inverse.copy()
    new = np.flatnonzero(np.isnan(np.diagonal(inverse)))
    if len(new):
        scale = np.ones(len(x)) if here.diagonal is None else here.diagonal
        inverse[new, :] = inverse[:, new] = 0.0
        inverse[new, new] = 1 / np.maximum(scale[new], 1e-12)
        # Limit the first step: the gradient and curvature here are valid only nearby.
        reach = np.abs(here.gradient[new]) * inverse[new, new]
        inverse[new, new] *= np.minimum(1.0, _LONGEST / np.maximum(reach, 1e-300))
    iterations, message = 0, f"it reached max_iterations={max_iterations}"
    converged = interrupted = False
    stopped = callback is not None and callback(x, here)
    try:
        while iterations < max_iterations:
            if stopped:
                message = "it was stopped by the callback"
                break
            direction = -np.einsum("ij,j->i", inverse, here.gradient)
            direction *= min(1.0, longest / max(float(np.abs(direction).max()), 1e-300))
            descent = dot(here.gradient, direction)
            least = max(tol / 10, noise) * abs(here.value)
            if -descent / 2 <= least:
                message, converged = "the next step promises less than tol", True
                break
            step = 1.0
            for _ in range(max_trials):
                there = function(x + step * direction)
                if there.value <= here.value + _SUFFICIENT * step * descent + noise * abs(here.value):
                    break
                # The minimum of the parabola through both values and the slope, within bounds.
                bend = there.value - here.value - step * descent
                step *= float(np.clip(-descent * step / (2 * bend), 0.1, 0.5)) if np.isfinite(bend) else 0.1
            else:
                message, converged = "no step improves the objective beyond rounding", True
                if -descent / 2 > max(_SHARE, 100 * tol) * abs(here.value):
                    message, converged = (
                        "no step improves the objective, but its gradient is not small",
                        False,
                    )
                break
            s, change = step * direction, there.gradient - here.gradient
            slope = dot(s, change)
            if slope > 0:
                inverse = _updated(inverse, s, change, slope)
            x, here = x + s, there
            iterations += 1
            stopped = callback is not None and callback(x, here)
    except KeyboardInterrupt:
        message, interrupted = "it was interrupted", True
    return Curved(Result(x, here.value, iterations, converged, message, interrupted=interrupted), inverse)


def _updated(inverse: FloatArray, s: Vector, y: Vector, slope: float) -> FloatArray:
    """Return the inverse Hessian after a step s that changed the gradient by y; slope is s · y > 0."""
    hy = np.einsum("ij,j->i", inverse, y)
    factor = (1 + dot(y, hy) / slope) / slope
    cross = np.outer(hy, s) / slope
    return inverse + factor * np.outer(s, s) - cross - cross.T
