"""The linear potential: scores against a dense product, the way back against its transpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex
from crfkit.inference import log_partition, marginals
from crfkit.inference.posterior import expected_counts
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
        weights[features],
        np.where(edges, rng.normal(size=edges.shape), 0),
        None if edges2 is None else np.where(edges2, rng.normal(size=edges2.shape), 0),
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
    back = potential.backward(batch, d_node, *d_edges)
    np.testing.assert_allclose(back.state, (dense.T @ d_node)[features], atol=1e-12)
    assert (back.edge[~potential.index.edges] == 0).all()
    lattice = potential.scores(batch)
    left = float((lattice.node * d_node).sum() + (lattice.edge * d_edges[0]).sum())
    right = float(back.state @ potential.weights.state + (back.edge * potential.weights.edge).sum())
    if order == 2:
        left += float((lattice.edge2 * d_edges[1]).sum())
        right += float((back.edge2 * potential.weights.edge2).sum())
    assert left == pytest.approx(right)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_log_z_by_finite_differences(order):
    batch, potential, *_ = make(1, 3, [4, 0, 1, 6], order)
    lattice = potential.scores(batch)
    counts = expected_counts(lattice)
    tables = [counts.edge] if order == 1 else [counts.edge, counts.edge2]
    gradient = potential.backward(batch, marginals(lattice).node, *tables)
    parts = ["state", "edge"] + (["edge2"] if order == 2 else [])
    masks = {"state": None, "edge": potential.index.edges, "edge2": potential.index.edges2}
    h = 1e-5
    for name in parts:
        values = getattr(potential.weights, name)
        places = np.ndindex(values.shape) if masks[name] is None else map(tuple, np.argwhere(masks[name]))
        for place in places:
            sides = []
            for step in (h, -h):
                moved = values.copy()
                moved[place] += step
                changed = {part: getattr(potential.weights, part) for part in parts} | {name: moved}
                sides.append(
                    log_partition(
                        LinearPotential(potential.index, LinearWeights(**changed)).scores(batch)
                    ).sum()
                )
            assert getattr(gradient, name)[place] == pytest.approx((sides[0] - sides[1]) / (2 * h), abs=1e-6)


def test_many_positions_in_threads():
    batch, potential, dense, weights, _ = make(3, 4, [5000, 1, 2000])
    np.testing.assert_allclose(potential.scores(batch).node, dense @ weights, atol=1e-12)
