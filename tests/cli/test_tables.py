"""Tables: widths, blocks, ellipses."""

import pytest

from crfkit.cli import tables


def test_matrix():
    lines = list(tables.matrix("", ["a", "long"], ["x", "yy"], [["1", "2"], ["3", "44444"]]))
    assert lines == ["     x    yy", "a    1     2", "long 3 44444"]


def test_blocks(monkeypatch):
    monkeypatch.setattr(tables, "screen_width", lambda: 7)
    lines = list(tables.matrix("", ["r"], ["aa", "bb", "cc"], [["1", "2", "3"]]))
    assert lines == ["  aa bb", "r  1  2", "", "  cc", "r  3"]


def test_a_column_wider_than_the_screen(monkeypatch):
    monkeypatch.setattr(tables, "screen_width", lambda: 2)
    assert list(tables.matrix("", [], ["abc", "d"], [])) == [" abc", "", " d"]


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("Köln", 4), ("東京", 4), ("e\u0301", 1)])
def test_width(text, width):
    assert tables.width_of(text) == width
    assert tables.width_of(tables.pad(text, 9)) == 9
    assert tables.pad(text, 9, right=True).endswith(text)


@pytest.mark.parametrize(
    ("text", "shown"), [("abc", "abc"), ("abcd", "abcd"), ("abcde", "abc…"), ("東京都", "東…")]
)
def test_shorten(text, shown):
    assert tables.shorten(text, 4) == shown


@pytest.mark.parametrize(("named", "columns"), [("120", 120), ("x", 80), ("0", 80), ("", 80)])
def test_terminal_columns(named, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", named)
    monkeypatch.setattr("os.get_terminal_size", lambda _: (_ for _ in ()).throw(OSError))
    assert tables.terminal_columns() == columns
