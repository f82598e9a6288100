"""Orders above 1: the same models by n-grams as by tables, files, explanations, pruning, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from crfkit import CRF, ConstrainedCRF, Tagger
from crfkit.data.labels import encode_labels
from crfkit.exceptions import InputError
from crfkit.inference import PrunedShare, likely_labels, path_score, pruned_shares
from crfkit.models.linear import coarse, first_training
from crfkit.models.linear.ngram_arrays import ngram_arrays
from crfkit.models.linear.source import Given, open_source
from crfkit.models.rare_labels import spread_sequences
from crfkit.models.training import train
from crfkit.objectives.linear_likelihood import LinearLikelihood

LABELS = list("ABC")


def cycles(n=80, seed=0):
    """Labels that repeat those of three positions before, and noisy observations."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        head = rng.integers(len(LABELS), size=3).tolist()
        ids = [head[t % 3] for t in range(int(rng.integers(6, 11)))]
        seen = [
            i if t < 3 or rng.random() < 0.4 else int(rng.integers(len(LABELS))) for t, i in enumerate(ids)
        ]
        X.append([{"seen": str(s), "first": t < 3} for t, s in enumerate(seen)])
        y.append([LABELS[i] for i in ids])
    return X, y


X, Y = cycles()
NEW, TRUE = cycles(30, seed=1)


@pytest.fixture(scope="module")
def third():
    return CRF(order=3, c2=0.1).fit(X, Y)


def test_an_order_sees_so_far_back(third):
    right = [
        np.mean(
            [a == b for p, t in zip(model.predict(NEW), TRUE, strict=True) for a, b in zip(p, t, strict=True)]
        )
        for model in (CRF(c2=0.1).fit(X, Y), CRF(order=2, c2=0.1).fit(X, Y), third)
    ]
    assert right[2] > max(right[:2]) + 0.05
    assert max(map(len, third.transition_features_)) == 4


def test_order_2_is_the_same_in_tables_and_over_ngrams():
    # as rows of order 3, triples are never trained in tables
    second = CRF(order=2, c2=0.3, tol=1e-9).fit(X, Y)
    tagger, weights = second.tagger_, second.tagger_.weights
    index = tagger.index
    sequences = tagger.encode(X).sequences
    y = encode_labels(Y, second.classes_, sequences.offsets)
    rows = np.insert(index.ngrams, 0, -1, axis=1)
    one, other = (
        LinearLikelihood(sequences, y, each, n_threads=1) for each in (index, replace(index, ngrams=rows))
    )
    assert one.native.in_tables
    assert not other.native.in_tables
    values = [f(f.parameters(weights.vector)) for f in (one, other)]
    assert values[0].value == pytest.approx(values[1].value, rel=1e-6)
    np.testing.assert_allclose(values[0].gradient, values[1].gradient, atol=1e-4)


def test_files_taggers_and_continued_training(third, tmp_path):
    third.save(tmp_path / "model")
    loaded = CRF.load(tmp_path / "model")
    assert loaded.order == 3
    assert loaded.predict(NEW) == third.predict(NEW)
    assert loaded.transition_features_ == third.transition_features_
    light = Tagger(tmp_path / "model")
    assert [light.tag(x) for x in NEW] == third.predict(NEW)
    mine, theirs = light.analyse(NEW[0]), third.tagger_.analyse(NEW[0])
    for here, there in zip(mine.marginals(), theirs.marginals(), strict=True):
        assert here == pytest.approx(there, abs=1e-9)
    assert [labels for labels, _ in mine.nbest(5)] == [labels for labels, _ in theirs.nbest(5)]
    again = CRF(order=3, c2=0.1, warm_start=True)
    again.tagger_ = third.tagger_
    assert again.fit(X, Y).objective_ == pytest.approx(third.objective_, rel=1e-3)
    assert loaded.partial_fit(NEW, TRUE).tagger_.index.order == 3
    with pytest.raises(InputError, match="order 3, not 2"):
        loaded.set_params(order=2).partial_fit(NEW, TRUE)
    third.save(tmp_path / "small", compact=True)
    assert CRF.load(tmp_path / "small").predict(NEW[:5]) == third.predict(NEW[:5])


def test_log_odds_of_an_explanation_are_a_difference_of_scores(third):
    decision = third.explain(NEW[:1])[0][5]
    lattice = third.tagger_.lattice(third.tagger_.encode(NEW[:1]))
    labels = [third.classes_.index(label) for label in third.predict(NEW[:1])[0]]
    changed = labels.copy()
    changed[5] = third.classes_.index(decision.rival)
    difference = path_score(lattice, labels) - path_score(lattice, changed)
    assert decision.log_odds == pytest.approx(difference[0])
    assert any(reason.what.count("→") == 3 for reason in decision.reasons)


def test_many_labels_in_order_2_are_written_as_a_list(third):
    assert set(ngram_arrays(third.tagger_.index, third.tagger_.weights.ngrams)) == {
        "ngrams.labels",
        "ngrams.weights",
    }
    second = CRF(order=2).fit(X[:5], Y[:5])
    assert "edge2.weights" in ngram_arrays(second.tagger_.index, second.tagger_.weights.ngrams)


def test_pruning_says_what_it_leaves_out(third):
    model = CRF(order=3, c2=0.1, prune=1e-3).fit(X, Y)
    assert isinstance(model.pruned_, PrunedShare)
    assert 0 <= model.pruned_.mean <= model.pruned_.largest < 0.2
    assert model.objective_ == pytest.approx(third.objective_, rel=0.02)
    lattice = third.tagger_.lattice(third.tagger_.encode(NEW))
    first = lattice.changed(ngrams=None)
    small, large = (pruned_shares(lattice, likely_labels(first, p)) for p in (1e-6, 0.05))
    assert (small <= large + 1e-12).all()
    assert small.max() < 1e-3 < large.max()
    everything = np.ones(lattice.node.shape, bool)
    np.testing.assert_allclose(pruned_shares(lattice, everything), 0, atol=1e-12)
    assert not np.signbit(pruned_shares(lattice, everything)).any()
    with pytest.raises(InputError, match=r"kept must have shape .*; got \(3, 3\)"):
        pruned_shares(lattice, np.ones((3, 3), bool))
    with pytest.raises(InputError, match="prune must be a number from 0 to 1, got 2"):
        CRF(order=3, prune=2).fit(X, Y)


def test_what_needs_tables_of_transitions_says_so():
    for model in (CRF(order=3, algorithm="ap"), ConstrainedCRF(order=3)):
        with pytest.raises(InputError, match="needs order 1 or 2, got 3"):
            model.fit(X, Y)
    with pytest.raises(InputError, match="10,460,353,203 weights of label n-grams; at most"):
        CRF(order=20, all_possible_transitions=True).fit(X, Y)


@pytest.mark.parametrize("order", [2, 3])
def test_the_objective_with_pruned_labels(order):
    # at the weights of order 1 it agrees with the exact one; everywhere its gradient is that of its value
    y = [[*labels[:-1], None] for labels in Y[:9]] + Y[9:]
    given = Given(X, y, np.linspace(0.5, 2, len(X)), None, None, None)
    exact = open_source(CRF(order=order, c2=0.1), given).function
    source = open_source(CRF(order=order, c2=0.1, prune=0.1), given)
    function, start = source.function, source.coarse.weights
    assert not np.unpackbits(source.coarse.left_out.likely, axis=1, count=3, bitorder="little").all()
    here, there = function(function.parameters(start)), exact(exact.parameters(start))
    assert here.value == pytest.approx(there.value, rel=1e-6)
    sizes = source.index.sizes
    for part in (slice(0, sizes[0]), slice(sum(sizes[:2]), None)):
        found, expected = (f.weights(g) for f, g in ((function, here.gradient), (exact, there.gradient)))
        np.testing.assert_allclose(found[part], expected[part], atol=1e-3)
    random = np.random.default_rng(0)
    x, step = random.normal(size=function.n_parameters), 1e-3 * random.normal(size=function.n_parameters)
    slope = (function(x + step).value - function(x - step).value) / 2
    assert slope == pytest.approx(step @ function(x).gradient, rel=1e-3)


def test_what_does_not_go_with_pruning():
    for more, words in (
        ({"algorithm": "sgd"}, "algorithm='auto' or 'lbfgs'"),
        ({"c2": "auto"}, "a number c2"),
    ):
        with pytest.raises(InputError, match=words):
            CRF(order=3, prune=0.1, **more).fit(X, Y)


def test_ctrl_c_in_order_1_keeps_its_model(monkeypatch):
    def interrupted(*args, **more):
        return replace(train(*args, **more), interrupted=True)

    monkeypatch.setattr(coarse, "train", interrupted)
    model = CRF(order=3, prune=0.1)
    with pytest.raises(KeyboardInterrupt, match="interrupted in order 1"):
        model.fit(X, Y)
    assert len(model.predict(NEW)) == len(NEW)


def test_for_which_sequences_the_pruned_share_is_computed(monkeypatch):
    # all of them; if these have too many positions, an even selection; if each has, the shortest one
    sizes = list(map(len, X))
    for positions, n in ((sum(sizes), len(X)), (sum(sizes) // 4, len(X) // 4), (1, 1)):
        monkeypatch.setattr(first_training, "_POSITIONS", positions)
        model = CRF(order=2, c2=0.1, prune=0.01, max_iterations=3, tol=10).fit(X, Y)
        assert model.pruned_.n_sequences == pytest.approx(n, abs=5)
    assert (np.diff(spread_sequences(np.arange(0, 1001, 10), 500)) == 2).all()


def test_orders_that_no_run_of_labels_is_long_enough_for():
    some = CRF(order=9, c2=0.1, max_iterations=5, tol=10)
    deep = CRF(order=30, c2=0.1, max_iterations=5, tol=10)
    assert deep.fit(X, Y).predict(NEW) == some.fit(X, Y).predict(NEW)
    assert deep.transition_features_.keys() == some.transition_features_.keys()
    for order in (0, 31, 10**9, 2.5):
        with pytest.raises(InputError, match="order must be a whole number from 1 to 30"):
            CRF(order=order).fit(X, Y)


def test_what_permitted_must_be():
    with pytest.raises(InputError, match=r"permitted must be a crfkit\.inference\.PermittedPairs, got list"):
        CRF(order=3).fit(X, Y, permitted=[("A", "B")])


def test_attributes_on_pairs_alone_are_no_reason_for_a_warning(recwarn):
    CRF(order=2, edge_attributes="seen", max_iterations=2, tol=10).fit([[{"seen": 1}] * 3], [["A", "B", "A"]])
    assert not [str(w.message) for w in recwarn if "ignores X" in str(w.message)]
