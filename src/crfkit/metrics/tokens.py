"""Scores that look at one token, or one whole sequence, at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

from crfkit.exceptions import InputError
from crfkit.metrics.pairs import LabelSequences, check_pairs, flatten, sorted_labels
from crfkit.metrics.report import Report, Score


def token_accuracy(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """The share of tokens with the right label.

    >>> token_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    check_pairs(y_true, y_pred)
    true, pred = flatten(y_true), flatten(y_pred)
    if not true:
        raise InputError("no tokens to score: all sequences are empty")
    return sum(t == p for t, p in zip(true, pred, strict=True)) / len(true)


def sequence_accuracy(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """The share of sequences with every label right. An empty sequence counts as right.

    >>> sequence_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.5
    """
    check_pairs(y_true, y_pred)
    if not len(y_true):
        raise InputError("no sequences to score")
    return sum(list(t) == list(p) for t, p in zip(y_true, y_pred, strict=True)) / len(y_true)


def token_report(
    y_true: LabelSequences, y_pred: LabelSequences, *, labels: Sequence[Hashable] | None = None
) -> Report:
    """Precision, recall and F1 of every label, counted by token.

    ``labels`` chooses the labels to report, in this order (say, all but ``"O"``); the overall row then pools
    only these. The token accuracy is always that of all tokens.
    """
    check_pairs(y_true, y_pred)
    true, pred = flatten(y_true), flatten(y_pred)
    n_true, n_pred = Counter(true), Counter(pred)
    correct = Counter(t for t, p in zip(true, pred, strict=True) if t == p)
    shown = sorted_labels([*true, *pred]) if labels is None else list(labels)
    scores = {label: Score(correct[label], n_pred[label], n_true[label]) for label in shown}
    overall = Score(*(sum(counts[label] for label in scores) for counts in (correct, n_pred, n_true)))
    return Report("token", scores, overall, token_accuracy(y_true, y_pred))


def token_f1(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    average: Literal["macro", "weighted", "micro"] = "weighted",
    labels: Sequence[Hashable] | None = None,
) -> float:
    """F1 over tokens, averaged over labels: scikit-learn's ``f1_score`` on flattened labels."""
    report = token_report(y_true, y_pred, labels=labels)
    if average == "macro":
        return report.macro.f1
    if average == "weighted":
        return report.weighted.f1
    if average == "micro":
        return report.f1
    raise InputError(f"average must be 'macro', 'weighted' or 'micro', got {average!r}")
