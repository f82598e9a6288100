"""Scores of concatenated label sequences, by scikit-learn's metrics; and of whole sequences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import eq
from typing import Any

from crfkit.exceptions import InputError
from crfkit.optional import needed


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """Return all labels of a list of sequences in one list.

    >>> flatten([["A", "B"], ["A"]])
    ['A', 'B', 'A']
    """
    return list(chain.from_iterable(y))


def _scikit_learn() -> Any:
    return needed("sklearn.metrics", "a score of sklearn_crfsuite")


def _flat_pair(y_true: Sequence[Any], y_pred: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return both flattened, after checking that their shapes agree."""
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}")
    for i, (true, pred) in enumerate(zip(y_true, y_pred, strict=True)):
        for name, labels in (("y_true", true), ("y_pred", pred)):
            if isinstance(labels, str) or not hasattr(labels, "__len__"):
                raise InputError(
                    f"{name} must be a list of sequences of labels, but sequence {i} is "
                    f"{type(labels).__name__} {labels!r:.60}; one sequence alone is [[…]]"
                )
        if len(true) != len(pred):
            raise InputError(f"sequence {i} has {len(true)} labels in y_true but {len(pred)} in y_pred")
    return flatten(y_true), flatten(y_pred)


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Return the share of items with the right label."""
    true, found = _flat_pair(y_true, y_pred)
    if not true:
        raise InputError("there are no items to score: all sequences are empty")
    return float(sum(map(eq, true, found)) / len(true))


def flat_precision_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return the precision over items; keyword arguments as for ``sklearn.metrics.precision_score``."""
    return _scikit_learn().precision_score(*_flat_pair(y_true, y_pred), **kwargs)


def flat_recall_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return the recall over items; keyword arguments as for ``sklearn.metrics.recall_score``."""
    return _scikit_learn().recall_score(*_flat_pair(y_true, y_pred), **kwargs)


def flat_f1_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return F1 over items; keyword arguments as for ``sklearn.metrics.f1_score``."""
    return _scikit_learn().f1_score(*_flat_pair(y_true, y_pred), **kwargs)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """Return F-beta over items; keyword arguments as for ``sklearn.metrics.fbeta_score``."""
    return _scikit_learn().fbeta_score(*_flat_pair(y_true, y_pred), beta=beta, **kwargs)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """Return a table of scores by label; other arguments as for ``sklearn.metrics.classification_report``."""
    return _scikit_learn().classification_report(*_flat_pair(y_true, y_pred), labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Return the share of sequences with all labels right; 0 if there are no sequences."""
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}")
    if not len(y_true):
        return 0.0
    return sum(list(true) == list(pred) for true, pred in zip(y_true, y_pred, strict=True)) / len(y_true)
