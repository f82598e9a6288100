"""Stochastic gradient descent: as an algorithm, and as the start of L-BFGS."""

import warnings

import numpy as np
import pytest
from interruptions import interrupt
from refusals import refuses
from small_tasks import ADDRESSES, CASINO, TASKS

from crfkit import CRF
from crfkit.datasets import casino
from crfkit.exceptions import ConvergenceWarning, InputWarning
from crfkit.objectives.linear_likelihood import LinearLikelihood


def test_ctrl_c_in_the_stochastic_start_keeps_what_it_has(monkeypatch):
    rolls, dice = casino(1200, 10, random_state=0)
    X = [[[f"roll={roll}"] for roll in sequence] for sequence in rolls]
    steps, calls = LinearLikelihood.steps, []

    def interrupted(objective, examples, step, t, l2):
        calls.append(len(examples))
        if calls.count(1200) == 3:  # in the third epoch; the step is calibrated on fewer
            raise KeyboardInterrupt
        return steps(objective, examples, step, t, l2)

    monkeypatch.setattr(LinearLikelihood, "steps", interrupted)
    crf = CRF()
    with pytest.raises(
        KeyboardInterrupt, match=r"before its first iteration; the weights that its stochastic epochs"
    ):
        crf.fit(X, dice)
    assert crf.score(X, dice) > 0.6
    assert crf.transition_features_


@pytest.mark.parametrize("algorithm", ["sgd", "lbfgs"])
def test_ctrl_c_before_the_first_iteration_says_what_is_kept(algorithm, monkeypatch):
    rolls, dice = casino(50, 10, random_state=0)
    X = [[[f"face={roll}"] for roll in sequence] for sequence in rolls]
    name, call = ("steps", 1) if algorithm == "sgd" else ("__call__", 2)
    interrupt(monkeypatch, LinearLikelihood, name, call)
    crf = CRF(algorithm=algorithm)
    with pytest.raises(KeyboardInterrupt, match=r"before its first iteration; the weights .* are kept"):
        crf.fit(X, dice)
    assert crf.predict(X[:1])


def test_features_of_any_size_reach_the_optimum():
    """The stochastic start fails for such values, but must not prevent convergence."""
    rolls, dice = casino(600, 10, random_state=0)
    for size in (1e3, 1e6):
        X = [[{"roll": str(roll), "year": size + roll} for roll in sequence] for sequence in rolls]
        with pytest.warns(InputWarning, match="'year'"):
            auto, exact = (CRF(algorithm=name, tol=1e-7).fit(X, dice) for name in ("auto", "lbfgs"))
        assert auto.objective_ == pytest.approx(exact.objective_, rel=1e-2)


SGD = [
    ("addresses", {"c2": 1.0}),
    ("addresses", {"c2": 0.1, "class_weight": "balanced"}),
    ("casino", {"c2": 100.0}),
]


@pytest.mark.parametrize(("task", "options"), SGD, ids=str)
def test_sgd_comes_near_the_optimum(task, options):
    X, y = TASKS[task]
    gaps = [[None if t == 7 else label for t, label in enumerate(labels)] for labels in y[:20]] + y[20:]
    exact = CRF(**options, algorithm="lbfgs").fit(X, gaps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = CRF(**options, algorithm="sgd", random_state=3).fit(X, gaps)
    assert exact.objective_ * (1 - 1e-4) <= rough.objective_ <= exact.objective_ * 1.05
    assert rough.objective_ == min(record["objective"] for record in rough.history_)


def test_sgd_depends_on_the_seed():
    X, y = CASINO
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a, b, c = (
            CRF(algorithm="sgd", random_state=seed, max_iterations=3).fit(X, y).state_features_
            for seed in (1, 1, 2)
        )
    assert a == b
    assert a != c


def test_sgd_refuses_l1():
    refuses("algorithm='sgd' cannot train with c1 > 0", CRF(algorithm="sgd", c1=0.1).fit, *CASINO)


@pytest.mark.parametrize("options", [{}, {"c1": 0.05}], ids=str)
def test_a_stochastic_start_leads_to_the_same_optimum(options):
    X, y = ADDRESSES
    X, y = X * 7, y * 7  # from 500 sequences on
    auto, plain = (CRF(algorithm=name, tol=1e-6, **options).fit(X, y) for name in ("auto", "lbfgs"))
    assert auto.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert np.mean([a == b for a, b in zip(auto.predict(X), plain.predict(X), strict=True)]) > 0.98
