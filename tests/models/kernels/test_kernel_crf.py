"""The kernel CRF: the representer theorem in practice, parity with the linear CRF, learning from graphs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from crfkit import CRF, KernelCRF, KernelLogisticRegression
from crfkit.datasets import galaxy, gaussian_mixtures
from crfkit.exceptions import InputWarning
from crfkit.inference import log_partition
from crfkit.kernels import GraphKernel, Kernel

X, Y = gaussian_mixtures(12, 8, random_state=0)
TIGHT = {"tol": 1e-9, "refit_tol": 1e-9}


def flat(y):
    return [label for labels in y for label in labels]


def marginals(model, data=X):
    return np.vstack(model.predict_marginals(data, as_arrays=True))


@pytest.mark.parametrize("cliques", ["vertex", "vertex+edge"])
@pytest.mark.parametrize("settings", [{}, {"all_labelings": True}, {"per_round": 25}])
def test_all_cliques_one_by_one_are_the_full_dual(cliques, settings):
    n = 4
    full = KernelCRF(n_cliques=None, cliques=cliques, reg=0.5, **TIGHT).fit(X[:n], Y[:n])
    total = 8 * n * 3 + (7 * n * 9 if cliques == "vertex+edge" else 0)
    if settings.get("all_labelings"):
        total = 8 * n + (7 * n if cliques == "vertex+edge" else 0)
    sparse = KernelCRF(n_cliques=total, cliques=cliques, reg=0.5, **settings, **TIGHT).fit(X[:n], Y[:n])
    assert sparse.risk_ == pytest.approx(full.risk_, rel=1e-6)
    np.testing.assert_allclose(marginals(sparse), marginals(full), atol=2e-3)


@pytest.mark.parametrize("cliques", ["vertex", "vertex+edge"])
def test_the_dual_is_observed_minus_expected(cliques):
    """f = Σ α K with λα = observed - expected: f's own equation at the optimum."""
    model = KernelCRF(n_cliques=None, cliques=cliques, reg=0.5, **TIGHT).fit(X, Y)
    assert model.dual_.shape == (96, 3)
    K = Kernel("rbf", gamma=model.gamma_).between(np.vstack(X), np.vstack(X))
    lattice, _ = next(model.tagger_.pieces(X))
    np.testing.assert_allclose(K @ model.dual_, lattice.node, atol=5e-3)
    if cliques == "vertex+edge":
        inner = np.arange(96) % 8 > 0
        edge = (K[:, inner] @ model.dual_edge_[inner].reshape(-1, 9)).reshape(-1, 3, 3) + model.transitions_
        np.testing.assert_allclose(edge[inner], lattice.edge[inner], atol=5e-3)


@pytest.mark.parametrize("settings", [{"n_cliques": None}, {"n_cliques": 40, "all_labelings": True}])
def test_a_linear_kernel_is_a_linear_crf(settings):
    """With c2 = λ/2, transitions included."""
    dense = [np.hstack([x, x[:, :1] * x[:, 1:], np.ones((len(x), 1))]) for x in X]
    linear = CRF(
        c2=0.25, all_possible_states=True, all_possible_transitions=True, algorithm="lbfgs", tol=1e-9
    ).fit(dense, Y)
    kernel = KernelCRF("linear", reg=0.5, **settings, **TIGHT).fit(dense, Y)
    assert kernel.risk_ == pytest.approx(linear.objective_, rel=1e-5)
    np.testing.assert_allclose(marginals(kernel, dense), marginals(linear, dense), atol=2e-3)
    np.testing.assert_allclose(
        kernel.transitions_,
        [[linear.transition_features_.get((a, b), 0) for b in range(3)] for a in range(3)],
        atol=5e-3,
    )
    sparse = KernelCRF("linear", reg=0.5, **settings, **TIGHT).fit([csr_matrix(x) for x in dense], Y)
    assert sparse.risk_ == pytest.approx(kernel.risk_, rel=1e-7)


def test_edge_cliques_with_a_linear_kernel_are_edge_attributes():
    """Attributes on label pairs: the linear CRF's own, with the attributes of the second position."""
    names = [[{f"n{k}": value for k, value in enumerate(row)} for row in x] for x in X]
    both = CRF(
        c2=0.25,
        edge_attributes={"n": "both"},
        all_possible_states=True,
        all_possible_transitions=True,
        algorithm="lbfgs",
        tol=1e-9,
    ).fit(names, Y)
    kernel = KernelCRF("linear", cliques="vertex+edge", n_cliques=None, reg=0.5, **TIGHT).fit(X, Y)
    # The linear CRF has no weights for pairs that never occur with an attribute; here all do.
    assert len(both.edge_features_) == 2 * 9
    assert kernel.risk_ == pytest.approx(both.objective_, rel=1e-5)


def test_partial_labels_are_those_of_the_linear_crf():
    gaps = [[None if (t + i) % 3 == 0 else label for t, label in enumerate(y)] for i, y in enumerate(Y)]
    linear = CRF(
        c2=0.25, all_possible_states=True, all_possible_transitions=True, algorithm="lbfgs", tol=1e-9
    ).fit(X, gaps)
    kernel = KernelCRF("linear", n_cliques=None, reg=0.5, **TIGHT).fit(X, gaps)
    assert kernel.risk_ == pytest.approx(linear.objective_, rel=1e-4)


def test_risk_falls_with_every_clique():
    model = KernelCRF(n_cliques=25, per_round=1, reg=1.0, refit_tol=1e-6).fit(X, Y, X_dev=X[:3], y_dev=Y[:3])
    risks = [record["risk"] for record in model.path_]
    assert len(risks) == 26
    assert all(after < before + 1e-6 for before, after in pairwise(risks))
    assert model.risk_ <= risks[-1] + 1e-6
    assert [record["n_cliques"] for record in model.path_] == list(range(26))
    assert {"dev_log_likelihood", "dev_accuracy", "derivative", "log_loss", "seconds"} <= set(model.path_[-1])
    full = KernelCRF(n_cliques=None, gamma=model.gamma_, reg=1.0).fit(X, Y)
    assert full.risk_ < model.risk_ < 1.05 * full.risk_


def test_the_path_agrees_with_the_model():
    """The dev scores in the path are those of the final model."""
    model = KernelCRF(n_cliques=10, tol=1e-3).fit(X[:8], Y[:8], X_dev=X[8:], y_dev=Y[8:])
    lattice, _ = next(model.tagger_.pieces(X[8:]))
    labels = flat(Y[8:])
    score = lattice.node[np.arange(32), labels].sum()
    score += sum(model.transitions_[a, b] for y in Y[8:] for a, b in pairwise(y))
    log_likelihood = (score - log_partition(lattice).sum()) / 32
    assert model.path_[-1]["dev_log_likelihood"] == pytest.approx(log_likelihood, rel=2e-2)
    assert model.path_[-1]["dev_accuracy"] == pytest.approx(model.score(X[8:], Y[8:]), abs=0.04)


def test_patience_keeps_the_best():
    X, y = gaussian_mixtures(40, 15, random_state=1)
    model = KernelCRF(n_cliques=100, per_round=1, patience=5, reg=1e-3, gamma=10.0).fit(
        X[:5], y[:5], X_dev=X[20:], y_dev=y[20:]
    )
    scores = [record["dev_log_likelihood"] for record in model.path_[1:]]
    assert len(scores) < 100
    assert len(model.cliques_) == 1 + int(np.argmax(scores))
    assert "dev set" in model.stopped_because_


def test_cliques_can_be_listed():
    y = [None, *Y[1:]]  # the numbers are those of the X that was given
    with pytest.warns(InputWarning, match="1 sequences have no label, and without a graph"):
        model = KernelCRF(n_cliques=12, per_round=1, cliques="vertex+edge").fit(X, y)
    assert len(model.cliques_) == 12
    for clique in model.cliques_:
        assert 1 <= clique.sequence < 12
        assert (1 if clique.kind == "edge" else 0) <= clique.position < 8
        assert str(clique.sequence) in str(clique)
    assert {c.kind for c in model.cliques_} == {"vertex", "edge"}
    found = sum(model.path_[i]["cliques"] == [] for i in range(13))
    assert found == 1
    term = model.tagger_.potential.terms[0]
    edge = next(c for c in model.cliques_ if c.kind == "edge")
    row = next(i for i, r in enumerate(term.support) if (r == X[edge.sequence][edge.position]).all())
    ((a, b), value) = next(iter(edge.coefficients.items()))
    assert term.edge[row, a, b] == pytest.approx(value)


def test_many_positions_within_the_memory_limit():
    X, y = gaussian_mixtures(60, 50, random_state=2)
    settings = {"n_cliques": 20, "per_round": 5, "gamma": 0.3, "reg": 1.0}
    whole = KernelCRF(**settings).fit(X, y)
    small = KernelCRF(**settings, cache_size=2).fit(X, y)
    assert [c.position for c in small.cliques_] == [c.position for c in whole.cliques_]
    assert small.risk_ == pytest.approx(whole.risk_, rel=1e-6)
    few = KernelCRF(**settings, n_candidates=100).fit(X, y)
    assert few.risk_ < 1.1 * whole.risk_
    slow = KernelCRF(**settings, refit_every=2).fit(X, y)
    assert slow.risk_ < 1.02 * whole.risk_


# ---- uses of kernels and graphs


def test_sequences_get_under_the_iid_bayes_error():
    X, y = galaxy(100, 20, random_state=0)
    model = KernelCRF(gamma=2.0, reg=0.1, n_cliques=150, per_round=10).fit(X[:50], y[:50])
    points = KernelLogisticRegression(gamma=2.0, reg=0.1, n_cliques=150, per_round=10).fit(
        np.vstack(X[:50]), flat(y[:50])
    )
    assert 1 - model.score(X[50:], y[50:]) < 0.15 < 0.18 < 1 - points.score(np.vstack(X[50:]), flat(y[50:]))


def test_the_graph_learns_from_unlabelled_sequences():
    X, y = galaxy(100, 20, random_state=1)
    graph = GraphKernel(10, n_eigenvectors=60)
    few = KernelCRF(gamma=2.0, n_cliques=60, per_round=5, reg=0.1).fit(X[:5], y[:5])
    inside = KernelCRF(None, graph=graph, n_cliques=60, per_round=5, reg=0.1).fit(X, [*y[:5], *[None] * 95])
    beside = KernelCRF(None, graph=graph, n_cliques=60, per_round=5, reg=0.1).fit(
        X[:5], y[:5], X_unlabeled=X[5:]
    )
    score = inside.score(X[5:], y[5:])
    assert score > few.score(X[5:], y[5:]) + 0.05
    assert beside.score(X[5:], y[5:]) == pytest.approx(score)
    new_X, new_y = galaxy(50, 20, random_state=2)  # never seen: by the extension
    assert inside.score(new_X, new_y) > few.score(new_X, new_y) + 0.05


def test_several_kernels():
    both = KernelCRF(["rbf", Kernel("linear")], n_cliques=20, turns="alternate").fit(X, Y)
    assert {c.kernel for c in both.cliques_} == {"rbf", "linear"}
    compete = KernelCRF(["rbf", "linear"], n_cliques=20, graph=GraphKernel(5, n_eigenvectors=10)).fit(X, Y)
    assert len(compete.cliques_) == 20
    full = KernelCRF(["rbf", "linear"], n_cliques=None, **TIGHT).fit(X, Y)
    summed = KernelCRF(
        lambda a, b: np.asarray(Kernel("rbf", gamma=full.gamma_).between(a, b)) + a @ b.T,
        n_cliques=None,
        **TIGHT,
    ).fit(X, Y)
    assert full.risk_ == pytest.approx(summed.risk_, rel=1e-6)  # a sum of spaces is the space of the sum
