"""Frequencies of samples against probabilities."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from lattices import random_scores

from crfkit.inference import Lattice, sample


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_frequencies(order: int, per_position: bool, forbidden: float) -> None:
    rng = np.random.default_rng(order)

    def table(rank: int) -> np.ndarray:
        return random_scores(rng, ((5,) if per_position else ()) + (3,) * rank, "one", forbidden)

    lattice = Lattice(
        random_scores(rng, (5, 3), "one", 0.0),
        table(2),
        [0, 4, 4, 5],
        start=rng.normal(size=3),
        edge2=table(3) if order == 2 else None,
    )
    n = 40_000
    drawn = sample(lattice, n, random_state=0)
    for i in (0, 2):
        truth = enumerate_paths(lattice, i)
        at = slice(lattice.offsets[i], lattice.offsets[i + 1])
        paths, counts = np.unique(drawn[:, at], axis=0, return_counts=True)
        found = {tuple(path): int(count) for path, count in zip(paths.tolist(), counts, strict=True)}
        assert set(found) <= set(truth.paths)
        expected = n * truth.probabilities.astype(float)
        observed = np.array([found.get(path, 0) for path in truth.paths])
        likely = expected > 5
        chi2 = ((observed - expected)[likely] ** 2 / expected[likely]).sum()
        # a chi-squared variable rarely exceeds its mean by five standard deviations
        assert chi2 < likely.sum() + 5 * np.sqrt(2 * likely.sum())


def test_sequences_and_samples_are_independent() -> None:
    n, copies = 2000, 20
    lattice = Lattice(np.zeros((copies * 2, 2)), np.zeros((2, 2)), np.arange(copies + 1) * 2)
    drawn = sample(lattice, n, random_state=7)  # [n, 40] fair coins
    correlation = np.corrcoef(drawn.T)
    assert np.abs(correlation - np.eye(copies * 2)).max() < 5 / np.sqrt(n)
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(n)
