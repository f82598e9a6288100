"""The pseudo-likelihood against conditionals by enumeration, and its gradient against differences."""

import numpy as np
import pytest
from random_graphs import all_features, graph_input, random_graphs
from refusals import refuses

from crfkit.data.labels import Labels
from crfkit.inference.graph_scores import graph_labelling_score
from crfkit.objectives.pseudo_likelihood import PseudoLikelihood
from crfkit.potentials.graphs import GraphPotential

L, STEP = 3, 1e-5
BATCH = graph_input(random_graphs(5, [4, 1, 0, 3]), ends=True)
POTENTIAL = GraphPotential(all_features(BATCH, L))
W = np.random.default_rng(1).normal(size=POTENTIAL.n_parameters)
IDS = np.array([2, 0, 1, 1, 2, 2, 0, 1], np.int32)
WHOLE = Labels(IDS, None)


def partial():
    """Return labels of which one is unknown and one is one of two."""
    allowed = IDS[:, None] == np.arange(L)
    allowed[0] = True
    allowed[4, 0] = True
    return Labels(np.where(allowed.sum(axis=1) > 1, -1, IDS).astype(np.int32), allowed)


def by_enumeration(labels):
    """Return the log pseudo-likelihood of each graph [N]."""
    scores = POTENTIAL.scores(BATCH, W)
    edges, offsets = scores.topology.edges, BATCH.offsets
    found = np.zeros(len(offsets) - 1)
    for v in range(len(IDS)):
        neighbours = [int(a + b - v) for a, b in edges if v in (a, b)]
        if (labels.ids[neighbours] < 0).any():
            continue
        graph = int(np.searchsorted(offsets, v, side="right")) - 1
        values = []
        for label in range(L):
            y = np.maximum(labels.ids, 0)
            y[v] = label
            values.append(graph_labelling_score(scores, y)[graph])
        right = labels.permitted(L)[v]
        found[graph] += np.logaddexp.reduce(np.array(values)[right]) - np.logaddexp.reduce(values)
    return found


@pytest.mark.parametrize("labels", [WHOLE, partial()], ids=["whole", "partial"])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 1.0, 1.5])], ids=["plain", "weights"])
def test_values_and_gradients(labels, weights):
    function = PseudoLikelihood(POTENTIAL, BATCH, labels, weights=weights)
    expected = by_enumeration(labels)
    np.testing.assert_allclose(function.residuals(W).log_p, expected)
    found = function(W)
    assert found.value == pytest.approx(-(expected.sum() if weights is None else expected @ weights))
    slopes = [
        (function(W + move).value - function(W - move).value) / (2 * STEP) for move in STEP * np.eye(len(W))
    ]
    np.testing.assert_allclose(found.gradient, slopes, atol=1e-6)


def test_labels_without_a_labelled_neighbour():
    nothing = Labels(np.full(len(IDS), -1, np.int32), np.ones((len(IDS), L), bool))
    graphs = random_graphs(5, [4])
    batch = graph_input(graphs)
    none = Labels(nothing.ids[:4], nothing.allowed[:4])
    potential = GraphPotential(all_features(batch, L))
    refuses(
        "needs nodes whose neighbours all have labels",
        PseudoLikelihood(potential, batch, none),
        potential.vector,
    )
