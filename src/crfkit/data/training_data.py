"""Checks of the arguments of ``fit``: labels, lengths, weights of sequences and of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.reading import is_table
from crfkit.data.sequences import Batch
from crfkit.exceptions import InputError
from crfkit.warn import warn

_MOST_RUNS = 1 << 30  # of labels, in a table with a weight for each: 8 GiB


def cut_as(X: Any, y: list[Any], lengths: Any) -> Any:
    """Return ``lengths``, or those of y's sequences if X is one table with the rows of all sequences."""
    return [len(labels) for labels in y] if lengths is None and is_table(X) else lengths


def with_unlabelled(X: Any, y: Any, lengths: Any) -> Any:
    """Return y with a list of None for every sequence that is None as a whole."""
    if not isinstance(y, (list, tuple)) or not any(labels is None for labels in y):
        return y
    if not any(hasattr(labels, "__len__") and not isinstance(labels, str) for labels in y):
        return y  # a flat y with single labels, or nothing but None
    if lengths is None and (is_table(X) or not hasattr(X, "__getitem__") or len(X) != len(y)):
        raise InputError(
            f"sequence {[labels is None for labels in y].index(True)} has None for its labels: with X as one "
            "table, give lengths= to say where sequences end; otherwise X must be a list as long as y"
        )
    n = [_length(x) for x in X] if lengths is None else lengths
    return [[None] * int(n[i]) if labels is None else labels for i, labels in enumerate(y)]


def _length(sequence: Any) -> int:
    shape = getattr(sequence, "shape", None)  # sparse matrices have no len()
    return int(shape[0]) if shape else len(sequence)


def _numbers(name: str, values: Any) -> FloatArray:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error


def require_data(sequences: Batch, classes: list[Any]) -> None:
    """Raise if there is nothing to train on or nothing to learn."""
    if sequences.n_sequences == 0:
        raise InputError("there is nothing to train on: X has no sequences")
    if sequences.n_positions == 0:
        raise InputError("there is nothing to train on: every sequence of X is empty")
    if not classes:
        raise InputError("there is nothing to learn: every label in y is None")
    check_label_count(len(classes))


def check_label_count(n_labels: int, order: int = 1) -> None:
    """Raise if a table with a weight for all runs of ``order + 1`` labels would be too large."""
    if n_labels ** (order + 1) > _MOST_RUNS:
        most = 2 ** (_MOST_RUNS.bit_length() // (order + 1))
        of_order = "" if order == 1 else f" with order={order}"
        raise InputError(f"at most {most} labels are possible{of_order}, got {n_labels}")


def sequence_weights(sample_weight: npt.ArrayLike | None, n_sequences: int) -> FloatArray | None:
    """Return the weights of the sequences [N]; None if they are all 1."""
    if sample_weight is None:
        return None
    weights = _numbers("sample_weight", sample_weight)
    if weights.shape != (n_sequences,):
        raise InputError(
            f"sample_weight must be one number per sequence, [{n_sequences}]; got shape {weights.shape}"
        )
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise InputError(
            f"sample_weight must be finite and not negative; got {weights[bad[0]]} for sequence {bad[0]}"
        )
    if not weights.any():
        raise InputError("sample_weight is 0 for every sequence: there is nothing to train on")
    return weights


def class_weights(class_weight: Any, labels: Labels, classes: list[Any]) -> FloatArray | None:
    """Return the weights of the labels [L]; None if they are all 1."""
    return counted_class_weights(class_weight, labels.counts(len(classes)), classes)


def counted_class_weights(class_weight: Any, counts: IntArray, classes: list[Any]) -> FloatArray | None:
    """Return the same for labels that occur so often, ``counts`` [L]."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        balanced: FloatArray = counts.sum() / (len(classes) * np.maximum(counts, 1.0))
        return balanced
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        warn(f"class_weight names the label {unknown[0]!r}, but y has no such label")
    weights = _numbers("class_weight", [class_weight.get(label, 1.0) for label in classes])
    if not ((weights > 0) & (weights < np.inf)).all():
        raise InputError(f"class_weight must be positive and finite, got {class_weight!r}")
    return weights
