"""The tasks on which penalties are compared: draws of training data, test data, and a score.

See tasks.py for where the data is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from constrained_genes import levels
from gene_windows import Window, read_splits, score
from protein_chains import read_chains, related
from tasks import data_directory

from crfkit import CRF
from crfkit.apps.genes.seven_states import SevenStateGenes
from crfkit.features import Template, token_features
from crfkit.io.columns import read_columns
from crfkit.metrics import segment_scores

GRID = (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
RICH = Path(__file__).resolve().parent.parent / "chunking_rich.template"


@dataclass
class Draw:
    """Sequences to train on, sequences to test on, and the settings of the model."""

    X: list[Any]
    y: list[Any]
    X_test: list[Any]
    y_test: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)
    penalty_groups: Any = "templates"
    families: list[int] | None = None  # [N] of related sequences
    segments: bool = True  # the score is F1 of segments; else the share of positions that are right
    posterior: bool = False  # the most probable label of each position counts, not the best path

    def fit(
        self, crf: CRF, some: Sequence[int] | np.ndarray | None = None, *, together: bool = False
    ) -> None:
        """Train on all sequences, or on some."""
        ids = range(len(self.X)) if some is None else some
        groups = [self.families[i] for i in ids] if together and self.families is not None else None
        more = {} if groups is None else {"groups": groups}
        crf.fit([self.X[i] for i in ids], [self.y[i] for i in ids], **more)

    def score(self, crf: CRF, some: Sequence[int] | np.ndarray) -> float:
        """The score on some training sequences."""
        return self._score(crf, [self.X[i] for i in some], [self.y[i] for i in some])

    def test(self, crf: CRF) -> float:
        """The score on the test data."""
        return self._score(crf, self.X_test, self.y_test)

    def counts(self) -> dict[str, Any]:
        """What else is kept of the model that was fitted last."""
        return {}

    def _score(self, crf: CRF, X: list[Any], y: list[Any]) -> float:
        if self.segments:
            return 100 * float(segment_scores(y, crf.predict(X)).f1)
        if self.posterior:
            found = crf.predict_posterior(X)
            right = [p == q for a, b in zip(found, y, strict=True) for p, q in zip(a, b, strict=True)]
            return 100 * float(np.mean(right))
        return 100 * float(crf.score(X, y))


@dataclass
class GeneDraw(Draw):
    """Windows with genes: they are trained under the grammar, and the score is that of exons."""

    windows: list[Window] = field(default_factory=list)
    windows_test: list[Window] = field(default_factory=list)
    longest: int = 6  # word, in bases

    def fit(
        self, crf: CRF, some: Sequence[int] | np.ndarray | None = None, *, together: bool = False
    ) -> None:
        windows = self.windows if some is None else [self.windows[i] for i in some]
        self.model = SevenStateGenes(c2=0.0, lengths=range(1, self.longest + 1))
        self.model.crf = crf
        self.model.fit([w.sequence for w in windows], [w.exons for w in windows])

    def score(self, crf: CRF, some: Sequence[int] | np.ndarray) -> float:
        return float(np.mean(levels(self.model, [self.windows[i] for i in some])[1]))

    def test(self, crf: CRF) -> float:
        return float(np.mean(levels(self.model, self.windows_test)[1]))

    def counts(self) -> dict[str, Any]:
        """True, predicted, found and right exons and genes of each test window (paired_genes.py)."""
        found = {}
        for window in self.windows_test:
            scores = score([window], self.model.predict([window.sequence]))
            found[window.id] = [[s.true, s.predicted, s.found, s.right] for s in (scores.exon, scores.gene)]
        return {"counts": found}


def word_length(name: str, label: str) -> str:
    """The group of a word of bases in a state: its length, and the state."""
    return f"words of {len(name) - 2} in {label}"


@cache
def _columns(folder: str, file: str) -> list[list[list[str]]]:
    return [[list(row) for row in s] for s in read_columns(data_directory(folder) / file)]


def text(size: int, draw: int, quick: bool) -> Draw:
    """Sentences of CoNLL-2000 with the rich templates."""
    train, test = _columns("conll2000", "train.txt"), _columns("conll2000", "test.txt")
    chosen = np.random.default_rng(draw).permutation(len(train))[:size]
    test = test[:20] if quick else test
    return Draw(
        [[row[:2] for row in train[i]] for i in chosen],
        [[row[2] for row in train[i]] for i in chosen],
        [[row[:2] for row in s] for s in test],
        [[row[2] for row in s] for s in test],
        {"template": Template.read(RICH)},
    )


def names(size: int, draw: int, quick: bool) -> Draw:
    """Spanish sentences with names."""
    train, test = _columns("conll2002_es", "esp.train"), _columns("conll2002_es", "esp.testb")
    chosen = np.random.default_rng(draw).permutation(len(train))[:size]
    test = test[:20] if quick else test
    return Draw(
        [token_features([row[0] for row in train[i]]) for i in chosen],
        [[row[-1] for row in train[i]] for i in chosen],
        [token_features([row[0] for row in s]) for s in test],
        [[row[-1] for row in s] for s in test],
    )


def nettalk(size: int, draw: int, quick: bool) -> Draw:
    """Words letter by letter, with the letters at most three away and their pairs; labels: phonemes."""
    lines = (data_directory("nettalk") / "nettalk.data").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t")[:2] for line in lines if line.count("\t") == 3]
    order = np.random.default_rng(draw).permutation(len(rows))
    learn, test = order[:size], order[size : size + (20 if quick else 1000)]

    def letters(word: str) -> list[list[str]]:
        padded = f"###{word}###"
        return [
            ["bias"]
            + [f"{k}={padded[t + k]}" for k in range(-3, 4)]
            + [f"{k}|{k + 1}={padded[t + k : t + k + 2]}" for k in range(-3, 3)]
            for t in range(3, len(word) + 3)
        ]

    return Draw(
        [letters(rows[i][0]) for i in learn],
        [list(rows[i][1]) for i in learn],
        [letters(rows[i][0]) for i in test],
        [list(rows[i][1]) for i in test],
        segments=False,
    )


@cache
def _chains() -> tuple[list[str], list[Any], list[int]]:
    """All chains, their labels, and their families."""
    parts = [read_chains(part) for part in ("train", "test")]
    X = [chain for part in parts for chain in part[0]]
    return X, [labels for part in parts for labels in part[1]], related(X)


def proteins(size: int, draw: int, quick: bool) -> Draw:
    """Chains of residues, with the residues at most six away; no family is in both parts.

    Transitions are strong here, and the best path has long stretches: it has 56 % of residues right where
    the most probable labels have 62, whatever the penalty. So the latter count.
    """
    X, y, family = _chains()
    rng = np.random.default_rng(draw)
    order = rng.permutation(sorted(set(family)))
    rank = {int(f): i for i, f in enumerate(order)}
    ids = sorted(range(len(X)), key=lambda i: rank[family[i]])
    while size < len(ids) and family[ids[size - 1]] == family[ids[size]]:
        size += 1
    learn, test = ids[:size], ids[size:][: 3 if quick else None]

    def window(chain: Sequence[str]) -> list[list[str]]:
        padded = ["#"] * 6 + list(chain) + ["#"] * 6
        return [[f"{k - 6:+d}={padded[t + k]}" for k in range(13)] for t in range(len(chain))]

    return Draw(
        [window(X[i]) for i in learn],
        [list(y[i]) for i in learn],
        [window(X[i]) for i in test],
        [list(y[i]) for i in test],
        families=[family[i] for i in learn],
        segments=False,
        posterior=True,
    )


def genes(size: int, draw: int, quick: bool) -> Draw:
    """Windows of a gene split; words of 1 to 6 bases, grouped by their length and state."""
    learn, test = read_splits()[draw]
    learn, test = learn[:size], test[:3] if quick else test
    settings = {"all_possible_states": True, "tol": 1e-3, "max_iterations": 150}
    return GeneDraw(
        list(learn),
        [w.labels for w in learn],
        [],
        [],
        settings,
        word_length,
        windows=learn,
        windows_test=test,
        longest=2 if quick else 6,
    )


@dataclass(frozen=True)
class Task:
    """How draws are made."""

    title: str
    unit: str
    make: Callable[[int, int, bool], Draw]
    sizes: tuple[int, ...]
    quick: int
    draws: int = 10
    grid: tuple[float, ...] = GRID  # of the cross-validation
    has_families: bool = False


TASKS: dict[str, Task] = {
    "text": Task("CoNLL-2000, 37 templates, segment F1", "sentences", text, (100, 300, 1000), 10),
    "names": Task("Spanish names, token_features, segment F1", "sentences", names, (100, 300), 20),
    "nettalk": Task("NETtalk, phonemes, letters right", "words", nettalk, (1000,), 20),
    "proteins": Task(
        "Proteins, most probable labels, residues right", "chains", proteins, (80,), 8, has_families=True
    ),
    "genes": Task(
        "Genes, exons (mean of Sn and Sp)",
        "genes",
        genes,
        (128,),
        9,
        draws=4,
        grid=(0.005, 0.1, 1.0, 3.0, 10.0, 30.0),
    ),
}
