"""Continued training: what it minimises, what it leaves alone, what it costs, what it remembers."""

import pickle

import numpy as np
import pytest
from model_files import rewritten, saved
from refusals import refuses, unreadable

from crfkit import CRF, ConstrainedCRF
from crfkit.data.encode import encode
from crfkit.data.labels import encode_labels
from crfkit.objectives.linear_likelihood import LinearLikelihood


def chains(labels, n, seed, words):
    """Noisy chains over the labels; ``words`` begins the names of all attributes but one."""
    rng, L = np.random.default_rng(seed), len(labels)
    X, y = [], []
    for _ in range(n):
        state, items, path = int(rng.integers(L)), [], []
        for _ in range(8):
            path.append(labels[state])
            seen = state if rng.random() > 0.25 else int(rng.integers(L))
            items.append(["bias", f"{words}{seen}", f"{words}noise{rng.integers(9)}"])
            state = (state + 1) % L if rng.random() < 0.8 else int(rng.integers(L))
        X.append(items)
        y.append(path)
    return X, y


OLD, NEW = chains("ABC", 80, 0, "old"), chains("XYZ", 80, 1, "new")
OLD_TEST, NEW_TEST = chains("ABC", 80, 2, "old"), chains("XYZ", 80, 3, "new")
OPTIONS = {
    "plain": {},
    "weak penalty": {"c2": 0.01},
    "order 2": {"order": 2},
    "edge attributes": {"edge_attributes": {"oldnoise": "both", "newnoise": "both"}},
    "L1": {"c1": 0.05, "c2": 0.1},
    "all possible": {"all_possible_states": True, "all_possible_transitions": True},
    "min_freq": {"min_freq": 3},
}


def weights_of(crf):
    return {**crf.state_features_, **crf.transition_features_, **crf.edge_features_}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_batch_of_new_labels_does_not_drive_out_the_old_ones(name):
    crf = CRF(n_jobs=1, **OPTIONS[name]).fit(*OLD)
    before, weights = crf.score(*OLD_TEST), weights_of(crf)
    crf.partial_fit(*NEW)
    assert before > 0.75
    if name != "L1":  # which has forgotten "bias", an attribute without a weight
        assert crf.score(*OLD_TEST) > before - 0.05
    assert crf.score(*NEW_TEST) > 0.7
    # Old labels do not occur in the new batch: nothing of theirs has moved, to the last bit.
    after = weights_of(crf)
    assert {key: after[key] for key in weights} == weights


def test_only_attributes_and_labels_of_the_batch_move():
    crf = CRF(c2=0.1, n_jobs=1).fit([*OLD[0], *NEW[0]], [*OLD[1], *NEW[1]])
    before = weights_of(crf)
    crf.partial_fit([[["bias", "old0"], ["old1"], ["old1"]]], [["A", "X", "A"]])
    after = weights_of(crf)
    moved = {key for key in after if after[key] != before.get(key)}
    assert ("old1", "X") in moved
    assert moved <= {(name, label) for name in ("bias", "old0", "old1", "A", "X") for label in "AX"}
    assert set(before) <= set(after)


class Counting(CRF):
    """Keeps the sizes of its last training problem."""

    def _minimise(self, problem):
        self.sizes = (
            problem.objective.function._index.n_attributes,
            problem.objective.n_parameters,
            len(problem.free),
        )
        return super()._minimise(problem)


def test_the_problem_has_the_size_of_the_batch():
    """20,000 attributes in the model, four in the batch."""
    rows = np.arange(20_000).reshape(-1, 10)
    crf = CRF(max_iterations=3, n_jobs=1, algorithm="lbfgs")
    with pytest.warns(match="before it converged"):
        crf.fit([[[f"w{i}" for i in row]] * 2 for row in rows], [["A", "B"]] * len(rows))
    model = Counting(n_jobs=1)
    model.tagger_ = old = crf.tagger_
    model.partial_fit([[["w5", "w7"], ["new", "w19999"]]], [["A", "B"]])
    # Four attributes with two labels (the new one with one), and four transitions at most.
    assert model.sizes == (4, 3 * 2 + 1 + 1, 3 * 2 + 1 + 1)
    assert len(model.tagger_.vocabulary) == 20_001
    # The model before is still itself, and the weights that are not in the batch are the same to the bit.
    assert len(old.vocabulary) == 20_000
    before, after = old.state_features(), model.state_features_
    touched = {"w5", "w7", "w19999", "new"}
    assert {key: w for key, w in after.items() if key[0] not in touched} == {
        key: w for key, w in before.items() if key[0] not in touched
    }
    assert old.state_features() == before
    # Nothing new: the lists of features are shared, not copied.
    last = model.tagger_
    model.partial_fit([[["w5", "w7"], ["new", "w19999"]]], [["A", "B"]])
    assert model.tagger_.index.state_labels is last.index.state_labels
    assert model.tagger_.vocabulary is last.vocabulary


def test_the_objective_is_the_documented_one():
    c2 = 0.3
    crf = CRF(c2=c2, tol=1e-9, n_jobs=1).fit(*OLD)
    w0, h = weights_of(crf), crf.tagger_.curvature
    ids = {name: i for i, name in enumerate(crf.tagger_.vocabulary.strings())}
    places = {label: i for i, label in enumerate(crf.classes_)}
    X, y = [[["bias", "old0"], ["fresh", "old1"]]] * 3, [["C", "A"]] * 3
    crf.partial_fit(X, y)
    w1 = weights_of(crf)
    sequences = encode(X, crf.tagger_.vocabulary, grow=False)
    labels = encode_labels(y, crf.classes_, sequences.offsets)
    loss = LinearLikelihood(sequences, labels, crf.tagger_.index, n_threads=1)
    here = loss(loss.parameters(crf.tagger_.weights.vector))
    penalty, slopes = 0.0, {}
    for key, w in w1.items():
        moved = w - w0.get(key, 0.0)
        held = h.edge[places[key[0]], places[key[1]]] if key[0] in places else 0.0
        held = h.state[ids[key[0]]] if key[0] in ids else held
        penalty += (c2 + held) * moved**2
        slopes[key] = 2 * (c2 + held) * moved
    assert crf.objective_ == pytest.approx(here.value + penalty, rel=1e-6)
    # ... and its gradient is 0 in every direction that is free.
    gradient = CRF(n_jobs=1)
    gradient.tagger_ = type(crf.tagger_)(
        crf.classes_, crf.tagger_.encoder, crf.tagger_.index, loss.weights(here.gradient)
    )
    gradients = weights_of(gradient)
    free = [key for key in w1 if w1[key] != w0.get(key)]
    assert ("fresh", "A") in free
    assert ("C", "A") in free
    for key in free:
        if key in gradients and key[0] != "fresh":
            assert gradients[key] + slopes[key] == pytest.approx(0, abs=2e-3), key


def test_curvature_of_single_positions_is_that_of_logistic_regression():
    """h = Σ p(1 - p)·value² / 2, also where attributes share a parameter."""
    X = [[{"a": 1.0, "twin": 1.0, "b": float(i % 3)}] for i in range(30)]
    y = [["P" if i % 4 else "Q"] for i in range(30)]
    crf = CRF(c2=0.5, n_jobs=1).fit(X, y)
    p = np.array([rows[0]["P"] for rows in crf.predict_marginals(X)])
    b = np.array([float(i % 3) for i in range(30)])
    names = crf.tagger_.vocabulary.strings()
    found = dict(zip(names, crf.tagger_.curvature.state.tolist(), strict=True))
    assert found["a"] == pytest.approx((p * (1 - p)).sum() / 2, rel=1e-4)
    assert found["twin"] == pytest.approx(found["a"])
    assert found["b"] == pytest.approx((p * (1 - p) * b**2).sum() / 2, rel=1e-4)
    # It adds up over batches.
    crf.partial_fit(X[:5], y[:5])
    assert crf.tagger_.curvature.state[0] > found["a"]


@pytest.mark.parametrize("name", OPTIONS)
def test_saving_between_calls_changes_nothing(name):
    crf = CRF(n_jobs=1, **OPTIONS[name]).fit(*OLD)
    again, pickled = CRF.load(saved(crf), n_jobs=1), pickle.loads(pickle.dumps(crf))
    for model in (crf, again, pickled):
        model.partial_fit(NEW[0][:20], NEW[1][:20])
        model.partial_fit(OLD[0][:5], OLD[1][:5])
    assert weights_of(again) == weights_of(crf) == weights_of(pickled)
    assert saved(again) == saved(crf)


def test_files_without_curvature_and_with_a_damaged_one():
    content = saved(CRF(n_jobs=1).fit(*OLD))
    assert CRF.load(content).tagger_.curvature is not None
    for change, words in ((lambda a: -a - 1, "negative"), (lambda a: a[:-1], "expected an array")):
        unreadable(words, CRF.load, rewritten(content, {"state.curvature": change}))
    unreadable(
        "not finite", CRF.load, rewritten(content, {"edge.curvature": lambda a: a * np.float32(np.nan)})
    )
    older = CRF.load(rewritten(content, {"state.curvature": lambda a: None}))
    assert older.tagger_.curvature is None
    assert older.partial_fit(*OLD).score(*OLD_TEST) > 0.75
    assert older.tagger_.curvature is not None


def test_a_stream_comes_close_to_one_fit():
    X, y = chains("ABC", 200, 5, "old")
    whole = CRF(c2=1.0, n_jobs=1).fit(X, y).score(*OLD_TEST)
    stream = CRF(c2=1.0, n_jobs=1)
    for i in range(0, len(X), 4):
        stream.partial_fit(X[i : i + 4], y[i : i + 4])
    assert stream.score(*OLD_TEST) > whole - 0.01


def test_sample_weights_count_like_copies():
    once, twice = (CRF(c2=0.1, tol=1e-8, n_jobs=1).fit(*OLD) for _ in range(2))
    once.partial_fit(NEW[0][:3], NEW[1][:3], sample_weight=[2, 1, 3])
    order = [0, 0, 1, 2, 2, 2]
    twice.partial_fit([NEW[0][i] for i in order], [NEW[1][i] for i in order])
    assert weights_of(once) == pytest.approx(weights_of(twice), abs=1e-3)


def test_names_without_a_feature_do_not_pile_up():
    crf = CRF(min_freq=2, n_jobs=1).fit(*OLD)
    n = len(crf.tagger_.vocabulary)
    for i in range(3):
        crf.partial_fit([[["bias", f"once{i}"], ["bias", "old0"]]], [["A", "B"]])
    assert len(crf.tagger_.vocabulary) == n
    crf.partial_fit([[["bias", "often"], ["bias", "often", "once"]]], [["A", "A"]], None, *OLD_TEST)
    assert len(crf.tagger_.vocabulary) == n + 1
    assert ("often", "A") in crf.state_features_


def test_dev_sets_see_the_whole_model():
    crf = CRF(n_jobs=1).fit(*OLD)
    crf.partial_fit(*NEW, None, *OLD_TEST)
    assert crf.history_[-1]["dev_accuracy"] > 0.75
    refuses("in the dev set", crf.partial_fit, *NEW, None, OLD_TEST[0], OLD_TEST[1][:-1])


def test_sets_of_labels_speak_about_their_members():
    crf = CRF(n_jobs=1).fit(*OLD)
    before = weights_of(crf)
    crf.partial_fit([[["old0"], ["old1"]]], [[{"A", "B"}, None]])
    moved = {key for key, w in weights_of(crf).items() if w != before.get(key)}
    assert moved
    assert all("C" not in key for key in moved)
    refuses("every label in y is None", crf.partial_fit, [[["old0"]]], [[None]])
    assert weights_of(crf).keys() >= before.keys()


def test_constrained_models_go_on_as_well():
    crf = ConstrainedCRF(tau=5.0, n_jobs=1).fit(*OLD)
    before = crf.score(*OLD_TEST)
    crf.partial_fit(NEW[0][:30], NEW[1][:30])
    assert crf.feasible_
    assert set(crf.classes_) == set("ABCXYZ")
    assert before > 0.7
