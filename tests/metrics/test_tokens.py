"""Token and sequence metrics against scikit-learn on flattened labels."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import LabelCodes
from crfkit.exceptions import InputError
from crfkit.metrics import confusion_matrix, sequence_accuracy, token_accuracy, token_f1, token_report

LABELS = ["A", "B", "C", "D"]


@st.composite
def pairs(draw):
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any))
    sequences = [st.lists(st.sampled_from(LABELS), min_size=n, max_size=n) for n in lengths]
    return [draw(s) for s in sequences], [draw(s) for s in sequences]


def flat(y):
    return [label for sequence in y for label in sequence]


@given(pairs())
def test_accuracy_equals_sklearn(pair):
    y_true, y_pred = pair
    assert token_accuracy(y_true, y_pred) == sklearn.metrics.accuracy_score(flat(y_true), flat(y_pred))
    assert sequence_accuracy(y_true, y_pred) == np.mean([t == p for t, p in zip(y_true, y_pred, strict=True)])


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@given(pair=pairs())
def test_f1_equals_sklearn(average, pair):
    y_true, y_pred = pair
    expected = sklearn.metrics.f1_score(flat(y_true), flat(y_pred), average=average, zero_division=0)
    assert token_f1(y_true, y_pred, average=average) == pytest.approx(expected, abs=1e-12)


@given(pairs())
def test_report_equals_sklearn(pair):
    y_true, y_pred = pair
    report = token_report(y_true, y_pred)
    expected = sklearn.metrics.classification_report(
        flat(y_true), flat(y_pred), output_dict=True, zero_division=0
    )
    for label, score in report.scores.items():
        for ours, theirs in (
            ("precision", "precision"),
            ("recall", "recall"),
            ("f1", "f1-score"),
            ("support", "support"),
        ):
            assert score.to_dict()[ours] == pytest.approx(expected[label][theirs])
    for ours, theirs in ((report.macro, "macro avg"), (report.weighted, "weighted avg")):
        assert ours.precision == pytest.approx(expected[theirs]["precision"])
        assert ours.recall == pytest.approx(expected[theirs]["recall"])


@given(pairs(), st.lists(st.sampled_from([*LABELS, "E"]), min_size=1, unique=True))
def test_report_of_some_labels_equals_sklearn(pair, labels):
    y_true, y_pred = pair
    report = token_report(y_true, y_pred, labels=labels)
    for average, ours in (("micro", report.overall), ("macro", report.macro), ("weighted", report.weighted)):
        theirs = sklearn.metrics.precision_recall_fscore_support(
            flat(y_true), flat(y_pred), labels=labels, average=average, zero_division=0
        )
        assert (ours.precision, ours.recall, ours.f1) == pytest.approx(theirs[:3], abs=1e-12)


@given(pairs())
def test_confusion_equals_sklearn(pair):
    y_true, y_pred = pair
    matrix = confusion_matrix(y_true, y_pred, labels=LABELS)
    expected = sklearn.metrics.confusion_matrix(flat(y_true), flat(y_pred), labels=LABELS)
    np.testing.assert_array_equal(matrix.counts, expected)
    mistakes = matrix.most_confused(100)
    assert sum(count for _, _, count in mistakes) == expected.sum() - np.trace(expected)
    assert [c for _, _, c in mistakes] == sorted((c for _, _, c in mistakes), reverse=True)


def test_labels_choose_rows_and_overall():
    report = token_report([["A", "O", "B"]], [["A", "B", "O"]], labels=["B", "A"])
    assert list(report.scores) == ["B", "A"]
    assert report.overall.to_dict() == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "support": 2,
        "predicted": 2,
        "correct": 1,
    }
    assert report.token_accuracy == pytest.approx(1 / 3)


def test_report_reads_well():
    report = token_report([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    assert str(report).splitlines() == [
        "                  precision  recall      F1     tokens",
        "A                     66.67  100.00   80.00          2",
        "B                      0.00    0.00    0.00          1",
        "",
        "overall               66.67   66.67   66.67          3",
        "macro average         33.33   50.00   40.00          3",
        "weighted average      44.44   66.67   53.33          3",
        "",
        "token accuracy                        66.67",
    ]
    assert report.to_dict()["scores"]["A"]["recall"] == 1.0


def test_confusion_reads_well():
    matrix = confusion_matrix([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    assert str(matrix).splitlines() == [
        "true / predicted  A  B",
        "A                 2  .",
        "B                 1  .",
    ]


def test_labels_of_several_types():
    assert list(token_report([["A", 10, 9]], [["B", 10, 9]]).scores) == [9, 10, "A", "B"]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([["A"], ["B"]], [["A"]], "y_true has 2 sequences but y_pred has 1"),
        ([["A"], ["B", "C"]], [["A"], ["B"]], "sequence 1: y_true has 2 labels but y_pred has 1"),
        (["A", "B"], ["A", "B"], r"y_true\[0\] is 'A'.*each sequence must be a list"),
        ("AB", "AB", "must be a list of label sequences, got str"),
        (None, [["A"]], "y_true must be a list of label sequences, got NoneType"),
        ([["A", None]], [["A", "B"]], r"y_true\[0\]\[1\] is None"),
        ([1, 2], [1, 2], r"y_true\[0\] is 1"),
    ],
)
@pytest.mark.parametrize(
    "metric", [token_accuracy, sequence_accuracy, token_report, token_f1, confusion_matrix]
)
def test_ragged_input_is_named(metric, y_true, y_pred, message):
    refuses(message, metric, y_true, y_pred)


def test_nothing_to_score():
    refuses("all sequences are empty", token_accuracy, [[], []], [[], []])
    refuses("no sequences", sequence_accuracy, [], [])
    refuses("all sequences are empty", confusion_matrix, [[]], [[]])
    assert sequence_accuracy([[]], [[]]) == 1.0


def test_unknown_average():
    with pytest.raises(InputError, match="average must be 'macro', 'weighted' or 'micro', got 'samples'"):
        token_f1([["A"]], [["A"]], average="samples")


def test_numpy_rows_are_sequences():
    assert token_accuracy(np.array([["A", "B"]]), np.array([["A", "A"]])) == 0.5


def test_unhashable_labels_are_named():
    refuses(r"y_pred\[0\]\[1\] is \['B'\], not a label", token_accuracy, [["A", "B"]], [["A", ["B"]]])


def test_codes_score_as_lists_do():
    y_true, y_pred = [["A", "B"], [], ["C"]], [["A", "A"], [], ["C"]]
    codes = [LabelCodes.of(y) for y in (y_true, y_pred)]
    assert token_report(*codes) == token_report(y_true, y_pred)
    assert token_report(codes[0], y_pred) == token_report(y_true, y_pred)
    assert sequence_accuracy(*codes) == 2 / 3
    # A label that no token has makes no row.
    more = LabelCodes([*codes[0].names, "Z"], codes[0].ids, codes[0].offsets)
    assert token_report(more, y_pred) == token_report(y_true, y_pred)
    assert confusion_matrix(more, y_pred).labels == ("A", "B", "C")
