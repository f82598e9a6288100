"""Graph kernels: eigenpairs against dense algebra, the extension to new positions, invalid graphs."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from scipy.sparse import csr_matrix
from sklearn.base import clone

from crfkit.exceptions import CRFKitError, InputError, InputWarning
from crfkit.kernels import GraphKernel
from crfkit.kernels import graph as graph_module

RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((60, 2))


def laplacian(weights, normalized):
    degrees = weights.sum(axis=1)
    plain = np.diag(degrees) - weights
    return plain / np.sqrt(np.outer(degrees, degrees)) if normalized else plain


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("dense", [600, 10])
@pytest.mark.parametrize(
    ("transform", "r"),
    [
        ("inverse", lambda v: 1 / (v + 0.1)),
        ("diffusion", lambda v: np.exp(-v / 0.1)),
        ("step", np.ones_like),
        (lambda v: (2.5 - np.minimum(v, 2.5)) ** 3, lambda v: (2.5 - np.minimum(v, 2.5)) ** 3),
    ],
)
def test_against_dense_algebra(normalized, dense, transform, r, monkeypatch):
    monkeypatch.setattr(graph_module, "_DENSE", dense)
    kernel = GraphKernel(5, transform, n_eigenvectors=20, normalized=normalized, epsilon=0.1)
    built, component = kernel.build(ROWS)
    weights = kernel._neighbour_weights(ROWS).toarray()
    np.testing.assert_array_equal(weights, weights.T)
    assert weights.sum(axis=1).min() >= 5
    assert component.max() == 0
    values, vectors = np.linalg.eigh(laplacian(weights, normalized))
    expected = (vectors[:, :20] * r(np.maximum(values[:20], 0))) @ vectors[:, :20].T
    expected /= np.diagonal(expected).mean()
    found = built.between(built.training, built.training)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_all_eigenvectors_invert_the_laplacian():
    kernel = GraphKernel(5, n_eigenvectors=60, normalized=False, epsilon=0.3)
    built, _ = kernel.build(ROWS)
    weights = kernel._neighbour_weights(ROWS).toarray()
    expected = np.linalg.inv(laplacian(weights, False) + 0.3 * np.eye(60))
    np.testing.assert_allclose(
        built.between(built.training, built.training), expected / np.diagonal(expected).mean(), atol=1e-8
    )


@pytest.mark.parametrize("normalized", [True, False])
def test_the_extension_reproduces_training_values(normalized):
    """With a vertex's own neighbours the extension is the equation of the eigenvectors."""
    ring = np.zeros((40, 40))  # every vertex has 4 neighbours, as new positions have
    for step in (1, 2):
        ring += np.roll(np.eye(40), step, axis=1) + np.roll(np.eye(40), -step, axis=1)
    kernel = GraphKernel(4, n_eigenvectors=9, normalized=normalized, affinity=csr_matrix(ring))
    built, _ = kernel.build(np.zeros((40, 1)))
    neighbours = np.array([np.flatnonzero(row) for row in ring])
    np.testing.assert_allclose(built.extend(neighbours), built.training, atol=1e-9)


@pytest.mark.parametrize("normalized", [True, False])
def test_new_positions(normalized):
    built, _ = GraphKernel(8, n_eigenvectors=6, normalized=normalized).build(ROWS)
    np.testing.assert_allclose(built.represent(ROWS[10:20]), built.training[10:20])  # known positions
    near = built.represent(ROWS + 1e-3)  # new positions near known ones
    similar = [np.corrcoef(near[:, k], built.training[:, k])[0, 1] for k in range(1, 6)]
    assert min(similar) > 0.9
    assert built.represent(np.zeros((0, 2))).shape == (0, 6)
    again = pickle.loads(pickle.dumps(built))
    np.testing.assert_array_equal(again.represent(ROWS + 1e-3), near)


def test_sparse_rows():
    dense, _ = GraphKernel(5, n_eigenvectors=5).build(ROWS)
    sparse, _ = GraphKernel(5, n_eigenvectors=5).build(csr_matrix(ROWS))
    np.testing.assert_allclose(sparse.training, dense.training, atol=1e-8)
    np.testing.assert_allclose(
        sparse.represent(csr_matrix(ROWS[:3] + 0.01)), dense.represent(ROWS[:3] + 0.01)
    )


@pytest.mark.parametrize("normalized", [True, False])
def test_equal_rows_are_one_vertex(normalized):
    twice = np.vstack([ROWS, ROWS[10:25], ROWS[:3]])
    kernel = GraphKernel(5, n_eigenvectors=8, normalized=normalized)
    built, component = kernel.build(twice)
    once, _ = kernel.build(ROWS)
    assert len(component) == len(twice)
    assert built.spectrum.eigenvectors.shape == (60, 8)
    np.testing.assert_allclose(built.training[60:75], built.training[10:25])
    np.testing.assert_allclose(built.training, built.represent(twice))
    np.testing.assert_allclose(built.spectrum.eigenvalues, once.spectrum.eigenvalues)
    assert (built.training**2).sum(axis=1).mean() == pytest.approx(1.0)
    refuses("two positions that differ, got 1", kernel.build, np.ones((5, 2)))


@pytest.mark.parametrize("sparse", [True, False])
def test_sparse_and_dense_rows_are_the_same(sparse):
    """Rows of a sparse matrix are recognised whatever the order and explicit zeros."""
    rows = np.where(RNG.random((40, 6)) < 0.5, 0.0, RNG.standard_normal((40, 6)))
    rows[3, 2] = -0.0
    messy = csr_matrix(rows[:, ::-1])[:, ::-1]  # columns in no order
    messy = csr_matrix(
        (
            np.concatenate([messy.data, [0.0]]),
            np.concatenate([messy.indices, [2]]),
            np.concatenate([messy.indptr[:-1], [messy.indptr[-1] + 1]]),
        ),
        shape=messy.shape,
    )  # and an explicit 0
    built, _ = GraphKernel(4, n_eigenvectors=8).build(messy if sparse else rows)
    other = rows if sparse else messy
    np.testing.assert_allclose(built.represent(other), built.training)
    new = rows + 0.05
    np.testing.assert_allclose(built.represent(new), built.represent(csr_matrix(new)), atol=1e-9)


def test_new_positions_beside_isolated_ones():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 2))
    with pytest.warns(InputWarning, match="have no neighbour"):
        built, _ = GraphKernel(2, mutual=True, n_eigenvectors=40).build(rows)
    near = built.represent(rows + 1e-6)
    assert np.abs(near).max() < 100 * np.abs(built.training).max()


def test_faulty_graphs():
    apart = np.vstack([ROWS, [[100.0, 100.0]]])
    with pytest.warns(InputWarning, match=r"1 of 61 positions have no neighbour .* position 60"):
        GraphKernel(20, mutual=True).build(apart)
    for affinity, message in (
        (np.ones((2, 3)), r"affinity must be square, \[3, 3\] for 3 positions; got \(2, 3\)"),
        (np.triu(np.ones((3, 3))), "must be symmetric; it differs from its transpose by 1"),
        (-np.ones((3, 3)), "must not be negative, got -1"),
    ):
        refuses(message, GraphKernel(affinity=affinity).build, np.zeros((3, 1)))
    refuses("needs at least two positions that differ, got 1", GraphKernel().build, np.zeros((1, 1)))
    refuses("needs numbers", GraphKernel().build, ["a", "b"])
    with pytest.raises(InputError, match="transform must give a finite number of at least 0"):
        GraphKernel(transform=lambda v: -np.ones_like(v)).build(ROWS)
    refuses("n_neighbors must be a whole number", GraphKernel(n_neighbors=0).build, ROWS)
    built, _ = GraphKernel(affinity=csr_matrix(np.ones((3, 3)) - np.eye(3))).build(np.zeros((3, 1)))
    refuses("where new positions lie in it is not known", built.represent, np.zeros((1, 1)))


def test_pynndescent_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(CRFKitError, match=r"pip install 'crfkit\[graph\]'"):
        GraphKernel(search="approximate").build(ROWS)


def test_approximate_neighbours():
    pytest.importorskip("pynndescent")
    exact = GraphKernel(5)._nearest(ROWS, 5)
    found = GraphKernel(5, search="approximate")._nearest(ROWS, 5)
    shared = [len(set(a) & set(b)) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]
    assert np.mean(shared) > 4


def test_parameters():
    kernel = GraphKernel(n_neighbors=3)
    assert clone(kernel).get_params() == kernel.get_params()
    assert clone(kernel).set_params(epsilon=1.0).epsilon == 1.0


def test_an_unknown_metric_is_named():
    with pytest.raises(InputError, match="no nearest neighbours by metric='as the crow flies'"):
        GraphKernel(3, metric="as the crow flies").build(ROWS)
    built, _ = GraphKernel(3, n_eigenvectors=4).build(ROWS)
    damaged = replace(built, metric="euclidian")  # as in a damaged model file
    with pytest.raises(InputError, match="no nearest neighbours by metric='euclidian'"):
        damaged.represent(ROWS + 1)
