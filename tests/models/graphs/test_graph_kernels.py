"""Kernels on graphs: chains as paths, cliques of vertices and edges, graph kernels, files."""

import io

import networkx as nx
import numpy as np
import pytest
from model_files import saved
from random_graphs import random_graphs
from refusals import refuses, unreadable
from rings import ring_data
from scipy import sparse

import crfkit
from crfkit import Graph, GraphCRF, KernelCRF
from crfkit.datasets import gaussian_mixtures
from crfkit.exceptions import InputWarning
from crfkit.io import read_model, write_model
from crfkit.kernels import GraphKernel

pytest.importorskip("sklearn")
EDGES = KernelCRF(cliques="vertex+edge", n_cliques=40, gamma=0.5, reg=0.3)


@pytest.mark.parametrize("n_cliques", [None, 12])
def test_a_chain_is_a_path(n_cliques):
    """On paths the risk, the selected cliques and the probabilities are those of a chain."""
    points, states = gaussian_mixtures(10, 6, random_state=0)
    y = [["PQR"[state] for state in labels] for labels in states]
    paths = [Graph(x, [[t, t + 1] for t in range(len(x) - 1)]) for x in points]
    settings = {"n_cliques": n_cliques, "gamma": 0.5, "reg": 1.0, "tol": 1e-9, "refit_tol": 1e-6}
    chain = KernelCRF(**settings, per_round=4).fit(points, y)
    graph = GraphCRF(KernelCRF(**settings, per_round=4), training="likelihood").fit(paths, y)
    assert graph.objective_ == pytest.approx(chain.risk_, rel=1e-6)
    for a, b in zip(
        graph.predict_marginals(paths, as_arrays=True),
        chain.predict_marginals(points, as_arrays=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("training", ["auto", "tree-reweighted", "pseudo-likelihood"])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_help(training, directed):
    (X, y), (X_test, y_test) = ring_data(30, 0, directed), ring_data(30, 1, directed)
    vertices = GraphCRF(KernelCRF(n_cliques=20, gamma=0.5, reg=0.3), training=training, n_jobs=1).fit(X, y)
    edges = GraphCRF(EDGES, training=training, n_jobs=1).fit(X, y)
    assert edges.score(X_test, y_test) > max(0.85, vertices.score(X_test, y_test))
    assert "edges" in edges.tagger_.facts()["compared with"]
    risks = [record["objective"] for record in edges.history_]
    assert edges.objective_ <= min(risks) + 1e-6


def test_files_and_settings():
    X, y = ring_data(20, 2)
    model = GraphCRF(EDGES, n_jobs=1, ends=True, class_weight={"A": 2.0}).fit(X, y, sample_weight=[1.0] * 20)
    again = crfkit.load(saved(model), n_jobs=1)
    assert repr(again) == repr(model)
    assert again.predict_marginals(X) == model.predict_marginals(X)
    assert model.explain(X[:1])[0][0].reasons
    chosen = GraphCRF("kernel", n_jobs=1).fit(X, y)  # gamma and reg by held-out graphs
    assert chosen.score(X, y) > 0.7
    header, arrays = read_model(saved(model))
    for key, value, message in [
        ("kernels", None, "its kernels are malformed"),
        ("ends", False, "columns"),
    ]:
        file = io.BytesIO()
        write_model(file, {**header, key: value}, arrays)
        unreadable(message, GraphCRF.load, file.getvalue())


@pytest.mark.parametrize("gamma", ["median", "scale"])
def test_types_of_edges_do_not_change_the_bandwidth(gamma):
    """Edges of different types are far apart if features are far from 0; the bandwidth must not follow."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(12):
        nodes = rng.normal(size=(6, 2))
        types = rng.choice(["p", "q"], 5).tolist()
        X.append(Graph(nodes, [[t, t + 1] for t in range(5)], edge_types=types))
        y.append(["AB"[k] for k in np.cumsum(nodes[:, 0] > 0) % 2])  # a positive node changes the label
    settings = KernelCRF(cliques="vertex+edge", n_cliques=20, gamma=gamma, reg=0.1)

    def gammas(graphs):
        terms = GraphCRF(settings, n_jobs=1).fit(graphs, y).tagger_.part.potential.terms
        assert any(term.edge is not None for term in terms)
        return [term.kernel.gamma for term in terms]

    one_type = [Graph(graph.nodes, graph.edges) for graph in X]
    assert gammas(X) == pytest.approx(gammas(one_type))
    moved = [Graph(graph.nodes + 100, graph.edges, edge_types=graph.edge_types) for graph in X]
    assert gammas(moved) == pytest.approx(gammas(X))


@pytest.mark.parametrize("settings", [EDGES, KernelCRF(n_cliques=40, gamma=0.5, reg=0.3)])
def test_a_dev_set(settings):
    (X, y), (X_dev, y_dev) = ring_data(20, 5), ring_data(15, 6)
    model = GraphCRF(settings, patience=2, n_jobs=1).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    best = max(model.history_, key=lambda record: record["dev_log_likelihood"])
    assert best["dev_accuracy"] == pytest.approx(model.score(X_dev, y_dev), abs=0.03)
    assert best["dev_log_likelihood"] < 0


def test_attributes_with_names_are_columns():
    """Words, dicts and networkx graphs are compared as the columns that a linear model gives weights."""
    arrays = random_graphs(3, [4, 3, 5])
    y = [["AB"[int(row[0])] for row in graph.nodes] for graph in arrays]

    def named(rows):
        return [{f"x{k}": value for k, value in enumerate(row)} for row in rows]

    dicts = [Graph(named(g.nodes), g.edges, named(g.edge_features), g.edge_types, g.directed) for g in arrays]
    settings = KernelCRF(cliques="vertex+edge", n_cliques=10, gamma=0.5, reg=0.3)
    by_column, by_name = (
        GraphCRF(settings, n_jobs=1).fit(arrays, y),
        GraphCRF(settings, n_jobs=1).fit(dicts, y),
    )
    assert by_name.objective_ == pytest.approx(by_column.objective_)
    assert by_name.predict(dicts) == by_column.predict(arrays)
    assert crfkit.load(saved(by_name)).predict_marginals(dicts) == by_name.predict_marginals(dicts)
    club = nx.path_graph(4)
    nx.set_node_attributes(club, {v: {"colour": "rb"[v % 2], "label": v % 2} for v in club})
    model = GraphCRF(KernelCRF(gamma=0.5, reg=0.1, n_cliques=None)).fit([club], "label")
    assert model.predict([club]) == [[0, 1, 0, 1]]
    with pytest.warns(InputWarning, match="no attribute that the model knows .such as 'colour:r'"):
        model.predict([nx.path_graph(3)])


def test_a_graph_kernel_learns_from_unlabelled_graphs():
    X, y = ring_data(30, 3)
    kernel = GraphKernel(8, n_eigenvectors=20)
    few = [labels if i < 8 else None for i, labels in enumerate(y)]
    model = GraphCRF(KernelCRF(kernel=None, graph=kernel, n_cliques=20, reg=0.1), n_jobs=1).fit(X, few)
    assert model.score(X[8:], y[8:]) > 0.75
    assert crfkit.load(saved(model)).predict(X) == model.predict(X)


def test_bad_input():
    X, y = ring_data(6, 4)
    refuses("kernel='precomputed' does not go with graphs", GraphCRF(KernelCRF("precomputed")).fit, X, y)
    refuses("nodes have no features", GraphCRF(EDGES).fit, [Graph(np.ones((2, 0)), [[0, 1]])], [["A", "B"]])
    many = Graph(sparse.csr_matrix((2, 1 << 27)), [])
    refuses("2 nodes with 134,217,728 attributes are more than", GraphCRF(EDGES).fit, [many], [["A", "B"]])
    refuses("n_cliques must be", GraphCRF(KernelCRF(n_cliques=0)).fit, X, y)
    model = GraphCRF(EDGES, n_jobs=1).fit(X, y)
    refuses("X has 2 columns, but 1 were expected", model.predict, [Graph(np.ones((1, 2)), [])])
    for setting in ({"decode": "viterbi"}, {"boundary_gain": 0.5}, {"class_weight": {"A": 2.0}}):
        (name,) = setting
        refuses(f"KernelCRF: {name} has no effect on graphs", GraphCRF(KernelCRF(**setting)).fit, X, y)
    rows = [Graph(sparse.csr_matrix(graph.nodes), graph.edges, graph.edge_features) for graph in X]
    assert model.predict(rows) == model.predict(X)
