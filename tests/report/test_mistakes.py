"""Kinds of mistakes by hand, charts, and the comparison of two models with SciPy's test."""

import math

import numpy as np
import pytest
from html_page import Page
from refusals import refuses
from scipy.stats import binomtest

from crfkit import CRF
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.segments import Segment
from crfkit.report.charts import Series, line_chart, short
from crfkit.report.frame import _environment
from crfkit.report.heat import transition_heat
from crfkit.report.mistakes import MistakeFinder, label_mistakes, segment_mistakes
from crfkit.report.predictions import spans_of


def mistakes_of(true, found):
    pairs = Pairs.of([true.split()], [found.split()])
    finder = MistakeFinder(pairs, spans_of(pairs, None))
    return [(m.kind, m.start, m.stop, m.true, m.found) for m in finder.of(0)]


def test_every_kind_of_mistake():
    #            wrong type  boundary     missed  invented  right
    true = "B-PER I-PER O B-LOC I-LOC O B-ORG O O     O B-LOC"
    found = "B-ORG I-ORG O B-LOC O     O O     O B-PER O B-LOC"
    assert mistakes_of(true, found) == [
        ("wrong type", 0, 2, "PER", "ORG"),
        ("wrong boundary", 3, 4, "LOC", "LOC"),
        ("missed", 6, 7, "ORG", None),
        ("invented", 8, 9, None, "PER"),
    ]


def test_mistakes_that_overlap_several():
    # One predicted segment over two true ones counts once, two over a true one count twice.
    assert [m[0] for m in mistakes_of("B-A I-A B-B I-B", "B-B I-B I-B I-B")] == ["wrong boundary"]
    assert [m[0] for m in mistakes_of("B-A I-A I-A I-A", "B-A I-A B-B I-B")] == [
        "wrong boundary",
        "wrong type",
    ]
    # Other boundaries and another type: a wrong type.
    assert mistakes_of("B-A I-A I-A", "B-B I-B O") == [("wrong type", 0, 2, "A", "B")]
    assert segment_mistakes([Segment("A", 0, 1)], [Segment("A", 0, 1)]) == []
    assert mistakes_of("I-A I-A", "B-A I-A") == []  # the labels differ, the segments do not


def test_plain_labels():
    found = [(m.kind, m.start) for m in label_mistakes(["N", "V", "O", "O"], ["V", "O", "N", "O"])]
    assert found == [("wrong label", 0), ("missed", 1), ("invented", 2)]
    assert mistakes_of("N V O", "V V N") == [
        ("wrong label", 0, 1, "N", "V"),
        ("invented", 2, 3, None, "N"),
    ]


def test_two_models():
    """Counts and p-value of McNemar's test are SciPy's; sentences stand on the side of the better model."""
    rng = np.random.default_rng(0)
    X = [[{f"w{rng.integers(6)}": True, f"v{rng.integers(3)}": True} for _ in range(4)] for _ in range(120)]
    y = [["AB"[("w1" in item or "w2" in item) ^ ("v0" in item)] for item in items] for items in X]
    a, b = CRF(n_jobs=1).fit(X[:60], y[:60]), CRF(n_jobs=1).fit(X[:4], y[:4])
    page = Page(a.report(X[60:], y[60:], compare=b).html)
    right = [np.array(model.predict(X[60:])) == np.array(y[60:]) for model in (a, b)]
    only_a, only_b = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    assert only_a + only_b > 5
    p = binomtest(only_a, only_a + only_b).pvalue
    shown = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}" if p < 0.1 else f"p = {p:.2f}"
    both, none = int((right[0] & right[1]).sum()), int((~right[0] & ~right[1]).sum())
    assert f"tokens{both}{only_a}{only_b}{none}{shown}" in page.words
    better = (right[0].sum(axis=1) > right[1].sum(axis=1)).sum()
    assert f"{better} sequences in which a has fewer mistakes" in page.words
    refuses("X has 60 sequences but y has 59", a.report, X[60:], y[61:], compare=b)


def test_charts_have_their_points_inside():
    series = Series("s", [1, 10, 1000], [3.0, 2.0, 2.5], [2.5, 1.5, 2.0], [3.5, 2.5, 3])
    chart = line_chart("t", [series], "n", log_x=True)
    inside = [
        chart.left <= x <= chart.right and chart.top <= y <= chart.bottom
        for line in chart.lines
        for x, y in (*line.points, *line.band)
    ]
    assert len(inside) == 9
    assert all(inside)
    assert [tick.text for tick in chart.x_ticks] == ["1", "10", "100", "1,000"]
    assert chart.lines[0].points[0][0] == chart.left
    assert "s: from 3 at 1 to 2.5 at 1,000" in chart.words
    flat = line_chart("t", [Series("", [1, 2], [5.0, 5.0])], "n")
    assert all(math.isfinite(y) for _, y in flat.lines[0].points)
    drawn = Page(str(_environment().get_template("charts.html").module.line_chart(chart)))
    assert drawn.tags.count("polygon") == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (2e7, "2e7"), (1e-5, "1e−5"), (0.25, "0.25"), (-3.14159, "-3.14")],
)
def test_short_numbers(value, text):
    assert short(value) == text


def test_a_matrix_with_forbidden_and_absent_transitions():
    scores = np.array([[1.0, -np.inf], [-0.001, -2.0]])
    heat = transition_heat(["A", "B"], scores, np.array([[True, True], [True, False]]))
    cells = {(a, b): heat.rows[heat.names.index(a)][heat.names.index(b)] for a in "AB" for b in "AB"}
    assert (cells["A", "A"].text, cells["A", "A"].strength) == ("1.0", 0.5)
    assert (cells["A", "B"].text, cells["A", "B"].strength) == ("−∞", -1.0)
    assert cells["B", "A"].text == "0.0"
    assert cells["B", "B"].text == ""
    many = transition_heat([f"L{k}" for k in range(40)], np.eye(40))
    assert len(many.names) == 26
    assert "26 labels with most weights of 40" in many.note
