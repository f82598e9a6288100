"""sklearn-crfsuite's estimator: the same parameters, methods and attributes.

It is a thin layer over ``crfkit.compat.pycrfsuite``, as the original is over python-crfsuite. Training writes
a ``.crfsuite`` file, reads it back and removes it. A pickle holds the whole model.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.compat.pycrfsuite import ItemSequence, ParsedDump, Tagger, Trainer, TrainLogParser
from crfkit.compat.sklearn_crfsuite.file_resource import FileResource, temporary_path
from crfkit.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from crfkit.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from crfkit.conventions import BaseEstimator, NotFittedError
from crfkit.exceptions import InputError
from crfkit.models.linear.tagger import LinearTagger

ObjectArray = npt.NDArray[np.object_]

# Parameters with other names in CRFsuite.
_CRFSUITE_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
_NOT_FOR_THE_TRAINER = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls", "n_jobs"}


class CRF(BaseEstimator):
    """Linear-chain CRF with sklearn-crfsuite's interface.

    None for a training parameter means CRFsuite's default for the algorithm: for "lbfgs" c1=0, c2=1, no limit
    on iterations, epsilon=1e-5, period=10, delta=1e-5. ``crfkit.compat.pycrfsuite.Trainer.help``
    explains each; docs/moving-over.md lists those without effect. New code should use ``crfkit.CRF``.

    Parameters
    ----------
    algorithm
        "lbfgs" (the default), "l2sgd", "ap" (averaged perceptron), "pa" (passive-aggressive) or "arow".
    min_freq
        Features whose values sum to less than this are left out.
    all_possible_states, all_possible_transitions
        Also generate features for attribute-label pairs, or transitions, that training does not contain.
    c1, c2
        Weights of the L1 and L2 penalties.
    max_iterations, num_memories, epsilon, period, delta, linesearch, max_linesearch
        Settings and stopping criteria of L-BFGS.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials
        Settings of "l2sgd".
    pa_type, c, error_sensitive, averaging, variance, gamma
        Settings of "pa" and "arow".
    verbose
        Print one line per iteration.
    model_filename
        ``fit`` writes the model to this file; without ``fit``, the model is read from it.
    keep_tempfiles
        Do not remove the temporary file ``modelfile.name``.
    trainer_cls
        A subclass of ``crfkit.compat.pycrfsuite.Trainer``.
    n_jobs
        Number of threads; None: one thread per core. (Not in the original.)

    Attributes
    ----------
    training_log_ : TrainLogParser or None
        The training log; ``iterations`` has the figures of each iteration.
    """

    training_log_: TrainLogParser | None = None
    _tagger: Tagger | None = None
    _info_cached: ParsedDump | None = None
    _modelfile: FileResource | None = None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.n_jobs = n_jobs

    # ---- training

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on item sequences X with label sequences y.

        An item is a dict or a list of strings. If ``X_dev`` and ``y_dev`` are given, each iteration is
        evaluated on them; ``training_log_`` has the scores.
        """
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev must be given together: give both or neither")
        trainer = self._trainer()
        _append(trainer, X, y, 0, "")
        if X_dev is not None:
            _append(trainer, X_dev, y_dev, 1, "_dev")
        holdout = -1 if X_dev is None else 1
        tagger = Tagger()
        if self.model_filename is not None:
            path = os.fspath(self.model_filename)
            trainer.train(path, holdout=holdout)
            tagger.open(path)
        else:
            with temporary_path() as path:
                trainer.train(path, holdout=holdout)
                with open(path, "rb") as file:
                    tagger.open_inmemory(file.read())
        self.training_log_ = trainer.logparser
        self._tagger, self._info_cached, self._modelfile = tagger, None, None
        return self

    def _trainer(self) -> Trainer:
        params = {
            _CRFSUITE_NAMES.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if value is not None and name not in _NOT_FOR_THE_TRAINER
        }
        trainer = (self.trainer_cls or LinePerIterationTrainer)(
            algorithm=self.algorithm, params=params, verbose=self.verbose
        )
        trainer.n_jobs = self.n_jobs
        return trainer

    # ---- asking the model

    def _open_tagger(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise NotFittedError("this CRF is not fitted yet: call fit(X, y), or give model_filename")
        return tagger

    def _model(self) -> LinearTagger:
        model = self._open_tagger().model
        model.n_jobs = self.n_jobs
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return self._tagger is not None or self.model_filename is not None

    def predict(self, X: Any) -> ObjectArray:
        """Return the labels of each sequence, as a 1-D array of lists even if all have the same length."""
        return _lists(self._model().predict(_items(X)))

    def predict_single(self, xseq: Any) -> list[str]:
        """Return the labels of one sequence."""
        return list(self._open_tagger().tag(xseq))

    def predict_marginals(self, X: Any) -> ObjectArray:
        """Return for each sequence a list with one dict {label: probability} per item."""
        return _lists(self._model().predict_marginals(_items(X)))

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Return one dict {label: probability} per item of one sequence."""
        tagger = self._open_tagger()
        tagger.set(xseq)
        return list(tagger.marginals())

    def score(self, X: Any, y: Any) -> float:
        """Return the share of items with the right label."""
        return flat_accuracy_score(y, self.predict(X))

    # ---- attributes of the model; None before training

    @property
    def tagger_(self) -> Tagger | None:
        """Return the tagger of the model."""
        if self._tagger is None and self.model_filename is not None:
            tagger = Tagger()
            tagger.open(self.model_filename)
            self._tagger = tagger
        return self._tagger

    @property
    def modelfile(self) -> FileResource:
        """Return the model's file; by default a temporary one, written when ``name`` is read."""
        if self._modelfile is None:
            tagger = None if self._tagger is None else self._tagger.model
            self._modelfile = FileResource(
                self.model_filename, self.keep_tempfiles, ".crfsuite", "model", content=tagger
            )
        return self._modelfile

    @property
    def classes_(self) -> list[str] | None:
        """Return the labels, in the order of their first appearance in training."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Return the size of the model's file in bytes."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """Return the number of attributes with a weight other than 0."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """Return the names of the attributes with a weight other than 0."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Return {(attribute, label): weight}."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Return {(label, next label): weight}."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key not in ("_info_cached", "_modelfile")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Accept pickles of the original too; ``crfkit.compat.install`` lets Python find its classes here."""
        own = {name: state.get(name, default) for name, default in type(self)().get_params().items()}
        file = state.get("modelfile")  # the original's
        rest = {name: value for name, value in state.items() if name not in ("modelfile", "_sklearn_version")}
        self.__dict__.update(own | rest)
        if isinstance(file, FileResource) and isinstance(file.content, bytes):
            self._tagger = Tagger()
            self._tagger.open_inmemory(file.content)


def _append(trainer: Trainer, X: Any, y: Any, group: int, suffix: str) -> None:
    xs, ys = list(X), list(y)
    if len(xs) != len(ys):
        raise InputError(f"X{suffix} has {len(xs)} sequences but y{suffix} has {len(ys)}")
    for xseq, yseq in zip(xs, ys, strict=True):
        trainer.append(xseq, yseq, group)


def _items(X: Any) -> list[Any]:
    """Return X with every ItemSequence replaced by its items."""
    return [xseq.summed() if isinstance(xseq, ItemSequence) else xseq for xseq in X]


def _lists(sequences: list[Any]) -> ObjectArray:
    """Return a 1-D array of the lists; ``np.array`` would make a matrix of lists of equal length."""
    return np.fromiter(sequences, dtype=object, count=len(sequences))
