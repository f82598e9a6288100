"""Conjugate gradients for H x = b, where H is known by its products with vectors alone.

Hestenes and Stiefel (1952); Nocedal and Wright, Numerical Optimization, chapter 5. With residual
r = b - H x and preconditioner M (a diagonal):

    x += α d,  r -= α H d,  α = r·M⁻¹r / d·H d;     d = M⁻¹r + β d,  β = (r·M⁻¹r) new / old
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crfkit.optim.problem import Vector, dot


@dataclass(frozen=True)
class Solved:
    """An approximate solution, and how good it is."""

    x: Vector  # [P]
    residual: float  # ‖b - H x‖ / ‖b‖, in the norm of M⁻¹
    products: int  # how many products with H it took


def solve_cg(
    product: Callable[[Vector], Vector],
    b: Vector,
    *,
    diagonal: Vector | None = None,  # [P] the preconditioner M, positive; None: all 1
    start: Vector | None = None,  # [P] None: 0
    tol: float = 1e-2,
    max_products: int = 100,
) -> Solved:
    """Solve H x = b for a positive definite H; stop when the residual is below ``tol`` (relative).

    Products may be inexact: if one shows no positive curvature, the solution so far is returned.
    """
    inverse = np.ones_like(b) if diagonal is None else 1 / diagonal
    size = dot(b, inverse * b)
    x, r, products = np.zeros_like(b), b.copy(), 0
    if size == 0:
        return Solved(x, 0.0, 0)
    if start is not None and start.any() and max_products > 0:
        r = b - product(start)
        products = 1
        if dot(r, inverse * r) < size:  # else it is no better than 0
            x = start.copy()
        else:
            r = b.copy()
    z = inverse * r
    rest = dot(r, z)
    d = z.copy()
    while rest > tol**2 * size and products < max_products:
        Hd = product(d)
        products += 1
        bend = dot(d, Hd)
        if not bend > 0:
            break
        step = rest / bend
        x += step * d
        r -= step * Hd
        z = inverse * r
        new = dot(r, z)
        d = z + (new / rest) * d
        rest = new
    return Solved(x, float(np.sqrt(rest / size)), products)
