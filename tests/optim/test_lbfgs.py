"""L-BFGS against SciPy, OWL-QN against scikit-learn and the conditions of an optimum."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Evaluation


class Quadratic:
    """½ xᵀ A x - bᵀ x, with condition number ``condition``."""

    def __init__(self, seed: int, n: int, condition: float) -> None:
        rng = np.random.default_rng(seed)
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        self.a = (q * np.geomspace(1, condition, n)) @ q.T
        self.b = rng.normal(size=n)
        self.optimum = np.linalg.solve(self.a, self.b)
        self.calls = 0

    def __call__(self, x, *, diagonal=False):
        self.calls += 1
        gradient = self.a @ x - self.b
        value = 0.5 * x @ self.a @ x - self.b @ x
        return Evaluation(float(value), gradient, np.diag(self.a).copy() if diagonal else None)


class Logistic:
    """Σ log(1 + exp(-y xᵀw)) + c2 ‖w‖²."""

    def __init__(self, seed: int, n: int, p: int, c2: float) -> None:
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, p)) * rng.choice([0.2, 1, 2], size=p)
        self.y = np.where(self.x @ rng.normal(size=p) + rng.normal(size=n) > 0, 1.0, -1.0)
        self.c2 = c2

    def __call__(self, w, *, diagonal=False):
        margin = self.y * (self.x @ w)
        p = expit(-margin)
        value = np.logaddexp(0, -margin).sum() + self.c2 * w @ w
        gradient = -self.x.T @ (self.y * p) + 2 * self.c2 * w
        return Evaluation(
            float(value), gradient, self.x.T**2 @ (p * (1 - p)) + 2 * self.c2 if diagonal else None
        )


def reference(function, n):
    """Return SciPy's optimum of a smooth function."""

    def both(x):
        result = function(x)
        return result.value, result.gradient

    options = {"maxiter": 10000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-10}
    return scipy.optimize.minimize(both, np.zeros(n), jac=True, method="L-BFGS-B", options=options)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 30), st.sampled_from([1.0, 10.0, 1e4]))
def test_quadratics(seed, n, condition):
    function = Quadratic(seed, n, condition)
    result = minimize_lbfgs(function, np.zeros(n), tol=1e-9)
    assert result.converged
    least = function(function.optimum).value
    assert result.value == pytest.approx(least, abs=3e-6 * max(1e-3, abs(least)))
    assert result.value == pytest.approx(function(result.x).value)


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.integers(1, 20), st.sampled_from([0.01, 1.0]))
def test_logistic_regression(seed, p, c2):
    function = Logistic(seed, 60, p, c2)
    result = minimize_lbfgs(function, np.zeros(p), tol=1e-9)
    best = reference(function, p)
    assert result.converged
    assert result.value == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(result.x, best.x, atol=1e-2 * (1 + np.abs(best.x).max()))


def l1_reference(function, l1):
    """Return SciPy's optimum of the equivalent smooth problem with bounds: x = u - v, u, v >= 0."""
    p = len(l1)

    def split(z):
        at = function(z[:p] - z[p:])
        return at.value + np.tile(l1, 2) @ z, np.concatenate([at.gradient + l1, l1 - at.gradient])

    return scipy.optimize.minimize(
        split,
        np.zeros(2 * p),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * p),
        options={"maxiter": 10000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9},
    )


def subgradient(function, x, l1):
    """Return how far x is from satisfying the optimality conditions of f + Σ l1 |x|."""
    g = function(x).gradient
    return np.where(x != 0, np.abs(g + np.sign(x) * l1), np.maximum(np.abs(g) - l1, 0))


@settings(max_examples=40)
@given(
    st.integers(0, 2**31), st.integers(1, 25), st.sampled_from([0.1, 1.0, 5.0]), st.sampled_from([0.0, 0.5])
)
def test_l1_reaches_the_optimum(seed, p, c1, c2):
    function = Logistic(seed, 60, p, c2 + 0.01)
    l1 = np.full(p, c1) * np.random.default_rng(seed).choice([0.5, 1, 2], size=p)
    result = minimize_lbfgs(function, np.zeros(p), l1=l1, tol=1e-8)
    best = l1_reference(function, l1)
    assert result.converged
    assert result.value == pytest.approx(best.fun, rel=2e-6)
    assert result.value == pytest.approx(function(result.x).value + l1 @ np.abs(result.x))
    assert subgradient(function, result.x, l1).max() < 0.05 * (1 + c1)


def coordinate_descent(function, c1):
    """Minimise by one variable at a time, with the bound ¼ Σ x² on its curvature, until nothing moves."""
    w = np.zeros(function.x.shape[1])
    curvature = 0.25 * (function.x**2).sum(axis=0)
    margin = np.zeros(len(function.y))
    for _ in range(3000):
        before = w.copy()
        for j in range(len(w)):
            x = function.x[:, j] * function.y
            target = w[j] + (x @ expit(-margin)) / curvature[j]
            new = np.sign(target) * max(0.0, abs(target) - c1 / curvature[j])
            margin += (new - w[j]) * x
            w[j] = new
        if np.abs(w - before).max() < 1e-9:
            break
    return w


@pytest.mark.parametrize("c1", [0.3, 1.0, 3.0])
def test_l1_finds_the_zeros_of_coordinate_descent(c1):
    function = Logistic(3, 200, 30, 0.0)
    expected = coordinate_descent(function, c1)
    result = minimize_lbfgs(function, np.zeros(30), l1=np.full(30, c1), tol=1e-10)
    assert (result.x == 0).any()
    assert ((result.x != 0) == (expected != 0)).all()
    np.testing.assert_allclose(result.x, expected, atol=2e-3)


def test_l1_from_a_start_with_wrong_signs():
    function = Logistic(5, 100, 12, 0.01)
    l1 = np.full(12, 2.0)
    good = minimize_lbfgs(function, np.zeros(12), l1=l1, tol=1e-9)
    bad = minimize_lbfgs(function, -5 * good.x - 1, l1=l1, tol=1e-9)
    assert bad.value == pytest.approx(good.value, rel=1e-6)


def test_l1_so_large_that_nothing_moves():
    function = Logistic(5, 100, 12, 0.01)
    result = minimize_lbfgs(function, np.zeros(12), l1=np.full(12, 1e6))
    assert (result.x == 0).all()
    assert result.converged
    assert result.iterations == 0


def test_start_is_not_changed_and_the_optimum_is_recognised():
    function = Quadratic(1, 5, 10.0)
    start = function.optimum.copy()
    result = minimize_lbfgs(function, start)
    assert result.converged
    np.testing.assert_array_equal(start, function.optimum)
    assert function.calls < 50
    start = np.ones(5)
    minimize_lbfgs(function, start)
    assert (start == 1).all()


def test_no_variables_at_all():
    result = minimize_lbfgs(
        lambda x, *, diagonal=False: Evaluation(3.0, x, x if diagonal else None), np.zeros(0)
    )
    assert result.converged
    assert result.value == 3.0


def test_iterations_are_limited_and_the_callback_sees_each_and_can_stop_it():
    seen = []
    result = minimize_lbfgs(
        Quadratic(1, 20, 1e4), np.zeros(20), max_iterations=7, callback=lambda step: bool(seen.append(step))
    )
    assert not result.converged
    assert "max_iterations=7" in result.message
    assert [step.iteration for step in seen] == list(range(1, 8))
    assert result.iterations == 7
    values = [step.value for step in seen]
    assert all(later <= earlier for earlier, later in pairwise(values))
    assert all(later.passes >= earlier.passes + 1 for earlier, later in pairwise(seen))
    assert seen[-1].value == result.value
    stopped = minimize_lbfgs(Quadratic(1, 20, 1e4), np.zeros(20), callback=lambda step: step.iteration == 3)
    assert stopped.iterations == 3
    assert not stopped.converged


def test_ctrl_c_keeps_the_best_so_far_and_says_so():
    function = Quadratic(0, 6, 50.0)

    def stop(x, *, diagonal=False):
        if function.calls == 4:
            raise KeyboardInterrupt
        return function(x, diagonal=diagonal)

    found = minimize_lbfgs(stop, np.zeros(6))
    assert found.interrupted
    assert not found.converged
    assert found.message == "it was interrupted"
    assert found.value == function(found.x).value < 0
    assert not minimize_lbfgs(function, np.zeros(6)).interrupted


def test_infinite_values_shorten_the_step():
    """No step leaves the box outside which the function is infinite."""

    def barrier(x, *, diagonal=False):
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = bool((np.abs(x) < 1).all())
            value = float(-np.log1p(-(x**2)).sum() - 3 * x.sum()) if inside else np.inf
            gradient = 2 * x / (1 - x**2) - 3 if inside else np.full_like(x, np.nan)
        return Evaluation(value, gradient, np.full_like(x, 2.0) if diagonal else None)

    result = minimize_lbfgs(barrier, np.zeros(4), tol=1e-9)
    np.testing.assert_allclose(result.x, (np.sqrt(10) - 1) / 3, atol=1e-3)


def test_goes_on_with_what_it_knows_of_the_curvature():
    """After a small change of the function, the stored curvature saves steps."""
    from crfkit._native import CurvatureHistory

    rng = np.random.default_rng(0)
    scales = np.logspace(0, 3, 6)

    def around(centre):
        def function(x, *, diagonal=False):
            d = x - centre
            return Evaluation(float(scales @ d**2) / 2, scales * d)

        return function

    centre = rng.normal(size=6)
    history = CurvatureHistory(10, 6, 1)
    first = minimize_lbfgs(around(centre), np.zeros(6), tol=1e-6, history=history)
    moved = centre + 1e-3 * rng.normal(size=6)
    warm = minimize_lbfgs(around(moved), first.x, tol=1e-6, history=history)
    cold = minimize_lbfgs(around(moved), first.x, tol=1e-6)
    np.testing.assert_allclose(warm.x, moved, atol=1e-5)
    assert warm.iterations < cold.iterations
