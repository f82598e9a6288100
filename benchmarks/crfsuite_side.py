"""python-crfsuite in the benchmarks: training with a clock on its log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pycrfsuite
from curves import Curve, Point
from tasks import Items, LabelLists

_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #")
_NUMBER = re.compile(r"(Loss|Line search trials|Active features|Number of features): (\d+(?:\.\d+)?)")


class TimedTrainer(pycrfsuite.BaseTrainer):  # type: ignore[misc]
    """A trainer that notes when each line of its log arrives.

    ``between`` is called after each iteration; the time it takes is not counted.
    """

    def __init__(self) -> None:
        self.between: Callable[[], None] | None = None
        self.restart()

    def restart(self) -> None:
        """Forget what was recorded."""
        self.points: list[Point] = []
        self.durations: list[float] = []  # seconds an evaluation, one number an iteration
        self.n_features = 0
        self.active = 0
        self.converged = False
        self._in_iteration = False
        self._passes = 1.0  # the objective is evaluated once before the first line search
        self._paused = 0.0
        self._began = self._resumed = time.perf_counter()

    def message(self, message: str) -> None:
        """One line of the log."""
        if _HEAD.match(message):
            self._in_iteration = True
            self._trials = 1.0
        elif found := _NUMBER.match(message):
            self._number(found[1], float(found[2]))
        elif message == "\n" and self._in_iteration:
            self._end_iteration()
        elif "terminated with the stopping criteria" in message or "resulted in convergence" in message:
            self.converged = True

    def _number(self, name: str, value: float) -> None:
        if name == "Loss":  # with l2sgd the head of an epoch comes before its work, the loss after it
            self._loss, self._now = value, time.perf_counter()
        elif name == "Line search trials":
            self._trials = value
        elif name == "Active features":
            self.active = int(value)
        else:
            self.n_features = int(value)

    def _end_iteration(self) -> None:
        self._in_iteration = False
        self._passes += self._trials
        self.points.append(Point(self._now - self._began - self._paused, self._loss, self._passes))
        if len(self.points) > 1:  # the first one holds the feature generation too
            self.durations.append((self._now - self._resumed) / self._trials)
        began = time.perf_counter()
        if self.between is not None:
            self.between()
        self._resumed = time.perf_counter()
        self._paused += self._resumed - began


def load(X: Items, y: LabelLists, trainer: Any = None) -> TimedTrainer:
    """Python objects to CRFsuite's memory."""
    trainer = TimedTrainer() if trainer is None else trainer
    for items, labels in zip(X, y, strict=True):
        trainer.append(items, labels)
    return trainer


def fit(
    trainer: TimedTrainer,
    model: Path,
    *,
    c1: float,
    c2: float,
    algorithm: str = "lbfgs",
    max_iterations: int | None = None,
    all_states: bool = False,
    between: Callable[[], None] | None = None,
) -> Curve:
    """Train with CRFsuite's defaults and all transitions possible, and write the model."""
    trainer.select(algorithm, "crf1d")
    settings: dict[str, Any] = {
        "c2": c2,
        "feature.possible_transitions": True,
        "feature.possible_states": all_states,
    }
    if algorithm == "lbfgs":
        settings["c1"] = c1
    if max_iterations is not None:
        settings["max_iterations"] = max_iterations
    trainer.set_params(settings)
    trainer.between = between
    trainer.restart()
    began = time.perf_counter()
    trainer.train(str(model))
    took = time.perf_counter() - began - trainer._paused
    points = trainer.points
    best = min(point.objective for point in points)
    last = best if algorithm == "l2sgd" else points[-1].objective  # l2sgd hands out its best epoch
    active = trainer.active or trainer.n_features
    return Curve(list(points), took, last, active, trainer.converged)


def tagger(model: Path) -> Any:
    """An open tagger."""
    opened = pycrfsuite.Tagger()
    opened.open(str(model))
    return opened


def weights(model: Path) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """{(attribute, label): weight} and {(label, next label): weight} of a model file."""
    found = tagger(model).info()
    return found.state_features, found.transitions
