"""What a training run leaves behind, whichever library made it: the objective against time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """The state after an iteration, its time counted from features in memory."""

    seconds: float
    objective: float
    passes: float  # evaluations of objective and gradient so far, or passes over the data


@dataclass(frozen=True)
class Curve:
    """A training run."""

    points: list[Point]
    seconds: float  # from features in memory to the end of training
    objective: float  # at the end, of the model that comes out
    active: int  # features with a weight other than 0 at the end
    converged: bool

    def reach(self, target: float) -> Point | None:
        """The first point whose objective is no more than ``target``."""
        return next((point for point in self.points if point.objective <= target), None)
