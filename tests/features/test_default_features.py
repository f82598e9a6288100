"""The features of tables for which none are given."""

import pytest
from refusals import refuses

from crfkit import CRF
from crfkit.data import Columns
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.features.default_features import default_features, word_columns
from crfkit.metrics import segment_scores

ROWS = [[["Main", "NN"], ["St.", "NN"], ["12", "CD"]]]


def test_columns_of_words():
    assert word_columns([19122, 44]) == [0]
    assert word_columns([100, 50, 49, 200]) == [0, 1, 3]
    assert word_columns([1]) == [0]
    assert word_columns([31, 4521, 60], numeric=[0]) == [1]  # the number of a document is no word
    assert word_columns([31, 20], numeric=[0, 1]) == [0, 1]


def test_attributes():
    found = default_features([0], [1]).transform(ROWS)[0][1]
    for attribute in (
        *("bias", "w=St.", "w.lower=st.", "w.lower.bare=st", "w.short_shape=Xx.", "w.marks=."),
        *("w.lower[-1]=main", "w.lower[1]=12", "w.lower[-1]|w.lower=main|st.", "c1=NN", "c1[-1]|c1=NN|NN"),
    ):
        assert any(found_one.startswith(attribute) for found_one in found), attribute
    assert "last" in default_features(["word"]).transform([[{"word": "a"}]])[0][0]
    named = default_features([0], [1], {0: "token", 1: "pos"}).transform(ROWS)[0][0]
    assert {"token=Main", "pos=NN"} <= set(named)
    refuses("needs at least one column", default_features, [])


def test_they_are_not_below_token_features():
    tokens, labels = addresses(1400, random_state=1)
    rows = [[[token] for token in sentence] for sentence in tokens]
    found = []
    for extractor, X in ((token_features, tokens), (default_features([0]), rows)):
        model = CRF(extractor=extractor).fit(X[:400], labels[:400])
        found.append(segment_scores(labels[400:], model.predict(X[400:])).f1)
    assert found[1] > found[0] - 0.005


@pytest.mark.parametrize("n", [1, 3])
def test_they_travel_with_the_model(n, tmp_path):
    columns = Columns.from_rows([[row * n for row in rows] for rows in ROWS])
    model = CRF(extractor=default_features(range(n))).fit(columns, [["A", "A", "B"]])
    model.save(tmp_path / "m")
    assert CRF.load(tmp_path / "m").predict(columns) == [["A", "A", "B"]]
