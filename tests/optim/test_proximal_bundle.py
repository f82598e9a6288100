"""Proximal bundles: small problems with kinks, and the program over the simplex that each step solves."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.optim.problem import Evaluation
from crfkit.optim.proximal_bundle import minimize_kinked, simplex_minimum


def parabola(target, stretch):
    def function(x, *, diagonal=False):
        away = x - target
        value = 0.5 * float(stretch @ away**2)
        return Evaluation(value, stretch * away, stretch.copy() if diagonal else None)

    return function


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 12), rank=st.integers(1, 12))
def test_the_minimum_over_the_simplex(seed, k, rank):
    """By the conditions of Karush, Kuhn and Tucker; with more pieces than dimensions, too."""
    rng = np.random.default_rng(seed)
    half, q = rng.normal(size=(k, rank)), rng.normal(size=k)
    H = half @ half.T
    found = simplex_minimum(H, q)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    slope = H @ found + q
    assert slope @ found - slope.min() <= 1e-8 * max(1, np.abs(H).max())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
def test_soft_thresholds(seed, n):
    """½ Σ d (x - a)² + Σ c |x|, whose minimum is known."""
    rng = np.random.default_rng(seed)
    a, d, c = 2 * rng.normal(size=n), rng.uniform(0.1, 5, n), rng.uniform(0.1, 3, n)
    result = minimize_kinked(
        parabola(a, d), lambda x: (float(c @ np.abs(x)), c * np.sign(x)), np.zeros(n), max_steps=300
    )
    assert result.converged
    np.testing.assert_allclose(result.x, np.sign(a) * np.maximum(np.abs(a) - c / d, 0), atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_diagonal_and_with_a_wrong_one(seed):
    rng = np.random.default_rng(seed)
    rows, target = rng.normal(size=(10, 4)), 3 * rng.normal(size=4)

    def kinked(x):
        scores = rows @ x
        return 2 * float(scores.max()), 2 * rows[scores.argmax()]

    program = scipy.optimize.minimize(
        lambda z: 3 * ((z[:4] - target) ** 2).sum() + 2 * z[4],
        np.r_[np.zeros(4), 10.0],
        constraints={"type": "ineq", "fun": lambda z: z[4] - rows @ z[:4]},
        options={"maxiter": 500, "ftol": 1e-12},
    )

    for diagonal_of in (None, 0.05, 300.0):

        def smooth(x, *, diagonal=False, curvature=diagonal_of):
            away = x - target
            given_diagonal = np.full(4, curvature) if diagonal and curvature is not None else None
            return Evaluation(3 * float(away @ away), 6 * away, given_diagonal)

        result = minimize_kinked(smooth, kinked, np.zeros(4), max_steps=500)
        assert result.value == pytest.approx(program.fun, rel=1e-5, abs=1e-5)


def test_it_never_ends_above_where_it_began_and_says_when_it_was_cut_off():
    function, start = parabola(np.full(5, 3.0), np.ones(5)), np.linspace(-1, 1, 5)

    def kinked(x):
        return float(np.abs(x).sum()), np.sign(x)

    first = function(start).value + kinked(start)[0]
    result = minimize_kinked(function, kinked, start, max_steps=1)
    assert not result.converged
    assert result.message == "it reached 1 proximal steps"
    assert result.value <= first


def test_interruption_keeps_the_best_point():
    calls = []

    def kinked(x):
        calls.append(x)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return float(np.abs(x).sum()), np.sign(x)

    function = parabola(np.linspace(-3, 3, 6), np.ones(6))
    result = minimize_kinked(function, kinked, np.ones(6))
    assert result.message == "it was interrupted"
    assert not result.converged
    assert result.value <= function(np.ones(6)).value + 6
