"""CRF as scikit-learn expects an estimator to be.

Of ``check_estimator``'s checks those apply that look at parameters and attributes alone. The others call
``fit`` with one flat table and one flat y: for a CRF, X and y are sequences, and a table without ``lengths``
is an error on purpose.
"""

import pickle
from inspect import signature

import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_f1_scorer, sequence_accuracy_scorer, token_accuracy_scorer

CHECKS = [
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_mixin_order",
    "check_valid_tag_types",
    "check_estimator_tags_renamed",
]


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_scikit_learn(name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("CRF", CRF())


def test_parameters():
    crf = CRF(c1=0.1, order=2, class_weight={"A": 2.0})
    assert set(crf.get_params()) == set(signature(CRF).parameters)
    assert crf.set_params(c2=0.5) is crf
    assert crf.c2 == 0.5
    assert repr(crf) == "CRF(c1=0.1, c2=0.5, class_weight={'A': 2.0}, order=2)"
    twin = clone(crf)
    assert twin is not crf
    assert twin.get_params() == crf.get_params()
    with pytest.raises(ValueError, match="Invalid parameter"):
        crf.set_params(c3=1)


def test_clone_is_not_fitted(casino_data):
    crf = CRF().fit(*casino_data)
    check_is_fitted(crf)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(crf))


@pytest.mark.parametrize(
    "use",
    [
        lambda crf: crf.predict([[["a"]]]),
        lambda crf: crf.predict_posterior([[["a"]]]),
        lambda crf: crf.predict_marginals([[["a"]]]),
        lambda crf: crf.predict_nbest([[["a"]]], 2),
        lambda crf: crf.score([[["a"]]], [["A"]]),
        lambda crf: crf.state_features_,
        lambda crf: crf.transition_features_,
        lambda crf: crf.save("nowhere"),
    ],
)
def test_unfitted_use(use):
    with pytest.raises(NotFittedError, match="CRF instance is not fitted yet"):
        use(CRF())
    assert not hasattr(CRF(), "state_features_")


def test_fit_returns_the_estimator_and_leaves_its_parameters(casino_data):
    X, y = casino_data
    crf = CRF(c2=0.3, class_weight={"fake": 2.0})
    before = clone(crf).get_params()
    assert crf.fit(X, y) is crf
    assert crf.partial_fit(X, y) is crf
    assert crf.get_params() == before
    public = {name for name in vars(crf) if name not in before}
    assert all(name.endswith("_") and not name.startswith("_") for name in public)
    # predicting changes nothing that can be seen
    seen = dict(vars(crf))
    crf.predict(X)
    assert vars(crf) == seen


def test_fit_does_not_change_its_arguments(casino_data):
    X, y = casino_data
    copy = pickle.loads(pickle.dumps((X, y)))
    CRF().fit(X, y, X_dev=X, y_dev=y).predict(X)
    assert (X, y) == copy


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"c1": 0.1, "c2": 0.0}], ids=str)
def test_pickle(options, casino_data):
    X, y = casino_data
    crf = CRF(**options)
    assert pickle.loads(pickle.dumps(crf)).get_params() == crf.get_params()
    crf.fit(X, y)
    loaded = pickle.loads(pickle.dumps(crf))
    assert loaded.predict(X) == crf.predict(X)
    assert loaded.predict_marginals(X) == crf.predict_marginals(X)
    assert loaded.state_features_ == crf.state_features_
    assert loaded.history_ == crf.history_
    assert loaded.partial_fit(X[:5], y[:5]).predict(X) == crf.partial_fit(X[:5], y[:5]).predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs, address_data):
    X, y = address_data
    search = GridSearchCV(
        CRF(n_jobs=1, max_iterations=200),
        {"c2": [0.1, 100.0], "order": [1]},
        scoring={"f1": segment_f1_scorer, "sequences": sequence_accuracy_scorer},
        refit="f1",
        cv=3,
        n_jobs=n_jobs,
    ).fit(X, y)
    assert search.best_params_ == {"c2": 0.1, "order": 1}
    assert search.predict(X[:3]) == search.best_estimator_.predict(X[:3])
    assert 0.3 < search.best_score_ <= 1


def test_cross_validation(address_data):
    X, y = address_data
    scores = cross_val_score(
        CRF(), X, y, scoring=token_accuracy_scorer, cv=KFold(4, shuffle=True, random_state=0)
    )
    assert scores.shape == (4,)
    assert scores.min() > 0.5
    plain = cross_val_score(CRF(), X, y, cv=KFold(4, shuffle=True, random_state=0))
    assert plain.tolist() == pytest.approx(scores.tolist())


def test_sample_weight_goes_through_a_search(casino_data):
    X, y = casino_data
    weights = [1.0 if i % 2 else 0.0 for i in range(len(X))]
    search = GridSearchCV(CRF(), {"c2": [0.5]}, cv=2).fit(X, y, sample_weight=weights)
    assert search.best_estimator_.objective_ == pytest.approx(
        CRF(c2=0.5).fit(X[1::2], y[1::2]).objective_, rel=1e-2
    )


def test_cross_val_predict_needs_ragged_lists():
    """scikit-learn stacks predictions into one array; with equal lengths that works."""
    X = [[[str(t % 2)] for t in range(4)]] * 6
    y = [["A", "B", "A", "B"]] * 6
    assert cross_val_predict(CRF(c2=0.01), X, y, cv=3).tolist() == y


class Describe(TransformerMixin, BaseEstimator):
    """Words to attributes, as a step of a pipeline."""

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
