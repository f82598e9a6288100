"""sklearn-crfsuite's estimator: against the original, and with current scikit-learn."""

import gc
import inspect
import os
import pickle
import tempfile

import joblib
import numpy as np
import pytest
import sklearn_crfsuite as original
from refusals import refuses
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from crfkit.compat import pycrfsuite
from crfkit.compat.sklearn_crfsuite import CRF, metrics, scorers
from crfkit.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer


@pytest.fixture(scope="module")
def fitted(small):
    return CRF(c1=0.05, c2=0.1).fit(small[0], small[1])


def test_the_originals_parameters():
    ours = inspect.signature(CRF).parameters
    theirs = inspect.signature(original.CRF).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    assert list(ours)[len(theirs) :] == ["n_jobs"]
    assert {name: ours[name].default for name in theirs} == {name: theirs[name].default for name in theirs}


PARAMETERS = [
    {},
    {"c1": 0.1, "c2": 0.1, "all_possible_transitions": True, "delta": 1e-7, "epsilon": 1e-7},
    {
        "algorithm": "lbfgs",
        "min_freq": 2,
        "c2": 0.2,
        "all_possible_states": False,
        "linesearch": "Backtracking",
    },
]


@pytest.mark.parametrize("params", PARAMETERS, ids=str)
def test_beside_the_original(params, chunks):
    n = 60 if "c1" in params else None  # the original's OWL-QN is slow
    X, y, X_test, y_test = chunks[0][:n], chunks[1][:n], *chunks[2:]
    ours, theirs = CRF(**params).fit(X, y), original.CRF(**params).fit(X, y)
    assert ours.classes_ == theirs.classes_
    found, expected = ours.predict(X_test), theirs.predict(X_test)
    same = [a == b for one, two in zip(found, expected, strict=True) for a, b in zip(one, two, strict=True)]
    assert np.mean(same) >= 0.999
    assert ours.score(X_test, y_test) == pytest.approx(theirs.score(X_test, y_test), abs=2e-3)
    assert ours.training_log_.last_iteration["loss"] == pytest.approx(
        theirs.training_log_.last_iteration["loss"], rel=1e-3
    )
    assert set(ours.transition_features_) ^ set(theirs.transition_features_) <= {
        pair for pair, w in (ours.transition_features_ | theirs.transition_features_).items() if abs(w) < 0.05
    }
    for mine, other in zip(
        ours.predict_marginals(X_test[:5]), theirs.predict_marginals(X_test[:5]), strict=True
    ):
        for one, two in zip(mine, other, strict=True):
            assert one == pytest.approx(two, abs=0.02)


def test_predictions(fitted, small):
    X = small[2]
    found = fitted.predict(X)
    assert isinstance(found, np.ndarray)
    assert found.dtype == object
    assert found.shape == (len(X),)
    assert all(type(labels) is list for labels in found)
    assert [fitted.predict_single(xseq) for xseq in X] == list(found)
    tagger = fitted.tagger_
    assert [tagger.tag(xseq) for xseq in X] == list(found)
    marginals = fitted.predict_marginals(X)
    assert marginals.shape == (len(X),)
    assert fitted.predict_marginals_single(X[0]) == marginals[0]
    tagger.set(X[0])
    for t, item in enumerate(marginals[0]):
        assert list(item) == fitted.classes_
        assert sum(item.values()) == pytest.approx(1)
        for label, probability in item.items():
            assert type(probability) is float
            assert probability == pytest.approx(tagger.marginal(label, t), abs=1e-12)


def test_item_sequences(fitted, small):
    X, y, X_test, _ = small
    items = [pycrfsuite.ItemSequence(xseq) for xseq in X]
    crf = CRF(c1=0.05, c2=0.1).fit(items, y)
    assert crf.state_features_ == fitted.state_features_
    tests = [pycrfsuite.ItemSequence([["bias", "bias"], *xseq]) for xseq in X_test]
    assert list(crf.predict(tests)) == [fitted.tagger_.tag(xseq) for xseq in tests]
    assert crf.predict_single(tests[0]) == fitted.predict_single([["bias", "bias"], *X_test[0]])


def test_sequences_of_equal_length_are_no_matrix():
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["x", "y"], ["y", "x"]]
    crf = CRF(c2=0.01).fit(X, y)
    assert crf.predict(X).shape == (2,)
    assert list(crf.predict(X)) == y
    assert crf.predict_marginals(X).shape == (2,)
    assert crf.predict([]).shape == (0,)
    assert crf.predict([[]]).tolist() == [[]]
    assert cross_val_predict(crf, X * 3, y * 3, cv=3).shape == (6,)
    assert metrics.sequence_accuracy_score(y, crf.predict(X)) == 1.0
    ones = CRF().fit([[["a"]]] * 3, [["x"]] * 3)
    assert list(ones.predict([[["a"]]] * 2)) == [["x"], ["x"]]


def test_attributes(small):
    crf = CRF()
    nothing = ("tagger_", "classes_", "size_", "num_attributes_", "attributes_", "state_features_")
    for name in (*nothing, "transition_features_", "training_log_"):
        assert getattr(crf, name) is None
    assert crf.modelfile.name is None
    crf.fit(small[0], small[1])
    assert crf.size_ > 1000
    assert len(crf.attributes_) == crf.num_attributes_ == len(set(crf.attributes_))
    assert {attribute for attribute, _ in crf.state_features_} == set(crf.attributes_)
    assert {label for pair in crf.transition_features_ for label in pair} <= set(crf.classes_)
    assert all(type(weight) is float for weight in crf.state_features_.values())
    assert len(crf.training_log_.iterations) == crf.training_log_.last_iteration["num"]


def test_not_fitted(small):
    crf = CRF()
    for ask in (crf.predict, crf.predict_marginals, lambda X: crf.score(X, small[1])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(small[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(crf)
    check_is_fitted(crf.fit(small[0], small[1]))


# ---- scikit-learn


def test_clone_repr_params():
    crf = CRF("l2sgd", c2=0.3, keep_tempfiles=True, calibration_eta=0.2)
    assert repr(crf) == "CRF(algorithm='l2sgd', c2=0.3, calibration_eta=0.2, keep_tempfiles=True)"
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert copy.set_params(c2=5).c2 == 5
    assert crf.c2 == 0.3
    assert not is_classifier(crf)  # its labels are sequences


def test_grid_search(small):
    X, y, X_test, y_test = small
    labels = sorted({label for labels in y for label in labels} - {"O"})
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
    search = GridSearchCV(CRF(max_iterations=20), {"c2": [0.1, 10.0]}, scoring=scorer, cv=2)
    search.fit(X, y)
    assert search.best_params_ == {"c2": 0.1}
    assert search.best_estimator_.size_ > 0
    found = search.predict(X_test)
    assert search.score(X_test, y_test) == pytest.approx(
        metrics.flat_f1_score(y_test, found, average="weighted", labels=labels, zero_division=0)
    )


def test_cross_validation(small):
    X, y, *_ = small
    crf = CRF(max_iterations=20)
    found = cross_val_predict(crf, X, y, cv=3)
    assert [len(labels) for labels in found] == [len(labels) for labels in y]
    assert metrics.flat_accuracy_score(y, found) > 0.3
    for scoring in (None, scorers.flat_accuracy, scorers.sequence_accuracy):
        assert len(cross_val_score(crf, X, y, cv=2, scoring=scoring)) == 2
    pipeline = make_pipeline(FunctionTransformer(), crf).fit(X, y)
    assert pipeline.score(X, y) > 0.8


@pytest.mark.parametrize("how", ["pickle", "joblib"])
def test_pickle(how, fitted, small, tmp_path):
    if how == "pickle":
        copy = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "crf")
        copy = joblib.load(tmp_path / "crf")
    assert list(copy.predict(small[2])) == list(fitted.predict(small[2]))
    assert copy.state_features_ == fitted.state_features_
    assert copy.size_ == fitted.size_
    assert copy.training_log_.iterations == fitted.training_log_.iterations
    assert pickle.loads(pickle.dumps(CRF(c1=1))).c1 == 1


# ---- files


def test_model_filename(small, tmp_path):
    path = str(tmp_path / "chunks.crfsuite")
    crf = CRF(model_filename=path)
    with pytest.raises(FileNotFoundError):
        crf.predict(small[2])
    found = list(crf.fit(small[0], small[1]).predict(small[2]))
    assert crf.modelfile.name == path
    assert crf.size_ == os.path.getsize(path)
    theirs = original.CRF(model_filename=path)
    assert [list(labels) for labels in theirs.predict(small[2])] == found
    again = CRF(model_filename=path)
    assert list(again.predict(small[2])) == found
    copy = pickle.loads(pickle.dumps(again))
    os.unlink(path)
    assert list(copy.predict(small[2])) == found  # the pickle is complete


def test_nothing_stays_in_the_temporary_folder(small, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    crf = CRF(max_iterations=3).fit(small[0], small[1])
    assert os.listdir(tmp_path) == []
    name = crf.modelfile.name
    assert os.listdir(tmp_path) == [os.path.basename(name)]
    assert crf.modelfile.name == name
    with pycrfsuite.Tagger().open(name) as tagger:
        assert tagger.tag(small[2][0]) == crf.predict_single(small[2][0])
    crf.fit(small[0], small[1])
    gc.collect()
    assert os.listdir(tmp_path) == []
    kept = CRF(max_iterations=3, keep_tempfiles=True).fit(small[0], small[1])
    assert kept.modelfile.name
    del kept
    gc.collect()
    assert len(os.listdir(tmp_path)) == 1


# ---- training


def test_dev_set_and_verbose(small, capsys):
    X, y, X_dev, y_dev = small
    crf = CRF(verbose=True, max_iterations=4).fit(X, y, X_dev, y_dev)
    out = capsys.readouterr().out
    assert len([line for line in out.splitlines() if line.startswith("Iter ")]) == 4
    assert "Precision  Recall     F1  Support" in out
    last = crf.training_log_.last_iteration
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X_dev, y_dev))
    CRF(max_iterations=4).fit(X, y, X_dev, y_dev)
    assert capsys.readouterr().out == ""


def test_own_trainer(small):
    class Counting(LinePerIterationTrainer):
        seen = 0

        def message(self, message):
            type(self).seen += 1
            super().message(message)

    crf = CRF(trainer_cls=Counting, max_iterations=2).fit(small[0], small[1])
    assert Counting.seen > 50
    assert clone(crf).trainer_cls is Counting
    theirs = original.CRF(trainer_cls=Counting, max_iterations=2).fit(small[0], small[1])
    assert list(theirs.predict(small[2])) == list(crf.predict(small[2]))


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_algorithms(algorithm, small):
    crf = CRF(algorithm, max_iterations=20).fit(small[0], small[1])
    assert crf.score(small[0], small[1]) > 0.9


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"algorithm": "adam"}, "unknown algorithm 'adam'"),
        ({"c1": -1}, "'c1' must be a number of at least 0, got -1"),
        ({"algorithm": "l2sgd", "c1": 1}, "'l2sgd' has no parameter 'c1'"),
        ({"max_iterations": "many"}, "'max_iterations' must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_parameters_in_words(params, words, small):
    with pytest.raises(ValueError, match=words):
        CRF(**params).fit(small[0], small[1])


def test_bad_shapes_in_words():
    X, y = [[["a"], ["b"]]], [["x", "y"]]
    cases = [
        ((X, [["x"]]), "sequence 0: xseq has 2 items but yseq has 1 labels"),
        ((X * 2, y), "X has 2 sequences but y has 1"),
        ((X, ["xy"]), "sequence 0: yseq must be a list of labels, got str"),
        (([["a", "b"]], y), "sequence 0, position 0: an item must be a list"),
        ((X, y, X), "X_dev and y_dev must be given together"),
        ((X, y, X, y * 2), "X_dev has 1 sequences but y_dev has 2"),
        (([], []), "nothing to train on"),
    ]
    for arguments, words in cases:
        with pytest.raises(ValueError, match=words):
            CRF().fit(*arguments)
    crf = CRF().fit(X, y)
    refuses("sequence 0", crf.predict, ["a"])
