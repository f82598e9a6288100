"""Kernels between positions, their bandwidths, the kernel matrix in blocks, orthonormal bases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import pairwise_kernels

from crfkit.exceptions import InputWarning
from crfkit.kernels import Kernel, median_gamma, scale_gamma
from crfkit.kernels import matrix as matrix_module
from crfkit.kernels.bandwidth import find_gamma, warn_of_constant_rows
from crfkit.kernels.basis import Basis
from crfkit.kernels.checks import warn_of_no_kernel
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import NAMES, Precomputed, as_kernel

RNG = np.random.default_rng(0)
ROWS = RNG.random((30, 4))


@pytest.mark.parametrize("name", NAMES)
def test_named_kernels_are_scikit_learns(name):
    kernel = Kernel(name, gamma=0.5, degree=2, coef0=0.3)
    expected = pairwise_kernels(
        ROWS, ROWS[:5], metric=name, filter_params=True, gamma=0.5, degree=2, coef0=0.3
    )
    np.testing.assert_allclose(kernel.between(ROWS, ROWS[:5]), expected, atol=1e-12)
    if name not in ("laplacian", "chi2"):
        sparse = kernel.between(csr_matrix(ROWS), csr_matrix(ROWS[:5]))
        np.testing.assert_allclose(sparse, expected, atol=1e-12)


def test_a_function_of_ones_own():
    def same(a, b):
        return [[float(x == y) for y in b] for x in a]

    kernel = as_kernel(same)
    assert kernel.name == "same"
    np.testing.assert_array_equal(kernel.between(["a", "b"], ["b"]), [[0], [1]])
    refuses(r"expected \(2, 1\), got \(1,\)", Kernel(lambda a, b: [1.0]).between, ["a", "b"], ["b"])
    refuses("must be finite; got nan", Kernel(lambda a, b: [[np.nan]]).between, ["a"], ["b"])
    refuses("kernel must be one of 'rbf'", as_kernel, "gauss")
    refuses("needs numbers", Kernel("rbf").fitted, ["a"])


def test_bandwidths():
    squares = ((ROWS[:, None] - ROWS) ** 2).sum(axis=2)[np.triu_indices(30, 1)]
    assert median_gamma(ROWS) == pytest.approx(1 / np.median(squares))
    assert scale_gamma(ROWS) == pytest.approx(1 / (4 * ROWS.var()))
    assert scale_gamma(csr_matrix(ROWS)) == pytest.approx(scale_gamma(ROWS))
    assert median_gamma(csr_matrix(ROWS)) == pytest.approx(median_gamma(ROWS))
    assert median_gamma(np.ones((5, 2))) == scale_gamma(np.ones((5, 2))) == 1.0  # no distances
    assert median_gamma(np.hstack([ROWS, np.ones((30, 3))])) == pytest.approx(median_gamma(ROWS))
    many = RNG.random((3000, 2))
    assert median_gamma(many, 1) == median_gamma(many, 1)
    assert find_gamma(2, ROWS) == 2.0
    for wrong in (0, -1.0, "mean", None, True, float("inf")):
        refuses("gamma must be a number above 0", find_gamma, wrong, ROWS)


def test_constant_rows_are_named():
    for rows in (np.ones((5, 2)), csr_matrix(np.ones((5, 2)))):
        with pytest.warns(InputWarning, match="all 5 positions have the same features"):
            warn_of_constant_rows(rows)
    warn_of_constant_rows(np.hstack([ROWS, np.ones((30, 1))]))  # one constant column does no harm


@pytest.mark.parametrize("limit", [0, 3000, 1e9])
def test_products_in_blocks(limit, monkeypatch):
    monkeypatch.setattr(matrix_module, "_BLOCK", 120)
    kernel = Kernel("rbf", gamma=1.0)
    full = kernel.between(ROWS, ROWS)
    candidates = np.array([0, 3, 4, 7, 11, 20, 21, 22, 29])
    matrix = KernelMatrix(kernel, ROWS, candidates, n_learn=25, limit=limit)
    values = RNG.standard_normal((25, 3))
    for _ in range(2):
        np.testing.assert_allclose(matrix.product(values), full[candidates, :25] @ values, atol=1e-5)
        assert matrix.kept_bytes <= limit
    assert (matrix.kept_bytes > 0) == (limit > 0)
    np.testing.assert_allclose(matrix.columns(np.array([2, 5])), full[:, [2, 5]])
    np.testing.assert_allclose(matrix.diagonal(np.arange(30)), 1.0)
    matrix.prepare(np.array([5, 9, 2]))
    np.testing.assert_allclose(matrix.columns(np.array([9])), full[:, [9]])
    np.testing.assert_allclose(matrix.columns(np.array([9, 1])), full[:, [9, 1]])


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from(["rbf", "linear", "poly"]))
@settings(max_examples=30, deadline=None)
def test_a_basis_is_orthonormal(seed, m, name):
    """φ φᵀ = K(·,a) K_aa⁻¹ K(a,·), and coefficients go back and forth."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((12, 3))
    kernel = Kernel(name, gamma=0.7, degree=2)
    matrix = KernelMatrix(kernel, rows, np.arange(12))
    basis = Basis(matrix)
    for place in rng.permutation(12)[:m]:
        basis.add(int(place))
    chosen = basis.places
    K = kernel.between(rows, rows)
    expected = K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen])
    np.testing.assert_allclose(basis.columns @ basis.columns.T, expected, atol=1e-5)
    beta = rng.standard_normal((len(chosen), 2))
    alpha = basis.coefficients(beta)
    np.testing.assert_allclose(K[:, chosen] @ alpha, basis.columns @ beta, atol=1e-5)
    norm = np.einsum("ik,ij,jk", alpha, K[np.ix_(chosen, chosen)], alpha)
    assert norm == pytest.approx((beta**2).sum(), rel=1e-5)


def test_what_is_spanned_is_not_added():
    rows = np.vstack([ROWS[:5], ROWS[:5]])
    basis = Basis(KernelMatrix(Kernel("linear"), rows, np.arange(10)))
    assert basis.add(0) is not None
    assert basis.add(5) is None  # the same position once more
    for place in range(1, 10):
        basis.add(place)
    assert len(basis) == 4  # a linear kernel in four dimensions
    whole = Basis(KernelMatrix(Kernel("linear"), rows, np.arange(10)))
    whole.add_all(np.arange(10))
    assert len(whole) == 4
    np.testing.assert_allclose(whole.columns @ whole.columns.T, rows @ rows.T, atol=1e-9)
    whole.shorten(2)
    assert len(whole) == 2


def test_no_kernel_is_said_with_numbers():
    good = ROWS @ ROWS.T
    matrix = KernelMatrix(Precomputed(), good, np.arange(30))
    warn_of_no_kernel(matrix)
    bent = good.copy()
    bent[2, 7] += 1e-4
    bent += np.eye(30)
    with pytest.warns(InputWarning, match=r"not symmetric: K\[2, 7\] = .* but K\[7, 2\]"):
        warn_of_no_kernel(KernelMatrix(Precomputed(), bent, np.arange(30)))
    with pytest.warns(
        InputWarning, match=r"not positive semi-definite: its smallest eigenvalue on 30 .* is -3"
    ):
        warn_of_no_kernel(KernelMatrix(Precomputed(), good - 3 * np.eye(30), np.arange(30)))


def test_products_over_millions_of_positions() -> None:
    """Blocks are in single precision; their sums must not be."""
    n = 5_000_000
    matrix = KernelMatrix(Kernel("linear"), np.ones((n, 1)), np.arange(1), limit=1.0)
    found = matrix.product(np.full((n, 3), 0.3))
    np.testing.assert_allclose(found, 0.3 * n, rtol=1e-5)
