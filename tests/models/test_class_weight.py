"""Weights of labels, for every estimator, and the warning that a label is never predicted."""

import numpy as np
import pytest
from tests.oracles.estimators import ESTIMATORS, X, Y, fitted, make

from crfkit import CRF, KernelCRF, KernelLogisticRegression, TreeCRF
from crfkit.exceptions import InputError, InputWarning

FREE = [name for name in ESTIMATORS if name != "sparse"]  # that one has weights already


def n_predicted(model, label):
    return sum(labels.count(label) for labels in model.predict(X))


@pytest.mark.parametrize("name", FREE)
def test_errors_at_a_heavy_label_are_fewer(name):
    heavy = make(name, class_weight={"P": 20.0}).fit(X, Y)
    light = make(name, class_weight={"P": 0.05}).fit(X, Y)
    assert n_predicted(light, "P") < n_predicted(heavy, "P")
    true = np.concatenate(Y)
    missed, before = (np.sum((true == "P") & (np.concatenate(m.predict(X)) != "P")) for m in (heavy, light))
    assert missed < before


@pytest.mark.parametrize("name", FREE)
def test_weights_of_one_change_nothing(name):
    same = make(name, class_weight=dict.fromkeys("PQR", 1.0)).fit(X, Y)
    a, b = (np.concatenate(model.predict_marginals(X, as_arrays=True)) for model in (same, fitted(name)))
    np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("name", FREE)
def test_weights_travel_with_the_model(name, tmp_path):
    model = make(name, class_weight={"P": 2.0}).fit(X, Y)
    model.save(tmp_path / "m.crfkit")
    assert type(model).load(tmp_path / "m.crfkit").class_weight == {"P": 2.0}


def test_the_objective_of_trees_has_the_margin():
    pytest.importorskip("lightgbm")
    weights = {"P": 4.0, "Q": 0.5, "R": 1.0}
    for potentials in ("joint", "factored"):
        model = TreeCRF(
            n_iterations=5, min_samples_leaf=1, class_weight=weights, potentials=potentials, n_jobs=1
        ).fit(X, Y)
        total = 0.0
        for x, y in zip(X, Y, strict=True):
            lattice = model.tagger_.lattice(model.tagger_.encode([x]))
            scores = {}
            for path in np.ndindex(*[3] * len(x)):  # every labelling
                score = sum(lattice.node[t, k] for t, k in enumerate(path))
                for t in range(1, len(x)):
                    table = lattice.edge if lattice.edge.ndim == 2 else lattice.edge[t]
                    score += table[path[t - 1], path[t]]
                for ends, k in ((lattice.start, path[0]), (lattice.end, path[-1])):
                    score += 0.0 if ends is None else ends[k]
                wrong = sum(np.log(weights[t]) for t, k in zip(y, path, strict=True) if t != "PQR"[k])
                scores[path] = score + wrong
            true = tuple("PQR".index(label) for label in y)
            total += np.logaddexp.reduce(list(scores.values())) - scores[true]
        assert model.objective_ == pytest.approx(total)


def rare(n=80, share=0.06):
    """Points with a rare label that X hardly tells apart."""
    rng = np.random.default_rng(3)
    y = [["r" if u < share else "o" for u in rng.random(10)] for _ in range(n)]
    return [np.array([[rng.normal() + 0.7 * (label == "r")] for label in labels]) for labels in y], y


MODELS = {
    "linear": lambda **more: CRF(**more),
    "trees": lambda **more: TreeCRF(n_iterations=10, n_leaves=2, min_samples_leaf=50, n_jobs=1, **more),
    "kernel": lambda **more: KernelCRF(n_cliques=5, gamma=0.1, reg=1.0, **more),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_label_that_is_never_predicted(name):
    if name == "trees":
        pytest.importorskip("lightgbm")
    X, y = rare()
    with pytest.warns(InputWarning, match=r"never predicts 'r' on its own training data.*imbalance"):
        model = MODELS[name]().fit(X, y)
    assert all("r" not in labels for labels in model.predict(X))
    model = MODELS[name](class_weight="balanced").fit(X, y)  # a warning would be an error
    assert any("r" in labels for labels in model.predict(X))


def test_points():
    X, y = rare()
    points, labels = np.vstack(X), [label for sequence in y for label in sequence]
    with pytest.warns(InputWarning, match="never predicts 'r'"):
        KernelLogisticRegression(n_cliques=5, gamma=0.3, reg=1.0).fit(points, labels)
    model = KernelLogisticRegression(n_cliques=5, gamma=0.3, reg=1.0, class_weight="balanced").fit(
        points, labels
    )
    assert "r" in model.predict(points)


def test_a_label_whose_errors_are_cheap_is_not_worth_a_warning():
    X, y = rare()
    assert all("r" not in labels for labels in CRF(class_weight={"r": 0.9}).fit(X, y).predict(X))
    with pytest.warns(InputWarning, match="never predicts 'r'"):
        CRF(class_weight={"r": 1.1}).fit(X, y)


def test_a_few_odd_labels_are_not_worth_a_warning():
    X, y = rare(share=0.0)
    y[0][0] = y[1][1] = "r"
    CRF().fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_bad_weights_are_refused(name):
    if name == "trees":
        pytest.importorskip("lightgbm")
    for wrong in ("often", {"P": 0.0}, 3):
        with pytest.raises((InputError, ValueError), match="class_weight"):
            MODELS[name](class_weight=wrong).fit(X, Y)
