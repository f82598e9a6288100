"""The tasks that the benchmarks run on: CoNLL-2000 chunking, NETtalk, and generated sequences.

The data lies in the directory that CRFKIT_DATA names, else in ../shared/data beside the project; it is no
part of the project. Both libraries get the same Python objects: lists of lists of strings.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crfkit.io.columns import read_columns

Items = list[list[list[str]]]  # sequences of positions of attributes
LabelLists = list[list[str]]

# The 19 templates of Sha and Pereira's kind: (column, offset) pairs; w the word, p its part of speech.
TEMPLATES = (
    *((("w", offset),) for offset in (-2, -1, 0, 1, 2)),
    (("w", -1), ("w", 0)),
    (("w", 0), ("w", 1)),
    *((("p", offset),) for offset in (-2, -1, 0, 1, 2)),
    *((("p", offset), ("p", offset + 1)) for offset in (-2, -1, 0, 1)),
    *((("p", offset), ("p", offset + 1), ("p", offset + 2)) for offset in (-2, -1, 0)),
)


@dataclass(frozen=True)
class Task:
    """Sequences to learn from and sequences to test on."""

    name: str
    X: Items
    y: LabelLists
    X_test: Items
    y_test: LabelLists

    @property
    def n_tokens(self) -> int:
        """Positions to learn from."""
        return sum(map(len, self.y))

    def head(self, n: int | None) -> Task:
        """The first n sequences of either part; all of them for None."""
        if n is None:
            return self
        return Task(f"{self.name}[:{n}]", self.X[:n], self.y[:n], self.X_test[:n], self.y_test[:n])


def data_directory(name: str) -> Path:
    """Where the data set ``name`` lies, or a message that says where it was looked for."""
    named = os.environ.get("CRFKIT_DATA")
    root = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (root / name).is_dir():
        raise SystemExit(
            f"This benchmark needs the directory {root / name}, which is not there. Put the data set "
            f"{name!r} into ../shared/data beside the project, or set CRFKIT_DATA to the directory it is in."
        )
    return root / name


def apply_templates(words: Sequence[str], tags: Sequence[str]) -> list[list[str]]:
    """The attributes of a sentence: a template counts where all its offsets lie inside the sentence."""
    columns = {"w": words, "p": tags}
    n = len(words)
    items: list[list[str]] = [[] for _ in range(n)]
    for template in TEMPLATES:
        name = "|".join(f"{column}[{offset}]" for column, offset in template)
        first, last = template[0][1], template[-1][1]
        for t in range(max(0, -first), min(n, n - last)):
            value = "|".join(columns[column][t + offset] for column, offset in template)
            items[t].append(f"{name}={value}")
    items[0].append("__BOS__")
    items[-1].append("__EOS__")
    return items


def _tagged(name: str, title: str, files: tuple[str, str], n_sentences: int | None) -> Task:
    """A task whose files have the columns word, part of speech, label."""
    directory = data_directory(name)
    parts: list[tuple[Items, LabelLists]] = []
    for file in files:
        sentences = read_columns(directory / file)[:n_sentences]
        parts.append(
            (
                [apply_templates([row[0] for row in s], [row[1] for row in s]) for s in sentences],
                [[row[2] for row in s] for s in sentences],
            )
        )
    return Task(title, *parts[0], *parts[1])


def conll2000(n_sentences: int | None = None) -> Task:
    """English phrase chunking, 22 labels; all of it, or the first sentences of either file."""
    return _tagged("conll2000", "CoNLL-2000", ("train.txt", "test.txt"), n_sentences)


def conll2002_es(n_sentences: int | None = None) -> Task:
    """Spanish named entities, 9 labels."""
    return _tagged("conll2002_es", "CoNLL-2002, Spanish", ("esp.train", "esp.testb"), n_sentences)


def _letters(word: str) -> list[list[str]]:
    """Letters at most three away, and the six pairs of neighbours among them; # outside the word."""
    padded = f"###{word}###"
    items = []
    for t in range(3, len(word) + 3):
        around = {offset: padded[t + offset] for offset in range(-3, 4)}
        single = [f"{offset}={letter}" for offset, letter in around.items()]
        pairs = [f"{offset}|{offset + 1}={around[offset]}{around[offset + 1]}" for offset in range(-3, 3)]
        items.append(["bias", *single, *pairs])
    return items


def nettalk() -> Task:
    """Letters to phoneme and stress, 163 labels in all; every tenth word is for testing."""
    text = (data_directory("nettalk") / "nettalk.data").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line.count("\t") == 3]
    X = [_letters(word) for word, *_ in rows]
    y = [[p + s for p, s in zip(phonemes, stress, strict=True)] for _, phonemes, stress, _ in rows]
    test = np.arange(len(X)) % 10 == 9
    learn = [i for i in range(len(X)) if not test[i]]
    held = [i for i in range(len(X)) if test[i]]
    return Task(
        "NETtalk", [X[i] for i in learn], [y[i] for i in learn], [X[i] for i in held], [y[i] for i in held]
    )


def generated(n_tokens: int, n_labels: int, n_attributes: int, *, per_token: int = 10, seed: int = 0) -> Task:
    """Sequences of 20 tokens: labels from a random walk, attributes from Zipf's law, half of them telling.

    An attribute that tells is drawn from those whose number is the label modulo L.
    """
    rng = np.random.default_rng(seed)
    length = 20
    n = max(2, n_tokens // length)
    labels = np.empty((n, length), np.int64)  # [N, T]
    labels[:, 0] = rng.integers(n_labels, size=n)
    for t in range(1, length):
        jump = rng.integers(n_labels, size=n)
        labels[:, t] = np.where(rng.random(n) < 0.3, jump, (labels[:, t - 1] + 1) % n_labels)
    rank = np.exp(rng.random((n, length, per_token)) * np.log(n_attributes)).astype(np.int64) - 1
    telling = rng.random(rank.shape) < 0.5
    wanted = rank - rank % n_labels + labels[:, :, None]
    ids = np.where(telling, np.minimum(wanted, n_attributes - 1), rank)  # [N, T, per_token]
    X = [[[f"a{a}" for a in item] for item in sequence] for sequence in ids.tolist()]
    y = [[f"l{label}" for label in sequence] for sequence in labels.tolist()]
    held = max(1, n // 10)
    return Task("generated", X[held:], y[held:], X[:held], y[:held])
