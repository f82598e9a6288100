"""Data that tells a model nothing: one warning per batch call; X of another kind than in training: words."""

import warnings

import numpy as np
import pytest

from crfkit import CRF, Tagger, TreeCRF
from crfkit.compat import pycrfsuite, sklearn_crfsuite
from crfkit.exceptions import InputError, InputWarning

Y = [["P", "Q", "P"]] * 5
ITEMS = [[["a", "b"], ["c"], ["a"]]] * 5
ARRAYS = [np.array([[1.0, 0.0], [0.0, 2.0], [1.5, 0.0]])] * 5
UNKNOWN = [[["x"], ["y"]], [[], ["z"]]] * 3


def the_warnings(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return seen


@pytest.fixture(scope="module")
def crf():
    return CRF().fit(ITEMS, Y)


@pytest.mark.parametrize("method", ["predict", "predict_posterior", "predict_marginals", "predict_nbest"])
def test_one_warning_per_call(crf, method, monkeypatch):
    for size in (1 << 20, 1):  # also where the batch is cut into pieces
        monkeypatch.setattr(crf.tagger_, "piece_scores", size)
        (seen,) = the_warnings(lambda: getattr(crf, method)(UNKNOWN))
        assert seen.category is InputWarning
        assert "X has no attribute that the model knows (such as 'a', 'b', 'c')" in str(seen.message)
        assert not the_warnings(lambda: getattr(crf, method)([*UNKNOWN, [["a"]]]))
        assert not the_warnings(lambda: getattr(crf, method)([]))
        assert not the_warnings(lambda: getattr(crf, method)([[], []]))
    assert seen.filename in (__file__, crf.predict.__func__.__code__.co_filename)


def test_with_known_labels_and_in_score(crf):
    known = [["P", None], [None, "Q"]] * 3
    assert len(the_warnings(lambda: crf.predict(UNKNOWN, known=known))) == 1
    assert len(the_warnings(lambda: crf.score(UNKNOWN, known[:0] + [["P", "Q"]] * 6))) == 1


def test_templates_and_extractors():
    rows = [[["the", "D"], ["cat", "N"]]] * 5
    crf = CRF(template="U0:%x[0,0]\nB").fit(rows, [["P", "Q"]] * 5)
    (seen,) = the_warnings(lambda: crf.predict([[["zebra", "N"]]]))
    assert "U0:the" in str(seen.message)


def test_one_sequence_taggers_are_silent(crf, tmp_path):
    crf.save_crfsuite(tmp_path / "model")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    assert not the_warnings(lambda: tagger.tag(UNKNOWN[0]))
    assert not the_warnings(lambda: Tagger(tmp_path / "model").tag(UNKNOWN[0]))
    other = sklearn_crfsuite.CRF(model_filename=str(tmp_path / "model"))
    assert not the_warnings(lambda: other.predict_single(UNKNOWN[0]))
    assert not the_warnings(lambda: other.predict_marginals_single(UNKNOWN[0]))
    assert other.predict_single(ITEMS[0]) == list(other.predict(ITEMS[:1])[0])
    assert other.predict_marginals_single(ITEMS[0]) == list(other.predict_marginals(ITEMS[:1])[0])
    assert len(the_warnings(lambda: other.predict(UNKNOWN))) == 1


def test_trees():
    pytest.importorskip("lightgbm")
    trees = {"n_iterations": 2, "min_samples_leaf": 1}
    model = TreeCRF(**trees).fit([[["a", 1.0], ["b", 2.0]]] * 5, [["P", "Q"]] * 5)
    (seen,) = the_warnings(lambda: model.predict([[["zebra", None]]] * 3))
    assert "only missing values and unseen categories" in str(seen.message)
    assert not the_warnings(lambda: model.predict([[["zebra", 1.0]]]))
    named = TreeCRF(**trees).fit([[{"a": 1.0}, {"a": 2.0}]] * 5, [["P", "Q"]] * 5)
    (seen,) = the_warnings(lambda: named.predict([[{"b": 1.0}]]))
    assert "X has 0 of the 1 columns of training" in str(seen.message)
    categories = TreeCRF(**trees).fit([[{"a": "p"}, {"a": "q"}]] * 5, [["P", "Q"]] * 5)
    for strange in ({"a": "zebra"}, {"a": None}, {}):  # the right columns, but nothing that is known
        (seen,) = the_warnings(lambda strange=strange: categories.predict([[strange]] * 2))
        assert "only missing values and unseen categories" in str(seen.message)
    assert not the_warnings(lambda: categories.predict([[{"a": "zebra"}], [{"a": "q"}]]))


# ---- arrays and items


def test_items_for_a_model_of_arrays():
    crf = CRF().fit(ARRAYS, Y)
    for X in (UNKNOWN, ITEMS, [[{"word": "the"}, {"word": "cat"}]]):
        for use in (crf.predict, crf.predict_marginals, lambda X: crf.score(X, [["P"] * len(x) for x in X])):
            with pytest.raises(InputError, match=r"lists of items, but .* are the 2 columns of arrays"):
                use(X)
    with pytest.raises(InputError, match=r"lists of items, but .* are the 2 columns of arrays"):
        CRF().fit(ARRAYS, Y).partial_fit(ITEMS, Y)
    assert crf.predict([[{"0": 1.0}, {"1": 2.0}]]) == [["P", "Q"]]  # columns by their names
    assert crf.predict([[]]) == [[]]
    assert not the_warnings(lambda: crf.predict([np.zeros((2, 2))]))  # zeros are values, too


def test_arrays_for_a_model_of_items(crf):
    for X in (ARRAYS, [np.zeros((2, 4))]):
        with pytest.raises(InputError, match=r"is an array or sparse matrix, but .* have names"):
            crf.predict(X)


def test_items_that_are_named_like_columns():
    X = [[["0"], ["1"]]] * 5
    crf = CRF().fit(X, [["P", "Q"]] * 5)
    assert crf.predict(X) == [["P", "Q"]] * 5
    assert crf.predict([[["1"], ["unknown"]]])
    assert crf.partial_fit([[["1"], ["2"]]] * 3, [["Q", "Q"]] * 3).predict([[["2"]]])
