"""Validation constraints on a cluster against those in memory."""

import numpy as np
import pytest
from cluster_data import bag_of, given, items, sentences, with_gaps
from refusals import refuses

from crfkit import CRF, ConstrainedCRF
from crfkit.models.linear.source import open_source
from crfkit.objectives.validation import ValidationConstraints
from crfkit.objectives.validation_sets import Spans


@pytest.mark.parametrize("settings", [{}, {"order": 2, "edge_attributes": "e:"}])
def test_the_same_constraints(settings, client):
    X, y = sentences(40)
    X, y = items(X), with_gaps(y)
    crf, random = CRF(**settings), np.random.default_rng(3)
    here = open_source(crf, given(X, y))
    ends = here.offsets[1:41:7].copy()  # of spans that begin within sequences
    spans = Spans.of_sequences([range(0, 40, 3), range(1, 40, 5), [38]], here.offsets)
    spans = [spans, Spans(ends - 1, ends, np.arange(6, dtype=np.int32), 6)]
    for n in (1, 2, 8) if not settings else (5,):
        there = open_source(crf, given(bag_of(X, y, n)))
        w = there.function.weights(random.normal(size=there.function.n_parameters))
        for chosen in spans:
            coefficients, found = random.uniform(size=chosen.n_sets), []
            for function in (there.function, here.function):
                objective, x = function.penalised(c2=0.1), function.parameters(w)
                exact = ValidationConstraints(objective, chosen, gradient="envelope", margin=0.5)(x)
                smooth = ValidationConstraints(objective, chosen).smoothed(x, 0.7)
                gradients = (function.weights(at.pull(coefficients)) for at in (exact, smooth))
                found.append((exact.values, smooth.values, *gradients))
            for one, other in zip(*found, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(other).max())


def test_the_same_model(client):
    X, y = (some[:37] for some in sentences(40))
    X, groups = items(X), np.arange(37) // 14
    crf = ConstrainedCRF(c2=1.0, margin=2.5, tau=1.0, tol=1e-3)
    here = crf.fit(X, y, groups=groups)
    expected = here.objective_, here.penalties_, here.predict(X)
    assert here.feasible_
    assert here.penalties_.any()  # the constraints matter
    there = crf.fit(bag_of(X, y, 5), groups=groups)
    assert there.feasible_
    assert there.objective_ == pytest.approx(expected[0], rel=5e-3)
    np.testing.assert_allclose(there.penalties_, expected[1], rtol=0.05, atol=0.01)
    assert there.predict(X) == expected[2]


def test_the_flip_gradient_is_no_sum(client):
    X, y = sentences(20)
    y[3] = ["D"] * len(y[3])
    crf = ConstrainedCRF(gradient="flip", margin=3.0, c2=0.1)
    refuses("gradient='flip' is not possible with a Dask collection", crf.fit, bag_of(items(X), y, 2))
