"""The potential of segments: scores term by term, gradients against differences, training by likelihood."""

import pickle

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.inference import SEGMENTATIONS, Spans
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.potentials.segments import (
    Boundaries,
    Rows,
    SegmentFeatures,
    SegmentInput,
    SegmentPotential,
    SegmentWeights,
)

L, LENGTHS = 2, [4, 1, 3]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
IDS = np.array([0, 2, 1, 3, 1, 0, 1, 3], np.int32)  # 2 and 3: labels 0 and 1 go on


def all_labels(n_attributes, n_labels):
    """Return rows in which every attribute scores every label."""
    return Rows(
        np.arange(n_attributes + 1, dtype=np.int64) * n_labels,
        np.tile(np.arange(n_labels, dtype=np.int32), n_attributes),
    )


def attributes(rng, n_rows, n_attributes, offsets):
    values = rng.normal(size=(n_rows, n_attributes))
    ids = np.tile(np.arange(n_attributes, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * n_attributes
    return Sequences(offsets, indptr, ids, values.ravel(), n_attributes), values


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    x, values = attributes(rng, 8, 3, OFFSETS)
    spans = Spans(*np.array([[0, 0, 2], [0, 2, 3], [2, 0, 1], [2, 1, 3]]).T)
    of_spans, span_values = attributes(rng, 4, 2, np.array([0, 4]))
    permitted = np.array([[True, True], [True, False]])
    features = SegmentFeatures(
        permitted,
        np.array([3, 2]),
        all_labels(3, 4),
        all_labels(3, 2),
        all_labels(2, 2),
        np.array([True, False]),
    )
    potential = SegmentPotential(features)
    w = rng.normal(size=potential.n_parameters)
    return potential, SegmentInput(x, spans, of_spans), w, values, span_values


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


@pytest.mark.parametrize("partial", [False, True])
def test_gradients_of_the_likelihood(case, partial):
    potential, batch, w, _, _ = case
    labels = Labels(IDS, None)
    if partial:
        allowed = IDS[:, None] == np.arange(2 * L)
        allowed[[1, 5]] = True
        labels = Labels(np.where(allowed.sum(axis=1) > 1, -1, IDS).astype(np.int32), allowed)
    weights = np.array([0.5, 2.0, 1.5])
    function = Likelihood(potential, batch, labels, structure=SEGMENTATIONS, weights=weights)
    gradient = function(w).gradient
    for k in range(len(w)):
        sides = [function(w + step * (np.arange(len(w)) == k)).value for step in (1e-5, -1e-5)]
        assert gradient[k] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-6), k


def test_some_sequences_as_a_part(case):
    potential, batch, w, _, _ = case
    node, last = np.ones((8, 2 * L), np.bool_), np.ones((8, L), np.bool_)
    node[6, 0] = last[4, 0] = False
    batch = batch._replace(boundaries=Boundaries(node, last))
    chosen = np.array([0, 2])
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
