"""CRF in scikit-learn's searches and pipelines; see also tests/models/test_estimators.py."""

import pickle

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_f1_scorer, sequence_accuracy_scorer, token_accuracy_scorer


def test_unfitted_use():
    assert not hasattr(CRF(), "state_features_")
    for attribute in ("state_features_", "transition_features_"):
        with pytest.raises(NotFittedError, match="CRF instance is not fitted yet"):
            getattr(CRF(), attribute)


def test_a_pickled_model_goes_on():
    X, y = CASINO
    crf = CRF(c2=0.3, class_weight={"fake": 2.0}).fit(X, y)
    loaded = pickle.loads(pickle.dumps(crf))
    assert loaded.state_features_ == crf.state_features_
    assert loaded.partial_fit(X[:5], y[:5]) is loaded
    assert loaded.predict(X) == crf.partial_fit(X[:5], y[:5]).predict(X)


@pytest.mark.filterwarnings("ignore:the model never predicts")
def test_grid_search():
    X, y = ADDRESSES
    search = GridSearchCV(
        CRF(n_jobs=1, max_iterations=200),
        {"c2": [0.1, 100.0], "order": [1]},
        scoring={"f1": segment_f1_scorer, "sequences": sequence_accuracy_scorer},
        refit="f1",
        cv=3,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_params_ == {"c2": 0.1, "order": 1}
    assert search.predict(X[:3]) == search.best_estimator_.predict(X[:3])
    assert 0.3 < search.best_score_ <= 1


def test_cross_validation():
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(CRF(), *ADDRESSES, scoring=token_accuracy_scorer, cv=folds)
    assert scores.shape == (4,)
    assert scores.min() > 0.5
    plain = cross_val_score(CRF(), *ADDRESSES, cv=folds)
    assert plain.tolist() == pytest.approx(scores.tolist())


def test_sample_weight_goes_through_a_search():
    X, y = CASINO
    weights = [1.0 if i % 2 else 0.0 for i in range(len(X))]
    search = GridSearchCV(CRF(), {"c2": [0.5]}, cv=2).fit(X, y, sample_weight=weights)
    assert search.best_estimator_.objective_ == pytest.approx(
        CRF(c2=0.5).fit(X[1::2], y[1::2]).objective_, rel=1e-2
    )


def test_cross_val_predict_needs_ragged_lists():
    """scikit-learn stacks predictions into one array, which works for equal lengths."""
    X = [[[str(t % 2)] for t in range(4)]] * 6
    y = [["A", "B", "A", "B"]] * 6
    assert cross_val_predict(CRF(c2=0.01), X, y, cv=3).tolist() == y


class Describe(TransformerMixin, BaseEstimator):
    """Turns words into attributes, as a step of a pipeline."""

    def __init__(self, window: int = 1):
        self.window = window

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return [token_features(tokens, window=self.window) for tokens in X]


def test_pipeline():
    tokens, labels = addresses(60, random_state=4)
    pipeline = make_pipeline(Describe(), CRF(c2=0.2))
    pipeline.fit(tokens[:40], labels[:40])
    assert pipeline.score(tokens[40:], labels[40:]) > 0.5
    assert pipeline.predict(tokens[:2])[0] == pipeline[-1].predict(pipeline[0].transform(tokens[:2]))[0]
    search = GridSearchCV(
        Pipeline([("describe", Describe()), ("crf", CRF(c2=0.2))]),
        {"describe__window": [0, 2], "crf__c2": [0.2, 1.0]},
        scoring=token_accuracy_scorer,
        cv=2,
    ).fit(tokens, labels)
    assert set(search.best_params_) == {"describe__window", "crf__c2"}
