"""CRF(extractor=…): training runs the program, the model and its file keep it."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from crfkit import CRF, ConstrainedCRF
from crfkit.data.columns import Columns
from crfkit.datasets import addresses
from crfkit.exceptions import ConvergenceWarning, InputError, ModelFileError
from crfkit.features import Features, TokenFeatures, bias, column, position, token, token_features
from crfkit.io.model_file import read_model, write_model

TOKENS, LABELS = addresses(60, random_state=0)
SETTINGS = {"c2": 0.1, "max_iterations": 8, "n_jobs": 1, "algorithm": "lbfgs"}
word = token()


def shortened(text):
    return text[:4]


def letters(sentence):
    return [[f"first={token[:1]}", f"last={token[-1:]}"] for token in sentence]


PORTABLE = Features(
    word.lower().window(-1, 1),
    word.short_shape() & word.suffix(2),
    word.test(str.isdigit, "digits"),
    word.member(["Main Street", "Street"], "street", bio=True),
    position().binned(3),
    position(from_end=True).standardised(),
    bias(),
    min_count=2,
)
IN_PYTHON = Features(
    word.lower(), word.map(shortened, "short").lower()[-1], position().standardised(), min_count=2
)
EXTRACTORS = {
    "token_features": token_features,
    "Features": PORTABLE,
    "in Python": IN_PYTHON,
    "function": letters,
}


def attributes(extractor, X):
    """Return the attributes that the extractor makes, in Python."""
    return extractor.fit_transform(X) if isinstance(extractor, Features) else [extractor(x) for x in X]


def fitted(extractor, kind=CRF, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kind(extractor=extractor, **SETTINGS, **settings).fit(TOKENS, LABELS)


@pytest.fixture(scope="module", params=list(EXTRACTORS))
def extractor(request):
    return EXTRACTORS[request.param]


@pytest.fixture(scope="module")
def model(extractor):
    return fitted(extractor)


@pytest.mark.filterwarnings("ignore::crfkit.exceptions.ConvergenceWarning")
def test_training_on_tokens_is_training_on_their_attributes(extractor, model):
    X = attributes(extractor, TOKENS)
    by_hand = CRF(**SETTINGS).fit(X, LABELS)
    assert model.state_features_ == by_hand.state_features_
    assert model.predict(TOKENS) == by_hand.predict(X)
    assert model.score(TOKENS, LABELS) == by_hand.score(X, LABELS)
    assert model.predict_nbest(TOKENS[:3], 2) == by_hand.predict_nbest(X[:3], 2)
    for one, other in zip(
        model.predict_marginals(TOKENS, as_arrays=True),
        by_hand.predict_marginals(X, as_arrays=True),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert [d[0].label for d in model.explain(TOKENS[:2])] == [
        labels[0] for labels in model.predict(TOKENS[:2])
    ]


def test_copies_and_pickles_make_the_same_attributes(extractor, model):
    assert pickle.loads(pickle.dumps(model)).predict(TOKENS) == model.predict(TOKENS)
    again = clone(model)
    assert repr(again.extractor) == repr(model.extractor)


@pytest.mark.parametrize("name", ["token_features", "Features"])
def test_a_model_file_has_the_features_in_it(name, tmp_path):
    model = fitted(EXTRACTORS[name])
    path = tmp_path / "model.crfkit"
    model.save(path)
    loaded = CRF.load(path)
    assert loaded.predict(TOKENS) == model.predict(TOKENS)
    assert repr(loaded.extractor) == f"<extractor of a model: {model.tagger_.extraction.written}>"
    assert loaded.c2 == model.c2
    header, arrays = read_model(path)
    assert header["extractor"]["written"] == model.tagger_.extraction.written
    assert arrays["extractor.program"].dtype == np.uint8
    # A loaded model can be saved, cloned, trained again and trained further.
    loaded.save(tmp_path / "again.crfkit")
    assert CRF.load(tmp_path / "again.crfkit").predict(TOKENS) == model.predict(TOKENS)
    before = set(loaded.state_features_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        loaded.partial_fit([["Zzyzx", "Zzyzx"]], [["O", "O"]])
        clone(loaded).fit(TOKENS, LABELS)
    new = {attribute for attribute, _ in loaded.state_features_} - {attribute for attribute, _ in before}
    # With min_count, only the attributes that were frequent in the first training are used.
    assert ("word=Zzyzx" in new) == (name == "token_features")


@pytest.mark.parametrize(
    ("name", "culprit"), [("in Python", "map(shortened, 'short')"), ("function", "letters")]
)
def test_python_code_cannot_travel(name, culprit, tmp_path):
    extractor = EXTRACTORS[name]
    model = fitted(extractor)
    path = tmp_path / "model.crfkit"
    with pytest.warns(
        UserWarning, match=rf"cannot hold Python code.*{re.escape(culprit)}.*CRF.load\(path, ext"
    ):
        model.save(path)
    with pytest.raises(ModelFileError, match=rf"{re.escape(culprit)}.*pass the extractor again"):
        CRF.load(path)
    loaded = CRF.load(path, extractor=extractor)
    assert loaded.predict(TOKENS) == model.predict(TOKENS)
    assert loaded.extractor is extractor
    # What the extractor had learnt was in the file: an unfitted one will do.
    if isinstance(extractor, Features):
        assert CRF.load(path, extractor=clone(extractor)).predict(TOKENS) == model.predict(TOKENS)
        with pytest.raises(InputError, match="learns other things"):
            CRF.load(path, extractor=Features(word.lower()))


def test_another_tools_model_with_an_extractor(tmp_path):
    path = tmp_path / "model.crfsuite"
    model = fitted(token_features)
    model.save_crfsuite(path)
    assert CRF.load(path, extractor=token_features).predict(TOKENS) == model.predict(TOKENS)


def test_parameters_of_the_extractor_are_reachable():
    crf = CRF(extractor=TokenFeatures(window=1), **SETTINGS)
    assert crf.get_params()["extractor__window"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(crf, {"extractor__window": [0, 2]}, cv=2, error_score="raise").fit(
            TOKENS, LABELS
        )
        assert search.best_estimator_.extractor.window in (0, 2)
        crf = CRF(extractor=Features(word), **SETTINGS)
        choices = {"extractor__min_count": [1, 3], "extractor__extractors": [[word], [word.lower(), bias()]]}
        GridSearchCV(crf, choices, cv=2, error_score="raise").fit(TOKENS, LABELS)


@pytest.mark.filterwarnings("ignore::crfkit.exceptions.ConvergenceWarning")
def test_all_shapes_of_sentences():
    rows = [[(w, str(len(w))) for w in sentence] for sentence in TOKENS]
    frames = [pd.DataFrame(sentence, columns=["w", "n"]) for sentence in rows]
    dicts = [[{"w": w, "n": n} for w, n in sentence] for sentence in rows]
    whole = (
        pd.concat(frames, keys=range(len(frames)), names=["s"]).reset_index(level=0).reset_index(drop=True)
    )
    by_place = Features(column(0, "w").lower(), column(1, "n").number()[-1])
    by_name = Features(column("w").lower(), column("n").number()[-1])
    by_id = Features(column("w").lower(), column("n").number()[-1], sequence_column="s")
    expected = CRF(extractor=by_place, **SETTINGS).fit(rows, LABELS)
    for extractor, X in [
        (by_place, Columns.from_rows(rows)),
        (by_name, frames),
        (by_name, dicts),
        (by_id, whole),
    ]:
        model = CRF(extractor=extractor, **SETTINGS).fit(X, LABELS, X_dev=X, y_dev=LABELS)
        assert model.predict(X) == expected.predict(rows)
        assert model.score(X, LABELS) == expected.score(rows, LABELS)
    streamed = CRF(extractor=by_place, **SETTINGS).fit(iter(rows), LABELS)
    assert streamed.state_features_ == expected.state_features_


def test_the_constrained_crf():
    model = fitted(token_features, ConstrainedCRF, max_outer=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        by_hand = ConstrainedCRF(max_outer=2, **SETTINGS).fit(attributes(token_features, TOKENS), LABELS)
    assert model.state_features_ == by_hand.state_features_


def test_mistakes_are_named():
    model = fitted(token_features)
    for X, problem in [
        ([["a"], ["b", "c\ud800"]], "sequence 1, position 1: a lone surrogate"),
        (["12 Main St."], "sequence 0: a sentence must be a list of tokens or rows, got the string"),
        ([["a"], 3], "sequence 1: a sentence must be a list of tokens or rows, got int"),
    ]:
        with pytest.raises(InputError, match=problem):
            model.predict(X)
    with pytest.raises(InputError, match="template= and extractor= both make attributes"):
        CRF(template="U:%x[0,0]", extractor=token_features).fit(TOKENS, LABELS)
    with pytest.raises(InputError, match="extractor must be"):
        CRF(extractor=["token"]).fit(TOKENS, LABELS)

    def fails(sentence):
        raise KeyError("no such word")

    with pytest.raises(
        InputError, match=r"sequence 0: the extractor .*fails failed: KeyError: 'no such word'"
    ):
        CRF(extractor=fails).fit(TOKENS, LABELS)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model.crfkit"
    fitted(token_features).save(path)
    header, arrays = read_model(path)
    program = arrays["extractor.program"]
    for entry, code, problem in [
        ({"written": 3}, program, "its extractor is malformed"),
        ({"written": "x", "in_python": "f"}, program, "its extractor is malformed"),
        ({"written": "x"}, None, "its extractor lacks the program"),
        ({"written": "x"}, program[:-2], "its feature program is damaged: it is cut off"),
        ({"written": "x"}, program.astype(np.int32), "expected an array 'extractor.program' of uint8"),
    ]:
        some = {name: array for name, array in arrays.items() if name != "extractor.program"}
        if code is not None:
            some["extractor.program"] = code
        write_model(path, {**header, "extractor": entry}, some)
        with pytest.raises(ModelFileError, match=problem):
            CRF.load(path)
    write_model(path, {**header, "template": {"dialect": "crf++", "text": "U:%x[0,0]"}}, arrays)
    with pytest.raises(ModelFileError, match="it has a template and an extractor"):
        CRF.load(path)
