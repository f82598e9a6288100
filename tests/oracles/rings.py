"""Rings whose labels are not linear in the features of nodes, and whose edges say which labels are equal."""

import numpy as np

from crfkit import Graph


def ring_data(n, seed, directed=True, size=5):
    """Return rings: a label says whether |x| is large; a feature of an edge whether its labels are equal."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    edges = np.array([(k, (k + 1) % size) for k in range(size)])
    for _ in range(n):
        labels = rng.integers(0, 2, size)
        x = np.where(labels, 1.5, 0.0) * rng.choice([-1, 1], size) + rng.normal(0, 0.6, size)
        same = (labels[edges[:, 0]] == labels[edges[:, 1]]) ^ (rng.random(size) < 0.1)
        X.append(Graph(x[:, None], edges, same[:, None].astype(float), directed=directed))
        y.append(["AB"[label] for label in labels])
    return X, y
