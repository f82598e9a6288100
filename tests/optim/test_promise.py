"""Whether an optimiser that makes no progress has converged."""

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


def stairs(x, *, diagonal=False):
    """The same in steps of 5: its slope promises much, but no small step helps."""
    here = bowl(x, diagonal=diagonal)
    return Evaluation(5 * np.ceil(here.value / 5), here.gradient, here.diagonal)


def test_a_failed_line_search_is_no_convergence():
    units = np.sqrt(CURVATURE)
    start = np.array([1.0, 5.0, 1.0, 1.0]) / units
    found = minimize_lbfgs(stairs, start - 1e-9 / units, units=units)
    assert not found.converged
    assert found.message.startswith("no step improves")
    assert found.stuck_at == 1
    assert minimize_lbfgs(stairs, start - 1e-9 / units, units=units, share=np.inf).converged


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
