"""McNemar's test against SciPy's formulas, and segments against plain sets."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.metrics import mcnemar, segments, strict_segments

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@st.composite
def triples(draw):
    lengths = draw(st.lists(st.integers(0, 7), min_size=1, max_size=6))
    return [
        [draw(st.lists(st.sampled_from(LABELS), min_size=n, max_size=n)) for n in lengths] for _ in range(3)
    ]


def check(result, right_a, right_b):
    right_a, right_b = np.array(right_a, dtype=bool), np.array(right_b, dtype=bool)
    table = [
        int(np.sum(right_a & right_b)),
        int(np.sum(right_a & ~right_b)),
        int(np.sum(~right_a & right_b)),
        int(np.sum(~right_a & ~right_b)),
    ]
    assert [result.both_right, result.only_a, result.only_b, result.both_wrong] == table
    _, b, c, _ = table
    if b + c == 0:
        assert (result.p_value, result.chi2, result.chi2_p_value) == (1.0, 0.0, 1.0)
        return
    assert result.p_value == pytest.approx(scipy.stats.binomtest(b, b + c).pvalue, rel=1e-9)
    chi2 = (abs(b - c) - 1) ** 2 / (b + c) if b != c else 0.0
    assert result.chi2 == pytest.approx(chi2)
    assert result.chi2_p_value == pytest.approx(scipy.stats.chi2.sf(chi2, 1))


@given(triples())
def test_tokens_and_sequences(y):
    y_true, y_a, y_b = y
    flat = [[label for sequence in labels for label in sequence] for labels in y]
    right = [[t == p for t, p in zip(flat[0], other, strict=True)] for other in flat[1:]]
    check(mcnemar(y_true, y_a, y_b), *right)
    whole = [[t == p for t, p in zip(y_true, other, strict=True)] for other in (y_a, y_b)]
    check(mcnemar(y_true, y_a, y_b, level="sequence"), *whole)


@pytest.mark.parametrize(("strict", "read"), [(False, segments), (True, strict_segments)])
@given(y=triples())
def test_segments_are_units_wherever_one_is(strict, read, y):
    found = [{(i, *segment) for i, labels in enumerate(side) for segment in read(labels)} for side in y]
    units = sorted(set().union(*found))
    right = [[(unit in other) == (unit in found[0]) for unit in units] for other in found[1:]]
    check(mcnemar(*y, level="segment", strict=strict), *right)


def test_as_a_table():
    y_true = [["A"]] * 20
    better, worse = [["A"]] * 18 + [["B"]] * 2, [["B"]] * 8 + [["A"]] * 12
    result = mcnemar(y_true, better, worse, level="sequence")
    assert (result.only_a, result.only_b) == (8, 2)
    assert result.p_value == pytest.approx(0.109375)  # 2 · (1 + 10 + 45) / 1024
    assert str(result).splitlines() == [
        "sequences  b right  b wrong",
        "a right         10        8",
        "a wrong          2        0",
        "",
        "p = 0.1094 (exact; chi2 = 2.5, p = 0.1138)",
    ]


def test_large_counts_do_not_underflow_to_nonsense():
    n = 20_000
    y_true = [["A"] * n]
    y_a, y_b = [["A"] * 12_000 + ["B"] * 8_000], [["B"] * 10_000 + ["A"] * 10_000]
    result = mcnemar(y_true, y_a, y_b)
    assert 0 <= result.p_value < 1e-40
    assert result.p_value == pytest.approx(scipy.stats.binomtest(10_000, 18_000).pvalue, rel=1e-6)


@pytest.mark.parametrize(
    ("y_b", "options", "message"),
    [
        ([["O"], ["O"]], {}, "y_true has 1 sequences but y_b has 2"),
        ([["O", "O"]], {}, "sequence 0: y_true has 1 labels but y_b has 2"),
        ([["O"]], {"level": "word"}, "level must be 'token', 'sequence' or 'segment', got 'word'"),
        ([["noun"]], {"level": "segment"}, r"y_b\[0\]\[0\] is 'noun'"),
        ([["S-X"]], {"level": "segment", "strict": True}, r"y_b\[0\]\[0\] is 'S-X', .* IOB2"),
    ],
)
def test_errors(y_b, options, message):
    refuses(message, mcnemar, [["O"]], [["B-X"]], y_b, **options)
