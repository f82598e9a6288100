"""BFGS against closed forms and SciPy, from scratch and with the curvature of another problem."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize

from crfkit.optim.bfgs import minimize_bfgs
from crfkit.optim.problem import Evaluation


class Quadratic:
    """½ xᵀ A x - bᵀ x + 1."""

    def __init__(self, n):
        rng = np.random.default_rng(0)
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        self.a, self.b, self.calls = (q * np.geomspace(1, 100, n)) @ q.T, rng.normal(size=n), 0

    def __call__(self, x, *, diagonal=False):
        self.calls += 1
        value = 0.5 * x @ self.a @ x - self.b @ x + 1
        return Evaluation(float(value), self.a @ x - self.b, np.diag(self.a).copy() if diagonal else None)


def unknown(n):
    return np.full((n, n), np.nan)


def test_quadratic():
    f = Quadratic(12)
    found = minimize_bfgs(f, np.zeros(12), unknown(12), tol=1e-6)
    assert found.result.converged
    np.testing.assert_allclose(found.result.x, np.linalg.solve(f.a, f.b), atol=1e-3)
    assert f.calls < 80


def test_what_is_known_is_used():
    f = Quadratic(12)
    inverse = unknown(12)
    inverse[:11, :11] = np.linalg.inv(f.a[:11, :11])
    start = np.append(np.linalg.solve(f.a[:11, :11], f.b[:11]), 0.0)
    found = minimize_bfgs(f, start, inverse)
    np.testing.assert_allclose(found.result.x, np.linalg.solve(f.a, f.b), atol=1e-2)
    assert f.calls < 30
    exact = minimize_bfgs(f, found.result.x, np.linalg.inv(f.a))
    assert exact.result.iterations <= 1


def test_logistic_against_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 6)), rng.choice([-1.0, 1.0], size=200)

    def value(w):
        return float(np.logaddexp(0, -y * (x @ w)).sum())

    def gradient(w):
        return x.T @ (-y / (1 + np.exp(y * (x @ w))))

    def f(w, *, diagonal=False):
        p = 1 / (1 + np.exp(-(x @ w)))
        return Evaluation(value(w), gradient(w), (x**2).T @ (p * (1 - p)) if diagonal else None)

    found = minimize_bfgs(f, np.full(6, 3.0), unknown(6), tol=1e-9)
    best = scipy.optimize.minimize(value, np.zeros(6), jac=gradient, tol=1e-10)
    assert found.result.value == pytest.approx(best.fun, abs=1e-4)


def test_limits_and_interruption():
    f = Quadratic(12)
    short = minimize_bfgs(f, np.zeros(12), unknown(12), max_iterations=2)
    assert not short.result.converged
    assert "max_iterations=2" in short.result.message

    def stop(x, *, diagonal=False):
        if x.any():
            raise KeyboardInterrupt
        return f(x, diagonal=diagonal)

    stopped = minimize_bfgs(stop, np.zeros(12), unknown(12))
    assert stopped.result.message == "it was interrupted"
    assert stopped.result.interrupted
    assert not short.result.interrupted
    assert not stopped.result.x.any()


def test_steps_are_limited_and_watched():
    f, seen = Quadratic(6), []
    found = minimize_bfgs(
        f,
        np.zeros(6),
        np.eye(6),
        longest=0.05,
        noise=1e-3,
        callback=lambda x, here: seen.append((x.copy(), here.value)) or len(seen) == 4,
    )
    assert found.result.message == "it was stopped by the callback"
    assert len(seen) == 4
    assert all(np.abs(b - a).max() <= 0.05 + 1e-12 for (a, _), (b, _) in pairwise(seen))
    assert seen[0][1] > seen[-1][1]
