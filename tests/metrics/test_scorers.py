"""The scorers inside scikit-learn's own model selection."""

import pickle

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from crfkit import metrics


class Constant(BaseEstimator):
    """Predicts one label everywhere."""

    def __init__(self, label="B-X"):
        self.label = label

    def fit(self, X, y):
        return self

    def predict(self, X):
        return [[self.label] * len(x) for x in X]


X = [["a", "b"], ["c"], ["d"], ["e", "f"]]
Y = [["B-X", "B-X"], ["B-X"], ["O"], ["B-X", "O"]]


@pytest.mark.parametrize(
    ("scorer", "metric"),
    [
        (metrics.token_accuracy_scorer, metrics.token_accuracy),
        (metrics.sequence_accuracy_scorer, metrics.sequence_accuracy),
        (metrics.segment_f1_scorer, metrics.segment_f1),
        (metrics.strict_segment_f1_scorer, metrics.strict_segment_f1),
        (metrics.token_f1_macro_scorer, lambda t, p: metrics.token_f1(t, p, average="macro")),
        (metrics.token_f1_weighted_scorer, lambda t, p: metrics.token_f1(t, p, average="weighted")),
    ],
)
def test_scorers_score_predictions(scorer, metric):
    expected = metric(Y, Constant().predict(X))
    assert scorer(Constant(), X, Y) == expected
    assert pickle.loads(pickle.dumps(scorer))(Constant(), X, Y) == expected


def test_in_cross_val_score():
    scores = cross_val_score(Constant(), X, Y, scoring=metrics.token_accuracy_scorer, cv=KFold(2))
    assert scores.tolist() == [1.0, 1 / 3]


def test_in_grid_search_with_several_scorers():
    search = GridSearchCV(
        Constant(),
        {"label": ["O", "B-X"]},
        scoring={"segments": metrics.segment_f1_scorer, "tokens": metrics.token_accuracy_scorer},
        refit="segments",
        cv=KFold(2),
    )
    search.fit(X, Y)
    assert search.best_params_ == {"label": "B-X"}


def test_losses_are_negated():
    def error(y_true, y_pred, scale):
        return scale * (1 - metrics.token_accuracy(y_true, y_pred))

    scorer = metrics.make_sequence_scorer(error, greater_is_better=False, scale=3)
    assert scorer(Constant(), X, Y) == pytest.approx(-1)
    assert repr(scorer) == "make_sequence_scorer(error, scale=3)"


@pytest.mark.parametrize(
    ("metric", "options", "best"),
    [
        (metrics.segment_f1, {"scheme": "IOBES"}, "S-X"),
        (metrics.strict_segment_f1, {"scheme": "IOBES", "average": "macro"}, "S-X"),
        (metrics.segment_recall, {"scheme": "IOBES"}, "S-X"),
    ],
)
def test_scorers_for_schemes(metric, options, best):
    y = [[label.replace("B", "S") for label in labels] for labels in Y]
    search = GridSearchCV(
        Constant(),
        {"label": ["O", "S-X", "B-X"]},
        scoring=metrics.make_sequence_scorer(metric, **options),
        cv=KFold(2),
        n_jobs=1,
    )
    assert search.fit(X, y).best_params_ == {"label": best}
    scores = cross_val_score(
        Constant("S-X"), X, y, scoring=metrics.make_sequence_scorer(metric, **options), cv=KFold(2)
    )
    folds = [metric(y[i : i + 2], Constant("S-X").predict(X[i : i + 2]), **options) for i in (0, 2)]
    assert scores.tolist() == folds
