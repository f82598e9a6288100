"""Scores of a fitted estimator on held-out sequences; higher is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from crfkit.exceptions import InputError
from crfkit.metrics import segment_f1, token_accuracy, token_f1
from crfkit.metrics.scorers import SequenceScorer
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.models.sequence_labeller import SequenceLabeller

METRICS = ("auto", "f1", "accuracy", "log_loss")
_LEAST = 1e-15  # probability of a label that the model does not know
_TAGS = "BIESLUM"


@dataclass(frozen=True)
class Metric:
    """A metric by name, or a function ``metric(y_true, y_pred)``."""

    name: str
    score: Callable[[Any, LabelledSequences], float]  # of a fitted estimator on held-out sequences

    @classmethod
    def of(cls, metric: Any, y: Sequence[Sequence[Any]]) -> Metric:
        """Return the metric for data with these labels."""
        if isinstance(metric, SequenceScorer):
            name = metric.metric.__name__
            return cls(name, _of_labels(lambda a, b: metric.sign * metric.metric(a, b, **metric.options)))
        if callable(metric):
            return cls(getattr(metric, "__name__", type(metric).__name__), _of_labels(metric))
        tagged = _has_tags(y)
        if metric == "auto":
            metric = "f1" if tagged else "accuracy"
        if metric == "f1":
            return cls("segment F1" if tagged else "macro F1", _of_labels(segment_f1 if tagged else _macro))
        if metric == "accuracy":
            return cls("accuracy", _accuracy)
        if metric == "log_loss":
            return cls("−log loss", _log_likelihood)
        raise InputError(
            f"metric must be one of {', '.join(map(repr, METRICS))}, or a function of the true and the "
            f"predicted labels; got {metric!r}"
        )


def _has_tags(y: Sequence[Sequence[Any]]) -> bool:
    """Tell whether labels mark segments, such as B-LOC: one has a tag, and the others have one or are O."""
    labels = {label for label in chain.from_iterable(y) if isinstance(label, str)}
    tagged = {label for label in labels if len(label) > 2 and label[0] in _TAGS and label[1] == "-"}
    return bool(tagged) and labels - tagged <= {"O"}


def _is_label(label: Any) -> bool:
    return not (label is None or isinstance(label, (set, frozenset, list, tuple)))


def _macro(y_true: Any, y_pred: Any) -> float:
    return token_f1(y_true, y_pred, average="macro")


def _of_labels(metric: Callable[[Any, Any], float]) -> Callable[[Any, LabelledSequences], float]:
    """Return the score by a function of labels; sequences with unknown labels are left out."""

    def score(estimator: Any, held: LabelledSequences) -> float:
        whole = [i for i, labels in enumerate(held.y) if all(map(_is_label, labels))]
        if not whole:
            raise InputError("no held-out sequence has all its labels; metric='accuracy' needs only some")
        found = held.ask(estimator, "predict")
        return float(metric([held.y[i] for i in whole], [found[i] for i in whole]))

    return score


def _accuracy(estimator: Any, held: LabelledSequences) -> float:
    pairs = [
        (label, own)
        for labels, found in zip(held.y, held.ask(estimator, "predict"), strict=True)
        for label, own in zip(labels, found, strict=True)
        if _is_label(label)
    ]
    _require(pairs)
    return float(token_accuracy([[a for a, _ in pairs]], [[b for _, b in pairs]]))


def _log_likelihood(estimator: Any, held: LabelledSequences) -> float:
    """Return the mean log probability of the true labels, position by position."""
    if isinstance(estimator, SequenceLabeller):
        place = {label: k for k, label in enumerate(estimator.classes_)}
        found = held.ask(estimator, "predict_marginals", as_arrays=True)
        logs = [
            math.log(max(float(p[t, place[label]]) if label in place else 0.0, _LEAST))
            for labels, p in zip(held.y, found, strict=True)
            for t, label in enumerate(labels)
            if _is_label(label)
        ]
    else:  # sklearn-crfsuite's classes
        logs = [
            math.log(max(p.get(label, 0.0), _LEAST))
            for labels, found in zip(held.y, held.ask(estimator, "predict_marginals"), strict=True)
            for label, p in zip(labels, found, strict=True)
            if _is_label(label)
        ]
    _require(logs)
    return float(np.mean(logs))


def _require(known: Sequence[Any]) -> None:
    if not known:
        raise InputError("the held-out sequences of a fold have no labels to compare with")
