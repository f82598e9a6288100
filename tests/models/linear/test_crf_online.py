"""CRF(algorithm="ap" | "pa" | "arow"): the averaged perceptron and its kin."""

import numpy as np
import pytest
from refusals import refuses
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.inference import PermittedPairs
from crfkit.objectives.linear_likelihood import MistakeLearner

ONLINE = ["ap", "pa", "arow"]
X, Y = ADDRESSES
FEW = {"max_iterations": 5, "random_state": 0}


@pytest.mark.parametrize("algorithm", [*ONLINE, "pa(type=2, c=0.5, averaging=False)", "arow(gamma=0.1)"])
@pytest.mark.parametrize("options", [{}, {"order": 2}, {"all_possible_states": True, "min_freq": 2}], ids=str)
def test_it_learns_and_travels(algorithm, options, tmp_path):
    crf = CRF(algorithm=algorithm, **options, **FEW).fit(X, Y)
    assert crf.score(X, Y) > 0.95
    assert crf.converged_
    assert crf.n_iter_ == len(crf.history_) <= 5
    assert crf.history_[0]["objective"] > crf.objective_
    crf.save(tmp_path / "model")
    loaded = CRF.load(tmp_path / "model")
    assert loaded.algorithm == algorithm
    assert loaded.predict(X) == crf.predict(X)


def test_same_seed_same_bits():
    def weights(**options):
        return CRF(algorithm="ap", max_iterations=3, **options).fit(X, Y).state_features_

    assert weights() == weights(random_state=0) == weights(random_state=0, n_jobs=1)
    assert weights(random_state=1) != weights()


@pytest.mark.parametrize("algorithm", ["ap", "pa(type=0)", "arow"])
def test_twins_learn_like_single_features(algorithm):
    """Attributes that always occur together share a parameter; the rule is that of single features."""
    rolls, dice = CASINO
    twins = [[{"a": item["excess"], "b": item["excess"], "roll": item["roll"]} for item in x] for x in rolls]
    apart = [*twins, [{"a": 1e-300}], [{"b": 1e-300}]]  # no longer twins, but no evidence either
    one, two = (
        CRF(algorithm=algorithm, max_iterations=1).fit(x, [*dice, ["real"], ["real"]]).state_features_
        for x in ([*twins, [{"a": 1e-300, "b": 1e-300}], [{"a": 1e-300, "b": 1e-300}]], apart)
    )
    assert one["a", "fake"] == one["b", "fake"] != 0
    for key, weight in one.items():
        assert weight == pytest.approx(two[key], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("algorithm", ONLINE)
def test_partial_labels_weights_and_edge_attributes(algorithm):
    gaps = [[None if t % 5 == 3 else label for t, label in enumerate(labels)] for labels in Y]
    gaps[0][0] = set(list(CRF().fit(X[:5], Y[:5]).classes_)[:1]) | {Y[0][0]}
    partial = CRF(algorithm=algorithm, **FEW).fit(X, gaps)
    assert partial.score(X, Y) > 0.93
    wrong = [[labels[0]] * len(labels) for labels in Y]
    weighted = CRF(algorithm=algorithm, **FEW).fit(
        [*X, *X], [*Y, *wrong], sample_weight=[1.0] * len(X) + [0.0] * len(X)
    )
    assert weighted.score(X, Y) > 0.97
    edges = CRF(algorithm=algorithm, edge_attributes="word", **FEW).fit(X, Y)
    assert edges.edge_features_
    assert edges.score(X, Y) > 0.9


def test_permitted_pairs_hold_while_it_learns():
    x, y = [[["a"], ["a"], ["b"]]] * 3, [["B", "I", "O"]] * 3
    tables = np.ones((1, 3, 3), dtype=bool)
    tables[0, 2, 1] = False  # no I after O
    pairs = PermittedPairs(np.zeros(9, dtype=np.int32), tables)
    crf = CRF(algorithm="ap", **FEW).fit(x, y, permitted=pairs)
    assert crf.predict(x, constraints=pairs.constraints()) == y


def test_early_stopping_warm_start_and_further_training():
    half = len(X) // 2
    crf = CRF(algorithm="ap", patience=2, random_state=0).fit(
        X[:half], Y[:half], X_dev=X[half:], y_dev=Y[half:]
    )
    assert crf.n_iter_ < 100
    assert crf.converged_
    again = CRF(algorithm="ap", max_iterations=1, warm_start=True, random_state=0)
    again.fit(X[:half], Y[:half])
    first = again.history_[0]["objective"]
    again.fit(X[:half], Y[:half])
    assert again.history_[0]["objective"] < first
    known = again.tagger_.index.n_features
    again.partial_fit(X[half:], Y[half:])
    assert again.tagger_.index.n_features > known
    assert again.score(X[half:], Y[half:]) > 0.85


def test_ctrl_c_keeps_what_it_has(monkeypatch):
    run, calls = MistakeLearner.run, []

    def interrupted(learner, examples):
        calls.append(len(examples))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(learner, examples)

    monkeypatch.setattr(MistakeLearner, "run", interrupted)
    crf = CRF(algorithm="pa", random_state=0)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 2 iterations"):
        crf.fit(X, Y)
    assert crf.score(X, Y) > 0.9


def test_epochs_without_a_mistake_are_not_decoded(monkeypatch):
    """The mean over epochs goes on as if they were."""
    decoded, run = [], MistakeLearner.run
    monkeypatch.setattr(MistakeLearner, "run", lambda learner, ids: decoded.append(ids) or run(learner, ids))
    x, y = [[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "A"]]
    crf = CRF(algorithm="ap", max_iterations=50, random_state=0).fit(x, y)
    assert len(decoded) < 10
    assert crf.n_iter_ == 50
    longer = CRF(algorithm="ap", max_iterations=5000, random_state=0).fit(x, y)
    last = {key: round(weight) for key, weight in longer.state_features_.items()}
    for key, weight in crf.state_features_.items():
        assert weight == pytest.approx(last[key], rel=0.1)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("pa(c=-1)", "algorithm='pa\\(c=-1\\)': c must be a number of at least 0, got -1"),
        ("pa(gamma=1)", "'pa' has no setting 'gamma'; it has type, c, error_sensitive, averaging, epsilon"),
        ("lbfgs(c=1)", "'lbfgs' has no setting 'c'; it has none"),
        ("pa(c=", "expected settings as in pa\\(name=value, …\\)"),
        ("pa(1)", "expected settings as in"),
        ("pa(c=open)", "expected settings as in"),
        ("perceptron", "algorithm must be one of 'auto', 'lbfgs', 'sgd', 'ap', 'pa', 'arow', with settings"),
        (3, "algorithm must be one of"),
    ],
)
def test_bad_settings_in_words(algorithm, message):
    refuses(message, CRF(algorithm=algorithm).fit, *CASINO)


def test_what_it_cannot_do_in_words():
    refuses("algorithm='ap' cannot train with c1 > 0", CRF(algorithm="ap", c1=0.1).fit, *CASINO)
    refuses(
        "class_weight works with the likelihood only",
        CRF(algorithm="pa", class_weight="balanced").fit,
        *CASINO,
    )


def test_weights_that_overflow_in_words():
    huge = [[{"a": 1e14 * (t + 1)} for t in range(3)]] * 2
    crf = CRF(algorithm="pa(type=0)", **FEW).fit(huge, [["A", "B", "A"]] * 2)
    assert np.isfinite(list(crf.state_features_.values())).all()
