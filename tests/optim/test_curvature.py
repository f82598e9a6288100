"""The compact form of limited-memory BFGS against the inverse Hessian built by its recursion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit._native import CurvatureHistory


def multiply(history, g):
    out = np.empty_like(g)
    history.multiply(g, out)
    return out


def bfgs_inverse(pairs, base):
    """Return H from H0 = γ · diag(base), one update per pair, oldest first."""
    s, y = pairs[-1]
    H = np.diag(base) * (s @ y) / (y @ (base * y))
    for s, y in pairs:
        rho = 1 / (s @ y)
        left = np.eye(len(s)) - rho * np.outer(s, y)
        H = left @ H @ left.T + rho * np.outer(s, s)
    return H


@given(st.integers(0, 2**31), st.integers(1, 8), st.integers(1, 5), st.integers(1, 12), st.booleans())
def test_multiply_is_the_bfgs_matrix(seed, n_variables, memory, n_pairs, with_base):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_variables, n_variables))
    hessian = root @ root.T + np.eye(n_variables)
    history = CurvatureHistory(memory, n_variables, 2)
    base = np.ones(n_variables)
    pairs = []
    for i in range(n_pairs):
        s = rng.normal(size=n_variables)
        pairs.append((s, hessian @ s))
        history.add(*pairs[-1])
        if with_base and i % 2 == 0:  # also between two pairs
            base = rng.uniform(0.5, 2, size=n_variables)
            history.set_base(base)
    assert len(history) == min(memory, n_pairs)
    g = rng.normal(size=n_variables)
    H = bfgs_inverse(pairs[-memory:], base)
    # pairs are kept in single precision
    np.testing.assert_allclose(multiply(history, g), H @ g, atol=2e-3 * np.linalg.norm(H) * np.linalg.norm(g))
    assert g @ multiply(history, g) > 0
    # the newest pair is satisfied: H y = s
    s, y = pairs[-1]
    np.testing.assert_allclose(multiply(history, y), s, atol=2e-3 * np.linalg.norm(H) * np.linalg.norm(y))


def test_without_pairs_only_the_base_counts():
    history = CurvatureHistory(3, 2, 1)
    assert multiply(history, np.array([1.0, -2.0])).tolist() == [1, -2]
    history.set_base(np.array([2.0, 0.5]))
    assert multiply(history, np.array([1.0, -2.0])).tolist() == [2, -1]
    assert len(history) == 0


@pytest.mark.parametrize("y", [[-1.0, 0.0], [0.0, 0.0], [1e-30, 1.0]])
def test_pairs_without_positive_curvature_are_left_out(y):
    history = CurvatureHistory(3, 2, 1)
    history.add(np.array([1.0, 0.0]), np.array(y))
    assert len(history) == 0


@pytest.mark.parametrize("n_variables", [4095, 4096, 100_003])
def test_many_variables_in_chunks_and_threads(n_variables):
    rng = np.random.default_rng(0)
    hessian = rng.uniform(0.5, 2, size=n_variables)
    results = []
    pairs = [(s, hessian * s) for s in rng.normal(size=(7, n_variables))]
    g = rng.normal(size=n_variables)
    for threads in (1, 2, 3):
        history = CurvatureHistory(5, n_variables, threads)
        history.set_base(1 / np.sqrt(hessian))
        for s, y in pairs:
            history.add(s, y)
        results.append(multiply(history, g))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    # the two loops of the textbook (Nocedal and Wright, algorithm 7.4)
    base, kept = 1 / np.sqrt(hessian), pairs[-5:]
    q, alphas = g.copy(), []
    for s, y in reversed(kept):
        alphas.append((s @ q) / (s @ y))
        q -= alphas[-1] * y
    s, y = kept[-1]
    r = (s @ y) / (y @ (base * y)) * base * q
    for (s, y), alpha in zip(kept, reversed(alphas), strict=True):
        r += s * (alpha - (y @ r) / (s @ y))
    np.testing.assert_allclose(results[0], r, atol=1e-4)


def test_lengths_are_checked():
    history = CurvatureHistory(3, 2, 1)
    with pytest.raises(ValueError, match="wrong length"):
        history.add(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="wrong length"):
        history.multiply(np.ones(2), np.ones(3))
