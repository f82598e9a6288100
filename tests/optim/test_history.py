"""The compact form of limited-memory BFGS against the inverse Hessian built by its recursion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.optim.history import CurvatureHistory


def bfgs_inverse(pairs, base):
    """H from H0 = γ · diag(base), one update a pair, oldest first."""
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
    history = CurvatureHistory(memory, n_variables)
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
    np.testing.assert_allclose(history.multiply(g), H @ g, atol=2e-3 * np.linalg.norm(H) * np.linalg.norm(g))
    assert g @ history.multiply(g) > 0
    # the newest pair is satisfied: H y = s
    s, y = pairs[-1]
    np.testing.assert_allclose(history.multiply(y), s, atol=2e-3 * np.linalg.norm(H) * np.linalg.norm(y))


def test_without_pairs_only_the_base_counts():
    history = CurvatureHistory(3, 2)
    assert history.multiply(np.array([1.0, -2.0])).tolist() == [1, -2]
    history.set_base(np.array([2.0, 0.5]))
    assert history.multiply(np.array([1.0, -2.0])).tolist() == [2, -1]
    assert len(history) == 0


@pytest.mark.parametrize("y", [[-1.0, 0.0], [0.0, 0.0], [1e-30, 1.0]])
def test_pairs_without_positive_curvature_are_left_out(y):
    history = CurvatureHistory(3, 2)
    history.add(np.array([1.0, 0.0]), np.array(y))
    assert len(history) == 0
