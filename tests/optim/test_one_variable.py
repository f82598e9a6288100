"""Minima of one variable in few evaluations."""

import numpy as np
import pytest

from crfkit.optim.one_variable import minimize_along, minimize_between


@pytest.mark.parametrize("minimum", [-7.0, -2.3, 0.2, 1.9, 5.5])
@pytest.mark.parametrize("start", [-4.0, 0.0, 3.0])
def test_a_parabola_with_noise(minimum, start):
    calls = []

    def function(x):
        calls.append(x)
        return 100 + (x - minimum) ** 2 + 1e-3 * np.sin(1e4 * x)

    found = minimize_along(function, start, step=1.5, low=-9.0, high=9.0, gain=1e-4)
    assert found == pytest.approx(minimum, abs=0.05)
    assert len(calls) <= 4 + abs(start - minimum) / 1.5


def test_the_last_step_may_pass_the_minimum():
    """A last step that gains little is the lowest point, and has one neighbour alone."""
    calls = []
    found = minimize_along(
        lambda x: calls.append(x) or 100 + (x + 1.55) ** 2, 0.0, step=1.0, low=-9.0, high=9.0, gain=1e-2
    )
    assert calls == [0.0, -1.0, -2.0]
    assert found == pytest.approx(-1.55)


def test_bounds_and_little_gain():
    assert minimize_along(lambda x: x, 0.0, step=1.0, low=-3.5, high=9.0, gain=0.0) == -3.0
    assert minimize_along(lambda x: -x, 0.0, step=1.0, low=-3.5, high=2.0, gain=0.0) == 2.0
    assert minimize_along(lambda x: 100 - 1e-3 * x, 0.0, step=1.0, low=-3.0, high=9.0, gain=1e-2) <= 1.0
    assert minimize_along(lambda x: np.nan, 0.0, step=1.0, low=-3.0, high=9.0, gain=0.0) == 0.0


@pytest.mark.parametrize("minimum", [-2.0, 0.3, 5.0])
def test_golden_sections(minimum):
    found = minimize_between(lambda x: abs(x - minimum) ** 1.5, -2.0, 5.0, tol=1e-3)
    assert found == pytest.approx(minimum, abs=1e-3)
