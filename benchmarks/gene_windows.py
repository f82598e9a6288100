"""Single-gene windows of Cryptococcus neoformans, for the benchmarks on genes.

``windows_chr2.jsonl.gz``: the clean genes of chromosome 2, each in a window on its own strand, and
``splits_170.json``: a sample of 170 and four splits of it, 75% to train and 25% to test. See tasks.py for
where the data is looked for.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from tasks import data_directory

from crfkit.apps.genes.gene_scores import GeneScores, gene_scores
from crfkit.apps.genes.transcripts import Span, Transcript


@dataclass(frozen=True)
class Window:
    """A gene and what is around it, in reading direction."""

    id: str
    sequence: str
    exons: tuple[Span, ...]
    labels: str  # N 0 1 2 a b c

    def transcript(self) -> Transcript:
        """The gene, on a contig of the window's name."""
        return Transcript(self.id, "+", self.exons, id=self.id, gene=self.id)


def read_windows() -> list[Window]:
    """All 541 windows."""
    with gzip.open(data_directory("genes") / "windows_chr2.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [
        Window(r["id"], r["seq"], tuple((int(a), int(b)) for a, b in r["exons"]), r["labels"])
        for r in records
    ]


def read_splits() -> list[tuple[list[Window], list[Window]]]:
    """(train, test) of each of the four splits."""
    text = (data_directory("genes") / "splits_170.json").read_text(encoding="utf-8")
    windows = {window.id: window for window in read_windows()}
    return [
        ([windows[name] for name in split["train"]], [windows[name] for name in split["test"]])
        for split in json.loads(text)["splits"]
    ]


def other_splits() -> list[tuple[list[Window], list[Window]]]:
    """(train, test) twice of the genes that are not among the 170: 128, and the others."""
    sample = {window.id for split in read_splits() for part in split for window in part}
    windows = [window for window in read_windows() if window.id not in sample]
    orders = [np.random.default_rng(seed).permutation(len(windows)) for seed in (0, 1)]
    return [([windows[i] for i in order[:128]], [windows[i] for i in order[128:]]) for order in orders]


def folds(windows: Sequence[Window], k: int, seed: int = 0) -> list[tuple[list[Window], list[Window]]]:
    """(train, held out) k times, for choosing settings on training genes alone."""
    part = np.random.default_rng(seed).permutation(len(windows)) % k
    return [
        (
            [w for w, p in zip(windows, part, strict=True) if p != i],
            [w for w, p in zip(windows, part, strict=True) if p == i],
        )
        for i in range(k)
    ]


def score(windows: Iterable[Window], predicted: Iterable[Sequence[Sequence[Span]]]) -> GeneScores:
    """Scores of predicted genes (each a list of exons) in windows."""
    windows = list(windows)
    found = [
        Transcript(window.id, "+", tuple(exons), gene=f"{window.id}.{i}")
        for window, genes in zip(windows, predicted, strict=True)
        for i, exons in enumerate(genes)
    ]
    return gene_scores([window.transcript() for window in windows], found)


def percentages(scores: Sequence[GeneScores]) -> np.ndarray:
    """Mean Sn and Sp in % over several test sets, [4, 2] by level."""
    return 100 * np.mean([[row[1:3] for row in s.as_rows()] for s in scores], axis=0)
