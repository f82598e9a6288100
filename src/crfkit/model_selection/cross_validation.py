"""Cross-validation: predictions and scores of sequences by models that have not seen them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.conventions import clone
from crfkit.exceptions import InputError, InputWarning
from crfkit.model_selection.folds import sequence_folds
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.model_selection.scoring import Metric

METHODS = ("predict", "predict_posterior", "predict_marginals", "predict_nbest", "predict_segments")


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    groups: Sequence[Any] | None = None,
    cv: int = 5,
    method: str = "predict",
    *,
    lengths: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    label: str | None = None,
    sequence: str | Sequence[str] | None = None,
    group: str | None = None,
    random_state: int | None = None,
    **options: Any,
) -> Any:
    """Return for each sequence what a model says that was trained without its fold.

    X, y, ``lengths``, ``sample_weight``, ``label`` and ``sequence`` are those of ``fit``. ``groups`` is one
    group per sequence (of a data frame: ``group``, the name of a column); folds do not split groups.
    ``method`` is the method of the estimator to call, with ``options``. The result is a list with one entry
    per sequence; for a data frame, ``predict`` and ``predict_posterior`` give a column like its labels.
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    check_estimator(estimator)
    data = LabelledSequences.of(
        X,
        y,
        groups,
        lengths=lengths,
        sample_weight=sample_weight,
        label=label,
        sequence=sequence,
        group=group,
    )
    found: list[Any] = [None] * len(data)
    with quiet_leaks():
        for train, test in sequence_folds(np.diff(data.offsets), data.groups, cv, random_state):
            model = data.part(train).fit(clone(estimator))
            for i, answer in zip(test, data.part(test).ask(model, method, **options), strict=True):
                found[i] = answer
    if data.rows is not None and method in ("predict", "predict_posterior"):
        return data.rows.aligned(found)
    return found


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    groups: Sequence[Any] | None = None,
    cv: int = 5,
    metric: Any = "auto",
    *,
    lengths: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    label: str | None = None,
    sequence: str | Sequence[str] | None = None,
    group: str | None = None,
    random_state: int | None = None,
) -> FloatArray:
    """Return the score of each fold [cv], of a model that was trained on the others.

    ``metric`` is "accuracy" (of labels), "f1" (of segments, if labels mark segments such as ``B-LOC``;
    otherwise the mean F1 of all labels), "log_loss" (negated: the mean log probability of the true labels),
    "auto" ("f1" if labels mark segments, otherwise "accuracy"), or a function of the true and the predicted
    labels. Other arguments are as in :func:`cross_val_predict`.
    """
    check_estimator(estimator)
    data = LabelledSequences.of(
        X,
        y,
        groups,
        lengths=lengths,
        sample_weight=sample_weight,
        label=label,
        sequence=sequence,
        group=group,
    )
    chosen = Metric.of(metric, data.y)
    with quiet_leaks():
        return np.array(
            [
                chosen.score(data.part(train).fit(clone(estimator)), data.part(test))
                for train, test in sequence_folds(np.diff(data.offsets), data.groups, cv, random_state)
            ]
        )


def check_estimator(estimator: Any) -> None:
    """Raise if the estimator cannot be trained on some of the sequences."""
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise InputError(f"estimator must be an estimator, such as CRF(); got {estimator!r:.60}")
    if getattr(estimator, "_points", False):
        raise InputError(
            f"{type(estimator).__name__} labels single points, not sequences: use scikit-learn's functions"
        )
    kernels = getattr(estimator, "kernel", None)
    if "precomputed" in (kernels if isinstance(kernels, list) else [kernels]):
        raise InputError("a precomputed kernel cannot be cut into folds: give the kernel, or cut it yourself")


@contextmanager
def quiet_leaks() -> Iterator[None]:
    """Do not repeat for every fold what was said of the whole data frame."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* the labels in", InputWarning)
        yield
