"""The linear potential of graphs: scores against the formula, kinds of edges, gradients as adjoints."""

from itertools import product

import numpy as np
import pytest
from random_graphs import all_features, graph_input, random_graphs

from crfkit.inference.graph_scores import GraphGradient
from crfkit.potentials.graphs import GraphPotential

L = 3
CASES = list(product((False, True), repeat=3))  # features of edges, ends, directed


def made(features, ends, directed):
    graphs = random_graphs(1, features=features, directed=directed)
    batch = graph_input(graphs, ends=ends)
    potential = GraphPotential(all_features(batch, L))
    potential.vector = np.random.default_rng(2).normal(size=potential.n_parameters)
    return graphs, batch, potential


def formula(potential, graph, batch, first, e, exchanged=False):
    """Return the score [L, L] of an edge by the formula, with its ends exchanged if asked for."""
    weights = potential.weights
    r = int(batch.layout.types[first + e])
    a, b = graph.edges[e][::-1] if exchanged else graph.edges[e]
    row = [] if graph.edge_features is None else graph.edge_features[e].tolist()
    if batch.ends:
        row += [*graph.nodes[a], *graph.nodes[b]]
    table = weights.edge[r].copy()
    pairs = weights.pair.reshape(-1, batch.layout.n_types, L, L)
    for value, own in zip(row, pairs, strict=True) if row else ():
        table += value * own[r]
    return table


@pytest.mark.parametrize(("features", "ends", "directed"), CASES)
def test_scores(features, ends, directed):
    graphs, batch, potential = made(features, ends, directed)
    scores, weights = potential.scores(batch, n_jobs=1), potential.weights
    nodes = np.concatenate([graph.nodes for graph in graphs])
    np.testing.assert_allclose(scores.node, weights.bias + nodes @ weights.state.reshape(-1, L))
    tables = scores.edge[scores.topology.tables]
    for i, graph in enumerate(graphs):
        first = int(batch.layout.edge_offsets[i])
        for e in range(graph.n_edges):
            expected = formula(potential, graph, batch, first, e)
            if not directed:
                expected = (expected + formula(potential, graph, batch, first, e, exchanged=True).T) / 2
            np.testing.assert_allclose(tables[first + e], expected, atol=1e-12)
    if not directed and not features:  # the order of the two nodes makes no difference
        for graph in graphs:
            graph.edges[:] = graph.edges[:, ::-1]
        other = potential.scores(graph_input(graphs, ends=ends), n_jobs=1)
        np.testing.assert_allclose(other.edge[other.topology.tables], tables.transpose(0, 2, 1), atol=1e-12)


@pytest.mark.parametrize(("features", "ends", "directed"), CASES)
def test_the_gradient_is_the_adjoint(features, ends, directed):
    """Scores are linear in w: ⟨d, scores(w)⟩ = ⟨backward(d), w⟩ for every w."""
    _, batch, potential = made(features, ends, directed)
    scores, rng = potential.scores(batch), np.random.default_rng(3)
    d = GraphGradient(rng.normal(size=scores.node.shape), rng.normal(size=scores.edge.shape))
    total = (d.node * scores.node).sum() + (d.edge * scores.edge).sum()
    assert potential.backward(batch, d) @ potential.vector == pytest.approx(total)


def test_edges_that_are_alike_are_one_kind():
    graphs = random_graphs(4, [6, 6, 6], width=1)
    batch = graph_input(graphs)
    assert len(batch.kinds.types) <= 8 < batch.layout.n_edges  # 2 types, 4 rows of features
    part = batch.subset([2, 0])
    potential = GraphPotential(all_features(batch, L), None)
    potential.vector = np.random.default_rng(0).normal(size=potential.n_parameters)
    whole, some = potential.scores(batch), potential.scores(part)
    bounds = batch.layout.edge_offsets
    kept = np.r_[bounds[2] : bounds[3], bounds[0] : bounds[1]]
    expected = whole.edge[whole.topology.tables[kept]]
    np.testing.assert_allclose(some.edge[some.topology.tables], expected)
