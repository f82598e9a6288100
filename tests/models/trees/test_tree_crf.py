"""TreeCRF: training, prediction, saving, bad input."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from refusals import refuses
from sklearn.model_selection import GridSearchCV

from crfkit import TreeCRF
from crfkit.data import Columns
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.model_arrays import open_model
from crfkit.models.trees.boosting import best_step

pytest.importorskip("lightgbm")


def sequences(n=60, seed=0, missing=0.0):
    """Return data: labels tell whether a b follows an a (a conjunction), else the sign of a number."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        length = int(rng.integers(2, 9))
        letters = rng.choice(list("aabbc"), size=length)
        numbers = rng.normal(size=length)
        items, labels = [], []
        for t in range(length):
            item = {"letter": str(letters[t]), "x": float(numbers[t]), "flag": bool(numbers[t] > 0)}
            if rng.random() < missing:
                item["letter"] = None
            if rng.random() < missing:
                del item["x"]
            items.append(item)
            after = t > 0 and letters[t - 1] == "a" and letters[t] == "b"
            labels.append("same" if after else "up" if numbers[t] > 0 else "down")
        X.append(items)
        y.append(labels)
    return X, y


QUICK = {"n_iterations": 25, "window": 3, "min_samples_leaf": 1, "learning_rate": 0.3, "n_jobs": 1}


@pytest.mark.parametrize(
    "settings",
    [
        {"potentials": "joint"},
        {"potentials": "factored"},
        {"potentials": "factored", "order": 2},
        {"potentials": "joint", "newton": False, "learning_rate": 1.0},
        {"potentials": "joint", "line_search": True},
        {"potentials": "factored", "line_search": True, "newton": False},
        {"potentials": "joint", "subsample": 0.7, "colsample": 0.8},
        {"potentials": "joint", "trim": 0.1},
        {"decode": "viterbi"},
    ],
)
def test_learns(settings):
    X, y = sequences(80)
    Xt, yt = sequences(40, seed=1)
    model = TreeCRF(**{**QUICK, **settings}).fit(X, y)
    assert model.score(Xt, yt) > 0.93
    assert model.objective_ < model.history_[0]["objective"] / 2
    assert model.n_iter_ == len(model.history_) <= 25


def test_the_objective_falls_in_every_round_with_a_line_search():
    X, y = sequences(50)
    rng = np.random.default_rng(0)
    y = [[label if rng.random() < 0.7 else str(rng.choice(["same", "up"])) for label in s] for s in y]
    settings = {"line_search": True, "pseudo_iterations": 0, "learning_rate": 3.0, "min_samples_leaf": 5}
    model = TreeCRF(**{**QUICK, **settings}).fit(X, y)
    objectives = [record["objective"] for record in model.history_]
    assert all(b < a for a, b in pairwise(objectives))
    assert min(record["step"] for record in model.history_) < 1


@pytest.mark.parametrize("top", [0.01, 0.4, 1.0, 3.0, 200.0])
def test_best_step(top):
    found = best_step(lambda step: -((np.log(step) - np.log(top)) ** 2))
    assert abs(np.log2(found / top)) <= 0.251


def test_all_shapes_of_input_are_the_same():
    pandas = pytest.importorskip("pandas")
    X, y = sequences(40)
    settings = {**QUICK, "n_iterations": 5}
    by_dicts = TreeCRF(**settings).fit(X, y).predict_marginals(X, as_arrays=True)
    rows = [[[item["letter"], item["x"], item["flag"]] for item in s] for s in X]
    frames = [pandas.DataFrame(s) for s in X]
    one = pandas.concat(frames, ignore_index=True)
    arrays = [np.array(s, dtype=object) for s in rows]
    text = Columns.from_rows([[[a, repr(b), str(int(c))] for a, b, c in s] for s in rows])
    for other in (rows, frames, one, arrays, text):
        model = TreeCRF(**settings).fit(other, y)
        lengths = [len(s) for s in y] if other is one else None
        found = model.predict_marginals(other, as_arrays=True, lengths=lengths)
        for a, b in zip(by_dicts, found, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_numeric_arrays_and_single_values():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 2)) for _ in range(30)]
    for data, right, settings, least in [
        (X, lambda row: row[0] > row[1], {"window": 1, "n_leaves": 16}, 0.9),
        ([list("abca"), list("bb"), list("ca")] * 10, lambda letter: letter == "a", {}, 1.0),
        ([x[:, 0] for x in X], lambda value: value > 0, {}, 0.95),
    ]:
        y = [["p" if right(item) else "n" for item in items] for items in data]
        assert TreeCRF(**{**QUICK, **settings}).fit(data, y).score(data, y) >= least


@pytest.mark.parametrize("potentials", ["joint", "factored"])
def test_partial_labels_teach(potentials):
    X, y = sequences(80)
    hidden = [
        [None if t % 3 == 0 else {"up", "same"} if label == "same" else label for t, label in enumerate(s)]
        for s in y
    ]
    model = TreeCRF(**{**QUICK, "potentials": potentials}).fit(X, hidden)
    assert model.classes_ == ["down", "same", "up"]
    assert model.score(X, y) > 0.6


def test_dev_set_keeps_the_best_round_and_folds_choose_one():
    X, y = sequences(60)
    Xd, yd = sequences(30, seed=2)
    model = TreeCRF(**{**QUICK, "n_iterations": 60, "patience": 5}).fit(X, y, None, Xd, yd)
    accuracies = [record["dev_accuracy"] for record in model.history_]
    assert model.n_iter_ == 1 + int(np.argmax(accuracies))
    assert model.score(Xd, yd) == pytest.approx(max(accuracies))
    assert len(model.history_) < 60
    model = TreeCRF(**{**QUICK, "early_stopping": 3, "patience": 4}).fit(
        X, y, groups=[i // 2 for i in range(60)]
    )
    assert model.n_iter_ == 1 + int(np.argmax(model.cv_accuracy_))
    yd[0][0] = "never seen"
    TreeCRF(**{**QUICK, "n_iterations": 2}).fit(X, y, None, Xd, yd)


@pytest.mark.parametrize("potentials", ["joint", "factored"])
def test_committee(potentials):
    X, y = sequences(60)
    settings = {**QUICK, "n_iterations": 10, "potentials": potentials}
    model = TreeCRF(**settings, committee=3).fit(X, y, groups=[i // 2 for i in range(60)])
    assert len(model.history_) == 30
    assert model.tagger_.potential.forest.n_trees == 90
    assert model.score(X, y) > 0.9
    refuses("without a committee", next, model.staged_predict(X))
    again = TreeCRF(**settings, committee=3).fit(X, y, groups=[i // 2 for i in range(60)])
    assert again.predict_marginals(X) == model.predict_marginals(X)


def test_staged_predictions_importances_conjunctions_callbacks():
    X, y = sequences(60)
    records = []
    for potentials in ("joint", "factored"):
        model = TreeCRF(**{**QUICK, "potentials": potentials, "callbacks": [records.append]}).fit(X, y)
        stages = list(model.staged_predict(X))
        assert len(stages) == model.n_iter_
        assert stages[-1] == model.predict(X)
        assert len(model.feature_names_) == len(model.feature_importances_) == 9 + (potentials == "joint")
        assert model.feature_importances_.sum() == pytest.approx(1)
        best = model.feature_names_[int(model.feature_importances_.argmax())]
        assert best in ("letter[-1]", "letter[0]", "x[0]", "flag[0]")
        found = model.conjunctions(5, label="same")
        assert len(found) == 5
        assert all(one.label == "same" and one.conditions for one in found)
        assert any("letter[0]" in str(one) for one in model.conjunctions(10))
        refuses("no label 'x'", model.conjunctions, label="x")
    assert len(records) == 50
    stopped = TreeCRF(**{**QUICK, "callbacks": [lambda record: record["iteration"] == 3]}).fit(X, y)
    assert stopped.n_iter_ == 3


def test_missing_values_are_values():
    X, y = sequences(150, missing=0.3)
    Xt, yt = sequences(60, seed=3, missing=0.3)
    model = TreeCRF(**QUICK).fit(X, y)
    assert model.score(Xt, yt) > 0.7
    nothing = [[{} for _ in s] for s in Xt]
    with pytest.warns(InputWarning, match="only missing values"):
        assert len(model.predict(nothing)) == 60


def test_files_keep_a_record_but_no_stages_and_need_no_lightgbm(tmp_path, monkeypatch):
    X, y = sequences(40)
    model = TreeCRF(**QUICK).fit(X, y)
    model.save(tmp_path / "m.crfkit", record={"note": "mine"})
    assert open_model(tmp_path / "m.crfkit")[0]["note"] == "mine"
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    loaded = TreeCRF.load(tmp_path / "m.crfkit")
    assert loaded.n_iter_ == 25
    assert loaded.predict(X) == model.predict(X)
    refuses("without a committee", next, loaded.staged_predict(X))
    with pytest.raises(ImportError, match=r"crfkit\[trees\]"):
        loaded.fit(X, y)


def test_grid_search():
    X, y = sequences(30)
    grid = {"n_leaves": [3, 8], "window": [1, 3]}
    search = GridSearchCV(TreeCRF(**{**QUICK, "n_iterations": 4}), grid, cv=3).fit(X, y)
    assert search.best_params_["window"] == 3


def test_progress_and_interruption(capsys):
    X, y = sequences(20)
    TreeCRF(**{**QUICK, "n_iterations": 3, "verbose": 2, "early_stopping": 2}).fit(X, y)
    said = capsys.readouterr().err
    assert "folds: round 1" in said
    assert "iteration    1  objective" in said

    def stop(record):
        if record["iteration"] == 4:
            raise KeyboardInterrupt

    model = TreeCRF(**{**QUICK, "callbacks": [stop]})
    with pytest.raises(KeyboardInterrupt, match="interrupted after 4 rounds"):
        model.fit(X, y)
    assert model.n_iter_ == 4
    assert not model.converged_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 4}, "window must be an odd number"),
        ({"window": (1,)}, "window must be an odd number"),
        ({"n_leaves": 1}, "n_leaves must be a whole number of at least 2"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
        ({"subsample": 0}, "subsample must be a share"),
        ({"trim": 1}, "trim must be a share"),
        ({"potentials": "tree"}, "potentials must be one of"),
        ({"decode": "best"}, "decode must be one of"),
        ({"order": 3}, "order must be one of"),
        ({"order": 2, "potentials": "joint"}, "order=2 needs potentials='factored', got 'joint'"),
        ({"early_stopping": 1}, "early_stopping must be None or"),
        ({"early_stopping": 50}, "needs as many sequences"),
        ({"categorical": ["z"]}, "categorical names the column 'z'"),
        ({"categorical": 0}, "categorical must be None or a list of names or places"),
        ({"categorical": 1}, "categorical must be None or a list of names or places"),
        ({"categorical": "zip"}, "categorical must be None or a list of names or places"),
        ({"categorical": [1.5]}, "categorical must be None or a list of names or places"),
        ({"by": 1.5}, "by must be None or the name or the place of a column"),
        ({"by": ["letter"]}, "by must be None or the name or the place of a column"),
        ({"callbacks": print}, "callbacks must be None or a list of functions"),
        ({"callbacks": [1]}, "callbacks must be None or a list of functions"),
        (
            {"lightgbm_params": {"zero_as_missing": True}},
            "zero_as_missing=True is not possible: it must stay False",
        ),
        ({"lightgbm_params": {"use_missing": False}}, "use_missing=False is not possible"),
        ({"lightgbm_params": {"linear_tree": True}}, "linear_tree=True is not possible"),
        ({"lightgbm_params": {"boosting_type": "dart"}}, "boosting_type='dart' is not possible"),
        ({"lightgbm_params": {"num_class": 3}}, "num_class=3 is not possible: it is the number of labels"),
        ({"lightgbm_params": {"objective": "binary"}}, "objective='binary' is not possible"),
    ],
)
def test_bad_parameters(settings, message):
    X, y = sequences(10)
    refuses(message, TreeCRF(**{**QUICK, **settings}).fit, X, y)


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (([], []), {}, "nothing to train on"),
        (([[]], [[]]), {}, "nothing to train on"),
        ((*sequences(20), None, [["x"]], [["up"]]), {}, "in the dev set"),
        (sequences(20), {"groups": [1] * 20}, "groups are for the folds"),
        ((*sequences(20), None, *sequences(20)), {"early_stopping": 2}, "give one of them"),
    ],
    ids=range(5),
)
def test_bad_input(arguments, more, message):
    stopping = {"early_stopping": more.pop("early_stopping", None)}
    refuses(message, TreeCRF(**{**QUICK, "n_iterations": 2, **stopping}).fit, *arguments, **more)


def test_features_that_change_and_unseen_categories():
    X, y = sequences(30)
    model = TreeCRF(**{**QUICK, "n_iterations": 3}).fit(X, y)
    with pytest.raises(InputError, match="sequence 0, position 1: feature 'x' held numbers in training"):
        model.predict([[{"x": 1.0}, {"x": "one"}]])
    refuses("feature 'letter' held text in training", model.predict, [[{"letter": 3}]])
    refuses("a value must be a str, a bool or a number", model.predict, [[{"letter": ["a"]}]])
    unseen = [[{**item, "letter": "z"} for item in s] for s in X[:1]]
    missing = [[{**item, "letter": None} for item in s] for s in X[:1]]
    a, b = (model.predict_marginals(data, as_arrays=True)[0] for data in (unseen, missing))
    np.testing.assert_array_equal(a, b)
    many = [[{"letter": "z", "x": 0.0, "flag": True}] * 30]
    with pytest.warns(InputWarning, match="none of the categories of 'letter'"):
        model.predict(many)


def test_columns_in_which_all_is_missing():
    X, y = sequences(30)
    with_empty = [[{**item, "empty": None} for item in s] for s in X]
    with pytest.warns(InputWarning, match="nothing but missing values in 1 of 4 columns"):
        model = TreeCRF(**QUICK).fit(with_empty, y)
    assert model.predict(with_empty) == TreeCRF(**QUICK).fit(X, y).predict(X)
    refuses("X has no values", model.fit, [[{"a": None}]], [["x"]])


def test_trees_by_category():
    """Every letter has trees for the labels it was seen with; the others keep their initial scores."""
    rng = np.random.default_rng(0)
    X = [[str(c) for c in rng.choice(list("abcd"), size=6)] for _ in range(120)]
    y = [
        [c.upper() if t == 0 or s[t - 1] != "a" else f"{c}{c}" for t, c in enumerate(s)] for s in X
    ]  # eight labels, two per letter
    model = TreeCRF(**{**QUICK, "by": 0, "n_iterations": 10}).fit(X, y)
    assert model.score(X, y) > 0.98
    assert model.tagger_.potential.forest.n_trees == 8 + 10 * 8  # not 4 · 8 per round
    assert list(model.staged_predict(X))[-1] == model.predict(X)
    assert model.predict([["z", "a"]])[0][1] in ("A", "aa")
    assert any("0[0] = " in str(one) for one in model.conjunctions(5))
    weights = model.predict_marginals([["d"]], as_arrays=True)[0][0]
    assert sorted(np.array(model.classes_)[weights > 0.01]) == ["D"]
    refuses("by=1: there is no such column", TreeCRF(**{**QUICK, "by": 1}).fit, X, y)
    with pytest.raises(InputError, match="it holds numbers"):
        TreeCRF(**{**QUICK, "by": 0, "potentials": "factored"}).fit([[1, 2]], [["a", "b"]])
    with pytest.raises(InputError, match="by needs potentials='factored', got 'joint'"):
        TreeCRF(**{**QUICK, "by": 0, "potentials": "joint"}).fit(X, y)
