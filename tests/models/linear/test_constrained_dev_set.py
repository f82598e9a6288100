"""ConstrainedCRF with a dev set: which model is kept, and when the search ends."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from crfkit import ConstrainedCRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.inference import log_partition, path_score
from crfkit.models.linear.constrained_watch import ConstrainedWatch
from crfkit.optim.problem import Step
from crfkit.progress import Progress


@pytest.fixture(scope="module")
def noisy_dev():
    """Return data of the same kind, but learnable."""
    rng = np.random.default_rng(1)

    def draw(n):
        X = [[[f"a{rng.integers(6)}", f"b{rng.integers(6)}"] for _ in range(10)] for _ in range(n)]
        y = [["AB"[int(rng.random() < (0.8 if item[0] < "a3" else 0.2))] for item in s] for s in X]
        return X, y

    return *draw(12), *draw(12)


def own_objective(crf, X, y):
    """Return O(w) with the model's own c2_."""
    tagger = crf.tagger_
    lattice = tagger.lattice(tagger.encode(X, None))
    truth = np.array([crf.classes_.index(label) for labels in y for label in labels])
    weights = [*crf.state_features_.values(), *crf.transition_features_.values()]
    return (log_partition(lattice) - path_score(lattice, truth)).sum() + crf.c2_ * np.square(weights).sum()


def test_a_dev_set_does_not_end_the_search_before_it_began(noisy_dev):
    X, y, X_dev, y_dev = noisy_dev
    crf = ConstrainedCRF(tau=3.0, patience=3, c2=0.1).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert crf.feasible_  # a warning would be an error here
    assert any(max(record["penalties"]) > 0 for record in crf.outer_history_)
    assert crf.objective_ == pytest.approx(own_objective(crf, X, y), rel=1e-6)
    accuracies = [record["dev_accuracy"] for record in crf.history_]
    right = [
        a == b for p, q in zip(crf.predict(X_dev), y_dev, strict=True) for a, b in zip(p, q, strict=True)
    ]
    assert min(abs(np.mean(right) - accuracy) for accuracy in accuracies) < 1e-9


def test_with_a_dev_set_c2_and_objective_are_those_of_the_model_kept(noisy_dev):
    X, y, X_dev, y_dev = noisy_dev
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf = ConstrainedCRF(c2="largest", tau=5.0, patience=100).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert crf.feasible_
    assert crf.c2_ in [record["c2"] for record in crf.outer_history_]
    assert crf.objective_ == pytest.approx(own_objective(crf, X, y), rel=1e-6)


def test_patience_counts_outer_steps_after_the_first_feasible_model():
    accuracy = {0.0: 0.9, 1.0: 0.5, 2.0: 0.6, 3.0: 0.55}  # of the model x
    problem = SimpleNamespace(dev=lambda x: accuracy[x[0]])
    constraints = SimpleNamespace(
        tau=1.0, spans=SimpleNamespace(n_sets=1), violations=lambda x: np.array([2.0 if x[0] == 0 else 0.5])
    )
    watch = ConstrainedWatch(problem, constraints, 2, Progress(False, None))

    def iterate(x):
        return watch(Step(1, np.array([x]), 1.0, 1.0, 1.0, 1.0, 1.0))

    assert not any(iterate(0.0) for _ in range(50))  # the best, but not feasible
    assert not any(watch.ends(np.zeros(1)) for _ in range(50))
    assert watch.candidate is None
    iterate(1.0)
    iterate(2.0)
    assert not watch.ends(np.array([3.0]))
    iterate(3.0)
    assert not watch.ends(np.array([4.0]))
    assert watch.ends(np.array([5.0]))
    assert watch.candidate.accuracy == 0.6
    assert watch.candidate.x == [2.0]
    assert watch.candidate.penalties == [3.0]
