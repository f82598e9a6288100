"""Tables of transitions: their vector, and their scores; see also tests/potentials/test_contract.py."""

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.inference.chain import TransitionsOnly
from crfkit.objectives.likelihood import Likelihood
from crfkit.potentials.transitions import NodeScores, TransitionPotential, TransitionTables


@pytest.mark.parametrize("order", [1, 2])
def test_tables_are_views_of_one_vector(order):
    rng = np.random.default_rng(7)
    potential = TransitionPotential(TransitionTables.zeros(3, order))
    x = rng.normal(size=potential.n_parameters)
    tables = potential.tables.at(x)
    assert len(x) == tables.start.size + tables.end.size + tables.edge.size + (27 if order == 2 else 0)
    own = TransitionPotential(tables).scores(NodeScores(rng.normal(size=(8, 3)), np.array([0, 4, 5, 5, 8])))
    names = ("start", "end", "edge", "edge2")
    assert all(np.array_equal(getattr(own, name), getattr(tables, name)) for name in names)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 1.0, 3.0])])
def test_without_the_labels_the_likelihood_is_the_same(order, weights):
    """``TransitionsOnly`` omits terms that do not depend on transitions, and stores the labelling."""
    rng = np.random.default_rng(7)
    batch = NodeScores(rng.normal(size=(8, 3)), np.array([0, 4, 5, 5, 8]))
    labels = Labels(rng.integers(3, size=8).astype(np.int32), None)
    potential = TransitionPotential(TransitionTables.zeros(3, order))
    plain = Likelihood(potential, batch, labels, weights=weights)
    fast = Likelihood(potential, batch, labels, weights=weights, structure=TransitionsOnly())
    for _ in range(2):
        x = rng.normal(size=potential.n_parameters)
        a, b = plain(x, diagonal=True), fast(x, diagonal=True)
        assert a.value == pytest.approx(b.value)
        np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-12)
        np.testing.assert_allclose(a.diagonal, b.diagonal, atol=1e-12)
