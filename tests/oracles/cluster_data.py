"""Small labelled sentences, as lists and as Dask's bags, for tests of training on a cluster."""

import dask.bag as db
import numpy as np

from crfkit.models.linear.source import Given

WORDS = ["the", "a", "dog", "cat", "sees", "runs", "2", "Ann", "Bob", "slowly"]
TAGS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "sees": "V", "runs": "V", "2": "Q", "slowly": "A"}


def sentences(n, seed=0):
    random = np.random.default_rng(seed)
    X = [random.choice(WORDS, size=random.integers(1, 9)).tolist() for _ in range(n)]
    # a label that only the last sentences have
    y = [[TAGS.get(word, "NAME") if i < n - 3 else "LAST" for word in x] for i, x in enumerate(X)]
    return X, y


def items(X):
    return [[{"w": word, "length": len(word) / 3, "e:end": word[-1]} for word in x] for x in X]


def given(X, y=None):
    return Given(X, y, None, None, None, None)


def bag_of(X, y, n):
    return db.from_sequence(list(zip(X, y, strict=True)), npartitions=n)


def with_gaps(y):
    """Labels that are unknown, or one of several: also of all those that a partition has."""
    return [[None] * len(labels) if i == 4 else [{"D", "N"}, *labels[1:]] for i, labels in enumerate(y)]
