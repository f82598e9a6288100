"""python-crfsuite's trainer: collects sequences, trains, logs, and writes a ``.crfsuite`` file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.compat.pycrfsuite.instances import Instances
from crfkit.compat.pycrfsuite.parameters import ALGORITHMS, algorithm_name, find_parameter
from crfkit.compat.pycrfsuite.training import Trained, train
from crfkit.compat.pycrfsuite.training_log import TrainLogParser
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.crfsuite_model import check_names
from crfkit.io.writing import check_writable


class BaseTrainer:
    """A data set for training, and CRFsuite's training algorithms with their parameters.

    Parameters
    ----------
    algorithm
        "lbfgs" (the default; with c1 > 0: OWL-QN), "l2sgd", "ap" (averaged perceptron), "pa"
        (passive-aggressive) or "arow".
    params
        Training parameters, as for :meth:`set_params`.
    verbose
        Whether to print the training log.

    Set ``trainer.n_jobs`` to the number of threads (default: one thread per core).
    """

    verbose: bool | None
    n_jobs: int | None = None

    # Not in __init__: subclasses written for python-crfsuite need not call it.
    def __new__(cls, *args: object, **kwargs: object) -> BaseTrainer:
        """Create a trainer without data."""
        trainer = super().__new__(cls)
        trainer.verbose = None
        trainer._instances = Instances()
        BaseTrainer.select(trainer, "lbfgs")
        return trainer

    _instances: Instances
    _algorithm: str
    _params: dict[str, Any]

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # ---- data

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sequence of items and its labels, one label per item.

        Items are dicts or lists of strings, or ``xseq`` is an :class:`ItemSequence`. The group is for
        ``holdout`` in :meth:`train`.
        """
        self._instances.append(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._instances = Instances()

    # ---- algorithm and parameters

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm and reset its parameters to their defaults."""
        self._algorithm = algorithm_name(algorithm, type)
        self._params = {name: entry.default for name, entry in ALGORITHMS[self._algorithm].items()}

    def params(self) -> list[str]:
        """Return the names of the algorithm's parameters."""
        return list(self._params)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        find_parameter(self._algorithm, name)
        return self._params[name]

    def get_params(self) -> dict[str, Any]:
        """Return all parameters and their values."""
        return dict(self._params)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; numbers may also be given as text."""
        self._params[name] = find_parameter(self._algorithm, name).read(name, value)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters, ``{name: value}``."""
        for name, value in params.items():
            self.set(name, value)

    def help(self, name: str) -> str:
        """Return the help text of a parameter."""
        return find_parameter(self._algorithm, name).help

    # ---- training

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train and write the model to the file ``model``; if the name is empty, write no file.

        The sequences of the group ``holdout`` are not trained on: every iteration is evaluated on them.
        """
        if isinstance(holdout, bool) or not isinstance(holdout, int):
            raise InputError(f"holdout must be the number of a group, or -1; got {holdout!r}")
        if os.fspath(model):  # fail before the training, not after it
            check_writable(os.fspath(model))
            check_names(Vocabulary(self._instances.labels), "label")
            check_names(self._instances.vocabulary, "attribute")
        self._before_train()
        trained = train(self._instances, self._algorithm, self._params, holdout, self.message, self.n_jobs)
        if os.fspath(model):
            self._store(trained, model)

    def _before_train(self) -> None:
        """Do nothing; subclasses may prepare something here."""

    def _store(self, trained: Trained, path: str | os.PathLike[str]) -> None:
        from crfkit.models.foreign import export_crfsuite

        began = time.perf_counter()
        tagger = trained.tagger
        active = np.count_nonzero(tagger.weights.vector)
        n_labels = len(tagger.classes)
        self.message("Storing the model\n")
        self.message(f"Number of active features: {active} ({trained.n_features})\n")
        self.message(f"Number of active attributes: {len(tagger.vocabulary)} ({trained.n_attributes})\n")
        self.message(f"Number of active labels: {n_labels} ({n_labels})\n")
        self.message("Writing labels\n")
        self.message("Writing attributes\n")
        self.message("Writing feature references for transitions\n")
        self.message("Writing feature references for attributes\n")
        export_crfsuite(tagger, path)
        self.message(f"Seconds required: {time.perf_counter() - began:.3f}\n")
        self.message("\n")

    def message(self, message: str) -> None:
        """Handle a piece of the log: print it if ``verbose``."""
        if self.verbose:
            _write(message)


class Trainer(BaseTrainer):
    """A trainer that parses its log into ``logparser`` and calls a hook for each event.

    The hooks (``on_start``, ``on_featgen_progress``, …) are called if ``verbose``. By default they print;
    override them to do something else.
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Handle a piece of the log: call the hook of the event that it completes."""
        parser = self.logparser
        if parser is None:  # called by hand, before training
            parser = self.logparser = TrainLogParser()
        event = parser.feed(message)
        if event is None or not self.verbose:
            return
        hook = getattr(self, f"on_{event}")
        if event == "featgen_progress":
            hook(parser.last_log, parser.featgen_percent)
        elif event == "iteration":
            hook(parser.last_log, parser.last_iteration)
        else:
            hook(parser.last_log)

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Handle another 2 % of the feature generation."""
        _write(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Handle an iteration; ``info`` is ``logparser.last_iteration``."""
        _write(log)

    def on_start(self, log: str) -> None:
        """Handle the log up to an event: the start, or one of the events below."""
        _write(log)

    on_featgen_end = on_start
    on_prepared = on_start  # the first iteration is about to be reported
    on_prepare_error = on_start  # training ended before the first iteration
    on_optimization_end = on_start
    on_end = on_start  # the model is written


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
