"""Paired intervals of the difference between two gene models, over the test genes of one or several splits.

Exons and genes are counted in each test window. Windows are drawn with replacement (a gene that several
splits test is drawn with all of them), and the score, the mean of Sn and Sp, is computed of both models on
the same windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEVELS = ("exon", "gene")
REPEATS = 4000
Counts = dict[str, list[list[int]]]  # of a window, by its name: [true, predicted, found, right] by level


def _score(sums: np.ndarray) -> np.ndarray:
    """The mean of Sn and Sp in %, of sums [..., 4]."""
    true, predicted, found, right = np.moveaxis(sums, -1, 0)
    return 50 * (found / np.maximum(true, 1) + right / np.maximum(predicted, 1))


def differences(base: Sequence[Counts], other: Sequence[Counts], seed: int = 0) -> dict[str, np.ndarray]:
    """By level: the difference in points, and the ends of its 95 % interval."""
    names = sorted({name for split in base for name in split})
    place = {name: i for i, name in enumerate(names)}
    by_gene = np.zeros((2, len(names), len(LEVELS), 4))  # sums over the splits that test a gene
    for model, splits in enumerate((base, other)):
        for split in splits:
            for name, counts in split.items():
                by_gene[model, place[name]] += counts
    drawn = np.random.default_rng(seed).integers(len(names), size=(REPEATS, len(names)))
    weight = np.stack([np.bincount(row, minlength=len(names)) for row in drawn])  # [REPEATS, genes]
    resampled = np.einsum("rg,mglc->mrlc", weight, by_gene)
    before, after = _score(resampled)
    low, high = np.percentile(after - before, [2.5, 97.5], axis=0)
    once = _score(by_gene.sum(axis=1))  # [2, levels]
    return {level: np.array([once[1, k] - once[0, k], low[k], high[k]]) for k, level in enumerate(LEVELS)}


def in_words(difference: np.ndarray) -> str:
    """A difference with its interval; "level" where the interval holds zero."""
    value, low, high = difference
    words = f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    return words + (", level" if low <= 0 <= high else "")
