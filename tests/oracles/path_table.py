"""All paths of one sequence in arrays, in extended precision: enumeration for long campaigns."""

import itertools
from dataclasses import dataclass

import numpy as np
from enumeration import table_at

from crfkit.inference import Lattice


@dataclass
class PathTable:
    """The permitted paths of a sequence, best first."""

    paths: np.ndarray  # [P, T]
    scores: np.ndarray  # longdouble [P]
    log_z: float
    probabilities: np.ndarray  # longdouble [P]

    def windows(self, n_labels: int, size: int) -> np.ndarray:
        """Return probabilities [T, L, ..., L] of ``size`` consecutive labels that end at t."""
        T = self.paths.shape[1]
        result = np.zeros((T,) + (n_labels,) * size, np.longdouble)
        for t in range(size - 1, T):
            np.add.at(result[t], tuple(self.paths[:, t - size + 1 : t + 1].T), self.probabilities)
        return result.astype(float)

    @property
    def entropy(self) -> float:
        p = self.probabilities[self.probabilities > 0]
        return float(-(p * np.log(p)).sum())


def path_table(lattice: Lattice, sequence: int) -> PathTable:
    begin, end = int(lattice.offsets[sequence]), int(lattice.offsets[sequence + 1])
    T, L = end - begin, lattice.n_labels
    paths = np.array(list(itertools.product(range(L), repeat=T)), dtype=int).reshape(L**T, T)
    scores = np.zeros(len(paths), np.longdouble)
    for t in range(T):
        here, at = paths[:, t], begin + t
        scores += lattice.node[at, here]
        if t == 0 and lattice.start is not None:
            scores += lattice.start[here]
        if t == T - 1 and lattice.end is not None:
            scores += lattice.end[here]
        if t >= 1:
            scores += table_at(lattice.edge, 2, at)[paths[:, t - 1], here]
        if t >= 2 and lattice.edge2 is not None:
            scores += table_at(lattice.edge2, 3, at)[paths[:, t - 2], paths[:, t - 1], here]
        if lattice.ngrams is not None:
            for run, value in zip(lattice.ngrams.labels, lattice.ngrams.scores, strict=True):
                labels = run[run >= 0]
                if t + 1 >= len(labels):
                    scores[(paths[:, t + 1 - len(labels) : t + 1] == labels).all(axis=1)] += value
    kept = np.flatnonzero(scores > -np.inf)
    kept = kept[np.argsort(-scores[kept], kind="stable")]
    paths, scores = paths[kept], scores[kept]
    if not len(scores):
        return PathTable(paths, scores, -np.inf, scores)
    weights = np.exp(scores - scores[0])
    total = weights.sum()
    return PathTable(paths, scores, float(scores[0] + np.log(total)), weights / total)
