"""Feature induction: conjunctions express what single attributes cannot."""

import itertools

import numpy as np
import pytest
from refusals import refuses, unreadable

from crfkit import CRF
from crfkit.selection import GainSelector, GradientSelector, Selection


@pytest.fixture(scope="module")
def exclusive():
    """Return data whose label says whether exactly one of two attributes is present; a third one is noise."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        bits = rng.random((10, 3)) < 0.5
        X.append([[name for name, bit in zip("abn", row, strict=True) if bit] + ["always"] for row in bits])
        y.append([str(bool(row[0] != row[1])) for row in bits])
    return X[:40], y[:40], X[40:], y[40:]


@pytest.mark.parametrize("selector", [GradientSelector, GainSelector])
def test_induction_finds_the_conjunction(exclusive, selector, tmp_path):
    X, y, X_test, y_test = exclusive
    plain = selector(c2=0.1, n_features=12).fit(X, y)
    grown = selector(c2=0.1, n_features=15, conjunctions=True).fit(X, y)
    assert "a & b" in grown.selected_.conjunctions
    assert grown.objective_ < 0.3 * plain.objective_
    crf = CRF(c2=0.1, features=grown.selected_).fit(X, y)
    assert crf.score(X_test, y_test) > 0.98 > CRF(c2=0.1).fit(X, y).score(X_test, y_test) + 0.2
    # The model makes its conjunctions itself, also after loading.
    crf.save(tmp_path / "model.crfkit")
    loaded = CRF.load(tmp_path / "model.crfkit")
    assert loaded.predict(X_test) == crf.predict(X_test)
    assert {f.key for f in loaded.features} == {f.key for f in grown.selected_}
    assert loaded.features.conjunctions == grown.selected_.conjunctions
    assert loaded.partial_fit(X, y).score(X_test, y_test) > 0.98
    # So does the selector in front of a model.
    assert CRF(c2=0.1).fit(grown.transform(X), y).score(grown.transform(X_test), y_test) > 0.98
    refuses("does not support conjunctions", crf.save_crfsuite, tmp_path / "model.crfsuite")


def test_dev_set_sees_conjunctions(exclusive):
    X, y, X_dev, y_dev = exclusive
    selector = GradientSelector(c2=0.1, n_features=20, conjunctions=50, patience=15).fit(
        X, y, X_dev=X_dev, y_dev=y_dev
    )
    assert max(record["dev_accuracy"] for record in selector.path_) > 0.98
    crf = CRF(c2=0.1, features=selector.selected_).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert crf.score(X_dev, y_dev) > 0.98


def test_three_at_once():
    rng = np.random.default_rng(1)
    rows = [dict(zip("abc", bits, strict=True)) for bits in itertools.product([0, 1], repeat=3)] * 12
    rng.shuffle(rows)
    X = [
        [[name for name, bit in row.items() if bit] + ["always"] for row in rows[i : i + 8]]
        for i in range(0, 96, 8)
    ]
    y = [["all" if len(item) == 4 else "not" for item in items] for items in X]
    selector = GradientSelector(c2=0.01, n_features=15, conjunctions=True).fit(X, y)
    assert ("a", "b", "c") in selector.selected_.conjunctions.values()
    assert all(len(atoms) <= 3 for atoms in selector.selected_.conjunctions.values())


def test_values_are_multiplied():
    rng = np.random.default_rng(2)
    X = [[{"p": float(rng.normal()), "q": float(rng.normal())} for _ in range(6)] for _ in range(60)]
    y = [["up" if item["p"] * item["q"] > 0 else "down" for item in items] for items in X]
    selector = GradientSelector(c2=0.01, n_features=6, conjunctions=True).fit(X, y)
    assert "p & q" in selector.selected_.attributes
    assert CRF(c2=0.01, features=selector.selected_).fit(X, y).score(X, y) > 0.95


def test_arrays_have_no_names(exclusive):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(6, 2)) for _ in range(60)]
    y = [["up" if row[0] * row[1] > 0 else "down" for row in x] for x in X]
    selector = GradientSelector(c2=0.01, n_features=6, conjunctions=True).fit(X, y)
    assert "0 & 1" in selector.selected_.attributes
    refuses("columns of an array have none", CRF(features=selector.selected_).fit, X, y)
    assert CRF(c2=0.01).fit(selector.transform(X), y).score(selector.transform(X), y) > 0.95


def test_damaged_model(exclusive, tmp_path):
    from crfkit.io.model_file import read_model, write_model

    X, y, *_ = exclusive
    crf = CRF(
        features=Selection.of_index(
            CRF().fit(X, y).tagger_.index, CRF().fit(X, y).tagger_.vocabulary, ["False", "True"]
        )
    )
    crf.fit(X, y).save(tmp_path / "model.crfkit")
    header, arrays = read_model(tmp_path / "model.crfkit")
    for damage in ("a & b", [["a & b"]], [[1, ["a"]]], [["a & b", []]], [["a & b", [1]]]):
        write_model(tmp_path / "bad.crfkit", {**header, "conjunctions": damage}, arrays)
        unreadable("conjunctions are malformed", CRF.load, tmp_path / "bad.crfkit")
