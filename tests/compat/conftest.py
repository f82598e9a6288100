"""Data for the shims: a tiny diary, generated addresses, and chunks of CoNLL-2000 if available."""

import os
from pathlib import Path

import pytest

from crfkit.datasets import addresses


@pytest.fixture
def diary():
    """Return one sequence with every kind of item, and its labels: non-ASCII, a colon among them."""
    xseq = [
        {"swim": 1, "read": 0.5},
        {"swim": 1.5},
        ["swim", "ice cream"],
        {"read": 0.5, "tea": True, "swim": False},
        {"tea": 2, "read": 1},
        {},
        {"небо": "серое".encode(), "tea": 1},
        {"mood": {"calm": 0.3, "words": ["so", "so"]}},
        {"mood": {"calm": -0.3, "words": {"wet"}}},
    ]
    yseq = ["hot", "hot", "hot", "mild", "mild", "hot", "дождь", "mild", ":"]
    return xseq, yseq


def word_features(sentence, i):
    """Return a word, its ending, shape and neighbours as a dict: the features of the tutorials."""
    word, tag = sentence[i][:2]
    features = {
        "bias": 1.0,
        "lower": word.lower(),
        "ending": word[-3:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
        "tag": tag,
        "tag class": tag[:2],
    }
    for name, j in (("before", i - 1), ("after", i + 1)):
        if 0 <= j < len(sentence):
            near, near_tag = sentence[j][:2]
            features[name] = {"lower": near.lower(), "title": near.istitle(), "tag": near_tag}
        else:
            features[f"edge {name}"] = True
    return features


def _conll2000(n):
    root = os.environ.get("CRFKIT_DATA")
    folder = Path(root) if root else Path(__file__).resolve().parents[3] / "shared" / "data"
    parts = []
    for file in ("train.txt", "test.txt"):
        path = folder / "conll2000" / file
        if not path.is_file():
            return None
        with path.open(encoding="utf-8") as lines:
            sentences = [[]]
            for line in lines:
                if line.strip():
                    sentences[-1].append(line.split())
                elif len(sentences) == n:
                    break
                else:
                    sentences.append([])
        parts.append(sentences)
    return parts


def _generated(n):
    parts = []
    for seed in (5, 6):
        tokens, labels = addresses(n, random_state=seed)
        parts.append(
            [
                [(word, word[:1], label) for word, label in zip(words, found, strict=True)]
                for words, found in zip(tokens, labels, strict=True)
            ]
        )
    return parts


@pytest.fixture(scope="session")
def sentences():
    """Return sentences (word, tag, label) for training and testing: 300 of CoNLL-2000, else addresses."""
    return _conll2000(300) or _generated(300)


@pytest.fixture(scope="session")
def chunks(sentences):
    """Return X, y, X_test, y_test with dicts of features."""
    parts = []
    for part in sentences:
        parts.append([[word_features(s, i) for i in range(len(s))] for s in part])
        parts.append([[row[2] for row in s] for s in part])
    return parts


@pytest.fixture(scope="session")
def small(chunks):
    """Return the first forty of them."""
    return [part[:40] for part in chunks]
