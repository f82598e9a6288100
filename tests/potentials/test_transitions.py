"""Tables of transitions: their vector, and their scores; see also tests/potentials/test_contract.py."""

import numpy as np
import pytest

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
