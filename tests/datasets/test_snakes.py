"""Generated snakes are walks that follow their colours."""

import numpy as np
from refusals import refuses

from crfkit.datasets import snakes


def test_snakes():
    cells, labels = snakes(30, random_state=1)
    for grid, places in zip(cells, labels, strict=True):
        assert ((grid == "b") == (places == 0)).all()
        assert sorted(places[places > 0].tolist()) == list(range(1, 11))
        edge = np.concatenate([places[0], places[-1], places[:, 0], places[:, -1]])
        assert not edge.any()
        for k in range(1, 10):
            (here,), (there,) = np.argwhere(places == k), np.argwhere(places == k + 1)
            step = {"r": (-1, 0), "g": (1, 0), "y": (0, -1), "c": (0, 1)}[grid[tuple(here)]]
            assert tuple(there - here) == step
    again, _ = snakes(30, random_state=1)
    assert all((a == b).all() for a, b in zip(again, cells, strict=True))
    assert snakes(0) == ([], [])
    refuses("n must be 0 or more, got -1", snakes, -1)
