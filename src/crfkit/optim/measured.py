"""A function of variables in other units."""

from __future__ import annotations

from crfkit.optim.problem import Evaluation, Smooth, Vector


class Measured:
    """A function f as one of x · units."""

    def __init__(self, function: Smooth, units: Vector) -> None:
        self._function, self._units = function, units  # [P]

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        here = self._function(x / self._units, diagonal=diagonal)
        second = None if here.diagonal is None else here.diagonal / self._units**2
        return Evaluation(here.value, here.gradient / self._units, second)
