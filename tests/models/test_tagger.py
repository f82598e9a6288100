"""What a fitted model says of new sequences, against enumeration of all paths."""

from itertools import pairwise

import numpy as np
import pytest
from enumeration import enumerate_paths

from crfkit import CRF
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import Constraints
from crfkit.models.linear import tagger as linear_tagger

X = [[["a"], ["b"], ["c", "a"]], [["c"]], [], [["b"], ["a"], ["b"], ["d"]]] * 3
Y = [["P", "Q", "R"], ["Q"], [], ["R", "P", "R", "Q"]] * 3


@pytest.fixture(params=[1, 2])
def crf(request):
    return CRF(order=request.param, c2=0.3, all_possible_states=True).fit(X, Y)


def oracles(crf):
    lattice = crf.tagger_.lattice(crf.tagger_.encode(X))
    return [enumerate_paths(lattice, i) for i in range(len(X))]


def test_scores_are_the_weights_by_name(crf):
    lattice = crf.tagger_.lattice(crf.tagger_.encode([[["a", "c"], ["unknown", "d"]]]))
    state = crf.state_features_
    for t, names in enumerate([["a", "c"], ["d"]]):
        for i, label in enumerate(crf.classes_):
            assert lattice.node[t, i] == pytest.approx(sum(state.get((name, label), 0) for name in names))
    for (first, second, *more), weight in crf.transition_features_.items():
        i, j = crf.classes_.index(first), crf.classes_.index(second)
        table = lattice.edge if not more else lattice.edge2[:, :, crf.classes_.index(more[0])]
        assert table[i, j] == weight


def test_every_answer(crf):
    found = oracles(crf)
    best, marginals = crf.predict(X), crf.predict_marginals(X)
    arrays, posterior, nbest = (
        crf.predict_marginals(X, as_arrays=True),
        crf.predict_posterior(X),
        crf.predict_nbest(X, 4),
    )
    for i, oracle in enumerate(found):
        order = np.argsort(-oracle.probabilities, kind="stable")
        names = [[crf.classes_[label] for label in oracle.paths[k]] for k in order]
        assert best[i] == names[0]
        node = oracle.node(len(X[i]), 3)
        np.testing.assert_allclose(arrays[i], node, atol=1e-9)
        assert [list(row) for row in marginals[i]] == [crf.classes_] * len(X[i])
        np.testing.assert_allclose([list(row.values()) for row in marginals[i]], arrays[i].tolist())
        assert posterior[i] == [crf.classes_[label] for label in node.argmax(axis=1)]
        assert [labels for labels, _ in nbest[i]] == names[:4]
        np.testing.assert_allclose(
            [p for _, p in nbest[i]], oracle.probabilities[order][:4].astype(float), rtol=1e-9
        )
        assert all(type(p) is float for _, p in nbest[i])


def test_known_labels(crf):
    known = [[None] * len(sequence) for sequence in X]
    assert crf.predict(X, known=known) == crf.predict(X)
    known[0] = ["R", None, {"P", "Q"}]
    found = crf.predict(X, known=known)
    assert found[0][0] == "R"
    assert found[0][2] in "PQ"
    assert found[1:] == crf.predict(X)[1:]
    marginals = crf.predict_marginals(X[:1], known=known[:1])[0]
    assert marginals[0] == {"P": 0.0, "Q": 0.0, "R": pytest.approx(1)}
    assert marginals[2]["R"] == 0
    assert crf.predict(X, known=Y) == Y
    with pytest.raises(InputError, match="sequence 0, position 1: label 'Z' is not among the 3 known ones"):
        crf.predict(X[:1], known=[[None, "Z", None]])


def test_constraints(crf):
    table = np.ones((3, 3), bool)
    table[0, 1] = False  # P is never followed by Q
    rules = Constraints(transitions=table)
    for labels in crf.predict(X, constraints=rules):
        assert ("P", "Q") not in list(pairwise(labels))
    with pytest.raises(NoPathError, match="sequence 0"):
        crf.predict(X[:1], constraints=rules, known=[["P", "Q", None]])


def test_large_batches_are_cut_into_pieces(crf, monkeypatch):
    expected = crf.predict(X), crf.predict_marginals(X), crf.predict_nbest(X, 2)
    for size in (1, 3, 5, 100):
        monkeypatch.setattr(linear_tagger, "_PIECE", size)
        assert (crf.predict(X), crf.predict_marginals(X), crf.predict_nbest(X, 2)) == expected
    assert sum(1 for _ in crf.tagger_.pieces(X)) == 1
    monkeypatch.setattr(linear_tagger, "_PIECE", 3)
    assert sum(1 for _ in crf.tagger_.pieces(X)) > 1


@pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
def test_bad_k(crf, k):
    with pytest.raises(InputError, match="k must be a whole number"):
        crf.predict_nbest(X, k)


def test_n_jobs_of_the_estimator_counts(crf):
    crf.set_params(n_jobs=1)
    crf.predict(X)
    assert crf.tagger_.n_jobs == 1
    with pytest.raises(InputError, match="n_jobs must be"):
        crf.set_params(n_jobs=0).predict(X)


def test_score_with_weights(crf):
    wrong = [["P"] * len(labels) for labels in Y]
    weights = np.arange(len(X), dtype=float)
    found = crf.predict(X)
    right = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in zip(wrong, found, strict=True)]
    sizes = np.array([len(labels) for labels in Y])
    assert crf.score(X, wrong, weights) == pytest.approx(weights @ right / (weights @ sizes))
    assert crf.score(X, wrong, np.ones(len(X))) == pytest.approx(crf.score(X, wrong))
    with pytest.raises(InputError, match="all sequences with a weight are empty"):
        crf.score(X[1:3], Y[1:3], [0, 1])
    with pytest.raises(InputError, match="sequence 0"):
        crf.score(X[:2], [["P"], ["P"]], [1, 1])
