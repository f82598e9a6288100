"""Labelled sentences as coloured spans and as text: which spans, from which input, and nothing but text."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from html_page import Page

import crfkit
from crfkit import CRF, show
from crfkit.datasets import addresses
from crfkit.exceptions import InputError
from crfkit.features import token_features
from crfkit.report.spans import span_style, spans_html

BAD = "<script>alert('x')</script>&amp;\"{{ title }}%s"
TOKENS = ["Ada", "Lovelace", "saw", "Turin"]
LABELS = ["B-PER", "I-PER", "O", "B-LOC"]


@pytest.fixture(scope="module")
def parser():
    X, y = addresses(80, random_state=1)
    return CRF(c2=1.0, extractor=token_features, max_iterations=30).fit(X, y), X, y


def test_one_sentence():
    shown = show(TOKENS, LABELS)
    assert repr(shown) == str(shown) == "[PER Ada Lovelace] saw [LOC Turin]"
    page = Page(shown._repr_html_())
    assert page.words.split() == ["Ada", "LovelacePER", "saw", "TurinLOC"]
    assert page.tags.count("mark") == 2
    assert page.loads == []
    assert "script" not in page.tags


@pytest.mark.parametrize(
    ("labels", "scheme", "expected"),
    [
        (["B-X", "E-X", "S-X", "O"], None, "[X a b] [X c] d"),
        (["S-X", "S-X", "O", "O"], None, "[X a] [X b] c d"),
        (["I-X", "I-X", "I-Y", "O"], None, "[X a b] [Y c] d"),
        (["I-X", "I-X", "B-X", "O"], "IOB1", "[X a b] [X c] d"),
        (["NN", "NN", ".", "VB"], None, "[NN a b] [. c] [VB d]"),  # "." is also a tag of conlleval
        (["B-X", "I-X", "O", "O"], "runs", "[B-X a] [I-X b] c d"),
        ([1, 1, 0, "O"], None, "[1 a b] [0 c] d"),
        (["O"] * 4, None, "a b c d"),
    ],
)
def test_schemes(labels, scheme, expected):
    assert str(show(list("abcd"), labels, scheme=scheme)) == expected


def test_probabilities():
    numbers = show(TOKENS, LABELS, [0.9, 0.8, 0.7, 1])
    assert str(numbers) == "[PER Ada Lovelace 0.80] saw [LOC Turin 1.00]"
    dicts = show(TOKENS, LABELS, [{"B-PER": 0.9}, {"I-PER": 0.8}, {"O": 0.7}, {"B-LOC": 1.0, "O": 0}])
    assert (str(dicts), dicts.to_html()) == (str(numbers), numbers.to_html())
    assert "--a:85%" in numbers.to_html()  # 25 % and three quarters of 0.8
    page = Page(numbers.to_html())
    assert ("title", "Ada  B-PER 0.90\nLovelace  I-PER 0.80") in page.attributes


def test_gold_above_predicted():
    shown = show(TOKENS, LABELS, gold=["B-PER", "I-PER", None, "O"])
    assert (
        str(shown) == "gold       [PER Ada Lovelace] saw Turin\npredicted  [PER Ada Lovelace] saw [LOC Turin]"
    )
    text = shown.to_html()
    assert " ".join(Page(text).words.split()) == "gold predictedPERAda PERLovelace saw Turin ✗ LOC"
    assert len(re.findall(r'data-t="\d"', text)) == 4
    assert text.count(" wrong") == 1


def test_many_sentences():
    batch = [TOKENS, ["Rome"], []] * 10
    labels = [LABELS, ["B-LOC"], []] * 10
    shown = show(batch, labels, limit=2, gold=[LABELS, None, []] * 10)
    assert str(shown).splitlines()[-3:] == ["[LOC Rome]", "", "… and 28 more: limit=30 shows all"]
    page = Page(shown._repr_html_())
    assert page.tags.count("p") == 3
    arrays = show(np.array([TOKENS]), np.array([LABELS]))
    assert str(arrays) == str(show([TOKENS], [LABELS])) == str(show(TOKENS, [LABELS]))


def test_text_and_spans():
    text = "Ada\nLovelace-Byron saw Turin. "
    spans = [{"start": 0, "end": 12, "label": "PER", "probability": 0.5}, (23, 28, "LOC")]
    shown = show(text, spans)
    assert str(shown) == "[PER Ada Lovelace 0.50] -Byron saw [LOC Turin] ."
    page = Page(shown.to_html())
    assert page.words.strip("\n") == "Ada\nLovelacePER 0.50-Byron saw TurinLOC. "
    inside = show("Turin", [(0, 3, "X")], gold=[(0, 5, "X")])
    assert str(inside) == "gold       [X Turin]\npredicted  [X Tur] in"
    assert str(show("", [])) == ""


def test_a_model(parser):
    model, X, y = parser
    found = model.predict_segments(X[:2])
    shown = show(model, X[:2], gold=y[:2])
    for sentence, segments in zip(shown.sentences, found, strict=True):
        assert [tuple(span) for span in sentence.spans] == [tuple(segment) for segment in segments]
    assert str(shown).count("gold") == 2
    assert set(shown.types) == {label[2:] for label in model.classes_ if label != "O"}
    alone = show(model, X[0])
    assert str(alone) == str(show(model, X[:1]))
    assert str(show(model, X, limit=3)).endswith("… and 77 more: limit=80 shows all")
    text = "12 Long Street, Bath"
    assert str(show(model, text)) == str(show(text, model.tag_text(text)))


def test_models_of_attributes_arrays_and_frames():
    X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
    assert re.fullmatch(r"\[A 0 0\.\d+\] \[B 1 0\.\d+\]", str(show(CRF(c2=0.01).fit(X, y), X[:1])))
    points = [np.array([[0.0, 1], [1, 0]])] * 3
    dense = CRF(c2=0.01).fit(points, [["A", "B"]] * 3)
    assert str(show(dense, points)).count("[B 1 ") == 3
    frame = pd.DataFrame(
        {"n": [2, 2, 1, 1] * 3, "word": ["x", "y", "x", "z"] * 3, "tag": ["A", "B", "A", "O"] * 3}
    )
    tabular = CRF(c2=0.01).fit(frame, label="tag", sequence="n")
    assert str(show(tabular, frame.drop(columns="tag"))).split("]")[0].startswith("[A x")


def test_everything_is_text():
    """Tokens, labels and notes: as elements, titles and words."""
    for shown in (
        show([BAD, "x"], [f"B-{BAD}", "O"], [0.5, 0.5]),
        show([BAD, "x"], [f"B-{BAD}", "O"], [0.5, 0.5], gold=["O", f"B-{BAD}"]),
        show(BAD, [(0, len(BAD), BAD)]),
    ):
        page = Page(shown.to_html())
        assert page.words.count(BAD) >= 2
        assert "script" not in page.tags
    assert (
        "\\x00 \\x1b \\n \\ud800 ∅"
        in Page(show(["\0", "\x1b", "\n", "\ud800", ""], ["O"] * 5).to_html()).words
    )
    assert "\x1b" not in str(show(["\x1b"], ["O"]))


def test_style_once_per_page():
    sentences = show(TOKENS, LABELS).sentences
    assert "<style>" not in spans_html(sentences, style=False)
    assert span_style() in spans_html(sentences)
    assert "&" not in span_style()


def test_more_types_than_colours():
    labels = [f"type {i}" for i in range(24)]
    text = show(labels, labels).to_html()
    classes = re.findall(r'<mark class="([^"]*)"', text)
    assert len(set(classes)) == 24
    assert {len(one.split()) for one in classes} == {1, 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TOKENS,), "show needs labels: show(tokens, labels), show(text, spans) or show(model, X)"),
        ((TOKENS, LABELS[:3]), "sentence 0 has 4 tokens, but labels for it: 3"),
        (([TOKENS], [LABELS, LABELS]), "expected labels of 1 sentences, got those of 2"),
        (([TOKENS], [None]), "sentence 0 has 4 tokens, but labels for it: None"),
        ((TOKENS, LABELS, [1, 1, 1, 2]), "a probability lies between 0 and 1, got 2"),
        ((TOKENS, LABELS, ["a"] * 4), "probabilities must be one number per token or what predict_marginals"),
        ((TOKENS, "BIOO"), "labels must be a list with one entry per token, got str"),
        (({"a": 1}, LABELS), "tokens must be a list of tokens or of sentences, got dict"),
        (("Turin", [(0, 9, "LOC")]), "does not lie in the text of 5 characters"),
        (("Turin", ["LOC"]), "a span of a text has start, end and label, got 'LOC'"),
        (("Turin", [(0, 3, "A"), (2, 5, "B")]), "spans must not overlap"),
        (("Turin", [], [1]), "the spans of a text have their own probabilities"),
        ((CRF(), [TOKENS], [1]), "probabilities are the model's own"),
        ((CRF(),), "show(model, X) needs X"),
        (
            (crfkit.KernelLogisticRegression(), [TOKENS]),
            "needs a model that labels sequences, got KernelLogistic",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        show(*arguments)


def test_more_errors(parser):
    model, X, y = parser
    with pytest.raises(InputError, match="limit must be at least 1, got 0"):
        show(TOKENS, LABELS, limit=0)
    with pytest.raises(InputError, match="sentence 0 has"):
        show(model, X[:1], gold=[["O"]])
    with pytest.raises(InputError, match="expected gold labels of 2 sentences, got those of 1"):
        show(model, X[:2], gold=y[:1])
    with pytest.raises(InputError, match="one of the tags"):
        show(["a", "b"], ["NN", "."], scheme="IOB2")


def test_without_jinja_the_text_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    shown = show(TOKENS, LABELS)
    assert shown._repr_html_() is None
    assert str(shown) == "[PER Ada Lovelace] saw [LOC Turin]"
