"""The linear potential: scores against a dense product, the way back against its transpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex
from crfkit.inference import log_partition
from crfkit.inference.chain import CHAIN, ScoreGradient
from crfkit.potentials.linear import LinearPotential, LinearWeights


def make(seed: int, n_labels: int, lengths: list[int], order: int = 1, real: bool = True, A: int = 7):
    """A batch, a potential, and both as dense matrices."""
    rng = np.random.default_rng(seed)
    dense = np.where(
        rng.random((sum(lengths), A)) < 0.4, rng.normal(size=(sum(lengths), A)) if real else 1.0, 0.0
    )
    rows, columns = np.nonzero(dense)
    batch = Sequences(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.searchsorted(rows, np.arange(len(dense) + 1)).astype(np.int64),
        columns.astype(np.int32),
        dense[rows, columns] if real else None,
        A,
    )
    features = rng.random((A, n_labels)) < 0.5
    weights = np.where(features, rng.normal(size=features.shape), 0.0)
    attribute, label = np.nonzero(features)
    edges = rng.random((n_labels,) * 2) < 0.7
    edges2 = rng.random((n_labels,) * 3) < 0.7 if order == 2 else None
    index = FeatureIndex(
        n_labels,
        np.searchsorted(attribute, np.arange(A + 1)).astype(np.int64),
        label.astype(np.int32),
        edges,
        edges2,
    )
    linear = LinearWeights(
        np.where(edges, rng.normal(size=edges.shape), 0),
        None if edges2 is None else np.where(edges2, rng.normal(size=edges2.shape), 0),
        np.zeros(0),
        weights[features],
    )
    return batch, LinearPotential(index, linear), dense, weights, features


CASES = given(
    st.integers(0, 2**31),
    st.integers(1, 10),
    st.lists(st.integers(0, 5), min_size=0, max_size=4),
    st.integers(1, 2),
    st.booleans(),
)


@CASES
def test_scores_are_the_dense_product(seed, n_labels, lengths, order, real):
    batch, potential, dense, weights, _ = make(seed, n_labels, lengths, order, real)
    lattice = potential.scores(batch)
    np.testing.assert_allclose(lattice.node, dense @ weights, atol=1e-12)
    np.testing.assert_array_equal(lattice.edge, potential.weights.edge)
    assert lattice.order == order
    np.testing.assert_array_equal(lattice.offsets, batch.offsets)


@CASES
def test_backward_is_the_transpose_of_scores(seed, n_labels, lengths, order, real):
    """⟨scores(w), d⟩ = ⟨w, backward(d)⟩ for any d."""
    batch, potential, dense, _, features = make(seed, n_labels, lengths, order, real)
    rng = np.random.default_rng(seed)
    d_node = rng.normal(size=(len(dense), n_labels))
    d_edges = [rng.normal(size=(n_labels,) * (2 + k)) for k in range(order)]
    back = potential.backward(batch, ScoreGradient(d_node, *d_edges))
    parts = LinearWeights.of(potential.index, back)
    np.testing.assert_allclose(parts.state, (dense.T @ d_node)[features], atol=1e-12)
    assert (parts.edge[~potential.index.edges] == 0).all()
    lattice = potential.scores(batch)
    left = float((lattice.node * d_node).sum() + (lattice.edge * d_edges[0]).sum())
    if order == 2:
        left += float((lattice.edge2 * d_edges[1]).sum())
    assert left == pytest.approx(float(back @ potential.weights.vector))


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_log_z_by_finite_differences(order):
    batch, potential, *_ = make(1, 3, [4, 0, 1, 6], order)
    w = potential.weights.vector
    _, counts = CHAIN.expectations(potential.scores(batch))
    gradient = potential.backward(batch, counts)
    h = 1e-5
    for place in potential.index.places:
        sides = []
        for step in (h, -h):
            moved = w.copy()
            moved[place] += step
            sides.append(log_partition(potential.scores(batch, moved)).sum())
        assert gradient[place] == pytest.approx((sides[0] - sides[1]) / (2 * h), abs=1e-6)


def test_many_positions_in_threads():
    batch, potential, dense, weights, _ = make(3, 4, [5000, 1, 2000])
    np.testing.assert_allclose(potential.scores(batch).node, dense @ weights, atol=1e-12)
