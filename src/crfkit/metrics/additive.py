"""Metrics as functions of sums over sequences, for resampling.

For example, F1 is 2·correct / (predicted + true). So a resampled data set need not be scored again: its score
follows from a weighted sum of the counts of each sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.exceptions import InputError
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.report import Averaging
from crfkit.metrics.segment_counts import count_forgiving, count_strict
from crfkit.metrics.segments import reading_for
from crfkit.metrics.tokens import right_sequences


class Additive(NamedTuple):
    """Counts of each sequence, and the metric as a function of their sums."""

    counts: FloatArray  # [N, K]
    value: Callable[[FloatArray], FloatArray]  # sums [..., K] -> scores [...]


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _share(sums: FloatArray) -> FloatArray:
    return _ratio(sums[..., 0], sums[..., 1])


def _token_accuracy(pairs: Pairs) -> Additive:
    right = np.bincount(pairs.sequence_of, weights=pairs.right, minlength=pairs.n_sequences)  # [N]
    return Additive(np.stack([right, pairs.lengths.astype(np.float64)], axis=1), _share)


def _sequence_accuracy(pairs: Pairs) -> Additive:
    right = right_sequences(pairs).astype(np.float64)  # [N]
    return Additive(np.stack([right, np.ones_like(right)], axis=1), _share)


def _token_f1(
    pairs: Pairs, average: Averaging = "weighted", labels: Sequence[Hashable] | None = None
) -> Additive:
    n, counts = len(pairs.names), label_counts(pairs)
    if labels is not None:
        padded = np.concatenate([counts, np.zeros_like(counts[:, :1])], axis=1)  # the last: absent labels
        place = {name: k for k, name in enumerate(pairs.names)}
        counts = padded[:, [place.get(label, n) for label in labels]]
    return _averaged_f1(counts, average, every=labels is not None)


def label_counts(pairs: Pairs) -> IntArray:
    """Count correct, predicted and true tokens of each sequence and label [N, L, 3]."""
    n, sequence_of, right = len(pairs.names), pairs.sequence_of, pairs.right
    columns = [
        np.bincount(sequence_of[chosen] * n + ids[chosen], minlength=pairs.n_sequences * n)
        for ids, chosen in ((pairs.true, right), (pairs.pred, slice(None)), (pairs.true, slice(None)))
    ]
    return np.stack(columns, axis=1).reshape(pairs.n_sequences, n, 3)


def _segment_f1(pairs: Pairs, scheme: str | None = None, average: Averaging = "micro") -> Additive:
    counted = count_forgiving(pairs, reading_for(pairs.names, scheme))
    return _averaged_f1(counted.by_sequence(pairs.n_sequences), average)


def _strict_segment_f1(pairs: Pairs, scheme: str = "IOB2", average: Averaging = "micro") -> Additive:
    return _averaged_f1(count_strict(pairs, scheme).by_sequence(pairs.n_sequences), average)


def _segment_precision(pairs: Pairs, scheme: str | None = None) -> Additive:
    return Additive(_segment_f1(pairs, scheme).counts[:, [0, 1]], _share)


def _segment_recall(pairs: Pairs, scheme: str | None = None) -> Additive:
    return Additive(_segment_f1(pairs, scheme).counts[:, [0, 2]], _share)


def _averaged_f1(counts: IntArray, average: str, *, every: bool = False) -> Additive:
    """Make F1 from correct, predicted and true [N, classes, 3]; ``every``: also of absent classes."""
    if average not in ("micro", "macro", "weighted"):
        raise InputError(f"average must be 'macro', 'weighted' or 'micro', got {average!r}")
    n_sequences, n_classes, _ = counts.shape
    if average == "micro":
        return Additive(counts.sum(axis=1).astype(np.float64), _f1)

    def mean(sums: FloatArray) -> FloatArray:
        by_class = sums.reshape(*sums.shape[:-1], n_classes, 3)
        there = by_class[..., 1] + by_class[..., 2] > 0  # [..., classes]
        weights = by_class[..., 2] if average == "weighted" else np.where(there | every, 1.0, 0.0)
        return _ratio((weights * _f1(by_class)).sum(axis=-1), weights.sum(axis=-1))

    return Additive(counts.reshape(n_sequences, n_classes * 3).astype(np.float64), mean)


def _f1(sums: FloatArray) -> FloatArray:
    return _ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


# By the name of the function that computes the same score from labels.
ADDITIVE: dict[str, Callable[..., Additive]] = {
    "token_accuracy": _token_accuracy,
    "token_f1": _token_f1,
    "sequence_accuracy": _sequence_accuracy,
    "segment_f1": _segment_f1,
    "segment_precision": _segment_precision,
    "segment_recall": _segment_recall,
    "strict_segment_f1": _strict_segment_f1,
}
BY_TOKEN = ("token_accuracy", "token_f1")  # metrics that score single tokens


def additive(metric: str, pairs: Pairs, options: dict[str, Any]) -> Additive:
    """Return the metric of that name on these labels."""
    known = [name for name in signature(ADDITIVE[metric]).parameters if name != "pairs"]
    for name in options:
        if name not in known:
            raise InputError(
                f"{metric} takes {'the options ' + ', '.join(known) if known else 'no options'}, not {name!r}"
            )
    return ADDITIVE[metric](pairs, **options)
