"""Products of the Hessian with vectors, by differences of the gradient.

    H v ≈ (∇f(x + h v) - ∇f(x - h v)) / 2h        two passes, error O(h²)
    H v ≈ (∇f(x + h v) - ∇f(x)) / h               one pass,   error O(h)

Scores of the linear core are summed in single precision, so h must not be small. With ‖h v‖ as a share of
‖x‖, the relative error of H v against double precision was (CoNLL-2000, 100 sentences, 14,415 parameters,
c2 = 1 and 0.01, directions random, sparse, x itself and a gradient; worst of eight):

    share      1e-2    3e-3    1e-3    1e-4    1e-5
    central    5e-3    1e-3    4e-3    5e-2    2e-1
    one-sided  7e-2    2e-2    8e-3    6e-2    3e-1

An exact tangent pass (the derivative of forward-backward along v) would cost two passes as well, and
conjugate gradients stop at a residual of a few per cent: differences are exact enough. The L2 penalty is
exact in both.
"""

from __future__ import annotations

from typing import Any

from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Vector, norm

_CENTRAL, _ONE_SIDED = 3e-3, 1e-3  # ‖h v‖ as a share of ‖x‖


class HessianProducts:
    """v → H v, with H the Hessian at x of f(centre + x) + Σ (l2 + hold)·x², without the L1 term."""

    def __init__(
        self,
        objective: Penalised[Any],
        x: Vector,  # [P]
        *,
        central: bool = True,
        gradient: Vector
        | None = None,  # [P] that of f alone at x, if it is known; one-sided differences use it
    ) -> None:
        self._function, self._x, self._central = objective.function, objective.whole(x), central
        self._pull = 2 * (objective.l2 if objective.hold is None else objective.l2 + objective.hold)
        self._reach = (_CENTRAL if central else _ONE_SIDED) * max(norm(self._x), 1.0)
        self._here = gradient
        if gradient is None and not central:
            self._here = self._function(self._x).gradient

    def __call__(self, v: Vector) -> Vector:
        """Return H v."""
        size = norm(v)
        if size == 0:
            return 0 * v
        h = self._reach / size
        there = self._function(self._x + h * v).gradient
        if self._here is None or self._central:
            change = (there - self._function(self._x - h * v).gradient) / (2 * h)
        else:
            change = (there - self._here) / h
        product: Vector = change + self._pull * v
        return product
