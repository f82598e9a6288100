"""What a training run of each algorithm logs, iteration by iteration, and when CRFsuite would stop it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.compat.pycrfsuite.holdout import Holdout
from crfkit.exceptions import ConvergenceWarning
from crfkit.features.index import FeatureIndex
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.optim.problem import Step, norm

Say = Callable[[str], None]


@dataclass(frozen=True)
class Kind:
    """An algorithm in the log, and the method of crfkit that runs it."""

    title: str
    name: str  # in the line that ends the iterations
    algorithm: str  # crfkit's
    shown: Mapping[str, str]  # name in the log: parameter
    online: bool = False  # it learns from mistakes, and knows no gradient
    iteration: str = "Iteration"

    def settings(self, params: Mapping[str, Any]) -> Iterator[str]:
        """Yield the title and the parameters as lines of the log."""
        yield f"{self.title}\n"
        for shown, name in self.shown.items():
            value = params[name]
            yield (
                f"{shown}: {value:f}\n"
                if isinstance(value, float)
                else f"{shown}: {value:{_format(value)}}\n"
            )
        yield "\n"

    def method(self, params: Mapping[str, Any]) -> str:
        """Return the method's name, with its settings if it has any."""
        if not self.online:
            return self.algorithm
        own = [f"{name}={params[name]!r}" for name in self.shown if name != "max_iterations"]
        return f"{self.algorithm}({', '.join(own)})"


def _format(value: Any) -> str:
    return "d" if isinstance(value, bool) else ""


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_STOP = ("max_iterations", "epsilon")
KINDS = {
    "lbfgs": Kind(
        "L-BFGS optimization",
        "L-BFGS",
        "auto",
        {
            **_same("c1", "c2", "num_memories", *_STOP),
            "stop": "period",
            "delta": "delta",
            "linesearch": "linesearch",
            "linesearch.max_iterations": "max_linesearch",
        },
    ),
    "l2sgd": Kind(
        "Stochastic Gradient Descent (SGD)",
        "SGD",
        "sgd",
        _same("c2", "max_iterations", "period", "delta"),
        iteration="Epoch",
    ),
    "averaged-perceptron": Kind("Averaged perceptron", "", "ap", _same(*_STOP), online=True),
    "passive-aggressive": Kind(
        "Passive Aggressive",
        "",
        "pa",
        _same("type", "c", "error_sensitive", "averaging", *_STOP),
        online=True,
    ),
    "arow": Kind(
        "Adaptive Regularization of Weights (AROW)",
        "",
        "arow",
        _same("variance", "gamma", *_STOP),
        online=True,
    ),
}


class Watch:
    """The optimiser's callback: logs the iteration, and stops by CRFsuite's criteria."""

    def __init__(
        self,
        kind: Kind,
        objective: PenalisedLikelihood[Any],
        index: FeatureIndex,
        params: dict[str, Any],
        holdout: Holdout | None,
        say: Say,
    ) -> None:
        self._kind, self._params = kind, params
        self._objective, self._index, self._holdout, self._say = objective, index, holdout, say
        self._values: list[float] = []
        self._seconds = self._passes = 0.0
        self._reason: str | None = None  # "gradient" or "delta", once it has stopped

    def __call__(self, step: Step) -> bool:
        weights = self._objective.weights(step.x)
        size = norm(step.x)
        self._say(f"***** {self._kind.iteration} #{step.iteration} *****\n")
        self._say(f"Loss: {step.value:f}\n")
        for line in self._figures(step, size, int(np.count_nonzero(weights))):
            self._say(line)
        self._say(f"Seconds required for this iteration: {step.seconds - self._seconds:.3f}\n")
        self._seconds, self._passes = step.seconds, step.passes
        if self._holdout is not None:
            for line in self._holdout.lines(self._index, weights):
                self._say(line)
        self._say("\n")
        self._values.append(step.value)
        if not self._kind.online:
            self._reason = self._reason_to_stop(step, size)
        return self._reason is not None

    def _figures(self, step: Step, size: float, active: int) -> Iterator[str]:
        if self._kind.algorithm == "sgd":
            yield f"Feature L2-norm: {size:f}\n"
            yield f"Learning rate (eta): {step.step:f}\n"
            return
        yield f"Feature norm: {size:f}\n"
        if not self._kind.online:
            yield f"Error norm: {step.gradient_norm:f}\n"
            yield f"Active features: {active}\n"
            yield f"Line search trials: {max(1, round(step.passes - self._passes))}\n"
            yield f"Line search step: {step.step:f}\n"

    def _reason_to_stop(self, step: Step, size: float) -> str | None:
        period, values = self._params["period"], self._values
        if period and len(values) > period:
            fall = values[-1 - period] - step.value
            if self._kind.algorithm == "sgd":  # epochs are noisy: compare the best values, then and now
                fall = min(values[:-period]) - min(values)
            if fall < self._params["delta"] * abs(step.value):
                return "delta"
        epsilon = self._params.get("epsilon")
        return "gradient" if epsilon is not None and step.gradient_norm <= epsilon * max(1.0, size) else None

    def ending(self, converged: bool, message: str) -> Iterator[str]:
        """Yield the lines that say why the iterations ended."""
        name = self._kind.name
        if self._kind.online:
            if "epsilon" in message:
                yield "Terminated with the stopping criterion\n"
                yield "\n"
        elif self._reason == "delta":
            yield f"{name} terminated with the stopping criteria\n"
        elif self._reason == "gradient" or converged:
            yield f"{name} resulted in convergence\n"
        elif "max_iterations" in message:
            yield f"{name} terminated with the maximum number of iterations\n"
        else:
            warnings.warn(
                f"training stopped before convergence: {message}. The best model so far is kept",
                ConvergenceWarning,
                stacklevel=5,
            )
            yield f"{name} stopped: {message}\n"
