"""The held-out loss of folds and its gradient by penalties, against folds that are really retrained."""

import numpy as np
import pytest
from linear_problems import make_problem

from crfkit.objectives.grouped_penalty import GroupedPenalty
from crfkit.objectives.held_out import Effort, FoldIds, HeldOutLoss
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs

EXACT = Effort(little=0.0, stable=0.0, max_iterations=400, residual=1e-6, max_products=200)
LENGTHS = [6, 9, 4, 8, 7, 5, 9, 6, 8, 4, 7, 6]


def likelihood(problem, *, apart=False, n_threads=1):
    return LinearLikelihood(
        problem.sequences(),
        problem.labels,
        problem.index(),
        n_threads=n_threads,
        weights=problem.weights,
        apart=apart,
    )


def three_groups(problem):
    """Return the group of each feature: transitions, then attributes in turn."""
    index = problem.index()
    edges, ngrams, _, _ = index.sizes
    by_attribute = 1 + np.arange(index.n_attributes) % 2
    pairs = np.repeat(by_attribute, np.diff(index.pair_indptr))
    return np.concatenate(
        [np.zeros(edges + ngrams, np.int64), pairs, np.repeat(by_attribute, np.diff(index.state_indptr))]
    )


def folds(k=3, free=None):
    fold = np.arange(len(LENGTHS)) % k
    return [
        FoldIds(np.flatnonzero(fold != i).astype(np.int32), np.flatnonzero(fold == i).astype(np.int32), free)
        for i in range(k)
    ]


@pytest.mark.parametrize(
    "settings", [{"copies": 3}, {"order": 2, "weighted": True}, {"pairs": True, "partial": "mixed"}], ids=str
)
@pytest.mark.parametrize("calibrated", [True, False])
def test_gradient_against_retrained_folds(settings, calibrated):
    problem = make_problem(1, 3, LENGTHS, **settings)
    function, groups = likelihood(problem), three_groups(problem)
    penalty = GroupedPenalty(function, groups, 3)
    logs = np.log([0.3, 1.0, 0.5])

    def retrained(at):
        return HeldOutLoss(function, folds(), calibrated=calibrated, effort=EXACT).value(at, penalty)

    found = HeldOutLoss(function, folds(), calibrated=calibrated, effort=EXACT)(logs, penalty)
    assert found.value == pytest.approx(retrained(logs), rel=1e-3)
    h = 0.1
    expected = [(retrained(logs + h * e) - retrained(logs - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found.gradient, expected, rtol=0.03, atol=2e-3 * abs(found.value))


@pytest.mark.parametrize("tied", [False, True])
def test_gradient_under_l1_against_retrained_folds(tied):
    problem = make_problem(1, 3, LENGTHS, copies=2)
    function = likelihood(problem, apart=True)
    penalty = GroupedPenalty(function, three_groups(problem), 3, c1=0.3, tied=tied)
    logs = np.log([0.3, 1.0, 0.5])

    def retrained(at):
        return HeldOutLoss(function, folds(), effort=EXACT).value(at, penalty)

    found = HeldOutLoss(function, folds(), effort=EXACT)(logs, penalty)
    h = 0.1
    expected = [(retrained(logs + h * e) - retrained(logs - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found.gradient, expected, rtol=0.05, atol=3e-3 * abs(found.value))


def test_merged_features_share_one_parameter_as_if_they_were_apart():
    problem = make_problem(4, 3, LENGTHS, copies=4)
    merged, apart = likelihood(problem), likelihood(problem, apart=True)
    assert merged.n_parameters < apart.n_parameters
    groups = three_groups(problem)
    logs = np.log([0.2, 2.0, 0.05])
    results = []
    for function in (merged, apart):
        penalty = GroupedPenalty(function, groups, 3)
        objective = function.penalised(c2=penalty.l2(logs), shares=penalty.shares(logs))
        found = minimize_lbfgs(objective, np.zeros(function.n_parameters), tol=1e-9)
        results.append((found.value, objective.weights(found.x)))
        by_log = np.random.default_rng(0).normal(size=function.n_parameters)
        h = 1e-5
        for g, e in enumerate(np.eye(3)):  # the derivatives of the parameters' own penalties
            change = (np.log(penalty.l2(logs + h * e)) - np.log(penalty.l2(logs - h * e))) / (2 * h)
            assert penalty.slope(logs, by_log)[g] == pytest.approx(by_log @ change, abs=1e-6)
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=5e-3)


def test_a_fold_does_not_learn_from_what_it_holds_out():
    """After a walk over penalties, folds report what folds report that are trained from the beginning."""
    problem = make_problem(2, 3, LENGTHS, copies=3)
    function = likelihood(problem)
    penalty = GroupedPenalty(function, three_groups(problem), 3)
    warm = HeldOutLoss(function, folds())
    for c2 in (1.0, 0.1, 0.02, 0.3):
        value = warm.value(np.log([c2, c2, c2]), penalty)
        warm(np.log([c2, c2, c2]), penalty)
    cold = HeldOutLoss(function, folds(), effort=EXACT)
    assert value == pytest.approx(cold.value(np.log([0.3, 0.3, 0.3]), penalty), rel=5e-3)
    # A start from weights that have seen everything would report far less.
    everything = minimize_lbfgs(function.penalised(c2=0.3), np.zeros(function.n_parameters)).x
    leaking = sum(fold.held(everything).value for fold in cold.folds)
    assert leaking < 0.95 * value


def test_features_that_a_fold_does_not_have_stay_0():
    problem = make_problem(2, 3, LENGTHS)
    function = likelihood(problem)
    free = np.arange(function.n_parameters) % 3 > 0
    loss = HeldOutLoss(function, folds(free=free))
    penalty = GroupedPenalty(function, three_groups(problem), 3)
    loss(np.zeros(3), penalty)
    for fold in loss.folds:
        assert not fold.x[~free].any()
        assert not fold.q[~free].any()
        assert fold.x[free].any()
    assert loss.passes > 0
