"""conlleval's report: the script's own output, and counts token by token as the script does.

The texts below were printed by the script itself (Perl 5, version of 2004-01-26) for files with a blank line
after each sequence.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import LabelCodes
from crfkit.metrics import conlleval, segment_scores

IOE = [("I-X I-X E-X E-X O I-Y E-Y", "I-X E-X I-X E-X O I-Y O"), ("E-Y O", "E-Y E-Y")]
BRACKETS = [("[-X ]-X O", "[-X O ]-X"), ("I-X E-X B-X", "I-X E-X B-X"), ("B-Y I-Y O", "B-Y I-Z O")]
BARE = [("B I O B", "B I B O"), ("O B-É B-0", "O B-É B")]
RAW = [("LOC LOC none PER", "LOC PER none none"), ("none O", "O LOC")]
NOTHING = [("O O", "O B-X"), ("B-Y", "O")]

PRINTED = {
    "IOE": """\
processed 9 tokens with 4 phrases; found: 5 phrases; correct: 1.
accuracy:  55.56%; precision:  20.00%; recall:  25.00%; FB1:  22.22
                X: precision:   0.00%; recall:   0.00%; FB1:   0.00  2
                Y: precision:  33.33%; recall:  50.00%; FB1:  40.00  3
""",
    "BRACKETS": """\
processed 9 tokens with 4 phrases; found: 5 phrases; correct: 2.
accuracy:  66.67%; precision:  40.00%; recall:  50.00%; FB1:  44.44
                X: precision:  66.67%; recall:  66.67%; FB1:  66.67  3
                Y: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
                Z: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
""",
    "BARE": """\
processed 7 tokens with 4 phrases; found: 4 phrases; correct: 3.
accuracy:  71.43%; precision:  75.00%; recall:  75.00%; FB1:  75.00
                 : precision:  66.67%; recall:  66.67%; FB1:  66.67  3
                 : precision:  66.67%; recall:  66.67%; FB1:  66.67  3
               É: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
""",
    "RAW": """\
processed 6 tokens with 3 phrases; found: 3 phrases; correct: 1.
accuracy:  50.00%; precision:  33.33%; recall:  33.33%; FB1:  33.33
              LOC: precision:  50.00%; recall:  50.00%; FB1:  50.00  2
              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
""",
    "NOTHING": """\
processed 3 tokens with 1 phrases; found: 1 phrases; correct: 0.
accuracy:  33.33%; precision:   0.00%; recall:   0.00%; FB1:   0.00
                X: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
                Y: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
""",
}


def split(pairs):
    return [true.split() for true, _ in pairs], [pred.split() for _, pred in pairs]


@pytest.mark.parametrize(
    ("name", "pairs", "options"),
    [
        ("IOE", IOE, {}),
        ("BRACKETS", BRACKETS, {}),
        ("BARE", BARE, {}),
        ("RAW", RAW, {"raw": True, "outside": "none"}),
        ("NOTHING", NOTHING, {}),
    ],
)
def test_prints_what_the_script_prints(name, pairs, options):
    assert f"{conlleval(*split(pairs), **options)}\n" == PRINTED[name]


@pytest.mark.parametrize("y", [[], [[]], [[], []]])
def test_no_tokens(y):
    line = "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0."
    assert str(conlleval(y, y)) == line
    assert conlleval(y, y).token_accuracy == 0.0


def starts(before, here):
    (b, kind_b), (h, kind_h) = before, here
    if h in "[]" or b + h in {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}:
        return True
    return h not in "O." and kind_b != kind_h


def ends(before, here):
    (b, kind_b), (h, kind_h) = before, here
    if b in "[]" or b + h in {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}:
        return True
    return b not in "O." and kind_b != kind_h


def walk(y_true, y_pred):
    """Count correct, predicted and true segments by type, with the script's state."""
    correct, predicted, true = Counter(), Counter(), Counter()
    before_t = before_p = ("O", "")
    agree = False
    for sequence_t, sequence_p in zip(y_true, y_pred, strict=True):
        for label_t, label_p in [*zip(sequence_t, sequence_p, strict=True), ("O", "O")]:
            t, p = (label.partition("-")[::2] for label in (label_t, label_p))
            if agree:
                end_t, end_p = ends(before_t, t), ends(before_p, p)
                if end_t and end_p and before_t[1] == before_p[1]:
                    agree = False
                    correct[before_t[1]] += 1
                elif end_t != end_p or t[1] != p[1]:
                    agree = False
            if starts(before_t, t) and starts(before_p, p) and t[1] == p[1]:
                agree = True
            true[t[1]] += starts(before_t, t)
            predicted[p[1]] += starts(before_p, p)
            before_t, before_p = t, p
    if agree:
        correct[before_t[1]] += 1
    return correct, predicted, true


@given(st.data())
def test_counts_as_the_script_does(data):
    """Includes odd tags and labels, where starts and ends of segments do not match."""
    alphabet = data.draw(
        st.sampled_from(
            [
                ["O", "B-X", "I-X", "E-X", "B-Y", "I-Y", "E-Y"],
                ["O", "[-X", "]-X", "I-X", ".", "B-X", ".-X", "[", "B", "I", "E", "O-X", "B-"],
            ]
        )
    )
    lengths = data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=4).filter(any))
    y_true, y_pred = (
        [data.draw(st.lists(st.sampled_from(alphabet), min_size=n, max_size=n)) for n in lengths]
        for _ in range(2)
    )
    for report in (conlleval(y_true, y_pred), segment_scores(y_true, y_pred)):
        correct, predicted, true = walk(y_true, y_pred)
        assert (report.overall.correct, report.overall.predicted, report.overall.true) == (
            correct.total(),
            predicted.total(),
            true.total(),
        )
        for kind, score in report.scores.items():
            assert (score.correct, score.predicted, score.true) == (
                correct[kind],
                predicted[kind],
                true[kind],
            )


def test_codes_give_the_same_report_as_lists():
    y_true, y_pred = split(IOE)
    offsets = np.array([0, 7, 9])
    flat = [[label for sequence in y for label in sequence] for y in (y_true, y_pred)]
    codes = []
    for labels in flat:
        names = ["never", *dict.fromkeys(labels)]
        codes.append(LabelCodes(names, np.array([names.index(label) for label in labels]), offsets))
    assert str(conlleval(*codes)) == str(conlleval(y_true, y_pred))


def test_iobes_and_bilou_as_an_extension():
    y_true = [["S-X", "S-X", "B-X", "E-X", "B-X", "I-X", "E-X"]]
    y_pred = [["S-X", "B-X", "E-X", "B-X", "E-X", "I-X", "O"]]
    report = conlleval(y_true, y_pred)
    assert (report.overall.true, report.overall.predicted, report.overall.correct) == (4, 4, 1)
    to_bilou = {"E": "L", "S": "U"}
    as_bilou = [
        [[to_bilou.get(label[0], label[0]) + label[1:] for label in sequence] for sequence in y]
        for y in (y_true, y_pred)
    ]
    assert conlleval(*as_bilou) == report
    # Without an S the script takes the tags for ones it knows, and joins E-X B-X.
    y = [["B-X", "E-X", "B-X", "E-X"]]
    assert conlleval(y, y).overall.true == 1
    assert conlleval(y, y, scheme="IOBES").overall.true == 2


def test_raw_takes_any_labels():
    report = conlleval([[1, 2, "O"]], [[1, 1, "O"]], raw=True)
    assert (report.overall.true, report.overall.correct, report.n_correct_tokens) == (2, 1, 2)
    refuses("raw labels have no scheme", conlleval, [["X"]], [["X"]], raw=True, scheme="IOB2")


def test_another_outside_label():
    report = conlleval([["B-X", "0", "0"]], [["B-X", "O", "B-X"]], outside="0")
    assert (report.overall.true, report.overall.predicted, report.n_correct_tokens) == (1, 2, 2)


def test_unknown_tags_are_named():
    refuses(r"y_true\[0\]\[1\] is 'NOUN', .*token_report", conlleval, [["O", "NOUN"]], [["O", "O"]])
