"""Gradients with respect to single scores: against finite differences and enumeration of all labellings."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data.labels import Labels
from crfkit.inference import Lattice
from crfkit.objectives.functional_gradient import (
    likelihood_errors,
    minus_log_likelihood,
    pseudo_likelihood_errors,
)

STEP = 1e-5


def make(seed, lengths, n_labels, pairs=True, tables=False):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    node = rng.normal(size=(n, n_labels))
    edge = rng.normal(size=(n, n_labels, n_labels) if pairs else (n_labels, n_labels))
    start, end = (rng.normal(size=n_labels), rng.normal(size=n_labels)) if tables else (None, None)
    labels = Labels(rng.integers(n_labels, size=n).astype(np.int32), None)
    return Lattice(node, edge, offsets, start, end), labels, rng


def nudged(lattice, name, place, by):
    array = getattr(lattice, name).copy()
    array[place] += by
    parts = {"node": lattice.node, "edge": lattice.edge, name: array}
    return Lattice(parts["node"], parts["edge"], lattice.offsets, lattice.start, lattice.end)


def differences(value, lattice, name):
    array = getattr(lattice, name)
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        up, down = (value(nudged(lattice, name, place, by)) for by in (STEP, -STEP))
        found[place] = (up - down) / (2 * STEP)
    return found


lattices = st.tuples(
    st.integers(0, 10**6), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(1, 3)
).filter(lambda drawn: sum(drawn[1]) > 0)


@settings(max_examples=25, deadline=None)
@given(lattices, st.booleans(), st.booleans())
def test_likelihood_by_finite_differences(drawn, pairs, weighted):
    seed, lengths, n_labels = drawn
    lattice, labels, rng = make(seed, lengths, n_labels, pairs, tables=not pairs)
    weights = rng.random(len(lengths)) + 0.5 if weighted else None

    def value(changed):
        return minus_log_likelihood(changed, labels, weights, n_jobs=1)

    errors = likelihood_errors(lattice, labels, weights, n_jobs=1)
    assert errors.objective == pytest.approx(value(lattice))
    np.testing.assert_allclose(errors.node, differences(value, lattice, "node"), atol=1e-7)
    assert (errors.edge is not None) == pairs
    if pairs:
        np.testing.assert_allclose(errors.edge, differences(value, lattice, "edge"), atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(lattices, st.booleans())
def test_pseudo_likelihood_by_finite_differences(drawn, pairs):
    seed, lengths, n_labels = drawn
    lattice, labels, rng = make(seed, lengths, n_labels, pairs, tables=not pairs)
    weights = rng.random(len(lengths)) + 0.5

    def value(changed):
        """Return -Σ log p(y_t | the true neighbours) by definition: the share of one label among all at t."""
        total = 0.0
        for i, (a, b) in enumerate(zip(lattice.offsets[:-1], lattice.offsets[1:], strict=True)):
            for t in range(a, b):
                scores = changed.node[t].copy()
                edge = changed.edge if changed.edge.ndim == 3 else np.stack([changed.edge] * b)
                if t > a:
                    scores += edge[t, labels.ids[t - 1]]
                elif changed.start is not None:
                    scores += changed.start
                if t < b - 1:
                    scores += edge[t + 1, :, labels.ids[t + 1]]
                elif changed.end is not None:
                    scores += changed.end
                total -= weights[i] * (scores[labels.ids[t]] - np.log(np.exp(scores).sum()))
        return total

    errors = pseudo_likelihood_errors(lattice, labels, weights)
    assert errors.objective == pytest.approx(minus_log_likelihood(lattice, labels, weights))
    np.testing.assert_allclose(errors.node, differences(value, lattice, "node"), atol=1e-7)
    if pairs:
        np.testing.assert_allclose(errors.edge, differences(value, lattice, "edge"), atol=1e-7)


def test_curvature_is_that_of_enumeration():
    lattice, labels, _ = make(3, [3], 3)
    errors = likelihood_errors(lattice, labels, n_jobs=1)
    oracle = enumerate_paths(lattice, 0)
    p, pairs = oracle.node(3, 3), oracle.window(3, 3, 2)
    np.testing.assert_allclose(errors.node_curvature, p * (1 - p), atol=1e-12)
    np.testing.assert_allclose(errors.edge_curvature, pairs * (1 - pairs), atol=1e-12)


def test_labels_that_are_not_fully_known():
    """The gradient is then that of the likelihood summed over the permitted labels."""
    lattice, labels, rng = make(5, [4, 2], 3)
    allowed = rng.random((6, 3)) < 0.7
    allowed[np.arange(6), labels.ids] = True
    partial = Labels(np.where(allowed.sum(axis=1) == 1, labels.ids, -1).astype(np.int32), allowed)
    errors = likelihood_errors(lattice, partial, n_jobs=1)

    def value(changed):
        return minus_log_likelihood(changed, partial, n_jobs=1)

    np.testing.assert_allclose(errors.edge, differences(value, lattice, "edge"), atol=1e-7)
    refuses("needs every label", pseudo_likelihood_errors, lattice, partial)
