"""The potential of segments: scores term by term, training by likelihood, curvature.

Its gradients are tested in ``test_contract.py``.
"""

import pickle

import numpy as np
import pytest
from segment_problem import IDS, OFFSETS, L, all_labels, attributes, segment_problem

from crfkit.data.labels import Labels
from crfkit.inference import SEGMENTATIONS
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.potentials.segments import (
    Boundaries,
    SegmentFeatures,
    SegmentInput,
    SegmentPotential,
    SegmentWeights,
)


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    potential, batch, values, span_values = segment_problem(rng)
    return potential, batch, rng.normal(size=potential.n_parameters), values, span_values


def test_scores_term_by_term(case):
    potential, batch, w, values, span_values = case
    parts = SegmentWeights.of(potential.features, w)
    found = potential.scores(batch, w)
    np.testing.assert_allclose(found.node, values @ parts.state.reshape(3, 4))
    np.testing.assert_allclose(found.last, values @ parts.last.reshape(3, 2))
    np.testing.assert_allclose(found.span, span_values @ parts.span.reshape(2, 2))
    np.testing.assert_array_equal(found.edge, [[w[0], w[1]], [w[2], -np.inf]])
    np.testing.assert_array_equal(found.lengths, [w[4:7], [w[7], w[8], -np.inf]])
    np.testing.assert_array_equal(found.tail, [w[10], -np.inf])
    assert potential.features.n_features == 3 + 5 + 1 + 12 + 6 + 4


def test_some_sequences_as_a_part(case):
    potential, batch, w, _, _ = case
    node, last = np.ones((8, 2 * L), np.bool_), np.ones((8, L), np.bool_)
    node[6, 0] = last[4, 0] = False
    batch = batch._replace(boundaries=Boundaries(node, last))
    chosen = np.array([0, 3])
    part, few, places = potential.part(batch, chosen)
    whole, found = potential.scores(batch, w), part.scores(few, w[places])
    kept = np.array([0, 1, 2, 3, 5, 6, 7])
    np.testing.assert_array_equal(found.node, whole.node[kept])
    np.testing.assert_array_equal(found.last, whole.last[kept])
    np.testing.assert_array_equal(found.span, whole.span)
    log_z = SEGMENTATIONS.log_partition(whole)
    np.testing.assert_array_equal(SEGMENTATIONS.log_partition(found), log_z[chosen])
    assert not len(potential.part(batch, chosen[:0])[1].sequences.indices)


def test_it_trains(case):
    potential, batch, _, _, _ = case
    function = Likelihood(potential, batch, Labels(IDS, None), structure=SEGMENTATIONS)
    found = minimize_lbfgs(Penalised(function, l2=0.01), np.zeros(potential.n_parameters))
    fitted = SegmentPotential(potential.features, found.x)
    np.testing.assert_array_equal(SEGMENTATIONS.best(fitted.scores(batch)), IDS)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.vector, fitted.vector)


def test_curvature_is_exact_for_segments_that_are_independent():
    """Segments of one position, all pairs alike: the Hessian has no other part in weights of positions."""
    rng = np.random.default_rng(1)
    x, _ = attributes(rng, 8, 3, OFFSETS)
    potential = SegmentPotential(
        SegmentFeatures(np.ones((L, L), bool), np.ones(L, np.int64), all_labels(3, 2 * L))
    )
    w = rng.normal(size=potential.n_parameters)
    w[: L * L + L] = 0
    labels = Labels(rng.integers(0, L, 8).astype(np.int32), None)
    objective = Likelihood(potential, SegmentInput(x), labels, structure=SEGMENTATIONS)
    diagonal = objective(w, diagonal=True).diagonal
    for i in range(L * L + L, len(w)):
        step = np.zeros(len(w))
        step[i] = 1e-5
        slope = (objective(w + step).gradient[i] - objective(w - step).gradient[i]) / 2e-5
        assert diagonal[i] == pytest.approx(slope, abs=1e-6)
    assert (diagonal >= 0).all()
