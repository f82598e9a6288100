"""Larger lattices against a plain NumPy recursion: every width of the kernels, long sequences."""

import numpy as np
import pytest
from lattices import big_lattice
from recursion import reference

from crfkit.inference import (
    Lattice,
    entropy,
    expected_counts,
    log_partition,
    marginals,
    nbest,
    path_score,
    sample,
    viterbi,
)


def check_posterior(lattice: Lattice, tolerance: float = 1e-10) -> None:
    result = marginals(lattice, edge=True)
    plain = marginals(lattice)
    counts = expected_counts(lattice)
    edge, edge2 = np.zeros_like(counts.edge), np.zeros((lattice.n_labels,) * 3)
    log_z = log_partition(lattice)
    for i in range(lattice.n_sequences):
        truth = reference(lattice, i)
        at = slice(lattice.offsets[i], lattice.offsets[i + 1])
        for value in (log_z[i], result.log_z[i], plain.log_z[i], counts.log_z[i]):
            np.testing.assert_allclose(value, truth.log_z, rtol=1e-13, atol=1e-11)
        np.testing.assert_allclose(result.node[at], truth.node, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(plain.node[at], truth.node, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(result.edge[at], truth.pair, rtol=tolerance, atol=tolerance)
        edge += truth.pair.sum(axis=0)
        edge2 += truth.triple
    np.testing.assert_allclose(counts.edge, edge, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(counts.node, plain.node.sum(axis=0), rtol=tolerance, atol=tolerance)
    if lattice.order == 2:
        np.testing.assert_allclose(counts.edge2, edge2, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n_labels", [1, 5, 8, 9, 17, 25, 33, 45])
@pytest.mark.parametrize("per_position", [False, True])
def test_first_order_widths(n_labels: int, per_position: bool) -> None:
    check_posterior(big_lattice([1, 2, 3, 30], n_labels, per_position=per_position))


@pytest.mark.parametrize("n_labels", [1, 3, 8, 11, 18, 33])
@pytest.mark.parametrize("per_position", [False, True])
def test_second_order_widths(n_labels: int, per_position: bool) -> None:
    check_posterior(big_lattice([1, 2, 3, 4, 7], n_labels, 2, per_position=per_position))


@pytest.mark.parametrize("order", [1, 2])
def test_lengths_around_a_block_of_counts(order: int) -> None:
    check_posterior(big_lattice([62, 63, 64, 65, 66, 67, 127, 128, 129, 130, 131], 3, order))


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("order", [1, 2])
def test_long_sequences(order: int, scale: float) -> None:
    check_posterior(big_lattice([12_000], 3, order, scale=scale), 1e-8)
    check_posterior(big_lattice([10_000], 3, order, scale=scale, per_position=True), 1e-8)


def test_only_improbable_states_survive() -> None:
    """A state e^-2000 times less probable than its rival is the only one with a successor."""
    n = 40
    node = np.zeros((n, 3))
    node[:20, 0] = 100.0  # label 0 gains 100 per position, and is then forbidden
    edge = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.0, 0.5], [-np.inf, 0.25, 0.0]])
    node[20:, 0] = -np.inf
    lattice = Lattice(node, edge, [0, n])
    check_posterior(lattice)
    assert marginals(lattice).node[:, 0].max() == 0
    assert viterbi(lattice).labels.min() == 1


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("size", [10.0, 60.0, 190.0, 1e4])
def test_a_path_that_is_poor_at_both_ends(order: int, size: float) -> None:
    """The path lost by α at the beginning and by β at the end may be far better than the rest in between."""
    node = np.zeros((60, 3))
    node[[0, -1], 1] = -8 * size
    node[20:40, 1] = size
    edge = np.full((3, 3), -40 * size)
    np.fill_diagonal(edge, 0)
    edge2 = np.zeros((3, 3, 3)) if order == 2 else None
    check_posterior(Lattice(node, edge, [0, 60], edge2=edge2))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("forbidden", [False, True])
def test_fortunes_that_change(seed: int, forbidden: bool) -> None:
    """Labels with rare transitions, each far better than the others in some stretches."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(10, 100)
    node = np.repeat(rng.normal(size=(6, 4)) * size, 20, axis=0)
    edge = rng.normal(size=(4, 4)) - 10.0 ** rng.uniform(1, 5)
    np.fill_diagonal(edge, 0)
    if forbidden:
        edge[rng.random((4, 4)) < 0.4] = -np.inf
        np.fill_diagonal(edge, 0)
    check_posterior(Lattice(node, edge, [0, 120]), 1e-8)


def test_long_sequences_decode() -> None:
    lattice = big_lattice([10_000, 5], 5, scale=10.0)
    best = viterbi(lattice)
    few = nbest(lattice, 200)
    assert few.paths_of(0).shape == (200, 10_000)
    np.testing.assert_array_equal(few.paths_of(0)[0], best.labels[:10_000])
    assert len(np.unique(few.paths_of(0), axis=0)) == 200
    assert np.all(np.diff(few.scores_of(0)) <= 1e-9)
    # changing a single label never gives a better path than the second best
    again = best.labels.copy()
    second = few.scores_of(0)[1]
    for t in range(0, 10_000, 1000):
        again[t] = (best.labels[t] + 1) % 5
        assert path_score(lattice, again)[0] <= second + 1e-9
        again[t] = best.labels[t]
    assert sample(lattice, 3, random_state=0).shape == (3, 10_005)


def test_entropy_of_independent_positions() -> None:
    rng = np.random.default_rng(0)
    node = rng.normal(size=(5000, 7))
    p = np.exp(node) / np.exp(node).sum(axis=1, keepdims=True)
    expected = -(p * np.log(p)).sum()
    for edge in (np.zeros((7, 7)), np.zeros((5000, 7, 7))):
        for edge2 in (None, np.zeros((7, 7, 7))):
            np.testing.assert_allclose(
                entropy(Lattice(node, edge, [0, 5000], edge2=edge2)), expected, rtol=1e-11
            )


def test_order_two_without_scores_is_order_one() -> None:
    first = big_lattice([3, 40, 1], 6)
    second = Lattice(first.node, first.edge, first.offsets, first.start, first.end, np.zeros((6, 6, 6)))
    a, b = marginals(first, edge=True), marginals(second, edge=True)
    np.testing.assert_allclose(a.node, b.node, rtol=1e-11)
    np.testing.assert_allclose(a.edge, b.edge, rtol=1e-11)
    np.testing.assert_array_equal(viterbi(first).labels, viterbi(second).labels)
    np.testing.assert_allclose(nbest(first, 50).scores, nbest(second, 50).scores, rtol=1e-13)
    np.testing.assert_allclose(entropy(first), entropy(second), rtol=1e-11)


def test_a_forbidden_label_has_no_probability_at_all() -> None:
    lattice = big_lattice([50], 5)
    node = np.array(lattice.node)
    node[10:20, 3] = -np.inf
    probability = marginals(Lattice(node, lattice.edge, [0, 50])).node
    assert (probability[10:20, 3] == 0).all()
    assert (np.delete(probability, 3, axis=1) > 0).all()
