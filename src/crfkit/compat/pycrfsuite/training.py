"""A training run: from the instances to a tagger, logged in CRFsuite's format.

The penalised likelihood is the same as CRFsuite's, so the optimum is the same; the optimiser is crfkit's. The
stopping criteria and their parameters are CRFsuite's.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.compat.pycrfsuite.errors import CRFSuiteError
from crfkit.compat.pycrfsuite.feature_index import crfsuite_index
from crfkit.compat.pycrfsuite.holdout import Holdout
from crfkit.compat.pycrfsuite.instances import Instances, Part, without_zeros
from crfkit.compat.pycrfsuite.parameters import ALGORITHMS, NO_LIMIT
from crfkit.data.labels import Labels
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.features.index import FeatureIndex
from crfkit.models.linear.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger
from crfkit.objectives.linear_likelihood import LinearLikelihood, PenalisedLikelihood
from crfkit.optim.methods import Task, minimise
from crfkit.optim.problem import Step, norm
from crfkit.threads import thread_count

Say = Callable[[str], None]

_INSTEAD = {
    "averaged-perceptron": "the averaged perceptron",
    "passive-aggressive": "the passive-aggressive algorithm",
    "arow": "AROW",
}


@dataclass(frozen=True)
class Trained:
    """A tagger, and the numbers of features and attributes before compaction."""

    tagger: LinearTagger
    n_features: int
    n_attributes: int


def train(
    instances: Instances, algorithm: str, params: dict[str, Any], holdout: int, say: Say, n_jobs: int | None
) -> Trained:
    """Train on all instances except the group ``holdout``; evaluate each iteration on that group."""
    learn, held = _parts(instances, holdout)
    if holdout >= 0:
        say(f"Holdout group: {holdout + 1}\n")
        say("\n")
    known = np.unique(learn.ids).astype(np.int64)  # [L] labels to learn, in order of first appearance
    names = list(instances.labels)
    learn = Part(learn.sequences, np.searchsorted(known, learn.ids).astype(np.int32))
    index = _generate_features(learn, len(known), params, say)

    stand_in = algorithm in _INSTEAD
    if stand_in:
        warnings.warn(
            f"crfkit has no {algorithm!r} training: instead of {_INSTEAD[algorithm]}, the penalised "
            "likelihood is trained with L-BFGS and c2=1, which usually tags at least as well; only the "
            "parameters max_iterations and feature.* are used",
            UserWarning,
            stacklevel=3,
        )
        params = {
            **{name: parameter.default for name, parameter in ALGORITHMS["lbfgs"].items()},
            "max_iterations": params["max_iterations"],
        }
    stochastic = algorithm == "l2sgd"
    for line in _setting_lines(params, stochastic):
        say(line)
    try:
        objective = LinearLikelihood(
            without_zeros(learn.sequences),
            Labels(learn.ids, None),
            index,
            n_threads=thread_count(n_jobs),
            c2=params["c2"],
        ).penalised(c2=params["c2"], c1=params.get("c1", 0.0))
    except InputError as error:
        raise CRFSuiteError(str(error)) from error
    evaluation = None if held is None else Holdout(held, names, known, n_jobs)
    watch = _Watch(objective, index, params, stochastic, evaluation, say)
    began = time.perf_counter()
    result = minimise(
        "sgd" if stochastic else "auto",
        Task(
            objective,
            np.zeros(objective.n_parameters),
            params["max_iterations"] or NO_LIMIT,
            tol=0.0,  # the callback stops the optimiser
            seed=0,
            callback=watch,
            say=lambda words: None,
        ),
    )
    if result.interrupted:  # as in python-crfsuite, no model is written
        raise KeyboardInterrupt
    if not np.isfinite(result.value):
        raise CRFSuiteError(
            "the training objective is not a finite number: scale the values of the features, or raise c2",
            CRFSuiteError.OVERFLOW,
        )
    say(_ending(watch, result.converged, result.message, stochastic))
    say(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
    say("\n")
    encoder = InputEncoder(instances.vocabulary, None)
    tagger = LinearTagger([names[i] for i in known], encoder, index, objective.weights(result.x), n_jobs)
    return Trained(tagger.compact(), index.n_features, learn.sequences.n_attributes)


def _parts(instances: Instances, holdout: int) -> tuple[Part, Part | None]:
    if not len(instances):
        raise CRFSuiteError("there is nothing to train on: call append(xseq, yseq) before train")
    if holdout < 0:
        learn, held = instances.part(), None
    else:
        apart = instances.in_group(holdout)
        learn, held = instances.part(~apart), instances.part(apart)
        if held.sequences.n_positions == 0:
            raise CRFSuiteError(
                f"the holdout group {holdout} has no items; there are the groups {sorted(instances.groups())}"
            )
        if learn.sequences.n_positions == 0:
            raise CRFSuiteError(
                f"there is nothing to train on: every sequence is in the holdout group {holdout}"
            )
    if learn.sequences.n_positions == 0:
        raise CRFSuiteError("there is nothing to train on: every sequence is empty")
    return learn, held


def _generate_features(part: Part, n_labels: int, params: dict[str, Any], say: Say) -> FeatureIndex:
    began = time.perf_counter()
    say("Feature generation\n")
    say("type: CRF1d\n")
    say(f"feature.minfreq: {params['feature.minfreq']:f}\n")
    say(f"feature.possible_states: {params['feature.possible_states']:d}\n")
    say(f"feature.possible_transitions: {params['feature.possible_transitions']:d}\n")
    say("0")
    index = crfsuite_index(
        part,
        n_labels,
        min_freq=params["feature.minfreq"],
        possible_states=params["feature.possible_states"],
        possible_transitions=params["feature.possible_transitions"],
    )
    for percent in range(2, 101, 2):
        say(str(percent // 10) if percent % 10 == 0 else ".")
    say("\n")
    say(f"Number of features: {index.n_features}\n")
    say(f"Seconds required: {time.perf_counter() - began:.3f}\n")
    say("\n")
    return index


# The names of the parameters in the log.
_LBFGS_SHOWN = {
    **{name: name for name in ("c1", "c2", "num_memories", "max_iterations", "epsilon")},
    "stop": "period",
    "delta": "delta",
    "linesearch": "linesearch",
    "linesearch.max_iterations": "max_linesearch",
}
_SGD_SHOWN = {name: name for name in ("c2", "max_iterations", "period", "delta")}


def _setting_lines(params: dict[str, Any], stochastic: bool) -> Iterator[str]:
    yield "Stochastic Gradient Descent (SGD)\n" if stochastic else "L-BFGS optimization\n"
    for shown, name in (_SGD_SHOWN if stochastic else _LBFGS_SHOWN).items():
        value = params[name]
        yield f"{shown}: {value:f}\n" if isinstance(value, float) else f"{shown}: {value}\n"
    yield "\n"


class _Watch:
    """The optimiser's callback: logs the iteration, and stops by CRFsuite's criteria."""

    def __init__(
        self,
        objective: PenalisedLikelihood,
        index: FeatureIndex,
        params: dict[str, Any],
        stochastic: bool,
        holdout: Holdout | None,
        say: Say,
    ) -> None:
        self._objective, self._index, self._holdout, self._say = objective, index, holdout, say
        self._epsilon: float | None = params.get("epsilon")
        self._period, self._delta = params["period"], params["delta"]
        self._stochastic = stochastic
        self._values: list[float] = []
        self._seconds = self._passes = 0.0
        self.reason: str | None = None  # "gradient" or "delta", once it has stopped

    def __call__(self, step: Step) -> bool:
        size = norm(step.x)
        weights = self._objective.weights(step.x)
        self._say(f"***** {'Epoch' if self._stochastic else 'Iteration'} #{step.iteration} *****\n")
        self._say(f"Loss: {step.value:f}\n")
        if self._stochastic:
            self._say(f"Feature L2-norm: {size:f}\n")
            self._say(f"Learning rate (eta): {step.step:f}\n")
        else:
            active = np.count_nonzero(weights)
            self._say(f"Feature norm: {size:f}\n")
            self._say(f"Error norm: {step.gradient_norm:f}\n")
            self._say(f"Active features: {active}\n")
            self._say(f"Line search trials: {max(1, round(step.passes - self._passes))}\n")
            self._say(f"Line search step: {step.step:f}\n")
        self._say(f"Seconds required for this iteration: {step.seconds - self._seconds:.3f}\n")
        self._seconds, self._passes = step.seconds, step.passes
        if self._holdout is not None:
            for line in self._holdout.lines(self._index, weights):
                self._say(line)
        self._say("\n")
        if self._epsilon is not None and step.gradient_norm <= self._epsilon * max(1.0, size):
            self.reason = "gradient"
        self._values.append(step.value)
        if self._period and len(self._values) > self._period:
            fall = self._values[-1 - self._period] - step.value
            if self._stochastic:  # epochs are noisy: compare the best values, then and now
                fall = min(self._values[: -self._period]) - min(self._values)
            if fall < self._delta * abs(step.value):
                self.reason = "delta"
        return self.reason is not None


def _ending(watch: _Watch, converged: bool, message: str, stochastic: bool) -> str:
    name = "SGD" if stochastic else "L-BFGS"
    if watch.reason == "delta":
        return f"{name} terminated with the stopping criteria\n"
    if watch.reason == "gradient" or converged:
        return f"{name} resulted in convergence\n"
    if "max_iterations" in message:
        return f"{name} terminated with the maximum number of iterations\n"
    warnings.warn(
        f"training stopped before convergence: {message}. The best model so far is kept",
        ConvergenceWarning,
        stacklevel=4,
    )
    return f"{name} stopped: {message}\n"
