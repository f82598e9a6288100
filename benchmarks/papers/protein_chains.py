"""Qian and Sejnowski's proteins: the chains, and which of them are related.

Two chains are related where their best local alignment (2 for a match, -1 for a mismatch, -2 for a gap)
scores 20 or more. Half of all pairs of the training file score 7 and 95 of 100 at most 10; those that are
related up to 398. Related to one and the same is related.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from tasks import data_directory

Chains = list[list[str]]

RELATED = 20  # score of an alignment


def read_chains(part: str) -> tuple[Chains, Chains]:
    """Residues and structures."""
    path = data_directory("protein_qs88") / f"protein-secondary-structure.{part}"
    X: Chains = [[]]
    y: Chains = [[]]
    for line in path.read_text(encoding="ascii").splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] in ("<>", "end", "<end>"):
            X.append([])
            y.append([])
            continue
        X[-1].append(words[0])
        y[-1].append(words[1])
    return [chain for chain in X if chain], [chain for chain in y if chain]


def alignment_score(a: Sequence[str], b: Sequence[str]) -> float:
    """The best local alignment, by Smith and Waterman."""
    letters = np.array(list(b))
    gaps = 2.0 * np.arange(len(b) + 1)
    row, best = np.zeros(len(b) + 1), 0.0
    for letter in a:
        new = np.maximum(row - 2.0, 0.0)
        new[1:] = np.maximum(new[1:], row[:-1] + np.where(letters == letter, 2.0, -1.0))
        row = np.maximum.accumulate(new + gaps) - gaps
        best = max(best, float(row.max()))
    return best


def related(X: Chains) -> list[int]:
    """A number for each chain, the same for chains that are related."""
    group = list(range(len(X)))
    for i in range(len(X)):
        for j in range(i):
            if group[i] != group[j] and _are_related("".join(X[i]), "".join(X[j])):
                group = [group[j] if g == group[i] else g for g in group]
    return group


@cache  # folds ask for the same pairs again
def _are_related(a: str, b: str) -> bool:
    return alignment_score(a, b) >= RELATED


def family_weights(X: Chains) -> np.ndarray:
    """A weight for each chain: n related ones count as much as √n; residues weigh 1 on average [N]."""
    groups = related(X)
    size = Counter(groups)
    weights = np.array([size[g] ** -0.5 for g in groups])
    lengths = np.array([len(x) for x in X])
    return np.asarray(weights * (lengths.sum() / (weights @ lengths)))


def standard_error(y: Chains, found: Chains) -> float:
    """Of the accuracy, chains being drawn as a whole (1,000 bootstrap samples)."""
    right = np.array([sum(a == b for a, b in zip(t, p, strict=True)) for t, p in zip(y, found, strict=True)])
    lengths = np.array([len(t) for t in y])
    draws = np.random.default_rng(0).integers(len(y), size=(1000, len(y)))
    return 100 * float(np.std(right[draws].sum(axis=1) / lengths[draws].sum(axis=1)))
