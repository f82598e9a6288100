"""What the estimators have in common: asking a fitted tagger, and files, in scikit-learn's conventions.

A subclass fits, and leaves a :class:`crfkit.models.tagger.Tagger` as ``tagger_``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import IO, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import FloatArray
from crfkit.data.labels import label_lists
from crfkit.data.training_data import cut_as, sequence_weights
from crfkit.exceptions import InputError
from crfkit.inference import Constraints
from crfkit.io.model_file import Source
from crfkit.models.tagger import Tagger
from crfkit.models.training_record import TrainingRecord

Fitted = TypeVar("Fitted", bound=Tagger)
_Self = TypeVar("_Self", bound="SequenceLabeller[Any]")


class SequenceLabeller(BaseEstimator, Generic[Fitted]):  # type: ignore[misc]
    """Labels sequences with what ``fit`` has left as ``tagger_``."""

    _tagger: type[Fitted]
    n_jobs: int | None
    tagger_: Fitted
    classes_: list[Any]
    objective_: float
    converged_: bool
    history_: list[dict[str, Any]]
    n_iter_: int

    def _fitted(self) -> Fitted:
        check_is_fitted(self, "tagger_")
        self.tagger_.n_jobs = self.n_jobs
        return self.tagger_

    def predict(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """The labels of each sequence: a list of lists.

        The most probable label sequence, unless the estimator has a parameter ``decode`` that says otherwise.
        ``constraints`` (:class:`crfkit.inference.Constraints`) forbid labels and transitions; ``known``
        gives labels that are certain, one list a sequence with None where a label is free.
        """
        return self._fitted().predict(X, lengths=lengths, constraints=constraints, known=known)

    def predict_posterior(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """The labels with the fewest errors in expectation: the most probable one of each position.

        Under constraints on transitions, the permitted labelling of which that is true.
        """
        return self._fitted().predict_posterior(X, lengths=lengths, constraints=constraints, known=known)

    def predict_marginals(
        self,
        X: Any,
        *,
        as_arrays: bool = False,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[dict[Any, float]]] | list[FloatArray]:
        """p(y_t = l | x): a dict a position, or with ``as_arrays`` an array [T, L] a sequence."""
        tagger = self._fitted()
        ask = tagger.marginal_arrays if as_arrays else tagger.predict_marginals
        return ask(X, lengths=lengths, constraints=constraints, known=known)

    def predict_nbest(
        self,
        X: Any,
        k: int = 5,
        *,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[tuple[list[Any], float]]]:
        """The k most probable label sequences with their probabilities, best first, for each sequence."""
        return self._fitted().predict_nbest(X, k, lengths=lengths, constraints=constraints, known=known)

    def score(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, lengths: Any = None
    ) -> float:
        """Share of positions labelled as in y (token accuracy), each counted as often as its sequence.

        Only positions with one label count: those with None or a set of labels are left out, and sequences
        that are None as a whole.
        """
        from crfkit.metrics import token_accuracy

        if isinstance(y, Iterable) and not isinstance(y, (str, bytes, Mapping)):
            y = list(y)
            if not any(labels is None for labels in y):
                lengths = cut_as(X, label_lists(y), lengths)
        found = self.predict(X, lengths=lengths)
        y, found = _with_one_label(y, found)
        weights = sequence_weights(sample_weight, len(found))
        if weights is None:
            return float(token_accuracy(y, found))
        kept = [i for i, labels in enumerate(found) if labels or len(y[i])]
        scores = np.array([token_accuracy(y[i : i + 1], found[i : i + 1]) for i in kept])
        positions = weights[kept] * np.array([len(found[i]) for i in kept])
        if not positions.any():
            raise InputError("no tokens to score: all sequences with a weight are empty")
        return float(scores @ positions / positions.sum())

    # ---- files

    def save(
        self, path: str | os.PathLike[str] | IO[bytes], *, record: Mapping[str, Any] | None = None
    ) -> None:
        """Write the fitted model to a file (see docs/model-file.md), atomically.

        ``record`` is kept in the file's header beside what is there: JSON values under names of their own.
        """
        self._fitted().save(path, {**(record or {}), **self._training_record()})

    @classmethod
    def load(cls: type[_Self], source: Source, *, n_jobs: int | None = None) -> _Self:
        """The model in a file, in bytes, or in a binary file object; mapped into memory from a path.

        Parameters that a file cannot hold, such as functions and the miner of association rules, are the
        defaults. ``CRF`` loads models of CRFsuite, Wapiti and CRF++ as well; how they were trained is not
        known: the parameters are the defaults, ``objective_`` is NaN and ``history_`` empty.
        """
        tagger, header = cls._read(source, n_jobs)
        model = cls(**{**cls._parameters_of(tagger, header), "n_jobs": n_jobs})
        model.tagger_, model.classes_ = tagger, tagger.classes
        model._restore(header)
        return model

    # What kinds of model do in their own way:

    @classmethod
    def _read(cls, source: Source, n_jobs: int | None) -> tuple[Fitted, dict[str, Any]]:
        """The tagger in a file, and the file's header."""
        return cls._tagger.load(source, n_jobs)

    def _training_record(self) -> dict[str, Any]:
        """What the file's header should keep of training: JSON values."""
        record = TrainingRecord(self.get_params(), self.objective_, self.converged_, self.history_)
        return record.to_header()

    @classmethod
    def _parameters_of(cls, tagger: Fitted, header: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that the model in a file was trained with, as far as they are known."""
        params = TrainingRecord.from_header(header).params
        return {name: value for name, value in params.items() if name in cls._get_param_names()}

    def _restore(self, header: Mapping[str, Any]) -> None:
        """Take back from a file's header what ``_training_record`` has put there."""
        record = TrainingRecord.from_header(header)
        self.objective_, self.converged_, self.history_ = record.objective, record.converged, record.history
        self.n_iter_ = len(record.history)


def _with_one_label(y: Any, found: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """y and what was found, without the positions at which y does not say the one label."""
    if isinstance(y, list) and len(y) == len(found):
        y = [[None] * len(own) if labels is None else labels for labels, own in zip(y, found, strict=True)]
    true = label_lists(y)
    several = (set, frozenset, list, tuple)
    known = [[not (label is None or isinstance(label, several)) for label in labels] for labels in true]
    fits = list(map(len, true)) == list(map(len, found))  # if not, the metric says so
    if not fits or all(map(all, known)):
        return list(true), found
    pairs = list(zip(true, found, known, strict=True))
    return [list(compress(a, mask)) for a, _, mask in pairs], [
        list(compress(b, mask)) for _, b, mask in pairs
    ]
