"""Models of other tools: files written by CRF++ 0.59 and Wapiti 1.5.0, and the tools' predictions."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from crfsuite_training import fill

from crfkit.data.columns import Columns

FOLDER = Path(__file__).parent.parent / "io" / "foreign_models"
FILES = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.model"))}


def assert_answers(tagger: Any, name: str) -> None:
    """Check the tool's own labels and their probabilities: crf_test -v2, wapiti label -s -p."""
    text = (FOLDER / f"{name}.answers").read_text(encoding="utf-8").strip()
    rows = [[line.split() for line in sentence.split("\n")] for sentence in text.split("\n\n")]
    columns = Columns.from_rows([[row[:2] for row in sentence] for sentence in rows])
    assert tagger.predict(columns) == [[row[2] for row in sentence] for sentence in rows]
    for array, sentence in zip(tagger.marginal_arrays(columns), rows, strict=True):
        found = [array[t, tagger.classes.index(row[2])] for t, row in enumerate(sentence)]
        np.testing.assert_allclose(found, [float(row[3]) for row in sentence], rtol=0, atol=1e-6)


LABELS = ("A", "Übung", "c c", ":")


def crfsuite_data(n: int = 60, seed: int = 0, labels: tuple[str, ...] = LABELS) -> tuple[Any, Any]:
    """Return random items with values, and labels independent of them."""
    rng = random.Random(seed)

    def item() -> dict[str, Any]:
        place = f"東京:{rng.randrange(4)}"
        return {f"w={rng.choice('abcdefgh')}": 1.0, place: rng.uniform(-1, 2), "bias": True}

    X = [[item() for _ in range(rng.choice((1, 1, 2, 3, 7)))] for _ in range(n)]
    return X, [[rng.choice(labels) for _ in sequence] for sequence in X]


def train_crfsuite(path: Path, X: Any, y: Any, algorithm: str = "lbfgs", **parameters: Any) -> Path:
    """Train a model with python-crfsuite."""
    fill(pycrfsuite.Trainer(algorithm, parameters, verbose=False), X, y).train(str(path))
    return path
