"""How likely a base is after those before it, in coding sequence, introns and between genes.

Interpolated Markov chains: with c counts of words and b the last base of a word, h the ones before it,

    p_k(b | h) = (c(h b) + λ · p_{k-1}(b | h without its first base)) / (c(h) + λ)

from p_0 with a uniform prior. A chain of order k is kept as a table of log odds against what lies between
genes, one row for each word of k + 1 bases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes.bases import Codes, words
from crfkit.apps.genes.labels import CODING, INTRON, NON_CODING, Ids

FloatArray = npt.NDArray[np.float64]

_FIRST_PRIOR = 4.0  # λ of order 0


def log_odds_table(codes: Sequence[Codes], labels: Sequence[Ids], order: int, prior: float) -> FloatArray:
    """[4^(order+1), 4] log odds of coding base 0, 1, 2 of a codon, and of introns, against other DNA."""
    numbers = [np.concatenate([words(c, k + 1) for c in codes]) for k in range(order + 1)]  # each [ΣT]
    ids = np.concatenate(labels)
    masks = [*(ids == phase for phase in CODING), np.isin(ids, INTRON), ids == NON_CODING]
    chains = [chain([n[mask] for n in numbers], prior) for mask in masks]
    return np.stack([chain - chains[-1] for chain in chains[:-1]], axis=1)


def chain(numbers: list[npt.NDArray[np.int32]], prior: float) -> FloatArray:
    """log p(last base | the others) of each word, from the words of each length that occur."""
    p = np.full((1, 4), 0.25)
    for k, found in enumerate(numbers):
        counts = np.bincount(found[found >= 0], minlength=4 ** (k + 1)).reshape(-1, 4)  # [4^k, 4]
        shorter = p[np.arange(4**k) % len(p)]  # [4^k, 4] without the first base
        weight = prior if k else _FIRST_PRIOR
        p = (counts + weight * shorter) / (counts.sum(axis=1, keepdims=True) + weight)
    logs: FloatArray = np.log(p).ravel()
    return logs


def look_up(table: FloatArray, codes: Codes) -> FloatArray:
    """The rows of a table for each position [T, 4]; 0 where the word is cut off or has an unknown base."""
    numbers = words(codes, round(float(np.log(len(table)) / np.log(4))))
    rows: FloatArray = table[numbers]
    rows[numbers < 0] = 0.0
    return rows


def look_up_column(column: FloatArray, codes: Codes) -> FloatArray:
    """The same for a table with one column [T]."""
    return look_up(column[:, None], codes)[:, 0]
