"""Scores of graphs: shapes and bad scores are refused by name; the score and the counts of a labelling."""

import numpy as np
import pytest

from crfkit.data.topology import Topology
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores, graph_labelling_counts, graph_labelling_score

PAIR = Topology.of_graphs([1, 2], [[], [[1, 0]]])
KINDS = Topology.of_graphs([1, 2], [[], [[1, 0]]], [[], [1]])
ZERO = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("node", "edge", "topology", "message"),
    [
        (np.zeros((2, 2)), np.zeros((1, 2, 2)), PAIR, "one row per node, 3; got 2"),
        (np.zeros(3), np.zeros((1, 2, 2)), PAIR, r"node must have shape \[ΣV, L\]"),
        (ZERO, np.zeros((2, 2, 2)), PAIR, r"edge must have shape \[1, 2, 2\], one table per edge"),
        (ZERO, np.zeros((1, 2, 2)), KINDS, r"edge must have shape \[2, 2, 2\], one table per kind"),
        (ZERO, np.zeros((1, 2, 3)), PAIR, "edge must have shape"),
        ([[0, 0], [0, 0], [np.nan, 0]], np.zeros((1, 2, 2)), PAIR, "nan in graph 1 at node 1, label 0"),
        (ZERO, np.full((1, 2, 2), np.inf), PAIR, "inf in graph 1 at edge 0, labels 0 → 0"),
        (ZERO, np.full((2, 2, 2), 1e10), KINDS, "1e.10 in edges of kind 0 at table 0, labels 0 → 0"),
        (ZERO, [[["a"]]], PAIR, "edge must"),
    ],
)
def test_bad_scores_are_refused(node, edge, topology, message):
    with pytest.raises(InputError, match=message):
        GraphScores(node, edge, topology)


def test_the_first_end_of_an_edge_has_the_rows():
    edge = np.arange(4.0).reshape(1, 2, 2)
    scores = GraphScores([[1, 2], [10, 20], [100, 200]], edge, PAIR)
    ids = np.array([0, 0, 1], np.int32)  # node 1 of the second graph is the first end of its edge
    assert graph_labelling_score(scores, ids).tolist() == [1, 10 + 200 + edge[0, 1, 0]]
    counts = graph_labelling_counts(scores, ids, np.array([0.5, 3.0]))
    assert counts.node.tolist() == [[0.5, 0], [3, 0], [0, 3]]
    assert counts.edge.tolist() == [[[0, 0], [3, 0]]]
    assert repr(scores) == "GraphScores(2 graphs, 3 nodes, 1 edges, 2 labels)"
