"""Gains of candidates against enumeration, where the best path may have a tiny probability."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from scipy.optimize import minimize_scalar

from crfkit import _native
from crfkit.inference import Lattice


def gains(
    lattice: Lattice,
    targets: np.ndarray,
    candidates: list[tuple[int, int]],
    positions: np.ndarray,
    c2: float,
) -> list[np.ndarray]:
    """Return exact and approximate gains of (previous label or -1, label) with an attribute there."""
    previous, to = (np.array(side, dtype=np.int32) for side in zip(*candidates, strict=True))
    native = _native.CandidateGains(lattice.offsets, targets, None, lattice.node, lattice.edge, c2, 1)
    results = []
    for approximate in (False, True):
        found, weights = np.zeros(len(to)), np.zeros(len(to))
        indptr = np.array([0, len(positions)])
        native.best(previous, to, np.zeros_like(to), indptr, positions, None, approximate, found, weights)
        results.append(found)
    return results


def occurrences(path: tuple[int, ...], candidate: tuple[int, int], positions: np.ndarray) -> list[bool]:
    previous, to = candidate
    if previous < 0:
        return [path[t] == to for t in positions]
    return [path[t - 1] == previous and path[t] == to for t in range(1, len(path))]


def enumerated_gains(
    lattice: Lattice, targets: np.ndarray, candidate: tuple[int, int], positions: np.ndarray, c2: float
) -> tuple[float, float]:
    """Return the same by brute force, for a lattice of one sequence."""
    oracle = enumerate_paths(lattice, 0)
    seen = sum(occurrences(tuple(targets), candidate, positions))
    active = np.array([occurrences(path, candidate, positions) for path in oracle.paths])  # [P, positions]
    counts = active.sum(axis=1)
    fixed = np.minimum((oracle.probabilities @ active).astype(float), 1.0)  # [positions] marginals

    def exact(weight: float) -> float:
        moved = oracle.scores + weight * counts
        log_z = moved.max() + np.log(np.exp(moved - moved.max()).sum())
        return float(log_z - oracle.log_z - weight * seen + c2 * weight**2)

    def approximate(weight: float) -> float:
        return float(np.log(1 - fixed + fixed * np.exp(weight)).sum() - weight * seen + c2 * weight**2)

    options = {"xatol": 1e-9}
    return tuple(
        -minimize_scalar(loss, bounds=(-50, 50), method="bounded", options=options).fun
        for loss in (exact, approximate)
    )


def compare(lattice: Lattice, targets: np.ndarray, positions: np.ndarray) -> None:
    L = lattice.n_labels
    candidates = [(previous, to) for previous in range(-1, L) for to in range(L)]
    for c2 in (0.05, 0.5):
        exact, approximate = gains(lattice, targets, candidates, positions, c2)
        for c, candidate in enumerate(candidates):
            expected = enumerated_gains(lattice, targets, candidate, positions, c2)
            assert exact[c] == pytest.approx(expected[0], rel=1e-5, abs=1e-5)
            if c2 == 0.5:  # with less, weights are so large that the rounding of a marginal near 1 shows
                assert approximate[c] == pytest.approx(expected[1], rel=1e-5, abs=1e-5)


def test_the_best_path_is_poor_at_both_ends() -> None:
    node = np.zeros((5, 2))
    node[:, 1] = [-1000, 800, 900, 800, -1000]
    lattice = Lattice(node, [[0, -5000], [-5000, 0]], [0, 5])
    compare(lattice, np.array([0, 0, 1, 1, 0], dtype=np.int32), np.array([1, 2, 4]))


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 3000.0])
@pytest.mark.parametrize("seed", range(5))
def test_random_scores_of_any_size(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L = 2 + seed % 2
    lattice = Lattice(scale * rng.normal(size=(6, L)), scale * rng.normal(size=(L, L)), [0, 6])
    targets = rng.integers(L, size=6).astype(np.int32)
    compare(lattice, targets, np.flatnonzero(rng.random(6) < 0.6))
