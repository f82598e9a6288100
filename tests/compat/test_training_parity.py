"""Training compared with the original: the same features, objective and labels."""

import numpy as np
import pycrfsuite as original
import pytest
from crfsuite_training import fill

from crfkit.compat import pycrfsuite

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
