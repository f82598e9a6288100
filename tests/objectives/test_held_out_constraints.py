"""Models without a fold by a Newton step against models that are really trained without it."""

import numpy as np
import pytest
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.models.linear.steps import TrainingProblem
from crfkit.objectives.held_out_constraints import LARGEST, SMALLEST, HeldOutConstraints


class _Caught(Exception):
    pass


def problem_of(X, y, **settings) -> TrainingProblem:
    """Return the training problem of a CRF."""
    caught = []

    class Catching(CRF):
        def _minimise(self, problem):
            caught.append(problem)
            raise _Caught

    Catching.__init__ = CRF.__init__
    with pytest.raises(_Caught):
        Catching(n_jobs=1, **settings).fit(X, y)
    return caught[0]


def constraints_of(task, tau=0.01, n=40, **settings):
    X, y = task[0][:n], task[1][:n]
    problem = problem_of(X, y, **settings)
    folds = [np.arange(j, len(X), 5) for j in range(5)]
    found = HeldOutConstraints(
        problem.objective,
        folds,
        problem.offsets,
        tau=tau,
        margin=1.0,
        start=problem.start,
        tol=1e-6,
        max_iterations=500,
    )
    return found, problem, folds


@pytest.mark.parametrize(
    ("task", "settings"),
    [(ADDRESSES, {}), (CASINO, {}), (CASINO, {"order": 2})],
    ids=["addresses", "casino", "second order"],
)
def test_a_newton_step_is_close_to_training_without_the_fold(task, settings):
    constraints, problem, _ = constraints_of(task, **settings)
    for c2 in (0.1, 1.0):
        joint = constraints._train(constraints._joint, np.zeros(problem.objective.n_parameters), c2).x
        estimate, truth = constraints.estimated(joint, c2), constraints.trained_without(c2)
        seen = constraints._calibrated([joint] * 5)
        assert truth.sum() > 1.01 * seen.sum()  # the joint model has seen the folds: its own h is too low
        np.testing.assert_allclose(estimate.sum(), truth.sum(), rtol=0.1)
        assert abs(estimate.sum() - truth.sum()) < 0.4 * abs(seen.sum() - truth.sum())


def test_the_certificate_is_that_of_a_crf_trained_on_the_other_folds():
    constraints, problem, folds = constraints_of(CASINO)
    X, y = CASINO[0][:40], CASINO[1][:40]
    offsets, objective = problem.offsets, problem.objective
    weights = np.ones(len(X))
    fold = folds[2]
    weights[fold] = 0
    alone = problem_of([X[i] for i in range(40) if i not in fold], [y[i] for i in range(40) if i not in fold])
    assert len(alone.offsets) == 33
    trained = constraints._train(constraints._folds[2].rest, np.zeros(objective.n_parameters), 1.0)
    expected = CRF(c2=1.0, tol=1e-6, algorithm="lbfgs").fit(X, y, weights)
    found = objective.weights(trained.x)
    np.testing.assert_allclose(found, expected.tagger_.potential.weights.vector, atol=2e-3)
    assert constraints.positions.sum() == offsets[-1]


def test_interpolated_functions_meet_the_nodes_and_have_these_slopes():
    constraints, _, _ = constraints_of(CASINO, n=20)
    at = np.log(0.1)
    node = constraints.node(6)  # 1e-4 · 10^(6/2)
    here = constraints(np.array([at]))
    assert here.value == pytest.approx(node.f)
    np.testing.assert_allclose(
        constraints.constraints(np.array([at])).values, node.h - 0.01 * constraints.positions, atol=1e-9
    )
    for x in (at + 0.3, at - 0.7):
        e = 1e-5
        up, down = constraints(np.array([x + e])).value, constraints(np.array([x - e])).value
        assert constraints(np.array([x])).gradient[0] == pytest.approx((up - down) / (2 * e), rel=1e-4)
        ups, downs = (constraints.constraints(np.array([x + d])).values for d in (e, -e))
        slope = constraints.constraints(np.array([x])).pull(np.arange(5.0))
        assert slope[0] == pytest.approx(np.arange(5.0) @ (ups - downs) / (2 * e), rel=1e-4, abs=1e-6)
    for bound in np.log([SMALLEST, LARGEST]):  # mirrored there
        one, other = constraints(np.array([bound + 0.2])), constraints(np.array([bound - 0.2]))
        assert one.value == pytest.approx(other.value)
        assert one.gradient == pytest.approx(-other.gradient)


def test_where_a_newton_step_fails_the_model_is_trained():
    """From far away Newton steps overshoot; a model that still knows the fold must not be taken for one."""
    constraints, problem, _ = constraints_of(ADDRESSES)
    far = 30 * np.random.default_rng(0).normal(size=problem.objective.n_parameters)
    found = constraints.estimated(far, 1e-3)
    assert constraints.trained > 0
    if constraints.trained == 5:
        np.testing.assert_allclose(found, constraints.trained_without(1e-3), rtol=1e-6)


def test_common_factor_leaves_the_least_sum():
    constraints, _, _ = constraints_of(CASINO)
    x = constraints.node(4).x
    found = constraints._calibrated([x] * 5).sum()
    each = [
        sum(fold.constraints.violations(a * x)[0] for fold in constraints._folds)
        for a in np.geomspace(1 / 32, 4, 60)
    ]
    assert found <= min(each) * 1.001
