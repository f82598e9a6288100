"""Scores by token and by whole sequence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.label_codes import LabelSequences
from crfkit.data.sequences import offsets_of
from crfkit.exceptions import InputError
from crfkit.metrics.pairs import Pairs, sorted_labels
from crfkit.metrics.report import Averaging, Report, Score


def token_accuracy(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """Return the share of tokens with the right label.

    >>> token_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    pairs = Pairs.of(y_true, y_pred).with_tokens()
    return int(pairs.right.sum()) / pairs.n_tokens


def sequence_accuracy(y_true: LabelSequences, y_pred: LabelSequences) -> float:
    """Return the share of sequences with every label right. An empty sequence counts as right.

    >>> sequence_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.5
    """
    pairs = Pairs.of(y_true, y_pred)
    if not pairs.n_sequences:
        raise InputError("no sequences to score")
    return int(right_sequences(pairs).sum()) / pairs.n_sequences


def right_sequences(pairs: Pairs) -> IntArray:
    """Return 1 for each sequence with every label right, 0 for others [N]."""
    wrong = offsets_of(~pairs.right)  # [ΣT+1] wrong labels before each position
    right: IntArray = (wrong[pairs.offsets[1:]] == wrong[pairs.offsets[:-1]]).astype(np.int64)
    return right


def token_report(
    y_true: LabelSequences, y_pred: LabelSequences, *, labels: Sequence[Hashable] | None = None
) -> Report:
    """Return precision, recall and F1 of every label, counted by token.

    ``labels`` chooses the labels to report (for example all but ``"O"``) and their order; the overall row
    then pools only these. The token accuracy is always that of all tokens.
    """
    pairs = Pairs.of(y_true, y_pred).with_tokens()
    n = len(pairs.names)
    right = pairs.right
    counts = [np.bincount(ids, minlength=n) for ids in (pairs.true[right], pairs.pred, pairs.true)]
    rows = dict(zip(pairs.names, np.stack(counts, axis=1).tolist(), strict=True))
    shown = sorted_labels(pairs.names) if labels is None else list(labels)
    scores = {label: Score(*rows.get(label, (0, 0, 0))) for label in shown}
    overall = Score(
        sum(score.correct for score in scores.values()),
        sum(score.predicted for score in scores.values()),
        sum(score.true for score in scores.values()),
    )
    return Report("token", scores, overall, pairs.n_tokens, int(right.sum()))


def token_f1(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    average: Averaging = "weighted",
    labels: Sequence[Hashable] | None = None,
) -> float:
    """Return F1 over tokens, averaged over labels: scikit-learn's ``f1_score`` on flattened labels."""
    return token_report(y_true, y_pred, labels=labels).averaged_f1(average)
