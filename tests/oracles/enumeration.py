"""The oracle: enumerates every path of a lattice in extended precision and plain Python."""

import itertools
from dataclasses import dataclass

import numpy as np

from crfkit.inference import Lattice


@dataclass
class Oracle:
    """All permitted paths of one sequence, with their scores and probabilities."""

    paths: list[tuple[int, ...]]
    scores: np.ndarray  # longdouble [P]
    log_z: float
    probabilities: np.ndarray  # longdouble [P]

    def node(self, length: int, n_labels: int) -> np.ndarray:
        result = np.zeros((length, n_labels), dtype=np.longdouble)
        for path, p in zip(self.paths, self.probabilities, strict=True):
            for t, label in enumerate(path):
                result[t, label] += p
        return result.astype(np.float64)

    def window(self, length: int, n_labels: int, size: int) -> np.ndarray:
        """Return probabilities [T, L, ..., L] of ``size`` consecutive labels that end at t."""
        result = np.zeros((length,) + (n_labels,) * size, dtype=np.longdouble)
        for path, p in zip(self.paths, self.probabilities, strict=True):
            for t in range(size - 1, length):
                result[(t, *path[t - size + 1 : t + 1])] += p
        return result.astype(np.float64)

    def entropy(self) -> float:
        p = self.probabilities[self.probabilities > 0]
        return float(-(p * np.log(p)).sum())


def table_at(table: np.ndarray, rank: int, t: int) -> np.ndarray:
    return table[t] if table.ndim > rank else table


def score(lattice: Lattice, sequence: int, path: tuple[int, ...]) -> np.longdouble:
    begin, end = lattice.offsets[sequence], lattice.offsets[sequence + 1]
    total = np.longdouble(0)
    for t, label in enumerate(path):
        at = begin + t
        total += lattice.node[at, label]
        if t == 0 and lattice.start is not None:
            total += lattice.start[label]
        if at == end - 1 and lattice.end is not None:
            total += lattice.end[label]
        if t >= 1:
            total += table_at(lattice.edge, 2, at)[path[t - 1], label]
        if t >= 2 and lattice.edge2 is not None:
            total += table_at(lattice.edge2, 3, at)[path[t - 2], path[t - 1], label]
        if lattice.ngrams is not None:
            for run, value in zip(lattice.ngrams.labels.tolist(), lattice.ngrams.scores, strict=True):
                labels = tuple(each for each in run if each >= 0)
                if path[max(0, t + 1 - len(labels)) : t + 1] == labels:
                    total += value
    return total


def enumerate_paths(lattice: Lattice, sequence: int) -> Oracle:
    length = int(lattice.offsets[sequence + 1] - lattice.offsets[sequence])
    paths = itertools.product(range(lattice.n_labels), repeat=length)
    return oracle_of([(path, score(lattice, sequence, path)) for path in paths])


def oracle_of(scored: list[tuple[tuple[int, ...], np.longdouble]]) -> Oracle:
    """Return the oracle for all paths of a sequence and their scores."""
    permitted = [(path, s) for path, s in scored if s > -np.inf]
    scores = np.array([s for _, s in permitted], dtype=np.longdouble)
    if not permitted:
        return Oracle([], scores, -np.inf, scores)
    top = scores.max()
    total = np.exp(scores - top).sum()
    return Oracle(
        [path for path, _ in permitted],
        scores,
        float(top + np.log(total)),
        np.exp(scores - top) / total,
    )
