"""The objective of a CRF with given features, by enumeration of all labellings, in plain Python."""

import itertools

import numpy as np


def counts(features, items, labels):
    """Count how often each feature (attribute, labels) is active in a labelled sequence, times its value."""
    found = np.zeros(len(features))
    for i, (attribute, wanted) in enumerate(features):
        for t in range(len(labels)):
            run = tuple(labels[max(0, t + 1 - len(wanted)) : t + 1])
            if run == wanted:
                found[i] += 1.0 if attribute is None else items[t].get(attribute, 0.0)
    return found


class Enumerated:
    """The objective -Σ weight · log p(y | x) + c2 ‖w‖² for arbitrary features."""

    def __init__(self, X, y, features, c2=0.0, weights=None, forbidden=()):
        """``forbidden``: label pairs that no labelling may have."""
        self.classes = sorted({label for labels in y for label in labels})
        self.c2, self.features = c2, features
        self.weights = np.ones(len(X)) if weights is None else weights
        self.data = []
        for items, labels in zip(X, y, strict=True):
            paths = [
                path
                for path in itertools.product(self.classes, repeat=len(items))
                if not set(itertools.pairwise(path)) & set(forbidden)
            ]
            table = np.array([counts(features, items, path) for path in paths])
            self.data.append((table, counts(features, items, labels)))

    def __call__(self, w):
        w = np.asarray(w, dtype=float)
        value = self.c2 * float(w @ w)
        for weight, (table, observed) in zip(self.weights, self.data, strict=True):
            scores = table @ w
            value += weight * (np.logaddexp.reduce(scores) - observed @ w)
        return value

    def gradient(self, w):
        w = np.asarray(w, dtype=float)
        total = 2 * self.c2 * w
        for weight, (table, observed) in zip(self.weights, self.data, strict=True):
            scores = table @ w
            p = np.exp(scores - np.logaddexp.reduce(scores))
            total += weight * (p @ table - observed)
        return total
