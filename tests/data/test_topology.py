"""Topologies: what is refused, and how a batch is made from single graphs."""

import numpy as np
import pytest

from crfkit.data.topology import Topology
from crfkit.exceptions import InputError


def test_graphs_are_laid_end_to_end():
    batch = Topology.of_graphs([2, 0, 1, 3], [[[1, 0]], [], [], [[0, 1], [2, 0]]], [[4], [], [], [0, 1]])
    assert batch.edges.tolist() == [[1, 0], [3, 4], [5, 3]]
    assert batch.offsets.tolist() == [0, 2, 2, 3, 6]
    assert batch.edge_offsets.tolist() == [0, 1, 1, 1, 3]
    assert batch.kinds.tolist() == [4, 0, 1]
    assert (batch.n_sequences, batch.n_positions, batch.n_edges, batch.n_kinds) == (4, 6, 3, 5)
    assert repr(batch) == "Topology(4 graphs, 6 nodes, 3 edges)"
    assert Topology.of_graphs([], []).n_kinds == 0


REFUSED = {
    "edge 1 of graph 1 links nodes 0 and 2, but its nodes are 0..1": [[[0, 1]], [[1, 0], [0, 2]]],
    "edge 0 of graph 0 links nodes -1 and 0": [[[-1, 0]], []],
    "edge 0 of graph 1 links node 1 with itself": [[], [[1, 1]]],
    "edges 0 and 1 of graph 1 both link nodes 0 and 1": [[], [[0, 1], [0, 1]]],
    "edges 0 and 2 of graph 0 both link nodes 1 and 2": [[[1, 2], [0, 1], [2, 1]], []],
    "edges of graph 0 must have shape": [[[0, 1, 2]], []],
    "edges of graph 1 must be integers of shape": [[], [[0.0, 1.0]]],
}


@pytest.mark.parametrize(("message", "edges"), REFUSED.items())
def test_bad_edges_are_refused_by_graph_and_edge(message, edges):
    with pytest.raises(InputError, match=message):
        Topology.of_graphs([3, 2], edges)


def test_bad_batches_are_refused():
    with pytest.raises(InputError, match=r"edge 0 of graph 0 links nodes 0 and 2, but its nodes are 0..1"):
        Topology([[0, 2]], [0, 2, 4], [0, 1, 1])  # to another graph
    with pytest.raises(InputError, match="but it has no nodes"):
        Topology.of_graphs([0], [[[0, 1]]])
    with pytest.raises(InputError, match="edge_offsets must have 3 entries"):
        Topology([[0, 1]], [0, 2, 4], [0, 1])
    with pytest.raises(InputError, match="offsets must be"):
        Topology([[0, 1]], [0, 3, 2], [0, 1, 1])
    with pytest.raises(InputError, match=r"shape \[E, 2\]"):
        Topology(np.zeros((2, 3), int), [0, 2], [0, 2])
    with pytest.raises(InputError, match="one entry per edge"):
        Topology([[0, 1]], [0, 2], [0, 1], [0, 1])
    with pytest.raises(InputError, match="edge 0 of graph 1 has -1"):
        Topology([[1, 2]], [0, 1, 3], [0, 0, 1], [-1])
