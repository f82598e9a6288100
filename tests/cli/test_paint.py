"""Painting segments."""

import pytest

from crfkit.cli.paint import Painter, bar

TOKENS, LABELS = ["12", "Main", "St", ","], ["B-number", "B-street", "I-street", "O"]


def test_named_without_colour():
    painter = Painter(["number", "street"], colour=False)
    assert painter.sequence(TOKENS, LABELS, 80) == ["[number 12] [street Main St] ,"]
    assert painter.legend(80) == []
    assert painter.bold("x") == "x"


def test_lines_break_between_segments():
    painter = Painter(["number", "street"], colour=False)
    assert painter.sequence(TOKENS, LABELS, 20) == ["[number 12]", "[street Main St] ,"]
    assert painter.sequence(TOKENS, LABELS, 1) == ["[number 12]", "[street Main St]", ","]


def test_coloured():
    painter = Painter(["number", "street"], colour=True)
    (line,) = painter.sequence(TOKENS, LABELS, 80)
    assert line.count("\x1b[30;48;5;") == 2
    assert " Main St \x1b[0m ," in line
    assert len(painter.legend(10)) == 2


@pytest.mark.parametrize(("share", "shown"), [(0, ""), (1, "████"), (0.5, "██"), (0.53125, "██▏")])
def test_bar(share, shown):
    assert bar(share, 4) == shown
