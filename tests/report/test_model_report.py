"""The report of every kind of model and every form of data: the page opens, its numbers are metrics' own."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import ESTIMATORS, LENGTHS, TABLE, X, Y, fitted
from foreign_models import FILES
from html_page import Page
from refusals import refuses

from crfkit import CRF, TreeCRF, load, metrics
from crfkit.data.columns import Columns
from crfkit.mining import AssociationMiner
from crfkit.models.kinds import KINDS
from crfkit.report.model_report import ModelReport

BAD = "<script>alert('x')</script>&amp;{{ 7 * 7 }}</b>"
SENTENCES = [
    (["Ann", "Lee", "saw", "Rome", "."], ["B-PER", "I-PER", "O", "B-LOC", "O"]),
    (["Rome", "saw", "Ann", "."], ["B-LOC", "O", "B-PER", "O"]),
    (["Lee", "saw", "New", "York", "."], ["B-PER", "O", "B-LOC", "I-LOC", "O"]),
    (["New", "York", "Times", "saw", "Lee"], ["B-ORG", "I-ORG", "I-ORG", "O", "B-PER"]),
] * 5
WORDS, LABELS = [list(words) for words, _ in SENTENCES], [list(labels) for _, labels in SENTENCES]
OTHER = [["Times", "saw", "York"], ["Ann", "Rome", "saw", "Bob", "Lee"], ["Bob"]]
TRUE = [["B-ORG", "O", "B-LOC"], ["B-PER", "I-PER", "O", "B-PER", "I-PER"], ["B-PER"]]


def items(sentences):
    return [[{"word": word, "upper": word[0].isupper()} for word in words] for words in sentences]


@pytest.fixture(scope="module")
def crf():
    return CRF(c2=0.5, n_jobs=1).fit(items(WORDS), LABELS)


def parts(report):
    """Return the page taken apart, and the data of its script."""
    page = Page(report.html)
    assert page.loads == []
    assert "http" not in report.html.replace("http-equiv", "")
    assert page.tags.count("script") == 2
    data = next(text for text in page.data if text.startswith('{"labels"'))
    assert "<" not in data
    for name in ("How good", "Where it errs", "What it has learnt"):
        assert page.words.count(name) == 2  # a link and a heading
    return page, json.loads(data)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kind_of_model(name):
    model = fitted(name)
    page, data = parts(model.report(X, Y))
    accuracy = metrics.token_accuracy(Y, model.predict(X))
    assert f"{100 * accuracy:.2f}token accuracy" in page.words.replace("\n", "")
    wrong = [i for i, (a, b) in enumerate(zip(Y, model.predict(X), strict=True)) if a != list(b)]
    assert len(data["sentences"]) == page.tags.count("article") == len(wrong)
    assert data["labels"] == ["P", "Q", "R"]
    learnt = {
        "TreeCRF": ("Importances", "Conjunctions"),
        "KernelCRF": ("Cliques", "Transitions"),
        "SemiCRF": ("Weights by label", "Lengths", "Neighbouring segments"),
    }
    for text in learnt.get(type(model).__name__, ("Weights by label", "Transitions")):
        assert text in page.words or (text == "Cliques" and not model.cliques_)
    assert ("Label n-grams" in page.words) == (name == "second order")


def test_the_table_of_kinds_names_the_views():
    views = {kind.view.__name__ for kind in KINDS.values() if kind.view_at}
    assert views == {"LinearView", "TreeView", "KernelView", "SegmentView"}


def test_reasons_are_those_of_explain(crf):
    """Where the rivals are the same, so are the reasons; the n best labellings are those of predict_nbest."""
    _, data = parts(crf.report(items(OTHER), TRUE))
    explained, predicted = crf.explain(items(OTHER)), crf.predict(items(OTHER))
    order = [i for i in range(3) if predicted[i] != TRUE[i]]
    compared = 0
    for record in data["sentences"]:
        i = next(k for k in order if len(OTHER[k]) == len(record["t"]))
        for t, (label, rival, odds, probabilities, reasons, left) in enumerate(record["t"]):
            own = explained[i][t]
            assert data["labels"][label] == own.label == predicted[i][t]
            wrong = own.label != TRUE[i][t]
            assert data["labels"][rival] == (TRUE[i][t] if wrong else own.rival)
            p = dict(zip(probabilities[::2], probabilities[1::2], strict=True))
            assert p[label] == pytest.approx(own.probability, abs=6e-4)
            if data["labels"][rival] == own.rival:
                assert odds == pytest.approx(own.log_odds, abs=0.006)
                told = [(data["texts"][k], w) for k, w in zip(reasons[::2], reasons[1::2], strict=True)]
                weights = {(r.what, round(r.weight, 2)) for r in own.reasons}
                assert all(abs(w) < 0.1 or (text, w) in weights for text, w in told)
                assert left == len(own.reasons) - len(told)
                compared += 1
        best = crf.predict_nbest(items(OTHER), 5)[i]
        assert [np.exp(log) for log, *_ in record["n"]] == pytest.approx([p for _, p in best], rel=1e-3)
        for (labels, _), (_, changes, outside) in zip(best, record["n"], strict=True):
            mine = list(predicted[i])
            for t, k in zip(changes[::2], changes[1::2], strict=True):
                mine[t] = data["labels"][k]
            assert (mine, outside) == (labels, 0)
    assert compared > 3


def test_numbers_are_those_of_metrics(crf):
    found = crf.predict(items(OTHER))
    report = crf.report(items(OTHER), TRUE, resamples=200)
    page, _ = parts(report)
    scores = metrics.segment_scores(TRUE, found)
    interval = metrics.bootstrap(TRUE, found, "segment_f1", n=200, random_state=0)
    words = re.sub(r"\s+", " ", page.words)
    assert f"{100 * scores.f1:.2f}F1{100 * interval.low:.2f} – {100 * interval.high:.2f}" in words
    assert f"{100 * scores.precision:.2f}precision" in words
    for score in scores.scores.values():
        numbers = (score.f1, score.precision, score.recall, score.true, score.predicted)
        assert {("data-v", str(number)) for number in numbers} <= set(page.attributes)
    confusion = metrics.confusion_matrix(TRUE, found)
    for true, predicted, count in confusion.most_confused():
        assert any(
            f"{count:,} × {true} predicted as {predicted}" in (value or "") for _, value in page.attributes
        )
    assert f"{100 * scores.f1:.2f}" in repr(report)


def test_forms_of_data(crf, tmp_path):
    """Dicts, arrays, attributes as text, data frames: sentences have words where there are any."""
    frame = pd.DataFrame(
        [
            (i, w, len(w), y)
            for i, (s, labels) in enumerate(SENTENCES)
            for w, y in zip(s, labels, strict=True)
        ],
        columns=["sid", "word", "length", "tag"],
    )
    wrong = frame.assign(tag=frame.tag.replace("B-LOC", "B-PER"))
    for model in (CRF(c2=0.1, n_jobs=1), TreeCRF(n_iterations=5, n_jobs=1)):
        model.fit(frame, label="tag", sequence="sid")
        for given in (wrong, pl.from_pandas(wrong)):
            page, _ = parts(model.report(given))
            assert "York" in page.words
        model.save(tmp_path / "m.crfkit")
        assert "York" in parts(load(tmp_path / "m.crfkit").report(wrong))[0].words
    page, _ = parts(fitted("linear").report(TABLE, [label for y in Y for label in y], lengths=LENGTHS))
    assert page.tags.count("article") > 0
    texts = [[[f"w={word}", "bias"] for word in words] for words in OTHER]
    page, _ = parts(CRF(n_jobs=1).fit([[["w=Bob"]]] * 2, [["B-PER"], ["O"]]).report(texts, TRUE))
    assert "Times" in page.words
    page, _ = parts(crf.report(items(OTHER), TRUE, words=[["Zwölf"] * len(words) for words in OTHER]))
    assert "Zwölf" in page.words
    refuses("words must have one list per sequence", crf.report, items(OTHER), TRUE, words=OTHER[:1])


@pytest.mark.parametrize("name", ["wapiti_tiny", "crfpp_tiny"])
def test_models_of_other_tools(name):
    model = CRF.load(FILES[name])
    rows = Columns.from_rows([[["x"], ["y"], ["z"]], [["y"]]])
    page, _ = parts(model.report(rows, [["A", "A", "A"], ["A"]]))
    assert "The model has no training history" in page.words


def test_a_model_of_crfsuite(crf, tmp_path):
    crf.save_crfsuite(tmp_path / "m.crfsuite")
    page, data = parts(load(tmp_path / "m.crfsuite").report(items(OTHER), TRUE))
    assert "Times" in page.words
    assert data["labels"] == list(map(str, load(tmp_path / "m.crfsuite").classes_))


def test_rules_with_examples():
    rows = [[[word] for word in words] for words in WORDS]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nB"
    model = CRF(template=template, associations=AssociationMiner(important=False, n_jobs=1), n_jobs=1)
    page, _ = parts(model.fit(rows, LABELS).report([[[word] for word in words] for words in OTHER], TRUE))
    assert "association rules, with places where they hold" in page.words


def test_markup_in_data_is_text(tmp_path):
    """Tokens, labels, attributes, titles: everywhere."""
    X = [[{"word": BAD, BAD: True}, {"word": "a"}], [{"word": "a"}, {"word": BAD}]] * 4
    y = [[f"B-{BAD}", "O"], ["O", f"I-{BAD}"]] * 4
    wrong = [["O", f"B-{BAD}"], [f"B-{BAD}", "O"]] * 4
    model = CRF(n_jobs=1).fit(X, y)
    page, data = parts(model.report(X, wrong, title=BAD, X_train=X, y_train=y, compare=model))
    assert page.words.count(BAD) > 20
    assert BAD in "".join(data["labels"])
    assert BAD in "".join(data["texts"])
    plain = CRF(n_jobs=1).fit(X, [[BAD, "O"], ["O", BAD]] * 4)
    assert parts(plain.report(X, [["O", BAD], [BAD, "O"]] * 4))[0].words.count(BAD) > 20


def test_learning_curve_and_new_words(crf):
    page, _ = parts(crf.report(items(OTHER), TRUE, X_train=items(WORDS), y_train=LABELS))
    assert "Would more data help?" in page.words
    assert "new words, not in the training data" in page.words
    curve = next(value for _, value in page.attributes if (value or "").startswith("learning curve"))
    full = CRF(c2=0.5, n_jobs=1).fit(items(WORDS), LABELS)
    f1 = 100 * metrics.segment_f1(TRUE, full.predict(items(OTHER)))
    assert f"to {f1:.3g} at 20" in curve


def test_labels_that_are_not_known(crf):
    """Sequences without all labels are left out and counted; a label that the model lacks is a mistake."""
    page, _ = parts(crf.report(items([*OTHER, OTHER[0]]), [*TRUE, [None, "O", "O"]]))
    assert "3 sequences" in page.words
    assert "1 more without all labels left out" in page.words
    page, data = parts(crf.report(items(OTHER[:1]), [["B-NEW", "O", "B-LOC"]]))
    assert "NEW" in page.words
    assert "B-NEW" not in data["labels"]


def test_odd_data():
    """Arrays have no words, so none is new; empty sequences; labels of which only some have tags."""
    page, _ = parts(fitted("linear").report(X, Y, X_train=X, y_train=Y))
    assert "Would more data help?" in page.words
    assert "new words" not in page.words
    model = CRF(n_jobs=1).fit([[["a"], ["b"], ["c"]]] * 3, [["B-X", "foo", "O"]] * 3)
    page, _ = parts(model.report([[["a"], ["b"]], []], [["O", "foo"], []]))
    assert "each position counts by itself" in page.words
    one = CRF(n_jobs=1).fit([[["a"]]], [["A"]])  # a single label has no rival
    _, data = parts(one.report([[["a"], ["a"]]], [["A", "B"]]))
    assert [position[1] for position in data["sentences"][0]["t"]] == [-1, -1]


def test_long_sequences_are_cut():
    long = [{"word": "a"}] * 1000
    model = CRF(n_jobs=1).fit([long], [["A", "B"] * 500])
    page, data = parts(model.report([long], [["A"] * 700 + ["B", "A"] * 150]))
    assert re.search(r"positions [\d,]+ to [\d,]+ of 1,000", page.words)
    assert len(data["sentences"][0]["t"]) == 150


def test_no_mistakes(crf):
    page, data = parts(crf.report(items(WORDS), LABELS))
    assert "There are no mistakes in 20 sequences" in page.words
    assert data["sentences"] == []


def test_many_sequences_stay_small(crf):
    """The page has the interesting ones and says so."""
    n = 4000
    X, y = (OTHER * n)[:n], (TRUE * n)[:n]
    report = crf.report(items(X), y, sentences=40)
    page, _ = parts(report)
    assert page.tags.count("article") == 40
    assert "40 of them are on this page" in page.words
    assert len(report.html) < 300_000


def test_saving_and_showing(crf, tmp_path):
    report = crf.report(items(OTHER), TRUE, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html
    assert isinstance(report, ModelReport)
    frame = Page(report._repr_html_())
    assert dict(frame.attributes)["srcdoc"] == report.html
    assert crf.report(items(OTHER), TRUE).html == report.html  # the same data gives the same page


def test_bad_input(crf):
    refuses(
        "a report needs true labels, but the data has none",
        crf.report,
        items(OTHER),
        [[None] * len(s) for s in OTHER],
    )
    refuses("y is missing", crf.report, items(OTHER))
    refuses("every sequence here lacks some", crf.report, items(OTHER[:1]), [[None, "O", "O"]])
    refuses("X has 3 sequences but y has 2", crf.report, items(OTHER), TRUE[:2])
    refuses("sentences must be at least 0", crf.report, items(OTHER), TRUE, sentences=-1)
    refuses("scheme", crf.report, items(OTHER), TRUE, scheme="IBO")
