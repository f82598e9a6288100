"""Tables of transitions as a parametric potential: its likelihood against finite differences."""

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.inference.chain import CHAIN, TransitionsOnly
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.penalised import Penalised
from crfkit.potentials.contract import Curved
from crfkit.potentials.transitions import NodeScores, TransitionPotential, TransitionTables

STEP = 1e-5


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("structure", [CHAIN, TransitionsOnly()])
def test_likelihood_by_finite_differences(order, partial, structure):
    rng = np.random.default_rng(7)
    batch = NodeScores(rng.normal(size=(8, 3)), np.array([0, 4, 5, 5, 8]))
    labels = Labels(rng.integers(3, size=8).astype(np.int32), None)
    if partial:
        allowed = rng.random((8, 3)) < 0.6
        allowed[np.arange(8), labels.ids] = True
        labels = Labels(np.full(8, -1, np.int32), allowed)
    weights = rng.random(4) + 0.5
    potential = TransitionPotential(TransitionTables.zeros(3, order))
    assert isinstance(potential, Curved)
    likelihood = Likelihood(potential, batch, labels, structure=structure, weights=weights, n_jobs=1)
    function = Penalised(likelihood, 0.3)
    x = rng.normal(size=potential.n_parameters)
    found = function(x, diagonal=True)
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += STEP
        down[j] -= STEP
        slope = (function(up).value - function(down).value) / (2 * STEP)
        assert found.gradient[j] == pytest.approx(slope, abs=1e-6)
    assert (found.diagonal > 0).all()
    tables = potential.tables.at(x)
    assert len(x) == tables.start.size + tables.end.size + tables.edge.size + (27 if order == 2 else 0)
    own = TransitionPotential(tables).scores(batch)
    assert all(np.array_equal(getattr(own, name), getattr(tables, name)) for name in ("start", "end", "edge"))
