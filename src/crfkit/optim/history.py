"""Limited-memory BFGS curvature in compact form.

Byrd, Nocedal and Schnabel, "Representations of quasi-Newton matrices and their use in limited memory
methods", Mathematical Programming 63 (1994), equation 3.1: with the pairs s_i, y_i as rows of S and Y, R
the upper triangle of S Yᵀ (R_ij = s_i·y_j, i <= j), E = diag(s_i·y_i), and any positive diagonal H0,

    H = H0 + [Sᵀ  H0 Yᵀ] [ R⁻ᵀ (E + Y H0 Yᵀ) R⁻¹   -R⁻ᵀ ] [ S    ]
                         [ -R⁻¹                      0   ] [ Y H0 ]

so that a direction takes two products with S and two with Y, instead of 4m dependent vector operations. The
pairs are kept in single precision: they are estimates of curvature, and half the memory is half the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .problem import Vector

Single = NDArray[np.float32]


class CurvatureHistory:
    """The last `memory` steps s and gradient changes y of P variables, as an inverse Hessian."""

    def __init__(self, memory: int, n_variables: int) -> None:
        self._s: Single = np.zeros((memory, n_variables), np.float32)  # [m, P], a ring
        self._y: Single = np.zeros((memory, n_variables), np.float32)
        self._sy = np.zeros((memory, memory))  # s_i · y_j
        self._yhy = np.zeros((memory, memory))  # y_i · base y_j
        self._base: Single = np.ones(n_variables, np.float32)  # [P] the shape of H0
        self._order: list[int] = []  # rows, oldest first

    def __len__(self) -> int:
        return len(self._order)

    def set_base(self, base: Vector) -> None:
        """Take another positive diagonal as the shape of H0; its scale follows from the newest pair."""
        self._base = base.astype(np.float32)
        rows = self._order
        if rows:
            y = self._y[rows]
            self._yhy[np.ix_(rows, rows)] = (y * self._base) @ y.T

    def add(self, s: Vector, y: Vector) -> None:
        """Remember a step, unless its curvature is not safely positive."""
        sy = float(s @ y)
        if sy <= 1e-10 * float(y @ y):
            return
        full = len(self._order) == len(self._s)
        row = self._order.pop(0) if full else len(self._order)
        self._order.append(row)
        self._s[row], self._y[row] = s, y
        filled = slice(0, len(self._order))
        self._sy[filled, row] = self._s[filled] @ self._y[row]
        products = self._y[filled] @ (self._base * self._y[row])
        self._yhy[filled, row] = self._yhy[row, filled] = products

    def multiply(self, g: Vector) -> Vector:
        """H g."""
        rows = self._order
        if not rows:
            return (g * self._base).astype(np.float64)
        newest = rows[-1]
        gamma = float(self._sy[newest, newest] / self._yhy[newest, newest])
        g32 = g.astype(np.float32)
        h0g: Single = gamma * self._base * g32  # [P]
        filled = slice(0, len(rows))
        sg = (self._s[filled] @ g32)[rows].astype(np.float64)  # [m], oldest first
        yhg = (self._y[filled] @ h0g)[rows].astype(np.float64)
        sy = self._sy[np.ix_(rows, rows)]
        r = np.triu(sy)
        v = solve_triangular(r, sg)  # R⁻¹ S g
        u = np.diag(sy) * v + gamma * self._yhy[np.ix_(rows, rows)] @ v - yhg
        a, b = np.empty(len(rows), np.float32), np.empty(len(rows), np.float32)
        a[rows] = solve_triangular(r, u, trans="T")
        b[rows] = -v
        h0g += a @ self._s[filled]
        h0g += gamma * self._base * (b @ self._y[filled])
        return h0g.astype(np.float64)
