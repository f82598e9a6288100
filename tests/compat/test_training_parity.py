"""Training compared with the original: the same features, objective and labels."""

import ctypes
from functools import cache

import numpy as np
import pycrfsuite as original
import pytest
from crfsuite_training import fill

from crfkit import CRF
from crfkit.compat import pycrfsuite
from crfkit.datasets import addresses
from crfkit.features import token_features

TO_THE_END = {"epsilon": 1e-7, "delta": 1e-7, "max_iterations": 2000}
CASES = [
    ("lbfgs", {}),
    ("lbfgs", {"c2": 0.05, **TO_THE_END}),
    ("lbfgs", {"c2": 0.3, "feature.possible_transitions": True}),
    ("lbfgs", {"c2": 1.0, "feature.possible_states": True, "max_iterations": 300}),
    ("lbfgs", {"c2": 0.5, "feature.minfreq": 3}),
    ("lbfgs", {"c1": 0.1, "c2": 0.1, **TO_THE_END}),
    ("lbfgs", {"c1": 0.5, "c2": 0.01, "feature.possible_transitions": True, **TO_THE_END}),
    ("l2sgd", {"c2": 0.5}),
]


def trained(module, path, algorithm, params, X, y):
    trainer = fill(module.Trainer(algorithm, params, verbose=False), X, y)
    trainer.train(str(path))
    tagger = original.Tagger()
    tagger.open(str(path))
    return trainer.logparser, tagger


def agreement(one, two, X):
    same = [a == b for xseq in X for a, b in zip(one.tag(xseq), two.tag(xseq), strict=True)]
    return np.mean(same)


@pytest.mark.parametrize(("algorithm", "params"), CASES, ids=str)
def test_same_model(algorithm, params, chunks, tmp_path):
    n = 60 if "c1" in params else None  # the original's OWL-QN is slow
    X, y, X_test = chunks[0][:n], chunks[1][:n], chunks[2]
    ours, our_tagger = trained(pycrfsuite, tmp_path / "ours", algorithm, params, X, y)
    theirs, their_tagger = trained(original, tmp_path / "theirs", algorithm, params, X, y)
    assert ours.featgen_num_features == theirs.featgen_num_features
    assert our_tagger.labels() == their_tagger.labels()
    value = min(record["loss"] for record in ours.iterations)
    their_value = min(record["loss"] for record in theirs.iterations)
    if algorithm == "lbfgs":
        assert value == pytest.approx(their_value, rel=1e-4)
        assert agreement(our_tagger, their_tagger, X) >= 0.999
        assert agreement(our_tagger, their_tagger, X_test) >= 0.999
    else:  # both end near the optimum, not at it; the original's loss is summed up while the weights change
        assert value <= their_value
        assert value == pytest.approx(their_value, rel=0.03)
        assert agreement(our_tagger, their_tagger, X_test) >= 0.98


def test_l2sgd_finds_the_optimum(small, tmp_path):
    X, y, X_test, _ = small
    sgd, sgd_tagger = trained(pycrfsuite, tmp_path / "sgd", "l2sgd", {"c2": 0.5}, X, y)
    lbfgs, lbfgs_tagger = trained(pycrfsuite, tmp_path / "lbfgs", "lbfgs", {"c2": 0.5}, X, y)
    assert min(record["loss"] for record in sgd.iterations) == pytest.approx(
        lbfgs.last_iteration["loss"], rel=5e-3
    )
    assert agreement(sgd_tagger, lbfgs_tagger, X_test) >= 0.99


def test_stopping_criteria(small, tmp_path):
    X, y, *_ = small

    def iterations(**params):
        log, _ = trained(pycrfsuite, tmp_path / "model", "lbfgs", params, X, y)
        return log

    usual = len(iterations().iterations)
    assert len(iterations(delta=1e-2).iterations) < usual
    assert len(iterations(epsilon=1.0).iterations) < usual
    assert len(iterations(delta=1e-9, epsilon=1e-4).iterations) > usual
    assert len(iterations(period=2).iterations) < usual
    assert len(iterations(period=0, epsilon=1e-3).iterations) > 0
    assert len(iterations(max_iterations=5).iterations) == 5
    assert len(iterations(max_iterations=0).iterations) == usual
    said = {
        "stopping criteria": {},
        "resulted in convergence": {"epsilon": 0.5, "delta": 0},
        "maximum number of iterations": {"max_iterations": 3},
    }
    for words, params in said.items():
        assert any(words in line for line in iterations(**params).log)


ONLINE = [
    ("ap", {}),
    ("pa", {}),
    ("pa", {"type": 0, "error_sensitive": False}),
    ("pa", {"type": 2, "c": 0.3, "averaging": False}),
    ("arow", {}),
    ("arow", {"variance": 0.5, "gamma": 0.2}),
]


@pytest.mark.parametrize("epochs", [1, 4, 30])
@pytest.mark.parametrize(("algorithm", "params"), ONLINE, ids=str)
def test_online_algorithms_have_the_originals_weights(algorithm, params, epochs, tmp_path):
    """One sequence has one order. Its values are random, so that no two paths have the same score."""
    numbers = np.random.default_rng(epochs)
    xseq = [{f"a{a}": numbers.uniform(0.5, 2) for a in numbers.choice(9, 3)} for _ in range(14)]
    yseq = [f"L{label}" for label in [0, 1, 2, 3, *numbers.integers(4, size=10)]]
    settings = {**params, "max_iterations": epochs}
    found = {}
    for module in (pycrfsuite, original):
        log, _ = trained(module, tmp_path / module.__name__, algorithm, settings, [xseq], [yseq])
        weights = CRF.load(tmp_path / module.__name__)
        found[module] = {**weights.state_features_, **weights.transition_features_}, log.iterations
    (ours, our_log), (theirs, their_log) = found.values()
    assert [record["num"] for record in our_log] == [record["num"] for record in their_log]
    # The original logs the norm of the passive-aggressive weights before it averages them.
    for name in ("loss",) if algorithm == "pa" else ("loss", "feature_norm"):
        assert [record[name] for record in our_log] == pytest.approx(
            [record[name] for record in their_log], rel=1e-4, abs=2e-6
        )
    for key in ours.keys() | theirs.keys():
        assert ours.get(key, 0.0) == pytest.approx(theirs.get(key, 0.0), rel=1e-5, abs=1e-6)


def walks(n):
    """Return n sequences of 15 labels that mostly count up, with eight attributes, half of them telling."""
    numbers = np.random.default_rng(1)
    X, y = [], []
    for _ in range(n):
        steps = np.where(numbers.random(15) < 0.3, numbers.integers(6, size=15), 1)
        labels = np.cumsum(steps) % 6
        rank = np.exp(numbers.random((15, 8)) * np.log(600)).astype(int)
        rank = np.where(numbers.random(rank.shape) < 0.5, rank - rank % 6 + labels[:, None], rank)
        X.append([sorted({f"a{a}" for a in item}) for item in rank])
        y.append([f"L{label}" for label in labels])
    return X, y


@cache
def tasks():
    """Return three generated data sets, X and y of each."""
    english = addresses(1600, noise=0.2, countries=["US", "GB"], random_state=3)
    german = addresses(1600, noise=0.2, countries=["DE", "NL"], scheme="plain", random_state=4)
    dicts = [
        [
            {"word": word, "end": word[-3:], "before": before}
            for word, before in zip(a, ["", *a], strict=False)
        ]
        for a in german[0]
    ]
    return [([token_features(a, window=1) for a in english[0]], english[1]), (dicts, german[1]), walks(1600)]


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_algorithms_tag_as_well(algorithm, tmp_path):
    """The two take the sequences in different orders, which alone moves an accuracy by half a point."""
    ctypes.CDLL(None).srand(1)  # the original shuffles with C's rand, from wherever other tests have left it
    differences = []
    for X, y in tasks():
        right = {}
        for module in (pycrfsuite, original):
            trained(module, tmp_path / "model", algorithm, {"max_iterations": 8}, X[:600], y[:600])
            right[module] = CRF.load(tmp_path / "model").score(X[600:], y[600:])
        differences.append(right[pycrfsuite] - right[original])
    assert abs(np.mean(differences)) < 0.005
    assert max(map(abs, differences)) < 0.01


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_algorithms_stop_at_epsilon(algorithm, small, tmp_path):
    log, _ = trained(pycrfsuite, tmp_path / "model", algorithm, {"epsilon": 0.5}, *small[:2])
    assert 1 <= len(log.iterations) < 100
    assert log.last_iteration["loss"] / len(small[0]) <= 0.5
    assert "Terminated with the stopping criterion\n" in log.log
