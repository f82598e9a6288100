"""Small data to mine, and its rules by enumeration of all sets of items."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from crfkit.data import Sequences, Vocabulary
from crfkit.data.encode import encode
from crfkit.data.labels import encode_labels, label_set

Key = tuple[frozenset[str], Any]


def all_rules(X, y, lengths=(2, 3)) -> dict[Key, tuple[int, int, Any, int]]:  # type: ignore[no-untyped-def]
    """Return support, coverage, rival and margin of every (X, label) that occurs."""
    transactions = [
        (frozenset(items), label)
        for xs, ys in zip(X, y, strict=True)
        for items, label in zip(xs, ys, strict=True)
    ]
    transactions = [(items, label) for items, label in transactions if label is not None]
    covered: Counter[frozenset[str]] = Counter()
    supported: Counter[Key] = Counter()
    single: Counter[tuple[str, Any]] = Counter()
    for items, label in transactions:
        single.update((item, label) for item in items)
        for n in range(lengths[0], lengths[1] + 1):
            for chosen in combinations(sorted(items), n):
                covered[frozenset(chosen)] += 1
                supported[frozenset(chosen), label] += 1
    labels = sorted({label for _, label in transactions})
    found = {}
    for (lhs, label), support in supported.items():
        votes = {other: sum(single[item, other] for item in lhs) for other in labels}
        others = {other: n for other, n in votes.items() if other != label}
        best = max(others.values(), default=0)
        rival = next((other for other in labels if others.get(other) == best and best > 0), None)
        found[lhs, label] = (support, covered[lhs], rival, best - votes[label])
    return found


def random_data(seed: int, n_sequences: int = 12, n_items: int = 7, n_labels: int = 3):  # type: ignore[no-untyped-def]
    """Return sequences of sets of items; the label depends on them."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_sequences):
        rows, labels = [], []
        for _ in range(int(rng.integers(1, 6))):
            items = [f"i{k}" for k in range(n_items) if rng.random() < 0.5]
            rows.append(items)
            lean = len(items) % n_labels if rng.random() < 0.8 else int(rng.integers(n_labels))
            labels.append(f"L{lean}")
        X.append(rows)
        y.append(labels)
    return X, y


def encoded(X, y) -> tuple[Sequences, np.ndarray, Vocabulary, list[Any]]:  # type: ignore[no-untyped-def]
    """Encode the data for the search."""
    vocabulary, classes = Vocabulary(), label_set(y)
    sequences = encode(X, vocabulary, grow=True)
    return sequences, encode_labels(y, classes, sequences.offsets).ids, vocabulary, classes


def window_sentences() -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return words and tags in a window, with chunk labels that depend on both."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(80):
        words = rng.choice(["the", "a", "dog", "runs", "fast", "and"], size=int(rng.integers(3, 9)))
        tags = ["D" if w in ("the", "a") else "V" if w == "runs" else "N" for w in words]
        labels = []
        for t, (word, tag) in enumerate(zip(words, tags, strict=True)):
            before = tags[t - 1] if t else ""
            inside = tag == "N" and before in ("D", "N") and word != "and"
            labels.append("O" if tag == "V" else "I" if inside else "B")
        X.append(
            [
                [f"w={w}", f"p={p}", f"p-1={tags[t - 1] if t else '^'}", f"w-1={words[t - 1] if t else '^'}"]
                for t, (w, p) in enumerate(zip(words, tags, strict=True))
            ]
        )
        y.append(labels)
    return X, y
