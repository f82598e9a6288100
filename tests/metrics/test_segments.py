"""Segment scores: cases counted by hand, and the output of conlleval and seqeval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.metrics import (
    Segment,
    conlleval,
    convert_labels,
    repair_labels,
    segment_f1,
    segment_precision,
    segment_recall,
    segment_scores,
    segments,
    strict_segment_f1,
    strict_segment_scores,
    strict_segments,
)

# True and predicted labels (IOB1 and IOB2 mixed, and broken sequences), and what conlleval prints for them.
CONLLEVAL_INPUT = [
    ("I-X-Y B-X-Y B-X-Y I-X-Y B-LOC O I-X-Y B-X-Y", "I-PER B-X-Y B-X-Y I-X-Y B-LOC O I-X-Y I-PER"),
    ("O B-X-Y I-LOC", "O B-X-Y I-LOC"),
    ("O I-X-Y O", "O I-X-Y O"),
    ("B-X-Y O O I-X-Y O O O", "B-X-Y O O I-X-Y O O O"),
    ("B-LOC O B-X-Y B-PER", "B-LOC O B-X-Y O"),
    ("B-LOC I-X-Y B-LOC I-LOC B-X-Y O O B-X-Y", "B-LOC I-X-Y B-LOC O B-X-Y I-LOC O B-X-Y"),
    ("I-PER I-X-Y O I-LOC B-PER", "I-PER O O I-LOC B-PER"),
    ("I-X-Y I-LOC O O", "I-X-Y I-LOC I-PER O"),
    ("I-PER O", "I-PER O"),
]
CONLLEVAL_OUTPUT = """\
processed 44 tokens with 26 phrases; found: 26 phrases; correct: 21.
accuracy:  84.09%; precision:  80.77%; recall:  80.77%; FB1:  80.77
              LOC: precision:  75.00%; recall:  85.71%; FB1:  80.00  8
              PER: precision:  50.00%; recall:  75.00%; FB1:  60.00  6
              X-Y: precision: 100.00%; recall:  80.00%; FB1:  88.89  12
"""


def split(pairs):
    return [true.split() for true, _ in pairs], [pred.split() for _, pred in pairs]


def test_equals_conlleval_to_the_last_digit():
    report = conlleval(*split(CONLLEVAL_INPUT))
    assert f"{report}\n" == CONLLEVAL_OUTPUT
    assert report.to_dict() == segment_scores(*split(CONLLEVAL_INPUT)).to_dict()


def test_rounds_halves_as_conlleval():
    # 27 of 31 found, 27 of 33 there: exactly 84.375, which conlleval's arithmetic brings to 84.37.
    y_true = [["B-X"]] * 33 + [["O"]] * 4
    y_pred = [["B-X"]] * 27 + [["O"]] * 6 + [["B-X"]] * 4
    assert f"{segment_scores(y_true, y_pred).overall.percentages[2]:6.2f}" == " 84.37"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O O", []),
        ("", []),
        ("B-X", [("X", 0, 1)]),
        ("I-X", [("X", 0, 1)]),  # IOB1, or a stray I
        ("I-X I-X", [("X", 0, 2)]),
        ("I-X B-X", [("X", 0, 1), ("X", 1, 2)]),  # IOB1: B only between neighbours of one type
        ("B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("B-X I-X O I-X", [("X", 0, 2), ("X", 3, 4)]),
        ("B-a-b I-a-b", [("a-b", 0, 2)]),
        ("B I O B", [("", 0, 2), ("", 3, 4)]),
        ("I-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("[-X ]-X", [("X", 0, 1), ("X", 1, 2)]),
    ],
)
def test_conlleval_segments(labels, expected):
    assert segments(labels.split()) == [Segment(*segment) for segment in expected]


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("IOBES", "S-X S-X B-X E-X", [("X", 0, 1), ("X", 1, 2), ("X", 2, 4)]),
        ("IOBES", "B-X E-X B-X I-X", [("X", 0, 2), ("X", 2, 4)]),  # the last lacks its E
        ("IOBES", "I-X E-X E-X I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 3, 4)]),
        ("BILOU", "U-X B-X I-X L-X L-Y", [("X", 0, 1), ("X", 1, 4), ("Y", 4, 5)]),
        ("IOB2", "O I-X B-X", [("X", 1, 2), ("X", 2, 3)]),
        ("IOE2", "I-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
    ],
)
def test_forgiving_segments_of_other_schemes(scheme, labels, expected):
    expected = [Segment(*segment) for segment in expected]
    assert segments(labels.split(), scheme) == expected
    assert segments(labels.split()) == expected or scheme == "IOBES"  # recognised only by an S


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("IOB2", "B-X I-X", [("X", 0, 2)]),
        ("IOB2", "I-X", []),
        ("IOB2", "O I-X B-X", [("X", 2, 3)]),
        ("IOB2", "B-X I-Y I-X", [("X", 0, 1)]),
        ("IOB2", "B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("IOB2", "B-X O I-X", [("X", 0, 1)]),
        ("IOB1", "I-X I-X B-X I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 3, 4)]),
        ("IOB1", "O B-X I-X I-Y", [("Y", 3, 4)]),  # B only after a segment of its type
        ("IOE1", "I-X E-X I-X O I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 4, 5)]),
        ("IOE1", "I-X E-X O I-X", [("X", 3, 4)]),
        ("IOE2", "I-X O E-X I-X E-Y", [("X", 2, 3), ("Y", 4, 5)]),
        ("IOBES", "B-X O S-X B-X E-X E-X", [("X", 2, 3), ("X", 3, 5)]),
        ("IOBES", "B-X I-X B-X E-X I-Y E-Y", [("X", 2, 4)]),
        ("BILOU", "B-X L-X U-Y I-Y L-Y", [("X", 0, 2), ("Y", 2, 3)]),
    ],
)
def test_strict_segments(scheme, labels, expected):
    expected = [Segment(*segment) for segment in expected]
    assert strict_segments(labels.split(), scheme) == expected
    assert scheme != "IOB2" or strict_segments(labels.split()) == expected  # the default


def test_strict_scores_find_the_scheme_of_the_true_labels():
    y_true, y_pred = [["I-X", "O", "I-Y", "B-Y"]], [["I-X", "O", "B-Y", "I-Y"]]
    assert strict_segment_scores(y_true, y_pred, scheme="auto") == strict_segment_scores(
        y_true, y_pred, scheme="IOB1"
    )
    assert strict_segment_scores(y_true, y_pred, scheme="auto").overall.correct == 1


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"])
@given(pair=st.deferred(lambda: pairs()))
def test_scores_do_not_depend_on_the_scheme(scheme, pair):
    """The same segments have the same score in every scheme."""
    y_true, y_pred = ([*repair_labels(y, "IOB2")] for y in pair)
    as_is = segment_scores(y_true, y_pred)
    converted = [convert_labels(y, "IOB2", scheme) for y in (y_true, y_pred)]
    for report in (
        segment_scores(*converted, scheme=scheme),
        strict_segment_scores(*converted, scheme=scheme),
    ):
        assert (report.scores, report.overall) == (as_is.scores, as_is.overall)
    assert segment_f1(*converted, scheme=scheme, average="macro") == as_is.macro.f1
    assert strict_segment_f1(*converted, scheme=scheme, average="weighted") == as_is.weighted.f1
    assert segment_precision(*converted, scheme=scheme) == as_is.precision
    assert segment_recall(*converted, scheme=scheme) == as_is.recall


def test_bare_tags_are_segments_of_the_empty_type():
    assert strict_segments(["B", "I", "O", "B"]) == [Segment("", 0, 2), Segment("", 3, 4)]
    assert strict_segment_f1([["B", "I"]], [["B", "I"]]) == 1.0


IOB_LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@st.composite
def pairs(draw):
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    sequences = [st.lists(st.sampled_from(IOB_LABELS), min_size=n, max_size=n) for n in lengths]
    return [draw(s) for s in sequences], [draw(s) for s in sequences]


@given(pairs())
def test_scores_count_equal_segments(pair):
    y_true, y_pred = pair
    for score, read in ((segment_scores, segments), (strict_segment_scores, strict_segments)):
        both = [(set(read(t)), set(read(p))) for t, p in zip(y_true, y_pred, strict=True)]
        overall = score(y_true, y_pred).overall
        assert overall.true == sum(len(t) for t, _ in both)
        assert overall.predicted == sum(len(p) for _, p in both)
        assert overall.correct == sum(len(t & p) for t, p in both)


def test_strict_equals_seqeval():
    """The scores are seqeval 1.2.2's for the same labels with mode="strict", scheme=IOB2."""
    report = strict_segment_scores(*split(CONLLEVAL_INPUT))
    assert {kind: (s.precision, s.recall, s.true) for kind, s in report.scores.items()} == {
        "LOC": (0.75, 0.75, 4),
        "PER": (1.0, 0.5, 2),
        "X-Y": (1.0, 0.875, 8),
    }
    assert [round(a.f1, 4) for a in (report.overall, report.macro, report.weighted)] == [
        0.8462,
        0.7833,
        0.8429,
    ]


def test_sequences_do_not_run_into_each_other():
    assert segment_scores([["B-X"], ["I-X"]], [["B-X"], ["I-X"]]).overall.true == 2


def test_types_of_one_side_are_reported():
    report = segment_scores([["B-X", "O"]], [["O", "B-Y"]])
    assert {kind: (s.true, s.predicted) for kind, s in report.scores.items()} == {"X": (1, 0), "Y": (0, 1)}
    assert report.f1 == 0.0
    assert "Y" in str(report)


def test_no_segments_at_all():
    report = segment_scores([["O"]], [["O"]])
    assert (report.f1, report.macro.f1, report.weighted.f1, report.token_accuracy) == (0.0, 0.0, 0.0, 1.0)
    assert "overall" in str(report)


@pytest.mark.parametrize(
    ("score", "label", "message"),
    [
        (segment_scores, "street", "is 'street', but segments need labels .* token_report for plain labels"),
        (segment_scores, "M-X", "is 'M-X', but segments need"),
        (segment_scores, "", "is '', but segments need"),
        (segment_scores, 3, "is 3, but segments need"),
        (strict_segment_scores, "street", "is 'street', but labels of the scheme IOB2 are 'O' or"),
        (strict_segment_scores, "S-X", "is 'S-X', but labels of the scheme IOB2 are 'O' or 'B-…', 'I-…'"),
        (strict_segment_scores, "O-X", "is 'O-X'"),
        (strict_segment_scores, "", "is ''"),
        (strict_segment_scores, 3, "is 3"),
    ],
)
def test_labels_without_a_known_tag_are_named(score, label, message):
    refuses(r"y_pred\[1\]\[1\] " + message, score, [["O"], ["O", "O"]], [["O"], ["O", label]])


def test_a_single_sequence_is_named_by_itself():
    refuses(r"^labels\[1\] is 'M-X'", segments, ["O", "M-X"])
    refuses(r"^labels\[1\] is 'M-X'", strict_segments, ["O", "M-X"])


@pytest.mark.parametrize("score", [segment_scores, strict_segment_scores, segment_f1, strict_segment_f1])
def test_ragged_input_is_named(score):
    refuses("sequence 0: y_true has 1 labels but y_pred has 2", score, [["O"]], [["O", "O"]])
