"""What the estimators have in common: asking a fitted tagger, in scikit-learn's conventions.

A subclass fits, and leaves a :class:`crfkit.models.tagger.Tagger` as ``tagger_``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import FloatArray
from crfkit.data.labels import label_lists
from crfkit.data.training_data import cut_as, sequence_weights
from crfkit.exceptions import InputError
from crfkit.inference import Constraints
from crfkit.models.tagger import Tagger

Fitted = TypeVar("Fitted", bound=Tagger)


class SequenceLabeller(BaseEstimator, Generic[Fitted]):  # type: ignore[misc]
    """Labels sequences with what ``fit`` has left as ``tagger_``."""

    n_jobs: int | None
    tagger_: Fitted

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
