"""An orthonormal basis of the functions that selected positions span.

The functions K(x_a, ·) of the selected positions a are far from orthogonal, and coefficients on them are
badly conditioned. With the Cholesky factor R of K_aa = R Rᵀ, the functions

    φ = K(·, a) R⁻ᵀ        [n, m], so that  φ φᵀ = K(·, a) K_aa⁻¹ K(a, ·)

are orthonormal in the kernel's space: f = φ β has the norm ‖f‖² = ‖β‖², and is Σ_j α_j K(x_aj, ·) with
α = R⁻ᵀ β. A new position adds one column, the part of K(x_j, ·) that the others do not span (Gram-Schmidt;
the rows of R are the rows of φ at the selected positions).
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.kernels.matrix import KernelMatrix
from crfkit.optional import needed

_AT_ONCE = 1 << 25  # kernel values: 256 MiB
_DEPENDENT = 1e-9  # if less than this share of a function is new, it counts as spanned


class Basis:
    """An orthonormal basis that grows by one position at a time."""

    def __init__(self, matrix: KernelMatrix) -> None:
        self.matrix = matrix
        self.places: list[int] = []  # [m] the selected positions
        self._columns = np.empty((matrix.n_positions, 8), order="F")  # [n, capacity]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def columns(self) -> FloatArray:
        """φ [n, m]."""
        return self._columns[:, : len(self.places)]

    @property
    def factor(self) -> FloatArray:
        """R [m, m], lower triangular."""
        return np.tril(self.columns[self.places])

    def add(self, place: int) -> FloatArray | None:
        """Add a position and return its new column φ [n]; return None if the others already span it."""
        column: FloatArray = self.matrix.columns(np.array([place]))[:, 0]  # [n]
        own = column[place]  # K(x, x)
        m = len(self.places)
        known = self._columns[:, :m]
        part = known[place].copy()  # [m]
        new: FloatArray = column - known @ part
        rest = own - float(part @ part)
        if not rest > _DEPENDENT * max(own, 0.0) or own <= 0:
            return None
        new /= np.sqrt(rest)
        if m == self._columns.shape[1]:
            wider = np.empty((len(new), 2 * m), order="F")
            wider[:, :m] = self._columns
            self._columns = wider
        self._columns[:, m] = new
        self.places.append(place)
        return new

    def resume(self, places: list[int], columns: FloatArray) -> None:
        """Take over the positions and columns φ [n, m] of a checkpoint."""
        self.places, self._columns = list(places), np.array(columns, order="F")

    def shorten(self, size: int) -> None:
        """Drop all positions except the first ``size``."""
        del self.places[size:]

    def add_all(self, places: IntArray) -> None:
        """Build the basis of these positions by a pivoted Cholesky factorisation.

        Each step adds the position with the largest part not yet spanned, until all positions are spanned.
        """
        matrix = self.matrix
        m = len(places)
        columns = np.zeros((matrix.n_positions, m), order="F")
        rest = matrix.diagonal(places)  # [m] squared norm of the part not yet spanned
        start = rest.copy()
        chosen: list[int] = []
        # Compute all columns at once if they fit in memory: one call per column is slower.
        whole = matrix.columns(places) if matrix.n_positions * m <= _AT_ONCE else None  # [n, m]
        for k in range(m):
            j = int(np.argmax(rest))
            if not rest[j] > _DEPENDENT * max(start[j], 0.0) or start[j] <= 0:
                break
            place = int(places[j])
            column = matrix.columns(np.array([place]))[:, 0] if whole is None else whole[:, j]
            new = (column - columns[:, :k] @ columns[place, :k]) / np.sqrt(rest[j])
            columns[:, k] = new
            chosen.append(place)
            rest -= new[places] ** 2
            rest[j] = -np.inf
        self._columns = np.asfortranarray(columns[:, : max(1, len(chosen))])
        self.places = chosen

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return α [m, k] on the kernel functions, from β [m, k] on the basis."""
        if not self.places:
            return beta
        linalg = needed("scipy.linalg", "training with kernels", "kernels")
        alpha: FloatArray = linalg.solve_triangular(self.factor, beta, lower=True, trans="T")
        return alpha
