"""Graphs, grids and skip-chains as input; bad ones are refused by name."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from scipy import sparse

from crfkit.data.graph_layout import edge_types_of, lay_out
from crfkit.data.graphs import Graph, graphs_of, node_labels
from crfkit.data.grids import grid
from crfkit.data.skip_chains import skip_chain
from crfkit.exceptions import InputError

NODES = np.eye(4)


@pytest.mark.parametrize(
    "nodes", [NODES, NODES.tolist(), sparse.csr_matrix(NODES), ["a", "b", "c", "d"], [{}] * 4, [["a"]] * 4]
)
def test_nodes_of_every_kind(nodes):
    graph = Graph(nodes, [(0, 1), (3, 2)], edge_features=[[1.0], [2.0]], edge_types=["x", 7])
    assert (len(graph), graph.n_edges, graph.edges.tolist()) == (4, 2, [[0, 1], [3, 2]])
    assert (graph.edge_features.tolist(), graph.edge_types) == ([[1.0], [2.0]], ["x", "7"])
    assert repr(graph) == "<Graph: 4 nodes, 2 edges of the types 7, x>"
    assert Graph(nodes, ((a, b) for a, b in [(0, 1)])).n_edges == 1
    assert Graph(nodes, pd.DataFrame({"from": [0, 1], "to": [2, 3]})).edges.tolist() == [[0, 2], [1, 3]]
    assert Graph(nodes, [], directed=np.bool_(False)).directed is False


@pytest.mark.parametrize("edges", [[], np.zeros((0, 2), int), np.zeros((0, 2))])
def test_graphs_without_edges_or_nodes(edges):
    assert Graph(NODES, edges).n_edges == 0
    assert len(Graph([], edges)) == len(Graph(np.zeros((0, 3)), edges)) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": [[0, 1], [2, 4]]}, r"edge 1 links nodes 2 and 4, but its nodes are 0\.\.3"),
        ({"edges": [[-1, 1]]}, "edge 0 links nodes -1 and 1"),
        ({"nodes": [], "edges": [[0, 1]]}, "edge 0 links nodes 0 and 1, but it has no nodes"),
        ({"edges": [[0, 1], [2, 2]]}, "edge 1 links node 2 with itself"),
        ({"edges": [[0, 1], [2, 3], [1, 0]]}, "edges 0 and 2 both link nodes 0 and 1"),
        ({"edges": [0, 1]}, r"edges must be integers of shape \[E, 2\]"),
        ({"edges": [[0.0, 1.0]]}, r"edges must be integers of shape \[E, 2\]"),
        ({"edges": [[0, 1, 2]]}, r"edges must have shape \[E, 2\]"),
        ({"edges": [[0, 1], [2]]}, "edges must be"),
        ({"edges": None}, "edges must be"),
        ({"edges": np.array([[True, False]])}, "edges must be integers"),
        ({"edges": np.array([[0, 2**63]], np.uint64)}, "edge 0 links nodes"),
        ({"edges": sparse.eye(4)}, r"edges must be pairs of nodes \[E, 2\], got a sparse matrix"),
        ({"directed": "no"}, "directed must be True or False, got 'no'"),
        ({"edges": "ab"}, "edges must be"),
        ({"nodes": "abcd"}, "nodes must be a list of items.* got str"),
        ({"nodes": 4}, "nodes must be a list of items.* got int"),
        ({"nodes": np.ones(4)}, r"nodes must be a 2-D array .* got 1-D; .* array\[:, None\]"),
        ({"nodes": [[1.0], [1.0, 2.0], [1.0], [1.0]]}, "nodes must have rows of one width, got 1 and 2"),
        ({"edge_features": np.ones((3, 1))}, "edge_features must have one entry per edge: got 3 for 2 edges"),
        ({"edge_types": ["a"]}, "edge_types must have one entry per edge: got 1 for 2 edges"),
        ({"edge_types": ["a", None]}, "edge 1: its type must be a name or a number, got NoneType"),
    ],
)
def test_bad_graphs(changes, message):
    refuses(message, Graph, **({"nodes": NODES, "edges": [[0, 1], [1, 2]]} | changes))


def test_networkx():
    graph = nx.Graph()
    graph.add_node("u", colour="red", label="A")
    graph.add_node("v", size=2.0, label="B")
    graph.add_node("w")
    graph.add_edge("v", "u", type="near", length=1.5)
    graph.add_edge("v", "w", type="far")
    (found,) = graphs_of([graph], "label")
    assert found.nodes == [{"colour": "red"}, {"size": 2.0}, {}]
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    assert (found.edge_types, found.edge_features) == (["near", "far"], [{"length": 1.5}, {}])
    assert not found.directed
    assert graphs_of([nx.DiGraph([(0, 1)])])[0].directed
    assert node_labels([graph], "label") == [["A", "B", None]]
    assert node_labels([graph, found], [{"w": 1, "u": 0}, [0, 0, 1]]) == [[0, None, 1], [0, 0, 1]]
    refuses("y='label' names an attribute .* but graph 0 is none", node_labels, [found], "label")
    refuses("graph 0: two nodes may have at most one edge", graphs_of, [nx.MultiGraph([(0, 1)])])
    refuses(
        "graph 0: edge .* links node 0 with itself|links node 0 with itself", graphs_of, [nx.Graph([(0, 0)])]
    )
    del graph.edges["v", "w"]["type"]
    refuses("graph 0: edge 'v', 'w' has no 'type', but other edges have one", graphs_of, [graph])
    for single in (graph, found):
        refuses(r"write a single graph as \[graph\]", graphs_of, single)
    refuses("graph 1: expected a crfkit.Graph or a graph of networkx, got ndarray", graphs_of, [found, NODES])
    refuses("X must be a list of graphs, got str", graphs_of, "abc")


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (5, 1), (1, 1), (2, 3, 2), (0, 3)])
@pytest.mark.parametrize("neighbours", [4, 8])
def test_grids(shape, neighbours):
    """Edges are exactly the pairs of cells that are next to each other, and their types say how."""
    cells = np.random.default_rng(0).normal(size=shape)
    graph = grid(cells, neighbours)
    height, width = shape[:2]
    steps = {(0, 1): "right", (1, 0): "down"} | (
        {(1, 1): "down-right", (1, -1): "down-left"} if neighbours == 8 else {}
    )
    expected = {
        (i * width + j, (i + a) * width + j + b): name
        for i in range(height)
        for j in range(width)
        for (a, b), name in steps.items()
        if i + a < height and 0 <= j + b < width
    }
    assert dict(zip(map(tuple, graph.edges.tolist()), graph.edge_types, strict=True)) == expected
    np.testing.assert_array_equal(graph.nodes.reshape(shape), cells)


def test_grids_of_words():
    assert grid(["ab", "cd"]).nodes == grid([["a", "b"], ["c", "d"]]).nodes == ["a", "b", "c", "d"]
    for bad in (6, 4.0, "4", [4]):
        refuses("neighbours must be 4 or 8", grid, np.zeros((2, 2)), bad)
    for bad in ("ab", {"a": 1}, None, 5):
        refuses("cells must be a list of rows, got", grid, bad)
    refuses("cells must be numbers or words, got NoneType", grid, [["a", None]])
    assert grid([["a", 1]]).nodes == ["a", "1"]
    for bad in (np.zeros(3), [["a"], ["b", "c"]], np.zeros((1, 1, 1, 1))):
        refuses("cells must be", grid, bad)


def test_skip_chains():
    sentences = [["Mr", "Green", "ran"], [], ["Green", "and", "Green", "Green"]]
    graph = skip_chain(sentences)
    next_to = [[0, 1], [1, 2], [3, 4], [4, 5], [5, 6]]
    assert graph.nodes == ["Mr", "Green", "ran", "Green", "and", "Green", "Green"]
    same = [[1, 3], [1, 5], [1, 6], [3, 5], [3, 6]]  # 5 and 6 are neighbours already
    assert graph.edges.tolist() == next_to + same
    assert graph.edge_types == ["next"] * 5 + ["same"] * 5
    assert skip_chain(sentences, pairs="next").edges.tolist() == [*next_to, [1, 3], [3, 5]]
    assert skip_chain(sentences, linked=lambda word: False).edges.tolist() == next_to
    items = [[{"w": word} for word in words] for words in sentences]
    assert skip_chain(sentences, items).nodes == [item for own in items for item in own]
    assert len(skip_chain([])) == 0
    refuses("items must have the sentences of the document", skip_chain, sentences, items[1:])
    refuses("sentence 0, word 1: expected a string, got int", skip_chain, [["a", 1]])
    refuses("sentence 0 must be a list of words, got str", skip_chain, ["a b"])
    refuses("sentences must be a list of lists of words, one per sentence, got NoneType", skip_chain, None)
    refuses("items of sentence 0 must be a list of features, got int", skip_chain, [["a"]], [1])
    refuses("pairs must be 'all' or 'next'", skip_chain, sentences, pairs="some")


def test_layout():
    graphs = [
        Graph(NODES, [[0, 1], [2, 1]], edge_types=["b", "a"]),
        Graph([], []),
        Graph(NODES[:2], [[1, 0]], edge_types=["b"]),
    ]
    types = edge_types_of(graphs)
    layout = lay_out(graphs, types)
    assert (types, layout.offsets.tolist(), layout.edge_offsets.tolist()) == (
        ["a", "b"],
        [0, 4, 4, 6],
        [0, 2, 2, 3],
    )
    assert (layout.edges.tolist(), layout.types.tolist()) == ([[0, 1], [2, 1], [5, 4]], [1, 0, 1])
    part, places = layout.subset([2, 0])
    assert (part.edges.tolist(), places.tolist()) == ([[1, 0], [2, 3], [4, 3]], [2, 0, 1])
    assert (part.offsets.tolist(), part.edge_offsets.tolist()) == ([0, 2, 6], [0, 1, 3])
    refuses("graph 0: the model knows no edges of type 'b'; types of training: a", lay_out, graphs, ["a"])
    with pytest.raises(InputError, match="graph 0: its edges have no types, but in training they had"):
        lay_out([Graph(NODES, [[0, 1]])], types)
    refuses("graph 0 has edges, but in training there were none", lay_out, graphs, [])
