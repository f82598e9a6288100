"""The stochastic start takes no more passes over the data than max_iterations allows."""

import warnings

import numpy as np
import pytest

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.problem import Evaluation
from crfkit.optim.sgd import stochastic_start


class Counted:
    """A sum of squares that counts the steps; with ``rising``, every longer step is better."""

    n_examples = 800

    def __init__(self, rising: bool = False) -> None:
        self.taken, self.rising = 0, rising

    def __call__(self, x, *, diagonal=False):
        return Evaluation(float(x @ x), 2 * x)

    def order(self, random):
        return random.permutation(self.n_examples)

    def begin(self, x):
        self.x = x.copy()

    def steps(self, examples, step, t):
        self.taken += len(examples)
        self.x *= 0.999 ** len(examples)
        return 1 / step if self.rising else abs(step - 0.1)

    def end(self):
        return self.x


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3, 10, 30, 1000])
def test_it_stays_within_its_passes(most, rising):
    function = Counted(rising)
    start = stochastic_start(function, np.ones(3), epochs=5, most_passes=most, seed=0)
    assert start.passes == pytest.approx(function.taken / 800)
    assert start.passes <= most
    assert (start.passes > 0) == (most >= 2)
    assert (start.x < 1).all() == (most >= 2)


def test_the_cost_of_a_fit_is_bounded_by_max_iterations(monkeypatch):
    """Many labels, short sequences: where calibration and epochs once cost hundreds of passes."""
    random = np.random.default_rng(0)
    y = [[f"L{random.integers(40)}" for _ in range(3)] for _ in range(500)]
    X = [[[f"w{random.integers(50)}"] for _ in labels] for labels in y]
    steps, taken = LinearLikelihood.steps, []

    def counted(objective, examples, *rest):
        taken.append(len(examples))
        return steps(objective, examples, *rest)

    monkeypatch.setattr(LinearLikelihood, "steps", counted)
    for most in (1, 4, 20):
        taken.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            crf = CRF(max_iterations=most, tol=0).fit(X, y)
        assert sum(taken) <= most * 500
        assert crf.history_[0]["passes"] >= sum(taken) / 500 + 1
