"""How likely a base is after those before it, in coding sequence, introns and between genes.

Interpolated Markov chains: with c counts of words and b the last base of a word, h the ones before it,

    p_k(b | h) = (c(h b) + λ · p_{k-1}(b | h without its first base)) / (c(h) + λ)

from p_0 with a uniform prior. Regions of several classes (``gc_classes``) have chains of their own, which
take the chain of all regions as the shorter chain is taken above. A chain of order k is kept as a table of
log odds against what lies between genes, one row for each word of k + 1 bases.
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
    """[G, 4^(order+1), 4] log odds of coding base 0, 1, 2 of a codon, and of introns, against other DNA."""
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
    """log p(last base | the others) of each word, from the words of each length that occur."""
    p = np.full((1, 4), 0.25)
    for k, found in enumerate(numbers):
        shorter = p[np.arange(4**k) % len(p)]  # [4^k, 4] without the first base
        p = _with_counts(shorter, found, prior if k else _FIRST_PRIOR)
    logs: FloatArray = np.log(p).ravel()
    return logs


def adapted(logs: FloatArray, found: IdArray, prior: float) -> FloatArray:
    """The chain ``logs`` of all regions, made that of one by the words that occur in it."""
    own: FloatArray = np.log(_with_counts(np.exp(logs).reshape(-1, 4), found, prior)).ravel()
    return own


def _with_counts(p: FloatArray, found: IdArray, weight: float) -> FloatArray:
    """(c(h b) + λ p(b | h)) / (c(h) + λ), [4^k, 4]."""
    counts = np.bincount(found[found >= 0], minlength=p.size).reshape(-1, 4)
    mixed: FloatArray = (counts + weight * p) / (counts.sum(axis=1, keepdims=True) + weight)
    return mixed


def look_up(table: FloatArray, codes: Codes, classes: Classes) -> FloatArray:
    """The rows of a table [G, W, 4] for each position [T, 4]; 0 where its word is not whole."""
    numbers = words(codes, _word_length(table.shape[1]))
    rows: FloatArray = table[classes, numbers]
    rows[numbers < 0] = 0.0
    return rows


def look_up_column(column: FloatArray, codes: Codes) -> FloatArray:
    """The same for one column of one class [T]."""
    numbers = words(codes, _word_length(len(column)))
    return np.where(numbers < 0, 0.0, column[numbers])


def _word_length(n_words: int) -> int:
    return round(float(np.log(n_words) / np.log(4)))
