"""Whether a point is a minimum, as far as derivatives there can tell.

Little progress is no proof of a minimum: steps may be short because variables differ in scale, or because
values are rounded. A Newton step with a diagonal Hessian promises a decrease of

    Σ slope² / (2 · diagonal).

(Where that would be a long step, the curvature is not known well: only some way along the slope counts.) At a
minimum it is about 0. It is an estimate, not a bound, so it only decides where it is far off: if it is
more than a share of the objective that is much larger than the tolerance, the optimiser has not converged.
"""

from __future__ import annotations

import numpy as np

from crfkit.optim.problem import Vector

_LONGEST = 10.0  # the longest way of a variable
_OF_FIRST = 1e-3  # objectives near 0, of separable data without penalty, are compared with their first value


class Promise:
    """The decrease that the gradient still promises, by the latest estimate of the Hessian's diagonal."""

    def __init__(self, share: float, first_value: float, diagonal: Vector | None = None) -> None:
        self._share, self._first = share, abs(first_value)
        self.diagonal = diagonal

    def is_kept(self, slope: Vector, value: float) -> bool:
        """Return whether the promise is so small that the point counts as a minimum."""
        if not np.isfinite(value):
            return False
        return float(self._of(slope).sum()) <= self._share * max(abs(value), _OF_FIRST * self._first)

    def greatest(self, slope: Vector) -> int:
        """Return the variable that promises most."""
        return int(self._of(slope).argmax())

    def _of(self, slope: Vector) -> Vector:
        """Return the promise of each variable [P]."""
        if self.diagonal is None:  # nothing is known of the curvature
            return np.zeros_like(slope)
        size = np.abs(slope)
        promised: Vector = size * np.minimum(size / (2 * np.maximum(self.diagonal, 1e-12)), _LONGEST)
        return promised
