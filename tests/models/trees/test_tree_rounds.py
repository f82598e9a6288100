"""Rounds of a TreeCRF: which are trained, which are kept, and their records."""

from itertools import pairwise

import numpy as np
import pytest
from refusals import refuses

from crfkit import TreeCRF
from crfkit.exceptions import ConvergenceWarning, InputError

pytest.importorskip("lightgbm")

QUICK = {"n_iterations": 10, "window": 1, "min_samples_leaf": 1, "learning_rate": 0.3, "n_jobs": 1}


def signs(n=40, n_idle=9, seed=0):
    """Return data whose label is the sign of the first column; the other columns are nearly always 0."""
    rng = np.random.default_rng(seed)
    X = [np.column_stack([rng.normal(size=10), rng.random((10, n_idle)) < 0.005]) for _ in range(n)]
    return X, [["up" if row[0] > 0 else "down" for row in x] for x in X]


@pytest.mark.filterwarnings("ignore:the model never predicts")  # after the few rounds that folds choose
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_without_a_split_does_not_end_training(seed):
    X, y = signs()
    settings = {**QUICK, "min_samples_leaf": 5, "colsample": 0.2, "random_state": seed}
    for potentials in ("joint", "factored"):
        model = TreeCRF(**settings, potentials=potentials).fit(X, y)
        assert model.n_iter_ == 10
        assert model.score(X, y) > 0.99
    model = TreeCRF(**settings, early_stopping=3, patience=10).fit(X, y)
    assert len(model.cv_accuracy_) == 10


def test_no_split_at_all_is_said():
    X = [[0.0, 0.0]] * 4
    y = [["a", "b"]] * 4
    with pytest.warns(ConvergenceWarning, match="the model has no trees"):
        model = TreeCRF(**QUICK, potentials="factored").fit(X, y)
    assert model.n_iter_ == 0
    assert model.predict(X) == y  # by the table of transitions, which is stored
    with pytest.warns(ConvergenceWarning, match="the model has no trees"):
        TreeCRF(**QUICK, potentials="factored", subsample=0.5).fit(X, y)


def test_a_model_without_rounds_keeps_what_it_began_with():
    X = [[{"c": "a"}, {"c": "b"}, {"c": "c"}]] * 10
    y = [["A", "B", "C"]] * 10
    model = TreeCRF(by="c").fit(X, y)
    assert model.n_iter_ == 0
    assert model.score(X, y) == 1.0
    assert TreeCRF(by="c", early_stopping=2).fit(X, y).score(X, y) == 1.0


def test_a_category_that_splits_late_has_trees_of_its_own_rounds():
    """With trees by category, a category's update must be that of the newest round."""
    rng = np.random.default_rng(0)
    X = [[[str(c), float(v)] for c, v in zip(rng.choice(["a", "b"], 6), rng.normal(size=6), strict=True)]
         for _ in range(60)]  # fmt: skip
    y = [
        ["A" if c == "a" and v > 0 else "B" if c == "a" else "C" if v > 0.5 else "D" for c, v in s] for s in X
    ]
    model = TreeCRF(**{**QUICK, "n_iterations": 20}, by=0).fit(X, y)
    objectives = [record["objective"] for record in model.history_]
    assert all(later < earlier for earlier, later in pairwise(objectives))
    assert model.objective_ < objectives[-1]


def test_a_column_that_is_missing_in_a_fold():
    rows = [[{"c": None, "x": 1.0}, {"c": None, "x": 2.0}]] * 6 + [
        [{"c": "k", "x": 1.0}, {"c": "m", "x": 2.0}]
    ]
    y = [["A", "B"]] * 7
    groups = [0] * 6 + [1]
    model = TreeCRF(**QUICK, by="c", early_stopping=2).fit(rows, y, groups=groups)
    assert len(model.predict(rows)) == 7


def test_folds_without_labels():
    X, y = signs(12, 1)
    partly = [labels if i % 2 else [None] * len(labels) for i, labels in enumerate(y)]
    groups = [0 if labels[0] is None else i for i, labels in enumerate(partly)]
    model = TreeCRF(**QUICK, early_stopping=2).fit(X, partly, groups=groups)
    assert max(model.cv_accuracy_) > 0.8
    refuses("in the dev set: it has no labels", TreeCRF(**QUICK).fit, X, y, None, X[:1], [[None] * 10])
    with pytest.raises(InputError, match="committee=30 needs as many sequences, but there are 12"):
        TreeCRF(**QUICK, committee=30).fit(X, y)


def test_an_interrupted_committee_keeps_its_finished_members():
    X, y = signs(12, 1)
    seen = []

    def stop(record):
        seen.append(record)
        if len(seen) == 22:
            raise KeyboardInterrupt

    model = TreeCRF(**QUICK, committee=3, callbacks=[stop])
    with pytest.raises(KeyboardInterrupt, match="2 of 3 members are kept"):
        model.fit(X, y)
    assert len(model.history_) == 20
    assert model.n_iter_ == 10
    assert not model.converged_
    assert model.tagger_.potential.forest.n_trees == 2 * 10 * 2
    with pytest.raises(KeyboardInterrupt):
        TreeCRF(**QUICK).fit(_Interrupted(X), y)


class _Interrupted(list):
    def __iter__(self):
        raise KeyboardInterrupt


def test_the_objective_is_the_likelihood_in_every_round():
    X, y = signs(20, 1)
    objectives = []
    for pseudo in (0, 3):
        model = TreeCRF(**QUICK, pseudo_iterations=pseudo).fit(X, y)
        objectives.append(model.history_[0]["objective"])
    assert objectives[0] == pytest.approx(objectives[1]) == pytest.approx(200 * np.log(2))


def test_decode_may_be_changed_after_fitting():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(8, 2)) for _ in range(40)]
    y = [[str(label) for label in np.cumsum(rng.random(8) < 0.4) % 3] for _ in X]
    model = TreeCRF(**QUICK).fit(X, y)
    by_marginals = model.predict(X)
    assert by_marginals == model.predict_posterior(X)
    model.set_params(decode="viterbi")
    paths = [found[0][0] for found in model.predict_nbest(X, 1)]
    assert model.predict(X) == paths != by_marginals
    model.set_params(decode="best")
    refuses("decode must be one of", model.predict, X)


def test_lightgbm_writes_to_the_log_alone(capfd, caplog):
    caplog.set_level("INFO", "crfkit.training")
    X, y = [[{"w": "x"}, {"w": "y"}]] * 30, [["a", "b"]] * 30
    TreeCRF(n_iterations=2, n_jobs=1, lightgbm_params={"verbosity": 1, "unheard_of": 3}).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert "[LightGBM] [Warning] Unknown parameter: unheard_of" in caplog.text


@pytest.mark.parametrize("potentials", ["joint", "factored"])
def test_partial_fit_goes_on_from_the_old_scores(potentials):
    X, y = signs(n=30)
    model = TreeCRF(**QUICK, potentials=potentials).fit(X[:15], y[:15])
    old = model.tagger_.potential
    model.set_params(n_iterations=5).partial_fit(X[15:], y[15:])
    new = model.tagger_.potential.forest
    assert new.n_trees > old.forest.n_trees
    np.testing.assert_array_equal(new.leaf[: len(old.forest.leaf)], old.forest.leaf)
    assert model.n_iter_ == 5
    assert list(model.staged_predict(X))[-1] == model.predict(X)
    assert model.score(X, y) > 0.9


def test_partial_fit_refuses_new_labels_and_other_forms():
    X, y = signs(n=10)
    model = TreeCRF(**QUICK).fit(X, y)
    with pytest.raises(InputError, match="new"):
        model.partial_fit(X, [["new"] * len(labels) for labels in y])
    with pytest.raises(InputError, match="partial_fit needs the potentials, order and by of its training"):
        model.set_params(potentials="factored").partial_fit(X, y)
    with pytest.raises(InputError, match="partial_fit cannot use committee"):
        model.set_params(potentials="auto", committee=2).partial_fit(X, y)
