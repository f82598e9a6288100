"""Markov chains of bases, in coding sequence, in introns and between genes.

Interpolated Markov chains: with counts c of words, the last base b of a word, and h the bases before it,

    p_k(b | h) = (c(h b) + λ · p_{k-1}(b | h without its first base)) / (c(h) + λ)

where p_0 has a uniform prior. Each class of regions (``gc_classes``) has its own chain, in which the chain of
all regions takes the place of p_{k-1} above. A chain of order k is stored as a table of log odds against
intergenic DNA, one row per word of k + 1 bases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.genes.bases import Codes, words
from crfkit.apps.genes.gc_classes import Classes
from crfkit.apps.genes.labels import CODING, INTRON, NON_CODING, Ids
from crfkit.arrays import FloatArray, IdArray

_FIRST_PRIOR = 4.0  # λ of order 0


def log_odds_table(
    codes: Sequence[Codes],
    labels: Sequence[Ids],
    order: int,
    prior: float,
    classes: Sequence[Classes],  # [T] per sequence
    n_classes: int,
) -> FloatArray:
    """Return log odds of codon positions 0, 1, 2 and introns against other DNA [G, 4^(order+1), 4]."""
    numbers = [np.concatenate([words(c, k + 1) for c in codes]) for k in range(order + 1)]  # each [ΣT]
    ids, group = np.concatenate(labels), np.concatenate(classes)
    masks = [*(ids == phase for phase in CODING), np.isin(ids, INTRON), ids == NON_CODING]
    chains = [chain([n[mask] for n in numbers], prior) for mask in masks]
    tables = []
    for g in range(n_classes):
        own = chains
        if n_classes > 1:
            of_class = [numbers[-1][mask & (group == g)] for mask in masks]
            own = [adapted(c, found, prior) for c, found in zip(chains, of_class, strict=True)]
        tables.append(np.stack([one - own[-1] for one in own[:-1]], axis=1))
    return np.stack(tables)


def chain(numbers: list[IdArray], prior: float) -> FloatArray:
    """Return log p(last base | the others) of each word, from the words of each length that occur."""
    p = np.full((1, 4), 0.25)
    for k, found in enumerate(numbers):
        shorter = p[np.arange(4**k) % len(p)]  # [4^k, 4] without the first base
        p = _with_counts(shorter, found, prior if k else _FIRST_PRIOR)
    logs: FloatArray = np.log(p).ravel()
    return logs


def adapted(logs: FloatArray, found: IdArray, prior: float) -> FloatArray:
    """Adapt the chain ``logs`` of all regions to one region by the words that occur in it."""
    own: FloatArray = np.log(_with_counts(np.exp(logs).reshape(-1, 4), found, prior)).ravel()
    return own


def _with_counts(p: FloatArray, found: IdArray, weight: float) -> FloatArray:
    """Return (c(h b) + λ p(b | h)) / (c(h) + λ), [4^k, 4]."""
    counts = np.bincount(found[found >= 0], minlength=p.size).reshape(-1, 4)
    mixed: FloatArray = (counts + weight * p) / (counts.sum(axis=1, keepdims=True) + weight)
    return mixed


def look_up(table: FloatArray, codes: Codes, classes: Classes) -> FloatArray:
    """Return the row of a table [G, W, 4] for each position [T, 4]; 0 if its word is incomplete."""
    numbers = words(codes, _word_length(table.shape[1]))
    rows: FloatArray = table[classes, numbers]
    rows[numbers < 0] = 0.0
    return rows


def look_up_column(column: FloatArray, codes: Codes) -> FloatArray:
    """Return the same for one column of one class [T]."""
    numbers = words(codes, _word_length(len(column)))
    return np.where(numbers < 0, 0.0, column[numbers])


def _word_length(n_words: int) -> int:
    return round(float(np.log(n_words) / np.log(4)))
