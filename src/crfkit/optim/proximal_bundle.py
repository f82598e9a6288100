"""A proximal bundle: minimises a smooth function plus one with kinks, at which L-BFGS stalls.

Kiwiel, "Proximity control in bundle methods for convex nondifferentiable minimization", Mathematical
Programming 46 (1990). Of p, the part with kinks, a bundle of linear pieces from below is kept; f, the smooth
part, is a parabola with its own diagonal D. A step solves

    min_d  ∇f(x)·d + ½ μ dᵀD d + max_i (p_i(x) + s_i·d)

exactly, through its dual over the simplex. Where it brings much of what it promised, x moves; where not, the
piece at x + d makes the model better. When nothing is promised any more, x is a minimum, kinks or not. Where
p is not convex, pieces that lie above p at x are lowered to touch it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crfkit.optim.problem import Result, Smooth, Vector, dot

Kinked = Callable[[Vector], tuple[float, Vector]]  # value and a subgradient [P]

_ENOUGH = 0.1  # of the decrease that was promised: x moves
_MOST_PIECES = 60
_RIDGE = 1e-12  # more pieces than dimensions: one answer among many


def minimize_kinked(
    smooth: Smooth, kinked: Kinked, x: Vector, *, max_steps: int = 100, tol: float = 1e-9
) -> Result:
    """Minimise smooth(x) + kinked(x) from ``x``; ``tol``: the decrease still promised, over the value.

    Never ends above where it began. One step is one evaluation of both.
    """
    here = smooth(x, diagonal=True)
    p, slope = kinked(x)
    slopes, offsets = [slope], [p - dot(slope, x)]  # pieces: slopes_i · x + offsets_i
    stiffness, moves = 1.0, 0
    message, converged, interrupted = f"it reached {max_steps} proximal steps", False, False
    try:
        for _ in range(max_steps):
            curvature = stiffness * np.maximum(_diagonal(here.diagonal, x), 1e-12)  # [P]
            S = np.array(slopes)  # [k, P]
            errors = np.maximum(p - (S @ x + offsets), 0.0)  # [k] how far the pieces are below p at x
            scaled = S / curvature
            weights = simplex_minimum(scaled @ S.T, errors + scaled @ here.gradient)  # [k]
            d = -(here.gradient + weights @ S) / curvature
            parabola = dot(here.gradient, d) + 0.5 * dot(curvature, d * d)
            promised = -(parabola + float((S @ d - errors).max()))
            at_most = 0.5 * dot(curvature, d * d) + float(
                weights @ errors
            )  # by the dual, whatever the weights
            value = here.value + p
            if at_most <= tol * max(abs(value), 1e-300):
                message, converged = "no step promises to improve the objective", True
                break
            if not promised > 0:
                message = "no step improves the objective beyond rounding"
                break
            there = smooth(x + d, diagonal=True)
            q, slope = kinked(x + d)
            gained = value - (there.value + q)
            if len(slopes) >= _MOST_PIECES:
                least = int(weights.argmin())
                del slopes[least], offsets[least]
            slopes.append(slope)
            offsets.append(q - dot(slope, x + d))
            if there.value > here.value + parabola + 0.5 * promised:
                stiffness *= 4  # f bends more than its diagonal says
            elif gained >= 0.9 * promised:
                stiffness = max(stiffness / 2, 1e-6)
            if gained >= _ENOUGH * promised:
                x, here, p = x + d, there, q
                moves += 1
    except KeyboardInterrupt:
        message, interrupted = "it was interrupted", True
    return Result(x, here.value + p, moves, converged, message, interrupted=interrupted)


def _diagonal(diagonal: Vector | None, x: Vector) -> Vector:
    return np.ones_like(x) if diagonal is None else diagonal


def simplex_minimum(H: NDArray[np.float64], q: Vector) -> Vector:
    """argmin ½ λᵀHλ + qᵀλ over λ >= 0, Σ λ = 1, by active sets; H [k, k] positive semi-definite."""
    k = len(q)
    size = max(float(np.abs(H).max()), 1e-300)
    at = np.zeros(k)
    active = [int((0.5 * np.diag(H) + q).argmin())]
    at[active] = 1.0
    for _ in range(20 * k):
        n = len(active)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = H[np.ix_(active, active)] / size + _RIDGE * np.eye(n)
        system[n, n] = 0.0
        target = np.linalg.solve(system, np.append(-q[active] / size, 1.0))[:n]
        if (target > 0).all():
            at[:] = 0.0
            at[active] = target / target.sum()
            slope = H @ at + q
            nearest = int(slope.argmin())
            if nearest in active or slope[nearest] >= dot(slope, at) - 1e-13 * size:
                break
            active.append(nearest)
            continue
        # As far as the simplex goes, and without what has become 0 there.
        now = at[active]
        falling = target <= 0
        share = min(1.0, float((now[falling] / np.maximum(now[falling] - target[falling], 1e-300)).min()))
        moved = now + share * (target - now)
        moved[int(np.where(falling, moved, np.inf).argmin())] = 0.0
        at[:] = 0.0
        at[active] = np.maximum(moved, 0.0)
        active = [i for i in active if at[i] > 0]
        at /= at.sum()
    return at
