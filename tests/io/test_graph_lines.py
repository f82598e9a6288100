"""Graphs in JSON lines: reading, writing, and errors with their line."""

import io
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from random_graphs import random_graphs
from refusals import refuses
from scipy import sparse

from crfkit import Graph
from crfkit.io import read_graphs, write_graphs
from crfkit.io.graph_lines import labelled_line


def read(*lines):
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return read_graphs(io.BytesIO(text.encode()))


def test_round_trip(tmp_path):
    graphs = random_graphs(1, [3, 0, 2], directed=False)
    graphs.append(Graph(["a", "b"], [[1, 0]], [{"w": 1}]))
    graphs.append(Graph(sparse.csr_matrix(np.eye(2)), [], directed=False))
    y = [["A", None, {"A", "B"}], [], [1, 2], np.array([1, 2]), ["x", "y"]]
    write_graphs(tmp_path / "g.jsonl", graphs, y)
    found = read_graphs(tmp_path / "g.jsonl")
    assert [record.line for record in found] == [1, 2, 3, 4, 5]
    for record, graph in zip(found, graphs, strict=True):
        again = record.graph
        assert (again.edges.tolist(), again.edge_types, again.directed) == (
            graph.edges.tolist(),
            graph.edge_types,
            graph.directed,
        )
        rows = graph.nodes.toarray() if sparse.issparse(graph.nodes) else graph.nodes
        np.testing.assert_array_equal(again.nodes, rows if len(graph) else [])
    assert found[0].labels[:2] == ["A", None]
    assert sorted(found[0].labels[2]) == ["A", "B"]
    assert found[3].labels == [1, 2]
    write_graphs(tmp_path / "g.jsonl", graphs)
    assert {record.labels for record in read_graphs(tmp_path / "g.jsonl")} == {None}
    refuses("there are 5 graphs but labels of 1", write_graphs, tmp_path / "g.jsonl", graphs, [[]])


def test_values_that_json_does_not_have(tmp_path):
    """Numbers of NumPy, sets, frames and graphs of networkx are written as what they hold."""
    frame = pd.DataFrame({"size": [1.5, 2.0], "name": ["a", "b"]})
    path = nx.path_graph(2)
    nx.set_node_attributes(path, {0: {"x": 1, "label": "A"}, 1: {"x": 2, "label": "B"}})
    graphs = [Graph([{"x": np.float32(1.5)}, {"y": {"a", "b"}}], []), Graph(frame, [[0, 1]])]
    write_graphs(tmp_path / "g.jsonl", graphs, [["A", np.str_("B")], None])
    first, second = read_graphs(tmp_path / "g.jsonl")
    assert first.graph.nodes == [{"x": 1.5}, {"y": ["a", "b"]}]
    assert (first.labels, second.labels) == (["A", "B"], None)
    assert second.graph.nodes == frame.to_dict("records")
    write_graphs(tmp_path / "g.jsonl", [path], "label")
    (record,) = read_graphs(tmp_path / "g.jsonl")
    assert (record.graph.nodes, record.labels) == ([{"x": 1}, {"x": 2}], ["A", "B"])
    for y, message in [([["A"], None], "graph 0 has 2 nodes but 1 labels"), ([{0: "A"}, None], "got dict")]:
        refuses(message, write_graphs, tmp_path / "h.jsonl", graphs, y)
    refuses("graph 0: Object of type complex", write_graphs, tmp_path / "h.jsonl", [Graph([{"x": 1j}], [])])
    assert not (tmp_path / "h.jsonl").exists()


def test_cells():
    (record,) = read({"cells": ["ab", "cd"], "labels": [[0, 1], [2, 3]], "neighbours": 8, "id": "x"})
    assert record.graph.nodes == ["a", "b", "c", "d"]
    assert record.graph.n_edges == 6
    assert record.labels == [0, 1, 2, 3]
    line = json.loads(labelled_line(record, [5, 6, 7, 8], {"p": [1, 2, 3, 4]}))
    assert (line["predicted"], line["p"], line["id"]) == ([[5, 6], [7, 8]], [[1, 2], [3, 4]], "x")
    (again,) = read(line)
    assert again.predicted == [5, 6, 7, 8]
    (numbers,) = read({"cells": [[0.5, 1], [2, 3]]})
    assert numbers.graph.nodes.tolist() == [[0.5], [1], [2], [3]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":2: not JSON"),
        ([], None),  # a JSON array of graphs: none
        ("3", ":2: expected an object, got int"),
        ({}, ":2: expected a key 'nodes' or 'cells', got no key"),
        ({"tokens": ["a"]}, ":2: expected a key 'nodes' or 'cells', got 'tokens'"),
        ({"nodes": ["a"], "edges": [[0, 1]]}, ":2: edge 0 links nodes 0 and 1, but its nodes are 0..0"),
        ({"nodes": ["a"], "labels": []}, ":2: 1 nodes, but 0 labels"),
        ({"nodes": ["a"], "labels": "A"}, ":2: labels must be a list, got str"),
        ({"nodes": ["a"], "neighbours": 4}, ":2: 'neighbours' does not go with 'nodes'"),
        ({"nodes": ["a"], "directed": 1}, ":2: directed must be true or false"),
        ({"cells": ["a"], "edges": []}, ":2: 'edges' does not go with 'cells'"),
        ({"cells": "ab"}, ":2: cells must be a list of rows, got str"),
        ({"cells": ["ab", "c"]}, ":2: cells must be"),
        ({"cells": ["ab"], "labels": [0, 1]}, ":2: labels must have one row per row of cells"),
        (
            {"cells": ["ab", "cd"], "labels": [[0], [1, 0, 1]]},
            ":2: labels must have the 2 × 2 shape of cells",
        ),
        ({"cells": ["ab"], "predicted": [[0, 1], [0]]}, ":2: predicted must have the 1 × 2 shape of cells"),
        ({"cells": ["ab"], "neighbours": 4.0}, ":2: neighbours must be 4 or 8, got 4.0"),
        ({"nodes": ["a", "b"], "edges": [["0", "1"]]}, ":2: edges must be integers"),
        ({"nodes": ["a", "b"], "edges": None}, ":2: edges must be integers"),
        ({"nodes": {"a": 1}}, ":2: nodes must be a list of items, .* got dict"),
        ({"cells": ["ab"], "neighbours": 5}, ":2: neighbours must be 4 or 8, got 5"),
    ],
)
def test_bad_lines(line, message):
    first = {"nodes": ["a"]}
    if message is None:
        assert len(read(first, json.dumps(line))) == 1
    else:
        refuses(message, read, first, line)
