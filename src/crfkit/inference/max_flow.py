"""The best labelling of graphs with two labels whose edges prefer equal ones, by a minimum cut.

D. M. Greig, B. T. Porteous and A. H. Seheult, "Exact maximum a posteriori estimation for binary images",
1989. Edges prefer equal labels if edge[0, 0] + edge[1, 1] >= edge[0, 1] + edge[1, 0] (submodular costs).
PyMaxflow finds the cut; without it, ``inference.graphs`` uses its other methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.inference.graph_scores import GraphScores
from crfkit.optional import find


def best_by_max_flow(scores: GraphScores, graphs: IntArray, labels: IdArray) -> IntArray:
    """Write the best labels of those of the graphs to which this applies, and return which these are."""
    if scores.n_labels != 2 or len(graphs) == 0:
        return graphs[:0]
    able = graphs[_submodular(scores)[graphs]]
    library = find("maxflow") if len(able) else None
    if library is None:
        return graphs[:0]
    topology = scores.topology
    for i in able:
        first, last = topology.offsets[i : i + 2]
        edges = slice(*topology.edge_offsets[i : i + 2])
        labels[first:last] = _cut(
            library,
            scores.node[first:last],
            topology.edges[edges] - first,
            scores.edge[edges if topology.kinds is None else topology.kinds[edges]],
        )
    return able


def _submodular(scores: GraphScores) -> BoolArray:
    """Return which graphs [N] have only finite scores, and edges that prefer equal labels."""
    topology, edge = scores.topology, scores.edge
    finite = np.isfinite(edge).all(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        fits = finite & (edge[:, 0, 0] + edge[:, 1, 1] >= edge[:, 0, 1] + edge[:, 1, 0])
    by_edge = fits if topology.kinds is None else fits[topology.kinds]
    good = np.ones(scores.n_sequences, np.bool_)
    good[np.repeat(np.arange(len(good)), np.diff(topology.edge_offsets))[~by_edge]] = False
    by_node = np.isfinite(scores.node).all(axis=1)
    good[np.repeat(np.arange(len(good)), np.diff(topology.offsets))[~by_node]] = False
    return good


def _cut(library: Any, node: FloatArray, edges: IdArray, tables: FloatArray) -> BoolArray:
    """Return labels [V] of one graph: edges [E, 2], tables [E, 2, 2].

    Costs are negative scores. An edge with costs A, B, C, D of 00, 01, 10, 11 is C - A for a first end of 1,
    D - C for a second end of 1, and B + C - A - D >= 0 for the pair 01 (Kolmogorov and Zabih, 2004).
    """
    A, B, C, D = -tables.reshape(-1, 4).T
    of_one = node[:, 0] - node[:, 1]  # cost of label 1, minus that of label 0
    np.add.at(of_one, edges[:, 0], C - A)
    np.add.at(of_one, edges[:, 1], D - C)
    graph = library.Graph[float](len(node), len(edges))
    nodes = graph.add_nodes(len(node))
    graph.add_edges(edges[:, 0], edges[:, 1], np.maximum(B + C - A - D, 0), np.zeros(len(edges)))
    graph.add_grid_tedges(nodes, np.maximum(of_one, 0), np.maximum(-of_one, 0))
    graph.maxflow()
    labels: BoolArray = graph.get_grid_segments(nodes)
    return labels
