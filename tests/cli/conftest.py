"""A small corpus made by a toy grammar, a model trained on it, and a runner for the command."""

import io
import random
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from crfkit.cli import main
from crfkit.cli.default_template import default_template

_NOUNS = ["dog", "cat", "house", "idea", "Köln", "naïveté", "#", "%s"]
_VERBS = ["sees", "likes", "builds", "was"]
_ADJECTIVES = ["small", "red", "odd"]
_CHUNKS = {
    "NP": lambda r: [
        ("the", "DT"),
        *[(r.choice(_ADJECTIVES), "JJ")] * r.randrange(2),
        (r.choice(_NOUNS), "NN"),
    ],
    "VP": lambda r: [(r.choice(_VERBS), "VB")],
    "PP": lambda r: [(r.choice(["in", "of"]), "IN")],
}


def sentences(n: int, seed: int = 0) -> list[list[tuple[str, str, str]]]:
    """Return sentences of (word, part of speech, IOB2 label)."""
    r = random.Random(seed)
    made = []
    for _ in range(n):
        plan = ["NP", "VP", "NP", *(["PP", "NP"] if r.random() < 0.5 else []), "O"]
        rows = []
        for chunk in plan:
            if chunk == "O":
                rows.append((".", ".", "O"))
                continue
            for i, (word, tag) in enumerate(_CHUNKS[chunk](r)):
                rows.append((word, tag, f"{'I' if i else 'B'}-{chunk}"))
        made.append(rows)
    return made


def as_text(data, columns: int | None = None, separator: str = " ") -> str:
    """Return the sentences as a column file."""
    return "\n".join("".join(separator.join(row[:columns]) + "\n" for row in rows) for rows in data)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Make the files for all CLI tests: train.txt, test.txt, words.txt (without labels), model.crfkit."""
    place = tmp_path_factory.mktemp("cli")
    (place / "train.txt").write_text(as_text(sentences(60)), encoding="utf-8")
    (place / "test.txt").write_text(as_text(sentences(12, seed=1)), encoding="utf-8")
    (place / "words.txt").write_text(as_text(sentences(12, seed=1), 2), encoding="utf-8")
    (place / "template").write_text(default_template(2))
    words = ["train", str(place / "train.txt"), "-m", str(place / "model.crfkit"), "-q", "--c2", "1"]
    assert main([*words, "-t", str(place / "template")]) == 0
    return place


class _Stdin(io.BytesIO):
    name = "<stdin>"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Runner:
    """Runs the command in this process: ``run("tag", …, stdin="…")``."""

    def __init__(self, capsys, monkeypatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Ran:
        """Return exit code, standard output and standard error."""
        content = stdin.encode() if isinstance(stdin, str) else stdin
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(_Stdin(content))))
        self.capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        return Ran(code, *self.capsys.readouterr())

    def ok(self, *arguments: object, stdin: str | bytes = b"") -> Ran:
        """Run, and check that it succeeds."""
        ran = self(*arguments, stdin=stdin)
        assert ran.code == 0, ran.err
        return ran

    def fails(self, code: int, words: str, *arguments: object, stdin: str | bytes = b"") -> Ran:
        """Run, and check the exit code, the words of the message, and that nothing is written."""
        ran = self(*arguments, stdin=stdin)
        assert (ran.code, ran.out) == (code, ""), ran.err
        assert words in ran.err
        return ran


@pytest.fixture
def run(capsys, monkeypatch) -> Runner:
    return Runner(capsys, monkeypatch)
