"""KernelCRF as an estimator: decoding, known labels, files, scikit-learn's conventions, bad input."""

import io
import pickle

import numpy as np
import pytest
from enumeration import enumerate_paths
from interruptions import interrupt
from model_files import rewritten, saved
from refusals import refuses, unreadable
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from crfkit import KernelCRF, KernelLogisticRegression
from crfkit.datasets import galaxy, gaussian_mixtures
from crfkit.exceptions import ConvergenceWarning, InputError, InputWarning
from crfkit.inference import max_expected_gain
from crfkit.kernels import GraphKernel, Kernel
from crfkit.models.kernels.clique_selection import CliqueSelector
from crfkit.potentials.kernel_expansion import KernelExpansion

X, Y = gaussian_mixtures(10, 6, random_state=0)
FEW = {"n_cliques": 15, "per_round": 5}


def flat(y):
    return [label for labels in y for label in labels]


@pytest.fixture(scope="module")
def model():
    return KernelCRF(cliques="vertex+edge", **FEW).fit(X, Y)


def oracles(model):
    lattice, _ = next(model.tagger_.pieces(X))
    return lattice, [enumerate_paths(lattice, i) for i in range(len(X))]


@pytest.mark.parametrize("gain", [0.5, 1.0, 3.0])
def test_boundary_gain_is_the_best_in_expectation(model, gain):
    """Against all labellings: the expected number of right labels and right boundaries."""
    lattice, found = oracles(model)
    labels = max_expected_gain(lattice, gain)
    for i in range(3):
        paths, p = np.array(found[i].paths), found[i].probabilities.astype(float)

        def value(y, paths=paths, p=p):
            same = (paths == y) @ np.ones(6)
            jumps = [t for t in range(1, 6) if y[t] != y[t - 1]]
            both = sum(((paths[:, t] == y[t]) & (paths[:, t - 1] == y[t - 1])).astype(float) for t in jumps)
            return float(p @ (same + gain * both))

        best = max(value(y) for y in paths)
        assert value(labels[6 * i : 6 * i + 6]) == pytest.approx(best)
    decoded = clone(model).set_params(boundary_gain=gain).fit(X, Y).predict(X)
    assert flat(decoded) == labels.tolist()
    refuses("boundary_gain must be 0 or more", max_expected_gain, lattice, -1.0)


def test_strings_with_a_kernel_of_ones_own():
    def alike(a, b):
        return np.array([[float(x == y) + 0.5 * (x.lower() == y.lower()) for y in b] for x in a])

    words = ["abAb", "BAb", "aabb"]
    y = [["v" if c in "aA" else "c" for c in word] for word in words]
    model = KernelCRF(alike, n_cliques=4, reg=0.1).fit(words, y)
    assert model.predict(["ab", "Ba"]) == [["v", "c"], ["c", "v"]]
    refuses("pickle the estimator", model.save, io.BytesIO())


def same_parts(a, b):
    return np.array([[len(set(x) & set(y)) for y in b] for x in a], dtype=float)


def test_tuples_of_different_lengths_are_objects():
    X = [[(1, 2), (3,)], [(1,), (3, 4)]]
    y = [["a", "b"], ["a", "b"]]
    model = KernelCRF(same_parts, n_cliques=4, reg=0.1).fit(X, y)
    assert model.predict(X) == y
    assert model.predict([[(1, 9), (3, 8)]]) == [["a", "b"]]  # equal lengths, still objects
    arrays = [np.array(["ab", "c"]), np.array(["a", "cd"])]
    assert KernelCRF(same_parts, n_cliques=4, reg=0.1).fit(arrays, y).predict(arrays) == y


@pytest.mark.parametrize("kind", [list, np.array])
def test_points_that_are_strings(kind):
    words, labels = kind(["ab", "c", "a", "cd"]), ["a", "c", "a", "c"]
    model = KernelLogisticRegression(same_parts, n_cliques=4, reg=0.1).fit(words, labels)
    assert model.predict(kind(["ba", "dc"])).tolist() == ["a", "c"]


def test_precomputed_points_in_grid_search():
    table, labels = np.vstack(X), np.array(flat(Y))
    K = Kernel("rbf", gamma=0.5).between(table, table)
    grid, cv = {"reg": [0.1, 1.0]}, KFold(3)
    given = GridSearchCV(KernelLogisticRegression("precomputed", **FEW), grid, cv=cv).fit(K, labels)
    plain = GridSearchCV(KernelLogisticRegression(gamma=0.5, **FEW), grid, cv=cv).fit(table, labels)
    np.testing.assert_allclose(
        given.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-9
    )


def test_labels_of_a_graph_that_is_a_matrix():
    kernel = GraphKernel(6, n_eigenvectors=20)
    affinity = kernel._neighbour_weights(np.vstack(X))
    given = GraphKernel(6, n_eigenvectors=20, affinity=affinity)
    plain = KernelCRF(graph=kernel, **FEW).fit(X[:6], Y[:6], X_unlabeled=X[6:])
    model = KernelCRF(graph=given, **FEW).fit(X[:6], Y[:6], X_unlabeled=X[6:])
    assert model.transduction_ == plain.predict(X)
    for a, b in zip(model.transduction_marginals_, plain.predict_marginals(X, as_arrays=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert plain.transduction_ is None
    refuses("are in transduction_", model.predict, X)
    labels = np.array([*flat(Y[:6]), *[None] * 24], object)
    points = KernelLogisticRegression(graph=given, **FEW).fit(np.vstack(X), labels)
    assert points.transduction_.shape == (60,)
    np.testing.assert_allclose(points.transduction_marginals_.sum(axis=1), 1.0)


def test_precomputed():
    table = np.vstack(X)
    K = Kernel("rbf", gamma=0.5).between(table, table)
    rows = [K[6 * i : 6 * i + 6] for i in range(10)]
    y = [None, *Y[1:]]  # unlabelled sequences keep their columns
    with pytest.warns(InputWarning, match="1 sequences have no label"):
        given = KernelCRF("precomputed", **FEW).fit(rows, y)
    with pytest.warns(InputWarning, match="1 sequences have no label"):
        plain = KernelCRF(gamma=0.5, **FEW).fit(X, y)
    assert given.risk_ == pytest.approx(plain.risk_, rel=1e-8)
    assert given.predict(rows[:2]) == plain.predict(X[:2])
    again = KernelCRF.load(io.BytesIO(saved(given)))
    assert again.predict(rows) == given.predict(rows)
    with pytest.raises(InputError, match="expected 60 columns for 60 positions, got 59"):
        KernelCRF("precomputed").fit([row[:, 1:] for row in rows], Y)
    with pytest.warns(InputWarning, match="not positive semi-definite"):
        KernelCRF("precomputed", **FEW).fit([-row for row in rows], Y)


def test_files_of_sparse_support(tmp_path):
    data = [csr_matrix(x) for x in X]
    for graph in (None, GraphKernel(5, n_eigenvectors=12)):
        model = KernelCRF(**FEW, graph=graph).fit(data, Y)
        again = KernelCRF.load(saved(model))
        assert again.predict_marginals(data) == model.predict_marginals(data)
        assert again.cliques_ == model.cliques_


def test_a_transform_that_is_a_function_is_not_written():
    graph = GraphKernel(5, np.ones_like, n_eigenvectors=8)
    model = KernelCRF(None, graph=graph, **FEW).fit(X, Y)
    with pytest.warns(InputWarning, match="transform is a function, which a model file cannot hold"):
        file = saved(model)
    assert KernelCRF.load(file).predict(X) == model.predict(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "linear-chain CRF"}, "expected a kernel CRF"),
        ({"classes": [0, 0, 1]}, "labels are malformed"),
        ({"decode": "guess"}, "header is malformed"),
        ({"kernels": [{"kind": "magic"}]}, "kernel is malformed"),
        ({"kernels": [{"kind": "function", "function": "os.system"}]}, "kernel is malformed"),
        ({"width": 7}, "expected 7 columns"),
        ({"path": 3}, "training record is malformed"),
        ({"transitions": np.zeros((2, 2))}, r"of float64 \(3, 3\), got float64 \(2, 2\)"),
        ({"0.vertex": np.full((12, 3), np.nan)}, r"not finite|of float64 \("),
        ({"0.support": np.zeros(3)}, r"of float64 \(any, any\), got float64 \(3,\)"),
    ],
    ids=str,
)
def test_files_that_lie(model, change, message):
    unreadable(message, KernelCRF.load, rewritten(saved(model), change))


def test_grid_search():
    search = GridSearchCV(
        KernelCRF(**FEW, graph=GraphKernel(5, n_eigenvectors=5)),
        {"gamma": [0.1, 1.0], "graph__epsilon": [0.01, 1.0]},
        cv=KFold(2),
    ).fit(X, Y)
    assert search.best_params_["gamma"] in (0.1, 1.0)


def test_progress(capsys):
    KernelCRF(n_cliques=3, verbose=2).fit(X, Y)
    assert "iteration    3" in capsys.readouterr().err
    KernelCRF(n_cliques=None, verbose=2).fit(X, Y)
    assert "factorising" in capsys.readouterr().err


def test_pictures(model):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    assert len(model.plot_path()) == 1
    panes = KernelCRF(**FEW).fit(X, Y, X_dev=X, y_dev=Y).plot_path()
    assert [pane.get_title() for pane in panes][1:] == ["dev log-likelihood per position", "dev accuracy"]
    plt.close("all")


# ---- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"kernel": []}, "empty list"),
        ({"kernel": None}, "give a kernel or a graph"),
        ({"kernel": ["rbf", "precomputed"]}, "cannot be combined with other kernels"),
        ({"kernel": "precomputed", "graph": GraphKernel()}, "give the GraphKernel an affinity="),
        ({"gamma": -1}, "gamma must be 'auto', 'median', 'scale' or a number above 0"),
        ({"reg": 0}, "reg must be 'auto' or a number above 0"),
        ({"cliques": "edge"}, "cliques must be one of"),
        ({"n_cliques": 0}, "n_cliques must be 'auto', None or a whole number"),
        ({"decode": "best"}, "decode must be one of"),
        ({"boundary_gain": -1}, "boundary_gain must be"),
        ({"graph": "knn"}, "graph must be None or a crfkit.kernels.GraphKernel"),
        ({"turns": "random"}, "turns must be one of"),
    ],
)
def test_bad_parameters(settings, message):
    refuses(message, KernelCRF(**settings).fit, X, Y)


def test_another_width_than_in_training(model):
    other = [np.ones((6, 3))]
    refuses("sequence 1: expected 2 columns as before, got 3", KernelCRF().fit, [X[0], *other], Y[:2])
    refuses("sequence 0: expected 2 columns as before, got 3", model.predict, other)
    refuses("X_unlabeled, sequence 0: expected 2 columns", KernelCRF().fit, X, Y, X_unlabeled=other)


def test_more_cliques_than_exist():
    y = [["a", "b", "c"] * 2]
    with pytest.warns(InputWarning, match=r"n_cliques=1,000 is more than .* candidates, 18: all"):
        model = KernelCRF(n_cliques=1000, per_round=6).fit(X[:1], y)
    assert len(model.cliques_) <= 18
    assert len(KernelCRF(per_round=6).fit(X[:1], y).cliques_) <= 18  # no warning: no number was requested


@pytest.mark.parametrize("per_round", [1, 5])
def test_ctrl_c_while_choosing(per_round, monkeypatch):
    interrupt(monkeypatch, CliqueSelector, "_take", 8, after=True)
    model = KernelCRF(n_cliques=20, per_round=per_round)
    with pytest.raises(KeyboardInterrupt, match="interrupted after"):
        model.fit(X, Y)
    assert len(model.cliques_) == (7 if per_round == 1 else 5)
    assert model.predict(X)
    whole = KernelCRF(n_cliques=len(model.cliques_), per_round=per_round)
    monkeypatch.undo()
    # the coefficients are those of the last round, a little improved: Ctrl-C does not wait for convergence
    assert model.risk_ == pytest.approx(whole.fit(X, Y).risk_, rel=1e-5)


@pytest.mark.parametrize("when", [100, 101, 102, 103])
def test_ctrl_c_while_fitting_coefficients(when, monkeypatch):
    interrupt(monkeypatch, KernelExpansion, "backward", when)
    settings = {"per_round": 1, "gamma": "median", "reg": 1.0}
    model = KernelCRF(n_cliques=40, **settings)
    with pytest.raises(KeyboardInterrupt, match="interrupted after"):
        model.fit(X, Y)
    assert 0 < len(model.cliques_) < 40
    monkeypatch.undo()
    whole = KernelCRF(n_cliques=len(model.cliques_), **settings).fit(X, Y)
    assert model.risk_ == pytest.approx(whole.risk_, rel=1e-3)


def test_grid_search_over_unlabelled_sequences():
    search = GridSearchCV(
        KernelCRF(None, graph=GraphKernel(5, n_eigenvectors=5), **FEW), {"reg": [0.1, 1.0]}, cv=KFold(2)
    ).fit(X, [None, *Y[1:]])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_dev_labels_that_training_has_not():
    strange = [[9] * 6, *Y[1:]]
    record = KernelCRF(**FEW).fit(X, Y, X_dev=X, y_dev=strange).path_[-1]
    without = KernelCRF(**FEW).fit(X, Y, X_dev=X[1:], y_dev=Y[1:]).path_[-1]
    assert record["dev_accuracy"] == pytest.approx(0.9 * without["dev_accuracy"])
    assert record["dev_log_likelihood"] == pytest.approx(without["dev_log_likelihood"])
    for nothing in ([None] * 10, [[9] * 6] * 10):
        with pytest.raises(InputError, match="the dev set has no label that training has"):
            KernelCRF(**FEW).fit(X, Y, X_dev=X, y_dev=nothing)


def test_dual_only_of_all_candidates():
    assert KernelCRF(n_cliques=None).fit(X, Y).dual_ is not None
    assert KernelCRF(n_cliques=None, n_candidates=20).fit(X, Y).dual_ is None


def test_unlabelled_sequences_need_a_graph():
    with pytest.warns(InputWarning, match="3 sequences have no label, and without a graph nothing is learnt"):
        KernelCRF(**FEW).fit(X, [None, *Y[1:]], X_unlabeled=X[:2])


def test_constant_features():
    same = [np.ones((6, 2)) for _ in X]
    with pytest.warns(InputWarning, match="all 60 positions have the same features"):
        model = KernelCRF(**FEW).fit(same, Y)
    assert np.isfinite(model.risk_)
    more = [np.hstack([x, np.full((6, 1), 7.0)]) for x in X]  # one constant column changes nothing
    assert KernelCRF(**FEW).fit(more, Y).risk_ == pytest.approx(KernelCRF(**FEW).fit(X, Y).risk_, rel=1e-6)


def test_components_without_labels():
    far = [x + 1000.0 for x in X[:3]]
    with pytest.warns(
        InputWarning, match=r"1 of the graph's 2 components have no labelled position \(18 of 78"
    ):
        KernelCRF(None, graph=GraphKernel(10, n_eigenvectors=5), **FEW).fit(X, Y, X_unlabeled=far)


def test_not_converged():
    with pytest.warns(ConvergenceWarning, match="before it converged"):
        KernelCRF(n_cliques=None, max_iterations=2).fit(X, Y)


@pytest.mark.parametrize("cliques", ["vertex", "vertex+edge"])
@pytest.mark.parametrize("n_cliques", [4, None])
def test_sequences_of_one_position(cliques, n_cliques):
    """No edges at all: kernel logistic regression."""
    rows = [x[:1] for x in X]
    y = [["a"], ["b"]] * 5
    model = KernelCRF(cliques=cliques, n_cliques=n_cliques, gamma=1.0, tol=1e-9).fit([*rows, []], [*y, []])
    points = KernelLogisticRegression(n_cliques=n_cliques, gamma=1.0, bias=False, tol=1e-9)
    points.fit(np.vstack(rows), flat(y))
    found = np.vstack(model.predict_marginals(rows, as_arrays=True))
    np.testing.assert_allclose(found, points.predict_proba(np.vstack(rows)), atol=1e-3)


# ---- without the chain


def test_kernel_logistic_regression():
    X, y = galaxy(30, 20, core=0.0, random_state=0)
    points, labels = np.vstack(X), np.array(flat(y))
    model = KernelLogisticRegression(gamma=2.0, reg=0.1, n_cliques=80, per_round=8).fit(
        points[:300], labels[:300]
    )
    assert model.score(points[300:], labels[300:]) > 0.95
    assert model.predict_proba(points[:5]).shape == (5, 2)
    np.testing.assert_allclose(model.predict_proba(points[:5]).sum(axis=1), 1.0)
    assert model.n_features_in_ == 2
    graph = GraphKernel(8, n_eigenvectors=30)
    few = KernelLogisticRegression(None, graph=graph, n_cliques=20, reg=0.1)
    with_gaps = labels.astype(object)
    with_gaps[10:] = None
    assert few.fit(points, with_gaps).score(points, labels) > 0.8
    assert few.fit(points[:10], labels[:10], X_unlabeled=points[10:]).score(points, labels) > 0.8
    assert pickle.loads(pickle.dumps(few)).predict(points).tolist() == few.predict(points).tolist()


def test_logistic_regression_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    table, labels = np.vstack(X), np.array(flat(Y))
    ours = KernelLogisticRegression("linear", bias=False, n_cliques=None, reg=0.5, tol=1e-9).fit(
        table, labels
    )
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(table, labels)
    np.testing.assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), atol=1e-3)


def test_logistic_bad_input():
    table, labels = np.vstack(X), flat(Y)
    refuses("X has 60 points but y has 59 labels", KernelLogisticRegression().fit, table, labels[1:])
    refuses(r"X must be a table \[n, d\], got 1-D", KernelLogisticRegression().fit, table[:, 0], labels)
    with pytest.raises(InputError, match="X: expected 2 columns as before, got 3"):
        KernelLogisticRegression(**FEW).fit(table, labels).predict(np.ones((1, 3)))
