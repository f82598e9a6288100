"""Small random graphs, encoded: attributes of nodes and edges, types, with or without direction."""

import numpy as np

from crfkit.data.encode import encode
from crfkit.data.graph_layout import edge_types_of, lay_out
from crfkit.data.graphs import Graph, items_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.potentials.graph_input import GraphInput
from crfkit.potentials.graphs import GraphFeatures
from crfkit.potentials.segments import Rows

SIZES = [4, 1, 0, 3]


def random_graphs(seed=0, sizes=SIZES, *, features=True, directed=True, width=3):
    """Return graphs with edges of two types; features have few values, so that edges are alike."""
    rng = np.random.default_rng(seed)
    graphs = []
    for n in sizes:
        pairs = [(a, b) if rng.random() < 0.5 else (b, a) for a in range(n) for b in range(a)]
        edges = [pair for pair in pairs if rng.random() < 0.7]
        rows = rng.integers(0, 2, (len(edges), 2)).astype(float)
        graphs.append(
            Graph(
                rng.integers(0, 2, (n, width)).astype(float),
                edges,
                edge_features=rows if features else None,
                edge_types=rng.choice(["x", "y"], len(edges)).tolist(),
                directed=directed,
            )
        )
    return graphs


def graph_input(graphs, *, ends=False):
    """Return encoded graphs."""
    nodes = encode([items_of(graph.nodes) for graph in graphs], Vocabulary(), grow=True)
    of_edges = None
    if any(graph.edge_features is not None for graph in graphs):
        of_edges = encode([items_of(graph.edge_features) for graph in graphs], Vocabulary(), grow=True)
    return GraphInput(lay_out(graphs, edge_types_of(graphs)), nodes, of_edges, ends)


def all_features(batch, n_labels):
    """Return a weight for every attribute of nodes and label, and of edges and pair of labels."""

    def rows(n, width):
        return Rows(np.arange(n + 1, dtype=np.int64) * width, np.tile(np.arange(width, dtype=np.int32), n))

    L, n = n_labels, batch.n_edge_attributes * batch.layout.n_types
    pairs = rows(n, L * L) if n else None
    return GraphFeatures(L, batch.layout.n_types, rows(batch.nodes.n_attributes, L), pairs)
