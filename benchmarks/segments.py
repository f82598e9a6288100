"""A chain (CRF) against segments (SemiCRF) on CoNLL-2000, with the same attributes of words.

    python benchmarks/segments.py                    # choose settings on the training file, then one report
    python benchmarks/segments.py --quick            # 300 sentences: does it run?

All choices are made on the training file: its last fifth is held out, and c2 of the chain and of the segments
is the one with the best F1 there, after training on the first 1,000 sentences. Then the models are trained on
the whole training file, and the test file is opened, once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tasks
from tables import provenance, publish, seconds, table

from crfkit import CRF, SemiCRF
from crfkit.metrics import segment_f1

C2 = (0.05, 0.2, 1.0)
FIRST = 1000  # sentences to choose c2 with
LONGEST = 10  # lengths with weights of their own; longer chunks have a tail


class WholeTags:
    """Attributes of a chunk: all its parts of speech; those of its first and last word with its length."""

    def __init__(self) -> None:
        self._items: Any = None
        self._tags: list[str] = []

    def __call__(self, items: list[list[str]], begin: int, end: int) -> list[str]:
        if items is not self._items:
            self._items = items
            self._tags = [next(a[5:] for a in item if a.startswith("p[0]=")) for item in items]
        tags = self._tags[begin:end]
        return ["|".join(tags), f"{tags[0]}…{tags[-1]}|{end - begin}"]


def semi(**more: Any) -> Callable[[float], SemiCRF]:
    """A function of c2 that makes an unfitted model of segments."""
    return lambda c2: SemiCRF(c2=c2, max_length=LONGEST, **more)


WITH, ALONE = "segments with attributes", "segments alone"
MODELS: dict[str, Callable[[float], Any]] = {
    "chain": lambda c2: CRF(c2=c2),
    WITH: semi(last_attributes=True, segment_features=WholeTags()),
    ALONE: semi(),
}


def fit(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """The trained model, and its processor seconds."""
    began = time.process_time()
    return model.fit(X, y), time.process_time() - began


def choose(task: tasks.Task) -> tuple[str, dict[str, float]]:
    """The table of the held-out part, and c2 of each model."""
    cut = len(task.X) * 4 // 5
    rows, chosen = [], {}
    for name, make in MODELS.items():
        found = {}
        if name == ALONE:  # the same c2 as with attributes
            chosen[name] = chosen[WITH]
            continue
        for c2 in C2:
            model, took = fit(make(c2), task.X[: min(cut, FIRST)], task.y[: min(cut, FIRST)])
            found[c2] = segment_f1(task.y[cut:], model.predict(task.X[cut:]))
            rows.append([name, f"{c2:g}", f"{100 * found[c2]:.2f}", seconds(took)])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
        chosen[name] = max(found, key=lambda c2, found=found: found[c2])  # type: ignore[misc]
    title = f"### The last {len(task.X) - cut:,} of {len(task.X):,} sentences of the training file, held out"
    return f"{title}\n\n{table(['model', 'c2', 'F1', 'processor time'], rows)}\n\n", chosen


def test(task: tasks.Task, chosen: dict[str, float]) -> str:
    """The table of the test file."""
    rows = []
    for name, make in MODELS.items():
        model, took = fit(make(chosen[name]), task.X, task.y)
        began = time.process_time()
        labels = model.predict(task.X_test)
        tagging = time.process_time() - began
        f1 = f"{100 * segment_f1(task.y_test, labels):.2f}"
        size = model.tagger_.facts()["features"].partition(", ")[0]
        rows.append(
            [name, f"{chosen[name]:g}", f1, size, str(model.n_iter_), seconds(took), seconds(tagging)]
        )
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["model", "c2", "test F1", "features", "iterations", "training", "tagging the test file"]
    return f"### Trained on the whole training file, on the test file\n\n{table(head, rows)}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="300 sentences of both files")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    task = tasks.conll2000(300 if options.quick else None)
    text, chosen = choose(task)
    text += test(task, chosen)
    publish(text + provenance("benchmarks/segments.py"), options.markdown)


if __name__ == "__main__":
    main()
