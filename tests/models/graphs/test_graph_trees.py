"""Boosted trees on graphs: what is not linear, edges with and without direction, mixed columns, files."""

import io

import numpy as np
import pytest
from model_files import saved
from random_graphs import random_graphs
from refusals import refuses, unreadable
from rings import ring_data

import crfkit
from crfkit import Graph, GraphCRF, TreeCRF, grid
from crfkit.data.graph_layout import edge_types_of, lay_out
from crfkit.data.tables import Table
from crfkit.datasets import snakes
from crfkit.exceptions import ConvergenceWarning
from crfkit.inference.graph_scores import GraphGradient, graph_labelling_score
from crfkit.io import read_model, write_model
from crfkit.potentials.edge_tables import EdgeTables, GivenScores, typed_topology
from crfkit.potentials.graph_table import GraphTable

pytest.importorskip("lightgbm")
SETTINGS = TreeCRF(n_iterations=25, min_samples_leaf=5, n_jobs=1)


@pytest.mark.parametrize("training", ["auto", "tree-reweighted", "pseudo-likelihood"])
@pytest.mark.parametrize(("ends", "directed"), [(False, True), (True, False)])
def test_trees_learn_what_is_not_linear(training, ends, directed):
    (X, y), (X_test, y_test) = ring_data(40, 0, directed), ring_data(40, 1, directed)
    trees = GraphCRF(SETTINGS, training=training, ends=ends, n_jobs=1).fit(X, y)
    linear = GraphCRF(training=training, ends=ends, n_jobs=1).fit(X, y)
    assert trees.score(X_test, y_test) > max(0.8, linear.score(X_test, y_test))
    values = [record["objective"] for record in trees.history_]
    assert values[-1] < values[0]
    assert trees.objective_ < values[-1]
    assert trees.n_iter_ == 25


@pytest.mark.parametrize("training", ["tree-reweighted", "pseudo-likelihood"])
def test_rounds_never_raise_the_objective(training):
    """Many labels and sure edges make Newton's steps too long: they are shortened."""
    cells, labels = snakes(25, random_state=0)
    X = [grid(np.stack([one == c for c in "rgyc"], axis=-1).astype(float)) for one in cells]
    trees = TreeCRF(n_iterations=12, learning_rate=0.5, min_samples_leaf=3, n_jobs=1)
    model = GraphCRF(trees, training=training, ends=True, n_jobs=1).fit(X, [one.ravel() for one in labels])
    values = [*(record["objective"] for record in model.history_), model.objective_]
    assert max(np.diff(values)) < 1e-3 * values[0]
    assert min(record["step"] for record in model.history_) < 1


def test_files_explanations_and_weights():
    X, y = ring_data(20, 2)
    model = GraphCRF(SETTINGS, n_jobs=1).fit(X, y, sample_weight=[1.0] * 20)
    again = crfkit.load(saved(model), n_jobs=1)
    assert repr(again) == repr(model)
    assert again.predict_marginals(X) == model.predict_marginals(X)
    assert model.predict_marginals(X) == GraphCRF(SETTINGS, n_jobs=1).fit(X, y).predict_marginals(X)
    scores, _ = next(model.tagger_.pieces(X[:1]))
    (decisions,) = model.explain(X[:1])
    labels = np.array([model.classes_.index(one.label) for one in decisions], np.int32)
    other = labels.copy()
    other[0] = 1 - other[0]
    difference = graph_labelling_score(scores, labels) - graph_labelling_score(scores, other)
    assert decisions[0].log_odds == pytest.approx(float(difference[0]))
    header, arrays = read_model(saved(model))
    for key, value, message in [
        ("potential", "magic", "unknown potential: 'magic'"),
        ("node_columns", None, "its columns are malformed"),
        ("tables", np.zeros((2, 2, 2)), "expected an array 'tables'"),
        ("edges.trees.feature", np.full_like(arrays["edges.trees.feature"], 9), "do not fit together"),
    ]:
        file = io.BytesIO()
        changed = key in arrays
        write_model(
            file, header if changed else {**header, key: value}, {**arrays, key: value} if changed else arrays
        )
        unreadable(message, GraphCRF.load, file.getvalue())


def test_mixed_columns_missing_values_and_a_dev_set():
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(30):
        labels = rng.integers(0, 2, 4)
        nodes = [
            {"colour": "red" if label else "blue"} if rng.random() < 0.7 else {"size": float(label)}
            for label in labels
        ]
        X.append(Graph(nodes, [[0, 1], [1, 2], [2, 3]], edge_types=["p", "q", "p"]))
        y.append(["AB"[label] for label in labels])
    model = GraphCRF("trees", patience=3, n_jobs=1, ends=True)
    model.fit(X[10:], y[10:], X_dev=X[:10], y_dev=y[:10])
    assert max(record["dev_accuracy"] for record in model.history_) == 1
    assert model.n_iter_ < 100
    assert model.score(X, y) > 0.95
    assert GraphCRF("trees", class_weight={"A": 5.0}, n_jobs=1).fit(X[:9], y[:9]).classes_ == ["A", "B"]
    with pytest.warns(UserWarning, match="has only missing values"):
        model.predict([Graph([{"colour": "green"}], [])])
    refuses("feature 'size' held numbers", model.predict, [Graph([{"size": "large", "colour": "red"}], [])])
    refuses("potential must be", GraphCRF("forest").fit, X, y)
    refuses("n_leaves must be", GraphCRF(TreeCRF(n_leaves=1)).fit, X, y)


@pytest.mark.parametrize(("ends", "directed"), [(False, True), (False, False), (True, True), (True, False)])
def test_rows_of_edges_and_tables_are_adjoint(ends, directed):
    """Scores of edges are linear in those of rows, and in tables: the gradients are the adjoints."""
    graphs, rng, L = random_graphs(4, directed=directed), np.random.default_rng(5), 2
    layout = lay_out(graphs, edge_types_of(graphs))

    def table(parts, offsets):
        values = np.concatenate(parts)
        return Table(values, np.full(values.shape[1], np.nan), offsets)

    batch = GraphTable(
        layout,
        table([graph.nodes for graph in graphs], layout.offsets),
        table([graph.edge_features for graph in graphs], layout.edge_offsets),
        ends,
    )
    rows = rng.normal(size=(len(batch.edge_rows.values), L * L))
    edge, d = batch.per_edge(rows), rng.normal(size=(layout.n_edges, L, L))
    assert (edge * d).sum() == pytest.approx((rows * batch.per_row(d)).sum())
    if not directed and not ends:
        np.testing.assert_allclose(edge, edge.transpose(0, 2, 1))
    if not directed and ends:  # exchanging the nodes of an edge transposes its scores
        for graph in graphs:
            graph.edges[:] = graph.edges[:, ::-1]
        other = GraphTable(lay_out(graphs, edge_types_of(graphs)), batch.nodes, batch.of_edges, ends)
        E = layout.n_edges
        np.testing.assert_array_equal(other.edge_rows.values[:E], batch.edge_rows.values[E:])
    node = np.zeros((layout.n_positions, L))
    for given in (
        GivenScores(layout, node, None, typed_topology(layout)),
        GivenScores(layout, node, edge, batch.topology),
    ):
        tables = EdgeTables(rng.normal(size=(layout.n_types, L, L)))
        none = EdgeTables(np.zeros_like(tables.tables))
        added = tables.scores(given).edge - none.scores(given).edge
        d = rng.normal(size=added.shape)
        found = tables.backward(given, GraphGradient(node, d))
        assert found @ tables.tables.reshape(-1) == pytest.approx((added * d).sum())


def test_settings_without_effect_are_refused():
    X, y = ring_data(6, 4)
    for name, value in {"window": 5, "order": 2, "early_stopping": 3, "categorical": [0], "by": 0}.items():
        refuses(
            f"TreeCRF: {name} has no effect on graphs: leave it out",
            GraphCRF(TreeCRF(**{name: value})).fit,
            X,
            y,
        )
    trees = TreeCRF(n_iterations=1, class_weight="balanced")
    refuses(r"give GraphCRF.class_weight=…", GraphCRF(trees).fit, X, y)
    GraphCRF(trees, class_weight="balanced").fit(X, y)


def test_the_seed_is_that_of_either_estimator():
    X, y = ring_data(30, 4)
    settings = {"n_iterations": 3, "subsample": 0.5}
    first = GraphCRF(TreeCRF(**settings), random_state=1, n_jobs=1).fit(X, y)
    same = GraphCRF(TreeCRF(**settings, random_state=1), n_jobs=1).fit(X, y)
    other = GraphCRF(TreeCRF(**settings), random_state=2, n_jobs=1).fit(X, y)
    assert first.objective_ == same.objective_ != other.objective_


def test_a_model_without_trees_is_warned_of():
    X, y = ring_data(1, 5)
    with pytest.warns(ConvergenceWarning, match="the model has no trees, and ignores X"):
        model = GraphCRF(TreeCRF(min_samples_leaf=5), n_jobs=1).fit(X, y)
    assert model.n_iter_ == 0
