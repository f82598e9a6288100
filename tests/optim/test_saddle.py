"""The extended-saddle-point search on small problems with kinks whose answers are known."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.optim.problem import Evaluation
from crfkit.optim.saddle import SaddleSettings, minimize_constrained, rounded_hinge


@dataclass
class At:
    values: np.ndarray
    jacobian: np.ndarray

    def pull(self, coefficients):
        return self.jacobian.T @ coefficients


def at(values, jacobian) -> At:
    return At(np.atleast_1d(np.asarray(values, float)), np.atleast_2d(np.asarray(jacobian, float)))


def distance(target):
    """Return the function ½‖x - target‖²."""
    target = np.asarray(target, float)

    def function(x, *, diagonal=False):
        gradient = x - target
        return Evaluation(0.5 * float(gradient @ gradient), gradient, np.ones_like(x) if diagonal else None)

    return function


def l1_ball(radius):
    return lambda x: at(np.abs(x).sum() - radius, np.sign(x))


class Maximum:
    """The constraint max(A x) - bound <= 0, which can be smoothed: T·log Σ exp(A x / T)."""

    def __init__(self, rows, bound):
        self.rows, self.bound = np.asarray(rows, float), bound

    def __call__(self, x):
        scores = self.rows @ x
        return at(scores.max() - self.bound, self.rows[scores.argmax()])

    def smoothed(self, x, temperature):
        scores = self.rows @ x / temperature
        p = np.exp(scores - scores.max())
        value = temperature * (np.log(p.sum()) + scores.max())
        return at(value - self.bound, p / p.sum() @ self.rows)


def projection_on_l1_ball(a, radius):
    """Project on an L1 ball (Duchi et al., ICML 2008)."""
    if np.abs(a).sum() <= radius:
        return a
    u = np.sort(np.abs(a))[::-1]
    k = np.flatnonzero(u - (np.cumsum(u) - radius) / np.arange(1, len(a) + 1) > 0)[-1]
    threshold = (u[: k + 1].sum() - radius) / (k + 1)
    return np.sign(a) * np.maximum(np.abs(a) - threshold, 0)


PRECISE = SaddleSettings(tol=1e-10, inner_iterations=300)
SMOOTH = SaddleSettings(temperature=1.0, width=0.002, accuracy=1e-4, tol=1e-9, inner_iterations=500)


@pytest.mark.parametrize("target", [(3.0, 2.0), (3.0, -1.0), (-1.0, 0.5, 4.0)])
def test_the_nearest_point_under_a_maximum(target):
    result = minimize_constrained(
        distance(target),
        np.zeros(len(target)),
        inequalities=Maximum(np.eye(len(target)), 1.0),
        settings=PRECISE,
    )
    assert result.feasible
    assert result.inequalities.max() <= 1e-6
    np.testing.assert_allclose(result.x, np.minimum(target, 1.0), atol=1e-3)
    assert result.penalties[0] > 0
    assert result.message.startswith("all constraints hold after")


class Ball:
    """The constraint Σ |x| - radius <= 0, which can be smoothed: Σ √(x² + T²)."""

    def __init__(self, radius):
        self.radius = radius

    def __call__(self, x):
        return l1_ball(self.radius)(x)

    def smoothed(self, x, temperature):
        rounded = np.sqrt(x**2 + temperature**2)
        return at(rounded.sum() - self.radius, x / rounded)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
def test_projections_on_the_l1_ball(seed, n):
    target = np.random.default_rng(seed).normal(size=n) * 3
    result = minimize_constrained(
        distance(target),
        np.zeros(n),
        inequalities=Ball(1.0),
        settings=SMOOTH,
    )
    best = projection_on_l1_ball(target, 1.0)
    assert result.feasible
    assert np.abs(result.x).sum() <= 1 + 1e-6
    np.testing.assert_allclose(result.x, best, atol=0.02)


def test_a_stall_at_kinks_is_noticed():
    """Eight kinks meet at the solution: L-BFGS alone does not reach it, and reports this."""
    target = np.random.default_rng(0).normal(size=8) * 3
    result = minimize_constrained(
        distance(target),
        np.zeros(8),
        inequalities=l1_ball(1.0),
        settings=SaddleSettings(max_outer=4, tol=1e-10),
    )
    assert any(step.stalled for step in result.history)
    assert not result.converged
    assert result.feasible == bool(np.abs(result.x).sum() <= 1 + 1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_smoothing_reaches_the_minimum_that_kinks_hide(seed):
    rng = np.random.default_rng(seed)
    rows, target = rng.normal(size=(12, 5)), rng.normal(size=5) * 4
    program = scipy.optimize.minimize(
        lambda x: 0.5 * ((x - target) ** 2).sum(),
        np.zeros(5),
        jac=lambda x: x - target,
        constraints={"type": "ineq", "fun": lambda x: 1 - rows @ x, "jac": lambda x: -rows},
        method="SLSQP",
    )
    smooth = minimize_constrained(
        distance(target),
        np.zeros(5),
        inequalities=Maximum(rows, 1.0),
        settings=SMOOTH,
    )
    assert smooth.feasible
    assert (rows @ smooth.x).max() <= 1 + 1e-6
    assert smooth.value == pytest.approx(program.fun, rel=0.01, abs=0.01)


def test_an_inner_loop_without_a_single_step_has_stalled():
    still = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, target = rng.standard_normal((8, 6)), 3 * rng.standard_normal(6)
        norm = lambda x, rows=rows: at(np.abs(rows @ x).sum() - 1, rows.T @ np.sign(rows @ x))  # noqa: E731
        result = minimize_constrained(distance(target), np.zeros(6), inequalities=norm)
        still += [step for step in result.history if step.iterations == 0]
    assert still
    assert all(step.stalled and not step.converged for step in still)


def test_feasible_is_not_converged_where_the_inner_loop_was_cut_off():
    stretched = np.geomspace(1, 1e4, 20)

    def function(x, *, diagonal=False):
        away = x - 1
        return Evaluation(0.5 * float(stretched @ away**2), stretched * away)

    cut = SaddleSettings(inner_iterations=2)
    result = minimize_constrained(function, np.zeros(20), inequalities=l1_ball(1e9), settings=cut)
    assert result.feasible
    assert not result.converged
    assert "did not converge: it reached max_iterations=2" in result.message


def test_feasible_is_not_converged_where_it_was_stopped():
    def interrupt(step):
        raise KeyboardInterrupt

    for callback in (lambda step: True, interrupt):
        result = minimize_constrained(
            distance([0.1, 0.2]), np.ones(2), inequalities=l1_ball(10.0), callback=callback
        )
        assert result.feasible
        assert not result.converged
        assert result.message == "it was stopped"


def test_two_constraints_each_with_its_own_penalty():
    result = minimize_constrained(
        distance([3.0, 3.0]),
        np.zeros(2),
        inequalities=lambda x: at([abs(x[0]) - 1, x[1] - 100], [[np.sign(x[0]), 0], [0, 1]]),
        settings=PRECISE,
    )
    assert result.feasible
    np.testing.assert_allclose(result.x, [1.0, 3.0], atol=1e-4)
    assert result.penalties[0] > 0
    assert result.penalties[1] == 0


def test_without_violations_it_is_plain_minimisation():
    result = minimize_constrained(distance([0.1, 0.2]), np.zeros(2), inequalities=l1_ball(1.0))
    assert result.feasible
    assert len(result.history) == 1
    assert not result.penalties.any()
    np.testing.assert_allclose(result.x, [0.1, 0.2], atol=1e-6)


def test_what_cannot_be_satisfied_is_not_called_satisfied():
    result = minimize_constrained(
        distance([1.0]),
        np.array([3.0]),
        inequalities=l1_ball(-1.0),
        settings=SaddleSettings(max_outer=4),
    )
    assert not result.feasible
    assert len(result.history) == 4
    assert "no feasible point was found in max_outer=4" in result.message
    assert result.inequalities[0] == min(step.inequalities[0] for step in result.history)


def test_an_l1_term_beside_the_constraints():
    result = minimize_constrained(
        distance([3.0, 0.2]),
        np.zeros(2),
        inequalities=Maximum(np.eye(2), 1.0),
        l1=np.array([0.5, 0.5]),
        settings=PRECISE,
    )
    assert result.feasible
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-3)
    assert result.value == pytest.approx(0.5 * (4 + 0.04) + 0.5, abs=5e-3)


def test_callbacks_see_the_steps_and_may_stop():
    seen, outer = [], []
    result = minimize_constrained(
        distance([3.0, 2.0]),
        np.zeros(2),
        inequalities=l1_ball(1.0),
        callback=lambda step: bool(seen.append(step.value)),
        outer_callback=lambda step, x: len(outer) >= 1 or bool(outer.append((step, x.copy()))),
    )
    assert seen
    assert len(result.history) == 2
    assert not result.converged
    assert result.message.startswith("it was stopped before all constraints held")
    assert not result.feasible
    first = outer[0][0]
    assert first.passes > 0
    assert first.iterations > 0
    assert first.temperature == 0


def test_max_outer_of_none():
    with pytest.raises(ValueError, match="max_outer must be at least 1, got 0"):
        minimize_constrained(
            distance([1.0]), np.zeros(1), inequalities=l1_ball(1.0), settings=SaddleSettings(max_outer=0)
        )


@given(
    g=st.lists(st.floats(-3, 3), min_size=1, max_size=5),
    width=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_the_rounded_hinge(g, width):
    g = np.array(g)
    value, slope = rounded_hinge(g, width)
    assert (value >= np.maximum(g, 0)).all()
    assert (value <= np.maximum(g, 0) + width / 2 + 1e-12).all()
    assert (value[g <= -width] == 0).all()
    assert (slope[g > 0] == 1).all()
    if width:
        step = 1e-6
        numeric = (rounded_hinge(g + step, width)[0] - rounded_hinge(g - step, width)[0]) / (2 * step)
        np.testing.assert_allclose(slope, numeric, atol=1e-4)
