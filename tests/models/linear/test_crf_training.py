"""Training of CRF: dev sets, weights, warm starts, continued training, interruptions, progress."""

import os
import signal
import subprocess
import sys
import warnings
from itertools import chain

import numpy as np
import pytest
from interruptions import interrupt
from refusals import refuses
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.objectives.linear_likelihood import LinearLikelihood

X, Y = CASINO


def weights_of(crf):
    return {**crf.state_features_, **crf.transition_features_}


def assert_close(one, two, atol):
    for key in set(one) | set(two):
        assert one.get(key, 0.0) == pytest.approx(two.get(key, 0.0), abs=atol), key


# ---- the dev set


def test_dev_set_stops_training_and_the_best_iterate_is_kept():
    X, y = ADDRESSES
    crf = CRF(c2=0.01, patience=3, tol=0).fit(X[:40], y[:40], X_dev=X[40:], y_dev=y[40:])
    accuracies = [record["dev_accuracy"] for record in crf.history_]
    best = max(accuracies)
    first = accuracies.index(best)
    assert len(accuracies) == first + 1 + 3
    assert crf.converged_
    assert crf.n_iter_ == len(crf.history_)
    assert crf.score(X[40:], y[40:]) == pytest.approx(best)
    assert crf.objective_ == crf.history_[first]["objective"]


def test_dev_set_that_never_gets_worse_changes_nothing():
    X, y = ADDRESSES
    plain = CRF(c2=1.0).fit(X, y)
    watched = CRF(c2=1.0, patience=10**6).fit(X, y, X_dev=X, y_dev=y)
    assert [r["objective"] for r in plain.history_] == [r["objective"] for r in watched.history_]


@pytest.mark.parametrize(
    ("X_dev", "y_dev", "message"),
    [
        ([], [], "in the dev set: .*no positions"),
        ([[["a"]]], [["A", "A"]], "in the dev set: sequence 0 has 1 items but 2 labels"),
        ([["a"]], [["A"]], "in the dev set: sequence 0, position 0"),
        ([[["a"], ["b"]]], [[None, None]], "the dev set has no labels"),
    ],
)
def test_bad_dev_sets(X_dev, y_dev, message):
    refuses(message, CRF().fit, [[["a"], ["b"]]], [["A", "B"]], X_dev=X_dev, y_dev=y_dev)


# ---- weights


def test_sample_weight_is_repetition():
    counts = [0, 1, 2, 3, 1, 0, 1, 2, 1, 1]
    repeated = [i for i, n in enumerate(counts) for _ in range(n)]
    options = {"c2": 0.5, "tol": 1e-8, "all_possible_states": True, "all_possible_transitions": True}
    weighted = CRF(**options).fit(X[:10], Y[:10], sample_weight=counts)
    plain = CRF(**options).fit([X[i] for i in repeated], [Y[i] for i in repeated])
    assert weighted.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert_close(weights_of(weighted), weights_of(plain), 1e-2)


def test_scaling_weights_and_penalty_together_changes_nothing():
    one = CRF(c2=0.3, tol=1e-8).fit(X, Y)
    two = CRF(c2=0.75, tol=1e-8).fit(X, Y, sample_weight=np.full(len(X), 2.5))
    assert two.objective_ == pytest.approx(2.5 * one.objective_, rel=1e-5)
    assert_close(weights_of(one), weights_of(two), 1e-2)


def test_class_weight_moves_recall():

    def recall(crf):
        pairs = zip(chain.from_iterable(Y), chain.from_iterable(crf.predict(X)), strict=True)
        return np.mean([true == found for true, found in pairs if true == "fake"])

    recalls = [recall(CRF(class_weight=w).fit(X, Y)) for w in ({"fake": 0.2}, None, {"fake": 5.0})]
    assert recalls[0] < recalls[1] < recalls[2]
    assert recall(CRF(class_weight="balanced").fit(X, Y)) > recalls[1]


def test_class_weight_of_one_changes_nothing():
    assert CRF(class_weight={"fake": 1, "real": 1}).fit(X, Y).objective_ == CRF().fit(X, Y).objective_


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"A": 0}, "positive and finite"),
        ({"A": float("inf")}, "positive and finite"),
        ({"A": "much"}, "class_weight must be numbers"),
        ("equal", "class_weight must be None or one of 'balanced' or a dict, got 'equal'"),
    ],
)
def test_bad_class_weights(class_weight, message):
    refuses(message, CRF(class_weight=class_weight).fit, [[["a"]], [["b"]]], [["A"], ["B"]])


def test_class_weight_of_an_absent_label_warns():
    """A warning, not an error: a fold of a cross-validation may lack a rare label."""
    with pytest.warns(UserWarning, match="class_weight names the label 'Z', but y has no such label"):
        CRF(class_weight={"Z": 2}).fit([[["a"]], [["b"]]], [["A"], ["B"]])


@pytest.mark.parametrize(
    ("y_dev", "accuracy"),
    [(["A", None, None], 1), ([{"A", "C"}, {"A", "C"}, "new"], 1 / 3)],
    ids=["unlabelled positions do not count", "any label of a set is right"],
)
def test_partial_labels_in_the_dev_set(y_dev, accuracy):
    X, y = [[["a"], ["b"], ["c"]]], [["A", "B", "C"]]
    model = CRF(c2=0.01).fit(X, y, X_dev=X, y_dev=[y_dev])
    assert model.history_[-1]["dev_accuracy"] == pytest.approx(accuracy)


# ---- which features


def test_min_freq_and_all_possible():
    plain, rare, every = (
        CRF(**options).fit(X, Y).tagger_
        for options in (
            {},
            {"min_freq": 200},
            {"all_possible_states": True, "all_possible_transitions": True},
        )
    )
    assert 0 < len(rare.weights.state) < len(plain.weights.state)
    assert len(every.weights.state) == 2 * len(every.vocabulary)
    assert every.index.edges.all()


def test_order_two_is_at_least_as_good_a_fit():
    one, two = (CRF(order=order, c2=0.1, tol=1e-7).fit(X, Y) for order in (1, 2))
    assert two.objective_ < one.objective_
    assert any(len(key) == 3 for key in two.transition_features_)
    assert all(len(key) == 2 for key in one.transition_features_)


# ---- partial labels


def test_partial_labels_teach():
    X, y = ADDRESSES
    rng = np.random.default_rng(0)
    gaps = [[None if rng.random() < 0.5 else label for label in labels] for labels in y]
    crf = CRF(c2=0.1).fit(X[:60], gaps[:60])
    assert crf.score(X[60:], y[60:]) > 0.6


# ---- warm start and continued training


def test_warm_start_reaches_the_same_optimum_in_fewer_iterations():
    X, y = ADDRESSES
    cold = CRF(c2=0.3, tol=1e-6).fit(X, y)
    warm = CRF(c2=0.3, tol=1e-6, warm_start=True).fit(X, y)
    warm.fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert warm.n_iter_ < cold.n_iter_ / 2
    warm.set_params(c2=0.31).fit(X, y)
    cold = CRF(c2=0.31, tol=1e-6).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.predict(X) == cold.predict(X)


def test_without_warm_start_the_past_is_forgotten():
    crf = CRF().fit(X[:5], Y[:5])
    assert weights_of(crf.fit(X, Y)) == weights_of(CRF().fit(X, Y))


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (1, 1)])
def test_warm_start_with_other_data_labels_and_order(before, after):
    crf = CRF(c2=1.0, order=before, warm_start=True, tol=1e-7).fit(X[:20], Y[:20])
    renamed = [["odd" if t == 0 else label for t, label in enumerate(labels)] for labels in Y]
    other = [[{**item, "new": "x"} for item in sequence] for sequence in X]
    crf.set_params(order=after).fit(other, renamed)
    cold = CRF(c2=1.0, order=after, tol=1e-7).fit(other, renamed)
    assert crf.classes_ == ["fake", "odd", "real"]
    assert crf.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert_close(weights_of(crf), weights_of(cold), 0.05)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("c1", [0.0, 0.2])
def test_partial_fit_keeps_what_it_knew(order, c1):
    """New attributes and a new label are added; sequences of old attributes are labelled as before."""
    X = [[["the"], ["cat"], ["sleeps"]], [["a"], ["dog"], ["runs"]]] * 5
    y = [["D", "N", "V"]] * 10
    crf = CRF(order=order, c1=c1, c2=0.1).partial_fit(X, y)
    before = weights_of(crf)
    crf.partial_fit([[["oh"], ["Rex"]]] * 3, [["I", "Z"]] * 3)
    assert crf.classes_ == ["D", "I", "N", "V", "Z"]
    after = weights_of(crf)
    assert {key: after[key] for key in before if len(key) == 2 and key[0] not in "DNV"} == pytest.approx(
        {key: value for key, value in before.items() if len(key) == 2 and key[0] not in "DNV"}
    )
    assert crf.predict(X[:2]) == y[:2]
    assert crf.predict([[["oh"], ["Rex"]]]) == [["I", "Z"]]
    assert ("oh", "I") in after


def test_partial_fit_again_and_again():
    crf = CRF(c2=0.1)
    for start in range(0, 40, 10):
        crf.partial_fit(X[start : start + 10], Y[start : start + 10])
    assert crf.score(X, Y) > 0.9 * CRF(c2=0.1).fit(X, Y).score(X, Y)


def test_partial_fit_with_the_same_data_moves_on_from_the_optimum():
    """The penalty now pulls towards the current weights, so the loss falls."""
    crf = CRF(c2=1.0, tol=1e-7).fit(X, Y)
    loss = crf.objective_ - sum(w * w for w in weights_of(crf).values())
    crf.partial_fit(X, Y)
    assert crf.objective_ < loss


def test_partial_fit_does_not_change_the_order():
    crf = CRF(order=2).fit(X, Y)
    refuses("the fitted model has order 2, not 1", crf.set_params(order=1).partial_fit, X, Y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    crf = CRF().fit(X, Y)
    before = crf.predict(X)
    vocabulary = len(crf.tagger_.vocabulary)
    for train in (crf.fit, crf.partial_fit):
        with pytest.raises(InputError):
            train([[{"unheard": 1.0}, {"of": float("nan")}]], [["fake", "real"]])
    assert len(crf.tagger_.vocabulary) == vocabulary
    assert crf.predict(X) == before


# ---- ending early


def test_reaching_max_iterations_warns_in_words():
    with pytest.warns(ConvergenceWarning, match="max_iterations=3.*best model so far is kept"):
        crf = CRF(max_iterations=3).fit(X, Y)
    assert crf.n_iter_ == 3
    assert not crf.converged_
    assert crf.predict(X)


@pytest.mark.parametrize("dev", [{}, {"X_dev": X[20:], "y_dev": Y[20:]}], ids=["plain", "dev set"])
def test_ctrl_c_leaves_the_best_model_so_far(dev, monkeypatch):
    interrupt(monkeypatch, LinearLikelihood, "__call__", 9)
    crf = CRF(algorithm="lbfgs")
    with pytest.raises(KeyboardInterrupt, match="interrupted after"):
        crf.fit(X[:20], Y[:20], **dev)
    assert not crf.converged_
    assert 1 <= crf.n_iter_ <= 8
    if dev:
        assert crf.score(X[20:], Y[20:]) == pytest.approx(max(r["dev_accuracy"] for r in crf.history_))
    else:
        assert crf.objective_ == min(record["objective"] for record in crf.history_)
        assert crf.score(X, Y) > 0.5


SIGNAL = """
import signal, sys, threading, time, warnings
from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
tokens, y = addresses(1500, random_state=0)
X = [token_features(t) for t in tokens]
crf = CRF(c2=1e-4, tol=0, max_iterations=100000, verbose=2)
warnings.simplefilter("error")
try:
    crf.fit(X, y)
except KeyboardInterrupt as stopped:
    print(str(stopped).split(";")[0].split()[-2], crf.n_iter_, crf.score(X[:100], y[:100]) > 0.5)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="POSIX signals")
@pytest.mark.usefixtures("ctrl_c")
def test_a_real_signal():
    process = subprocess.Popen(
        [sys.executable, "-c", SIGNAL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for line in process.stderr:
            if line.startswith("iteration    5"):
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    said, iterations, good = out.split()
    assert good == "True"
    assert int(iterations) == int(said) >= 5


# ---- progress


@pytest.mark.parametrize("verbose", [True, 1, 2])
def test_progress(capfd, verbose):
    crf = CRF(verbose=verbose).fit(X[:30], Y[:30], X_dev=X[30:], y_dev=Y[30:])
    captured = capfd.readouterr()
    assert "objective" in captured.err
    assert "dev accuracy" in captured.err
    assert captured.err.count("iteration ") >= crf.n_iter_


def test_in_a_pipe_there_are_lines(capfd):
    crf = CRF(verbose=True).fit(*CASINO)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == crf.n_iter_ + 1
    assert all(line.startswith(f"iteration {i:4d}  objective ") for i, line in enumerate(lines[:-1], 1))


def test_history_is_complete():
    crf = CRF().fit(*CASINO)
    assert [record["iteration"] for record in crf.history_] == list(range(1, crf.n_iter_ + 1))
    for record in crf.history_:
        assert set(record) >= {"objective", "gradient_norm", "step", "passes", "seconds"}
    assert crf.history_[-1]["objective"] == crf.objective_
    assert crf.converged_


# ---- the same bits


@pytest.mark.parametrize("options", [{}, {"c1": 0.1}, {"algorithm": "sgd"}], ids=str)
def test_same_data_and_threads_give_the_same_bits(options):
    X, y = ADDRESSES
    X, y = X * 7, y * 7  # enough positions for two threads, enough sequences for a stochastic start
    fits = [CRF(n_jobs=n, max_iterations=12, random_state=0, **options) for n in (1, 1, 2, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for crf in fits:
            crf.fit(X, y)
    one, same, two, same_two = map(weights_of, fits)
    assert one == same
    assert two == same_two
    assert fits[0].objective_ == pytest.approx(fits[2].objective_, rel=1e-3)


def test_threads_agree_at_the_optimum():
    X, y = ADDRESSES
    one, two = (CRF(n_jobs=n, tol=1e-7).fit(X * 6, y * 6) for n in (1, 2))
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)
    assert one.predict(X) == two.predict(X)
    assert_close(weights_of(one), weights_of(two), 1e-2)
