"""Whether an optimiser that makes no progress has converged."""

from itertools import count

import numpy as np
import pytest

from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Evaluation
from crfkit.optim.promise import Promise

CURVATURE = np.array([1.0, 1e18, 1e-18, 4.0])


def bowl(x, *, diagonal=False):
    """A quadratic with variables of very different scale, and its minimum of 1 where √curvature · x = 1."""
    root = np.sqrt(CURVATURE)
    away = root * x - 1
    return Evaluation(1 + float(away @ away) / 2, root * away, CURVATURE.copy() if diagonal else None)


@pytest.mark.parametrize("l1", [None, np.zeros(4)])
def test_units_make_variables_alike(l1):
    units = np.sqrt(CURVATURE)
    steps = []
    found = minimize_lbfgs(bowl, np.zeros(4), units=units, l1=l1, callback=lambda s: steps.append(s) or False)
    assert found.converged
    assert found.value == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(found.x * units, 1, atol=1e-3)
    np.testing.assert_array_equal(steps[-1].x, found.x)  # in the variables given
    assert steps[-1].gradient_norm == pytest.approx(np.linalg.norm(bowl(found.x).gradient))


def climbing():
    """Return the same with values that rise at every call: its slope promises much, but no step helps."""
    calls = count()

    def function(x, *, diagonal=False):
        here = bowl(x, diagonal=diagonal)
        return Evaluation(here.value + next(calls), here.gradient, here.diagonal)

    return function


def test_a_failed_line_search_is_no_convergence():
    units = np.sqrt(CURVATURE)
    start = np.array([1.0, 1.5, 1.0, 1.0]) / units
    found = minimize_lbfgs(climbing(), start - 1e-9 / units, units=units)
    assert not found.converged
    assert found.message.startswith("no step improves")
    assert found.stuck_at == 1
    assert minimize_lbfgs(climbing(), start - 1e-9 / units, units=units, share=np.inf).converged


@pytest.mark.parametrize(("l1", "best"), [(None, 0.01), (np.array([1e-3]), 0.009)])
def test_errors_of_values_do_not_end_the_search(l1, best):
    """Sums over very many positions are wrong by some 10⁻⁶ of their size; their gradients are better."""
    calls = count()

    def wrong(x, *, diagonal=False):
        away = x - 0.01
        value = 1 + float(away @ away) / 2 + 5e-6 * (next(calls) > 0)
        return Evaluation(value, away, np.ones(1) if diagonal else None)

    found = minimize_lbfgs(wrong, np.array([best + 0.002]), l1=l1, tol=1e-9)
    assert found.converged
    assert found.x[0] == pytest.approx(best, abs=6e-4)


def test_the_promise():
    slope, diagonal = np.array([1.0, -2.0, 0.5]), np.array([1.0, 100.0, 0.0])
    promise = Promise(0.1, 1.0, diagonal)
    total = 1 / 2 + 4 / 200 + 10 * 0.5  # where nothing is known of the curvature: a way of 10
    assert promise.is_kept(slope, 10 * total * 1.001)
    assert not promise.is_kept(slope, 10 * total * 0.999)
    assert not promise.is_kept(slope, np.inf)
    assert promise.greatest(slope) == 2
    assert Promise(0.1, 1e5 * total, diagonal).is_kept(slope, 0.0)  # near 0, compared with the first value
    assert Promise(0.1, 1.0).is_kept(slope, 1.0)  # no curvature is known
