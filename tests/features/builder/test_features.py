"""Features as a scikit-learn transformer; its representation."""

import copy
import pickle
import subprocess
import sys

import pytest
import sklearn.utils
from refusals import refuses
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import Features, column, first, position, token
from crfkit.metrics import token_accuracy_scorer

WORD = token()
FEATURES = Features(WORD.lower().window(-1, 1), WORD.suffix(2), WORD.short_shape(), position().binned(3))


@pytest.fixture(scope="module")
def data():
    return addresses(60, random_state=0)


def shout(sentence, t):
    return sentence[t].isupper()


def test_parameters():
    features = Features(WORD, shout, padding=False, min_count=2)
    assert features.get_params() == {
        "extractors": (WORD, shout),
        "padding": False,
        "min_count": 2,
        "sequence_column": None,
    }
    assert features.set_params(min_count=1, extractors=[WORD.lower()]) is features
    assert features.transform([["A"]]) == [[["w.lower=a"]]]
    with pytest.raises(ValueError, match="Invalid parameter 'window' for Features"):
        features.set_params(window=2)


@pytest.mark.parametrize("min_count", [0, 1.5, True, "2"])
def test_bad_min_count(min_count):
    refuses("min_count must be a whole number of 1 or more", Features(WORD, min_count=min_count).fit, [["a"]])


def test_clone_is_not_fitted():
    fitted = Features(WORD, min_count=2).fit([["a", "a"]])
    check_is_fitted(fitted)
    twin = clone(fitted)
    assert twin is not fitted
    assert twin.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    check_is_fitted(Features(WORD))  # nothing to learn


def test_copies_and_pickles(data):
    X, _ = data
    features = Features(*FEATURES.extractors, shout, WORD.member(["new york"], "city"), min_count=2).fit(X)
    expected = features.transform(X)
    for twin in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features), copy.copy(features)):
        assert twin.transform(X) == expected
    assert copy.deepcopy(WORD) is WORD
    assert pickle.loads(pickle.dumps(WORD[-1] & first())) == WORD[-1] & first()


def test_min_count():
    X = [["a", "b"], ["a", "c"]]
    features = Features(WORD, first(), position(), min_count=2)
    assert features.fit_transform(X) == [[{"w=a": 1.0, "first": 1.0, "position": 0.0}, {"position": 1.0}]] * 2
    assert features.transform([["b", "a"]]) == [
        [{"first": 1.0, "position": 0.0}, {"w=a": 1.0, "position": 1.0}]
    ]
    assert features.vocabulary_ == {"w=a", "first"}
    assert "a" in repr(features.explain(["a", "b"]))
    assert "b" not in repr(features.explain(["a", "b"]))


def test_in_a_pipeline(data):
    X, y = data
    model = Pipeline([("features", clone(FEATURES)), ("crf", CRF(c2=0.1))]).fit(X[:50], y[:50])
    X, y = X[50:], y[50:]
    assert model.score(X, y) > 0.4
    assert model.predict(X) == model["crf"].predict(model["features"].transform(X))
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)
    assert "Features" in repr(model)
    assert "Features" in model._repr_html_()


def test_grid_search(data):
    X, y = data
    model = make_pipeline(Features(WORD), CRF(c2=0.1, tol=1e-2))
    search = GridSearchCV(
        model,
        {
            "features__extractors": [[WORD], [WORD, WORD.short_shape()], [*FEATURES.extractors]],
            "features__min_count": [1, 2],
        },
        scoring=token_accuracy_scorer,
        cv=KFold(2),
        error_score="raise",
    )
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert len(search.best_params_["features__extractors"]) > 1
    assert len(cross_val_score(search.best_estimator_, X, y, cv=KFold(2))) == 2


def test_a_stream_is_enough_for_the_crf(data):
    X, y = data
    features = Features(WORD.lower(), WORD.suffix(2))
    crf = CRF(c2=0.1, tol=1e-2)
    expected = crf.fit(features.transform(X), y).predict(features.transform(X))
    assert crf.fit(features.stream(iter(X)), y).predict(features.stream(X)) == expected


def test_attributes_of_label_pairs():
    X, y = [["a", "b", "a"]] * 3, [["x", "y", "y"]] * 3
    features = Features(WORD, column(0, "edge:w"))
    crf = CRF(c2=0.1, edge_attributes="edge:").fit(features.transform(X), y)
    assert not any(attribute.startswith("edge:") for attribute, _ in crf.state_features_)


def test_tags():
    get_tags = getattr(sklearn.utils, "get_tags", None)
    if get_tags is None:
        pytest.skip("this scikit-learn has no get_tags")
    tags = get_tags(FEATURES)
    assert tags.estimator_type == "transformer"
    assert tags.requires_fit
    assert not get_tags(Features(WORD)).requires_fit
    assert not tags.target_tags.required


def test_importing_it_is_light():
    code = "import sys, crfkit.features.builder\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "scipy", "pandas"} & set(done.stdout.split())


def test_template_users_do_not_wait_for_it():
    code = "import sys, crfkit.features\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "crfkit.features.builder" not in done.stdout.split()


# ---- representation


def test_repr_is_what_one_writes():
    pos = column("pos", optional=True)
    features = Features(
        WORD.window(-1, 1),
        column(1) & pos[-1],
        WORD.matches(r"\d+", "digits"),
        WORD.map(len, "length").number().standardised(),
        position(from_end=True).binned([1, 2.5]),
        WORD.prefixes(1, 2)[-1],
        WORD.lower().named("low").suffix(1),
        (WORD & pos).window(0, 1),
        shout,
        padding=False,
    )
    assert repr(features) == (
        "Features(\n"
        "    column(0, 'w').window(-1, 1),\n"
        "    column(1) & column('pos', optional=True)[-1],\n"
        "    column(0, 'w').matches(r'\\d+', 'digits'),\n"
        "    column(0, 'w').map(len, 'length').number().standardised(),\n"
        "    position(from_end=True).binned([1, 2.5]),\n"
        "    column(0, 'w').prefixes(1, 2)[-1],\n"
        "    column(0, 'w').lower().named('low').suffix(1),\n"
        "    (column(0, 'w') & column('pos', optional=True)).window(0, 1),\n"
        "    shout,\n"
        "    padding=False,\n"
        ")"
    )
    namespace = {"column": column, "position": position, "shout": shout, "Features": Features, "len": len}
    assert eval(repr(features), namespace).names == features.names
    assert repr(Features(WORD)) == "Features(column(0, 'w'))"


def test_explain():
    features = Features(
        WORD, WORD[-1], WORD.test(str.istitle, "title"), position(), shout, lambda s, t: ["x", "y"]
    )
    assert repr(features.explain(["The", "DOG", ""])).splitlines() == [
        "          0     1     2",
        "w         The   DOG   ''",
        "w[-1]     <s>   The   DOG",
        "w.title   ✓",
        "position  0     1     2",
        "shout           ✓",
        "f1        x, y  x, y  x, y",
    ]
    html = Features(WORD).explain(["<b>&"])._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<b>" not in html


def test_explain_wide_sentences_in_parts():
    text = repr(Features(WORD, WORD.short_shape()).explain(["word" * 3] * 20))
    assert max(map(len, text.splitlines())) <= 110
    assert text.count("w.short_shape") == len(text.split("\n\n")) > 1
    assert repr(Features(WORD).explain(["x" * 500])).count("x") < 30


def test_explain_edges():
    assert repr(Features(WORD).explain([])) == "\nw"
    assert repr(Features().explain(["a"])) == ""
    assert "\\n" in repr(Features(WORD).explain(["a\nb"]))
    wide = repr(Features(WORD).explain(["日本", "a"])).splitlines()
    assert wide == ["   0     1", "w  日本  a"]


def test_explain_vectors_and_functions():
    features = Features(column("v").vector(), lambda s, t: {"n": 2.5, "k": "x"})
    assert "[2 numbers]" in repr(features.explain([{"v": [1.0, 2.0]}]))
    assert "k=x, n: 2.5" in repr(features.explain([{"v": [1.0, 2.0]}]))


def test_html():
    html = Features(WORD.window(-1, 0), WORD.matches("<>", "x"), lambda s, t: None)._repr_html_()
    assert "<code>w[-1]=</code>, <code>w=</code>" in html
    assert "&lt;&gt;" in html
