"""Metrics and scorers against sklearn-crfsuite's."""

import numpy as np
import pytest
import sklearn_crfsuite.metrics as original
import sklearn_crfsuite.scorers as original_scorers
from sklearn.base import BaseEstimator

from crfkit.compat.sklearn_crfsuite import metrics, scorers

TRUE = [["a", "b", "c"], ["a", "a"], [], ["b"]]
FOUND = [["c", "b", "c"], ["a", "b"], [], ["b"]]


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("labels", [None, ["a", "b"]])
@pytest.mark.parametrize("name", ["flat_precision_score", "flat_recall_score", "flat_f1_score"])
def test_averages(name, average, labels):
    ours = getattr(metrics, name)(TRUE, FOUND, average=average, labels=labels)
    theirs = getattr(original, name)(TRUE, FOUND, average=average, labels=labels)
    assert ours == pytest.approx(theirs)
    array = np.fromiter(FOUND, dtype=object, count=len(FOUND))
    assert getattr(metrics, name)(TRUE, array, average=average, labels=labels) == pytest.approx(theirs)


def test_others():
    assert metrics.flat_accuracy_score(TRUE, FOUND) == original.flat_accuracy_score(TRUE, FOUND) == 4 / 6
    assert metrics.flat_fbeta_score(TRUE, FOUND, 2, average="macro") == original.flat_fbeta_score(
        TRUE, FOUND, 2, average="macro"
    )
    options = {"labels": ["a", "c"], "digits": 3}
    assert metrics.flat_classification_report(TRUE, FOUND, **options) == original.flat_classification_report(
        TRUE, FOUND, **options
    )
    as_dict = metrics.flat_classification_report(TRUE, FOUND, output_dict=True)
    assert as_dict["b"]["support"] == 2
    assert metrics.flatten(TRUE) == ["a", "b", "c", "a", "a", "b"]


def test_sequence_accuracy():
    assert metrics.sequence_accuracy_score(TRUE, FOUND) == 2 / 4
    assert metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([[1, 2], [3]], [[3], [1, 2]]) == 0
    # If lengths are equal, the original compares single labels instead, and returns 1.5 (3 of 2) here.
    assert metrics.sequence_accuracy_score([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "c"]]) == 0.5
    tuples = [tuple(labels) for labels in TRUE]
    assert metrics.sequence_accuracy_score(tuples, TRUE) == 1.0


def test_scorers():
    class Same(BaseEstimator):
        def predict(self, X):
            return X

    for name in ("flat_accuracy", "sequence_accuracy"):
        ours, theirs = getattr(scorers, name), getattr(original_scorers, name)
        assert ours(Same(), FOUND, TRUE) == pytest.approx(theirs(Same(), FOUND, TRUE))


@pytest.mark.parametrize(
    ("true", "found", "words"),
    [
        ([["a"]], [["a"], ["b"]], "y_true has 1 sequences but y_pred has 2"),
        ([["a", "b"]], [["a"]], "sequence 0 has 2 labels in y_true but 1 in y_pred"),
        (["a", "b"], ["a", "b"], r"y_true must be a list of sequences of labels, but sequence 0 is str 'a'"),
    ],
)
def test_shapes_in_words(true, found, words):
    with pytest.raises(ValueError, match=words):
        metrics.flat_accuracy_score(true, found)
