"""Stochastic steps over segmentations: against the gradient of the whole, too long ones, and in training."""

import numpy as np
import pytest

from crfkit import SemiCRF
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import ConvergenceWarning
from crfkit.objectives.segment_likelihood import SegmentLikelihood
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import SumOverExamples
from crfkit.potentials.segments import Rows, SegmentFeatures, SegmentInput, SegmentPotential

N, L = 30, 2


def problem(scale=1.0, weights=None, class_weights=None, partial=False):
    """Return the likelihood of N sequences of two positions with two of six attributes each."""
    rng = np.random.default_rng(0)
    ids = np.sort([rng.choice(6, 2, replace=False) for _ in range(2 * N)], axis=1).astype(np.int32)
    offsets, indptr = np.arange(N + 1) * 2, np.arange(2 * N + 1) * 2
    x = Sequences(offsets, indptr, ids.ravel(), scale * rng.normal(size=4 * N), 6)
    labels = rng.integers(0, L, 2 * N).astype(np.int32)  # all segments begin
    allowed = labels[:, None] == np.arange(2 * L)
    allowed[::5] = True
    rows = Rows(np.arange(7) * 2 * L, np.tile(np.arange(2 * L, dtype=np.int32), 6))
    features = SegmentFeatures(np.ones((L, L), np.bool_), np.array([2, 2]), rows)
    y = Labels(np.where(allowed.sum(1) > 1, -1, labels), allowed) if partial else Labels(labels, None)
    more = {"weights": weights, "class_weights": class_weights}
    return SegmentLikelihood(SegmentPotential(features), SegmentInput(x), y, **more)


@pytest.mark.parametrize(
    "more",
    [{}, {"weights": np.linspace(0, 2, N)}, {"class_weights": np.arange(1.0, 5)}, {"partial": True}],
    ids=["plain", "weights of sequences", "weights of classes", "partial labels"],
)
def test_a_step_follows_the_gradient(more):
    function = problem(**more)
    assert isinstance(function, SumOverExamples)
    x = np.random.default_rng(1).normal(size=function.n_parameters)
    function.begin(x)
    loss = function.steps(np.arange(N, dtype=np.int32)[::-1], 1e-7, 0.0, 3.0)
    whole = Penalised(function, 3.0)(x)
    assert loss == pytest.approx(function(x).value, rel=1e-4)
    np.testing.assert_allclose((x - function.end()) / 1e-7, whole.gradient, atol=1e-3)


def test_steps_that_are_too_long_have_an_infinite_loss():
    function = problem(scale=1e6)
    function.begin(np.zeros(function.n_parameters))
    assert function.steps(np.arange(N, dtype=np.int32), 0.1, 0.0, 0.1) == np.inf


def test_a_strong_penalty_loses_no_digits():
    function = problem()
    x = np.ones(function.n_parameters)
    function.begin(x)
    for _ in range(40):
        function.steps(np.arange(N, dtype=np.int32), 0.01, 0.0, 20.0)
    assert np.abs(function.end()).max() < 1


def test_training_begins_with_stochastic_epochs():
    rng = np.random.default_rng(2)
    y = [[f"B-{kind}", f"I-{kind}", "O"] for kind in rng.choice(["X", "Y"], 600)]
    X = [[[f"{label[-1]}{rng.integers(9)}"] for label in labels] for labels in y]
    model = SemiCRF(c2=0.1, random_state=1).fit(X, y)
    assert model.history_[0]["passes"] > 6
    plain = SemiCRF(c2=0.1).fit(X[:400], y[:400])
    assert plain.history_[0]["passes"] < 6
    again = SemiCRF(c2=0.1, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.tagger_.potential.vector, model.tagger_.potential.vector)
    with pytest.warns(ConvergenceWarning):
        short = SemiCRF(c2=0.1, max_iterations=1, tol=0).fit(X, y)
    assert short.history_[0]["passes"] < 6
