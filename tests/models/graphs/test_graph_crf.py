"""GraphCRF: training, predictions against enumeration, partial labels, weights, files, bad input."""

import io
import pickle

import networkx as nx
import numpy as np
import pytest
from model_files import saved
from random_graphs import random_graphs
from refusals import refuses, unreadable
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

import crfkit
from crfkit import CRF, Graph, GraphCRF, grid
from crfkit.exceptions import InputError, InputWarning, NoPathError
from crfkit.inference import Constraints, Graphs
from crfkit.inference.graph_scores import graph_labelling_score
from crfkit.io import read_model, write_model

RNG = np.random.default_rng(0)


def noisy_grids(n, shape=(2, 3)):
    """Return grids whose rows have one label each, and noisy pictures of them."""
    X, y = [], []
    for _ in range(n):
        true = np.repeat(RNG.integers(0, 2, (shape[0], 1)), shape[1], axis=1)
        X.append(grid(np.stack([true + RNG.normal(0, 0.7, shape), RNG.normal(size=shape)], axis=-1)))
        y.append([["P", "Q"][label] for label in true.ravel()])
    return X, y


X, Y = noisy_grids(12)
SETTINGS = {
    "plain": {},
    "ends": {"ends": True, "c2": 0.3},
    "sparse": {"c1": 0.2, "c2": 0.0, "decode": "best"},
    "pseudo": {"training": "pseudo-likelihood", "class_weight": {"P": 2.0}},
    "surrogate": {"training": "tree-reweighted", "inference": "trw"},
}


@pytest.fixture(scope="module", params=SETTINGS)
def model(request):
    return GraphCRF(**SETTINGS[request.param]).fit(X, Y)


def labellings(scores):
    """Return all labellings of the first graph with their probabilities."""
    n = int(scores.offsets[1])
    ids = np.array(list(np.ndindex((2,) * n)), np.int32)
    rest = np.zeros(scores.n_positions - n, np.int32)
    total = np.array([graph_labelling_score(scores, np.concatenate([y, rest]))[0] for y in ids])
    return ids, np.exp(total - np.logaddexp.reduce(total))


def test_exact_answers_are_those_of_enumeration():
    model = GraphCRF(ends=True, c2=0.3).fit(X, Y)
    best = clone(model).set_params(decode="best").fit(X, Y)
    scores, _ = next(model.tagger_.pieces(X))
    ids, p = labellings(scores)
    expected = np.stack([p @ (ids == label) for label in range(2)], axis=1)
    np.testing.assert_allclose(model.predict_marginals(X, as_arrays=True)[0], expected, atol=1e-9)
    assert model.predict(X)[0] == ["PQ"[label] for label in expected.argmax(axis=1)]
    assert model.predict_posterior(X) == model.predict(X)
    assert best.predict(X)[0] == ["PQ"[label] for label in ids[p.argmax()]]
    first = model.predict_marginals(X)[0][0]
    assert first == {"P": pytest.approx(expected[0, 0]), "Q": pytest.approx(expected[0, 1])}


def test_what_was_maximised_is_named():
    wide = grid(RNG.normal(size=(30, 30)))
    small, y = Graph(np.eye(1), []), [["P", "Q"] * 450, ["P"]]
    settings = {"max_iterations": 1, "tol": 1}
    with pytest.warns(UserWarning, match="stopped before it converged"):
        mixed = GraphCRF(**settings).fit([wide, small], y)
    assert mixed.maximised_.startswith("tree-reweighted surrogate")
    assert mixed.maximised_.endswith("; likelihood of 1 of 2 graphs")
    assert GraphCRF(**SETTINGS["pseudo"]).fit(X, Y).maximised_ == "pseudo-likelihood"
    assert GraphCRF().fit(X, Y).maximised_ == "likelihood"
    hint = "width 30.*use 'auto' or 'trw' .'tree-reweighted' in training. instead"
    refuses(hint, GraphCRF(training="likelihood").fit, [wide], y[:1])
    exact = GraphCRF(inference="exact").fit(X, Y)
    refuses(hint, exact.predict, [grid(np.zeros((30, 30, 2)))])


def test_training_learns_the_rows(model):
    assert model.converged_
    assert model.classes_ == ["P", "Q"]
    assert model.score(X, Y) > 0.85
    assert model.score(X, [[None] * 6, *Y[1:]]) > 0.85


def test_a_chain_is_a_graph():
    """A path with the features of a chain and its penalties has the chain's probabilities."""
    sequences = [RNG.normal(size=(n, 2)) for n in (4, 3, 5, 1)]
    y = [["AB"[int(x[0] > 0)] for x in sequence] for sequence in sequences]
    one = np.ones((1, 1))
    with_bias = [np.hstack([x, np.repeat(one, len(x), axis=0)]) for x in sequences]
    every = {"all_possible_states": True, "all_possible_transitions": True}
    chain = CRF(c2=0.5, tol=1e-10, algorithm="lbfgs", **every).fit(with_bias, y)
    paths = [Graph(x, [[t, t + 1] for t in range(len(x) - 1)]) for x in sequences]
    graph = GraphCRF(c2=0.5, tol=1e-10).fit(paths, y)  # has a bias of its own
    assert graph.objective_ == pytest.approx(chain.objective_, rel=1e-6)
    for a, b in zip(
        graph.predict_marginals(paths, as_arrays=True),
        chain.predict_marginals(with_bias, as_arrays=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_files_and_pickles(model, tmp_path):
    model.save(tmp_path / "model.crfkit")
    for again in (
        GraphCRF.load(tmp_path / "model.crfkit"),
        crfkit.load(saved(model)),
        pickle.loads(pickle.dumps(model)),
    ):
        assert repr(again) == repr(model)
        assert again.predict(X) == model.predict(X)
        assert again.predict_marginals(X) == model.predict_marginals(X)
        assert (again.objective_, again.n_iter_) == (model.objective_, model.n_iter_)
        assert again.maximised_ == model.maximised_
    assert "graph CRF" in crfkit.models.fitted_facts.fitted_facts(model)["kind"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("edge_types", "right", "its types of edges are malformed"),
        ("edge_types", ["right", "right"], "its types of edges are malformed"),
        ("ends", 3, "its types of edges are malformed"),
        ("ends", True, "pair.indptr|no features of edges"),
        ("inference", "magic", "unknown method of inference: 'magic'"),
        ("decode", None, "unknown method of inference: 'auto', 'None'"),
        ("inference", [], "unknown method of inference"),
        ("potential", {}, "unknown potential"),
        ("weights", np.full(14, 1e10), "weights above 1e.09 in size"),
        ("weights", np.zeros(3), "expected an array 'weights'"),
        ("state.ids", np.full(4, 9, np.int32), "its list of features does not fit together"),
    ],
)
def test_damaged_files(key, value, message):
    with pytest.warns(UserWarning, match="stopped before it converged"):
        model = GraphCRF(max_iterations=1).fit(X, Y)
    header, arrays = read_model(saved(model))
    changed = {**header, key: value}, arrays
    if isinstance(value, np.ndarray):
        changed = header, {**arrays, key: value}
    file = io.BytesIO()
    write_model(file, *changed)
    unreadable(message, GraphCRF.load, file.getvalue())


def test_partial_labels():
    gaps = [[None, {"P", "Q"}, *labels[2:]] for labels in Y]
    sets = GraphCRF().fit(X, [[{label} for label in labels] for labels in Y])
    assert sets.predict_marginals(X) == GraphCRF().fit(X, Y).predict_marginals(X)
    for training in ("auto", "pseudo-likelihood"):
        found = GraphCRF(training=training).fit(X, gaps)
        assert found.score(X, Y) > 0.8
    whole = GraphCRF().fit(X, [None, *Y[1:]])
    assert whole.objective_ == pytest.approx(GraphCRF().fit(X[1:], Y[1:]).objective_, rel=1e-4)


@pytest.mark.parametrize("training", ["auto", "pseudo-likelihood"])
def test_sample_weight_is_repetition(training):
    counts = [1, 2, 3, *[1] * (len(X) - 3)]
    repeated = [i for i, n in enumerate(counts) for _ in range(n)]
    one = GraphCRF(training=training, tol=1e-8).fit(X, Y, sample_weight=counts)
    two = GraphCRF(training=training, tol=1e-8).fit([X[i] for i in repeated], [Y[i] for i in repeated])
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)


def test_known_labels_and_constraints(model):
    known = [[None] * 6 for _ in X]
    assert model.predict(X, known=known) == model.predict(X)
    assert model.predict(X, known=Y) == Y
    known[0][0] = "Q"
    assert model.predict_marginals(X, known=known)[0][0] == {"P": 0, "Q": pytest.approx(1)}
    mask = np.ones((72, 2), bool)
    mask[:6, 1] = False
    assert model.predict(X, constraints=Constraints(positions=mask))[0] == ["P"] * 6
    mask[0] = False
    with pytest.raises(NoPathError):
        model.predict(X, constraints=Constraints(positions=mask))
    bad = [["Z"] * 6, *[[None] * 6] * 11]
    refuses("graph 0, node 0: label 'Z' is not among the 2 known", model.predict, X, known=bad)
    refuses(
        "only constraints on single nodes",
        model.predict,
        X,
        constraints=Constraints(transitions=np.eye(2, dtype=bool)),
    )


def test_scores_for_other_inference():
    model = GraphCRF(ends=True).fit(X, Y)
    scores = model.graph_scores(X)
    found = Graphs("exact").infer(scores)
    assert found.kind == ["exact"] * len(X)
    np.testing.assert_allclose(found.node, np.concatenate(model.predict_marginals(X, as_arrays=True)))
    np.testing.assert_allclose(found.edge.sum(axis=2), found.node[scores.topology.edges[:, 0]])


def test_plots():
    pytest.importorskip("matplotlib")
    model = GraphCRF().fit(X, Y)
    drawn = model.plot_transitions(edge_type="down").images[0].get_array()
    np.testing.assert_allclose(drawn, model.tagger_.part.tables[0])
    refuses("edge_type must be a type of training, down, right; got None", model.plot_transitions)
    assert model.plot_confusion(X, Y).images
    untyped = [Graph(graph.nodes, graph.edges) for graph in X]
    assert GraphCRF().fit(untyped, Y).plot_transitions().images


def test_pieces_do_not_matter(model, monkeypatch):
    whole = model.predict_marginals(X, as_arrays=True)
    monkeypatch.setattr(type(model.tagger_), "piece_scores", 30)
    assert sum(1 for _ in model.tagger_.pieces(X)) > 1
    for a, b in zip(model.predict_marginals(X, as_arrays=True), whole, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_messages_of_later_pieces_have_the_number_of_the_graph(monkeypatch):
    model, exact = GraphCRF().fit(X, Y), GraphCRF(inference="exact").fit(X, Y)
    monkeypatch.setattr(type(model.tagger_), "piece_scores", 30)
    refuses("graph 12 has width 30", exact.predict, [*X, grid(np.zeros((30, 30, 2)))])
    huge = [*X, grid(np.full((2, 2, 2), 1e300))]
    refuses("at most 1e.09 in size, .* in graph 12 at node 0", model.predict, huge)
    mask = np.ones((72, 2), bool)
    mask[-1] = False
    with pytest.raises(NoPathError, match="no permitted labelling of graph 11: at its node 5") as caught:
        model.predict(X, constraints=Constraints(positions=mask))
    assert caught.value.sequence == 11


def test_dev_set_and_search():
    model = GraphCRF(patience=2).fit(X[4:], Y[4:], X_dev=X[:4], y_dev=Y[:4])
    assert 0 < max(record["dev_accuracy"] for record in model.history_) <= 1
    refuses("X_dev and y_dev go together", GraphCRF().fit, X, Y, X_dev=X)
    assert GraphCRF().fit(X, Y, X_dev=X[:1], y_dev=[["Z"] * 6]).history_[0]["dev_accuracy"] == 0
    for dev, message in [
        (Graph(np.ones((1, 3)), []), "in the dev set: X has 3 columns"),
        (Graph(np.ones((2, 2)), [[0, 1]], edge_types=["up"]), "in the dev set: graph 0: the model knows no"),
    ]:
        refuses(message, GraphCRF().fit, X, Y, X_dev=[dev], y_dev=[["P"] * len(dev)])
    wider = [Graph(np.ones((1, 3)), [])]
    for potential in ("trees", "kernel"):
        words = "in the dev set: X has 3 columns"
        refuses(words, GraphCRF(potential).fit, X, Y, X_dev=wider, y_dev=[["P"]])
    refuses(
        "in the dev set: graph 0 has 6 nodes but 1 labels", GraphCRF().fit, X, Y, X_dev=X[:1], y_dev=[["P"]]
    )
    search = GridSearchCV(GraphCRF(), {"c2": [0.1, 1.0]}, cv=KFold(2)).fit(X, Y)
    assert search.best_score_ > 0.6


def test_explanations_add_up():
    model = GraphCRF(ends=True).fit(X, Y)
    scores, _ = next(model.tagger_.pieces(X[:1]))
    (decisions,) = model.explain(X[:1])
    labels = np.array([model.classes_.index(one.label) for one in decisions], np.int32)
    for v, decision in enumerate(decisions):
        other = labels.copy()
        other[v] = model.classes_.index(decision.rival)
        difference = graph_labelling_score(scores, labels) - graph_labelling_score(scores, other)
        assert decision.log_odds == pytest.approx(float(difference[0]))
    names = {reason.what for decision in decisions for reason in decision.reasons}
    assert any(name.startswith("right → 1") for name in names)


def test_checkpoint(tmp_path):
    path = tmp_path / "part"
    model = GraphCRF(max_iterations=3, tol=1e-9)
    with pytest.warns(UserWarning, match="stopped before it converged"):
        model.fit(X, Y, checkpoint=crfkit.Checkpoint(path, 0, keep=True))
    longer = GraphCRF(max_iterations=3, tol=1e-9)
    with pytest.warns(UserWarning, match="stopped before it converged"):
        longer.fit(X, Y, checkpoint=crfkit.Checkpoint(path, 0, resume=True))
    assert longer.predict_marginals(X) == model.predict_marginals(X)


# ---- forms of input


def test_nodes_in_every_form_give_the_same_model():
    arrays = random_graphs(3, [4, 3, 5], features=True)
    y = [["AB"[int(row[0])] for row in graph.nodes] for graph in arrays]

    def other(nodes, edges):
        return [
            Graph(nodes(g.nodes), g.edges, edges(g.edge_features), g.edge_types, g.directed) for g in arrays
        ]

    def names(rows):
        return [[f"{k}" for k in np.flatnonzero(row)] for row in rows]

    reference = GraphCRF(all_possible_features=True).fit(arrays, y)
    for graphs in (
        other(sparse.csr_matrix, sparse.csr_matrix),
        other(np.ndarray.tolist, np.ndarray.tolist),
        other(names, names),
    ):
        model = GraphCRF(all_possible_features=True).fit(graphs, y)
        assert model.objective_ == pytest.approx(reference.objective_)
        assert model.predict(graphs) == reference.predict(arrays)


def test_networkx_graphs():
    graph = nx.path_graph(["u", "v", "w", "x"])
    for k, node in enumerate(graph):
        graph.nodes[node].update(colour="rb"[k % 2], label=k % 2)
    by_name = GraphCRF(c2=0.1).fit([graph], "label")
    assert by_name.predict([graph]) == [[0, 1, 0, 1]]
    assert by_name.score([graph], "label") == 1
    assert GraphCRF.load(saved(by_name)).predict([graph]) == [[0, 1, 0, 1]]
    bare = graph.copy()
    for node in bare:
        del bare.nodes[node]["label"]
    by_dict = GraphCRF(c2=0.1).fit([bare], [{"x": 1, "v": 1, "w": 0, "u": 0}])
    assert by_dict.predict_marginals([bare]) == by_name.predict_marginals([graph])
    for known in ([{"u": 1}], [[1, None, None, None]]):
        assert by_dict.predict([bare], known=known)[0][0] == 1
        (decisions,) = by_dict.explain([bare], known=known)
        assert decisions[0].label == 1
    assert by_name.predict([graph], known="label") == [[0, 1, 0, 1]]
    refuses("y: graph 0 has no node 'U', but a label is given", GraphCRF().fit, [bare], [{"U": 1, "v": 0}])
    refuses("known: graph 0 has no node 7", by_dict.predict, [bare], known=[{7: 1}])
    refuses("y='lable' names an attribute that no node has", GraphCRF().fit, [graph, nx.Graph()], "lable")


def test_graphs_without_edges_or_nodes():
    nodes = [np.eye(2)[[0, 1]], np.zeros((0, 2)), np.eye(2)[[1]]]
    graphs, y = [Graph(x, []) for x in nodes], [["A", "B"], [], ["B"]]
    model = GraphCRF(c2=0.1).fit(graphs, y)
    assert model.predict(graphs) == y
    assert model.predict([]) == model.predict_marginals([]) == []
    assert model.predict([Graph([], [])]) == [[]]


@pytest.mark.parametrize(
    ("graphs", "y", "message"),
    [
        (X, Y[:2], "X has 12 graphs but y has 2"),
        (X[:1], [Y[0][:5]], "graph 0 has 6 nodes but 5 labels"),
        ([], [], "X has no graphs"),
        ([Graph([], [])], [[]], "every graph of X is empty"),
        (X[:1], [[None] * 6], "every label in y is None"),
        (X[0], Y, r"write a single graph as \[graph\]"),
        ([np.ones((3, 2))], [["A"] * 3], "graph 0: expected a crfkit.Graph or a graph of networkx"),
        (None, Y, "X must be a list of graphs, got NoneType"),
        (X, None, "y must be a list with the labels of each graph, got NoneType"),
        (X, ["P"] * 12, r"labels of each graph, but graph 0 is str 'P'; write a single graph as \[\[…\]\]$"),
        (X, "label", "y='label' names an attribute of networkx's nodes, but graph 0 is none"),
        (
            [X[0], Graph(np.ones((1, 3)), [])],
            [Y[0], ["P"]],
            "graph 1: expected 2 columns like graph 0, got 3",
        ),
        ([X[0], Graph(["a"], [])], [Y[0], ["P"]], "graph 1: expected a 2-D array"),
        ([Graph([[np.nan]], [])], [["P"]], "graph 0, node 0: feature '0': expected a finite number, got nan"),
        (
            [Graph(np.ones((2, 1)), [[0, 1]], [[1.0]]), Graph(np.ones((2, 1)), [[0, 1]])],
            [["P", "Q"]] * 2,
            "graph 1 has edges without edge_features",
        ),
        (
            [Graph(np.ones((2, 1)), [[0, 1]], [[1.0]]), Graph(np.ones((2, 1)), [[0, 1]], [[1.0, 2.0]])],
            [["P", "Q"]] * 2,
            "graph 1: expected 1 columns like graph 0, got 2",
        ),
        ([Graph(np.ones((2, 1)), [[0, 1]], [[np.inf]])], [["P", "Q"]], "graph 0, edge 0: feature '0'"),
        ([Graph([{"position": np.nan}], [])], [["P"]], "graph 0, node 0: feature 'position': expected a fin"),
        (X[:1], [[*Y[0], "P"]], "graph 0 has 6 nodes but 7 labels"),
        (X[:1], [[{}, *Y[0][1:]]], "graph 0, node 0: a label must be"),
        (X[:1], [[{"P": 1}, *Y[0][1:]]], "graph 0, node 0: a label must be"),
        (X[:1], [[0.5, *Y[0][1:]]], "graph 0, node 0: a label must be"),
        (X[:1], [[set(), *Y[0][1:]]], "graph 0, node 0: an empty set permits no label"),
    ],
    ids=range(23),
)
def test_bad_training_data(graphs, y, message):
    refuses(message, GraphCRF().fit, graphs, y)


def test_bad_graphs_to_tag():
    model = GraphCRF().fit(X, Y)
    nodes = np.ones((2, 2))
    for graph, message in [
        (Graph(np.ones((2, 3)), []), "X has 3 columns, but 2 were expected, as in training"),
        (Graph(nodes, [[0, 1]]), "graph 0: its edges have no types, but in training they had"),
        (
            Graph(nodes, [[0, 1]], edge_types=["up"]),
            "knows no edges of type 'up'; types of training: down, right",
        ),
        (
            Graph(nodes, [[0, 1]], [[1.0]], ["down"]),
            "graph 0 has edge_features, but the model was trained without",
        ),
    ]:
        refuses(message, model.predict, [graph])
    refuses("lengths goes with sequences", model.predict, X, lengths=[6] * 12)
    refuses("no list of best labellings", model.predict_nbest, X)
    refuses("there are no segments", model.predict_segments, X)
    refuses("a report shows sequences", model.report, X, Y)
    refuses("a graph CRF has no calibration", model.calibrate, X, Y)
    refuses("graph 0: y_true has 2 labels but y_pred has 6", model.score, X, [["P"] * 2, *Y[1:]])
    refuses("y must be a list with the labels of each graph, got NoneType", model.score, X, None)
    lonely = GraphCRF().fit([Graph(np.eye(2), [])], [["P", "Q"]])
    refuses("graph 0 has edges, but in training there were none", lonely.predict, [Graph(nodes, [[0, 1]])])
    words = GraphCRF().fit([Graph(["a", "b"], [[0, 1]])], [["A", "B"]])
    with pytest.warns(InputWarning, match="has no attribute that the model knows"):
        words.predict([Graph(["c"], [])])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("c2", -1),
        ("training", "exact"),
        ("inference", "best"),
        ("decode", "viterbi"),
        ("ends", 1),
        ("all_possible_features", None),
        ("n_jobs", 0),
        ("class_weight", 3),
        ("verbose", "yes"),
    ],
)
def test_bad_parameters(name, value):
    refuses(f"{name} must be", GraphCRF(**{name: value}).fit, X, Y)
    with pytest.raises(NotFittedError):
        GraphCRF().predict(X)


def test_impossible_requests():
    many = Graph(sparse.csr_matrix((2, 1 << 20)), [[0, 1]])
    labels = [[f"{k}", f"{k + 1}"] for k in range(0, 40, 2)]
    with pytest.raises(InputError, match="are too many: all_possible_features=False"):
        GraphCRF(ends=True).fit([many] * 20, labels)
