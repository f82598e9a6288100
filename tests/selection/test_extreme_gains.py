"""Gains of candidates against enumeration, where the best path may have a tiny probability."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from scipy.optimize import minimize_scalar

from crfkit import _native
from crfkit.inference import Lattice, log_partition


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
    active = np.array([occurrences(path, candidate, positions) for path in oracle.paths], bool)
    counts = active.sum(axis=1)
    fixed, rest = (oracle.probabilities @ there for there in (active, ~active))  # [positions] marginals

    def exact(weight: float) -> float:
        moved = oracle.scores + weight * counts
        log_z = moved.max() + np.log(np.exp(moved - moved.max()).sum())
        return float(log_z - oracle.log_z - weight * seen + c2 * weight**2)

    def approximate(weight: float) -> float:
        return float(np.log(rest + fixed * np.exp(weight)).sum() - weight * seen + c2 * weight**2)

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
            assert approximate[c] == pytest.approx(expected[1], rel=1e-5, abs=1e-5)


def test_the_best_path_is_poor_at_both_ends() -> None:
    node = np.zeros((5, 2))
    node[:, 1] = [-1000, 800, 900, 800, -1000]
    lattice = Lattice(node, [[0, -5000], [-5000, 0]], [0, 5])
    compare(lattice, np.array([0, 0, 1, 1, 0], dtype=np.int32), np.array([1, 2, 4]))


def test_kinks_do_not_trap_newtons_method() -> None:
    """Its steps jumped between two weights, on either side of the best one, until they were counted out."""
    node = [[57.0, -30.0, -31.3], [22.0, -15.1, 1.4], [17.2, -32.2, 22.4], [-27.4, 36.5, 28.2]]
    edge = [[-27.2, -19.3, -43.9], [7.2, -7.5, -41.1], [9.5, 14.6, -25.5]]
    lattice = Lattice(np.array(node), np.array(edge), [0, 4])
    compare(lattice, np.array([0, 1, 2, 0], dtype=np.int32), np.array([2, 3]))


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 3000.0])
@pytest.mark.parametrize("seed", range(5))
def test_random_scores_of_any_size(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L = 2 + seed % 2
    lattice = Lattice(scale * rng.normal(size=(6, L)), scale * rng.normal(size=(L, L)), [0, 6])
    targets = rng.integers(L, size=6).astype(np.int32)
    compare(lattice, targets, np.flatnonzero(rng.random(6) < 0.6))


def log_space_gain(
    lattice: Lattice, targets: np.ndarray, candidate: tuple[int, int], values: np.ndarray, c2: float
) -> float:
    """Return the exact gain by a recursion in log space, for a sequence too long to enumerate."""
    previous, to = candidate
    T = len(lattice.node)

    def log_z(weight: float) -> float:
        node, edge = lattice.node.copy(), lattice.edge.copy()
        if previous < 0:
            node[:, to] += weight * values
        else:
            edge[previous, to] += weight
        alpha = node[0]
        for t in range(1, T):
            alpha = node[t] + np.logaddexp.reduce(alpha[:, None] + edge, axis=0)
        return float(np.logaddexp.reduce(alpha))

    if previous < 0:
        seen = float(values[targets == to].sum())
    else:
        seen = float(((targets[:-1] == previous) & (targets[1:] == to)).sum())
    start = log_z(0.0)
    bound = 50 / (np.abs(values).max() if previous < 0 else 1)
    losses = [log_z(w) - start - w * seen + c2 * w**2 for w in np.linspace(-bound, bound, 201)]
    best = np.linspace(-bound, bound, 201)[int(np.argmin(losses))]
    found = minimize_scalar(
        lambda w: log_z(w) - start - w * seen + c2 * w**2,
        bounds=(max(-bound, best - bound / 100), min(bound, best + bound / 100)),
        method="bounded",
        options={"xatol": 1e-9 * bound},
    )
    return -float(found.fun)


@pytest.mark.parametrize("cost", [20.0, 100.0, 200.0, 400.0, 800.0, 5000.0])
@pytest.mark.parametrize("value", [1.0, 0.02, 30.0])
def test_a_candidate_lifts_a_path_that_was_next_to_impossible(cost: float, value: float) -> None:
    """Weights up to 50 on 60 positions outweigh a probability of e^-1600."""
    T = 60
    node = np.zeros((T, 2))
    node[0, 1] = node[T - 1, 1] = -cost
    lattice = Lattice(node, [[0, -cost], [-cost, 0]], [0, T])
    targets = np.ones(T, dtype=np.int32)
    positions, values = np.arange(T), np.full(T, value)
    native = _native.CandidateGains(lattice.offsets, targets, None, lattice.node, lattice.edge, 1e-3, 1)
    for previous, to in ((-1, 1), (-1, 0), (1, 1), (0, 1), (0, 0)):
        found, weight = np.zeros(1), np.zeros(1)
        native.best(
            np.array([previous], np.int32), np.array([to], np.int32), np.zeros(1, np.int32),
            np.array([0, T]), positions, values, False, found, weight,
        )  # fmt: skip
        expected = log_space_gain(lattice, targets, (previous, to), values, 1e-3)
        assert found[0] == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 400.0])  # numbers themselves, or their logarithms
def test_a_long_sequence_in_pieces(scale: float) -> None:
    """Against log Z of the whole lattice; 1,024 positions are a piece."""
    random = np.random.default_rng(1)
    T, L, c2 = 2500, 3, 0.5
    lattice = Lattice(scale * random.normal(size=(T, L)), scale * random.normal(size=(L, L)), [0, T])
    targets = random.integers(0, L, T, dtype=np.int32)
    positions = np.array([5, 1020, 1023, 1024, 2047, 2048, 2400])
    candidates = [(-1, 0), (-1, 2), (1, 2)]
    for candidate, found in zip(
        candidates, gains(lattice, targets, candidates, positions, c2)[0], strict=True
    ):
        previous, to = candidate
        seen = sum(occurrences(tuple(targets), candidate, positions))

        def loss(weight: float, previous: int = previous, to: int = to, seen: int = seen) -> float:
            node, edge = np.array(lattice.node), np.array(lattice.edge)
            if previous < 0:
                node[positions, to] += weight
            else:
                edge[previous, to] += weight
            moved = log_partition(Lattice(node, edge, lattice.offsets))[0]
            return float(moved - log_partition(lattice)[0] - weight * seen + c2 * weight**2)

        best = minimize_scalar(loss, bounds=(-50, 50), method="bounded", options={"xatol": 1e-7}).fun
        assert found == pytest.approx(-best, rel=1e-5, abs=1e-5)
