"""The demo on small data: its output with and without colour."""

import re

import pytest

from crfkit.cli import main

ARGUMENTS = ["demo", "--train", "200", "--test", "40"]


@pytest.fixture
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return monkeypatch


def widest(text):
    """Return the width of the longest line, except the last commands, which hold the path of this Python."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text).partition("What to try next")[0]
    return max(map(len, shown.splitlines()))


def test_plain(environment, capsys):
    assert main(ARGUMENTS) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    for part in (
        "addresses right",
        "tokens/s",
        "all fields",
        "[street ",
        "least sure",
        "→",
        "What to try next",
    ):
        assert part in text
    assert widest(text) <= 80
    accuracy = float(re.search(r"tokens right +([0-9.]+) %", text).group(1))
    assert 75 < accuracy < 100


def test_coloured(environment, capsys):
    environment.setenv("FORCE_COLOR", "1")
    assert main(ARGUMENTS) == 0
    text = capsys.readouterr().out
    assert "\x1b[30;48;5;" in text
    assert widest(text) <= 80


def test_no_color_wins(environment, capsys):
    environment.setenv("FORCE_COLOR", "1")
    environment.setenv("NO_COLOR", "1")
    assert main(ARGUMENTS) == 0
    assert "\x1b" not in capsys.readouterr().out
