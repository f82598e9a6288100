"""Scores of candidates against enumeration of all labellings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labellings import Enumerated
from refusals import refuses
from scipy.optimize import minimize_scalar
from small_tasks import DICE_WORDS, TINY

from crfkit import CRF
from crfkit.inference import PermittedPairs
from crfkit.selection import GainSelector, GradientSelector, MutualInformationSelector
from crfkit.selection.forward import pick
from crfkit.selection.gain import GainScorer
from crfkit.selection.gradient import gradient_scores
from crfkit.selection.mutual_information import relevance
from crfkit.selection.search import Search, SearchSettings

X, Y = TINY
ROLLS, DICE = (part[:30] for part in DICE_WORDS)


def searching(X, y, *, c2=0.0, sample_weight=None, n_threads=1, permitted=None, **parameters):
    """Return a search in which every second candidate is chosen, with random weights."""
    selector = GradientSelector(**parameters)
    pool = selector._pool(X, y, sample_weight, None, permitted)
    settings = SearchSettings(None, 0.0, 5, c2, 1e-6, n_threads, 1, False)
    search = Search(pool, settings, None)
    chosen = np.arange(0, pool.n_candidates, 2)
    rng = np.random.default_rng(0)
    search.chosen = chosen
    search.weights[chosen] = rng.normal(size=len(chosen))
    features = [f.key for f in pool.features(np.arange(pool.n_candidates), 1, np.zeros(pool.n_candidates))]
    return search, features


@pytest.mark.parametrize(
    "parameters", [{}, {"order": 2}, {"edge_attributes": "b"}, {"all_possible_states": True}]
)
def test_gradient_is_observed_minus_expected(parameters):
    sample_weight = np.array([1.0, 0.5, 2.0, 1.5])
    search, features = searching(X, Y, c2=0.3, sample_weight=sample_weight, **parameters)
    oracle = Enumerated(X, Y, features, 0.3, sample_weight)
    value, gradient = search.gradient(search.weights)
    assert value == pytest.approx(oracle(search.weights), rel=1e-5)
    np.testing.assert_allclose(gradient, oracle.gradient(search.weights), atol=1e-4)
    scores, _ = gradient_scores(search)
    np.testing.assert_allclose(np.maximum(scores, 0), np.abs(oracle.gradient(search.weights)), atol=1e-4)


def test_gradient_under_a_grammar():
    """Expected counts are over permitted labellings only; the refit equals a CRF under the grammar."""
    seen = {pair for labels in Y for pair in pairwise(labels)}
    forbidden = next((a, b) for a in "xyz" for b in "xyz" if (a, b) not in seen)
    table = np.ones((1, 3, 3), np.bool_)
    table[0]["xyz".index(forbidden[0]), "xyz".index(forbidden[1])] = False
    permitted = PermittedPairs(np.zeros(sum(map(len, Y)), np.int32), table)
    search, features = searching(X, Y, permitted=permitted)
    oracle = Enumerated(X, Y, features, forbidden=[forbidden])
    np.testing.assert_allclose(search.gradient(search.weights)[1], oracle.gradient(search.weights), atol=1e-4)
    selector = GradientSelector(n_features=4, c2=0.1).fit(X, Y, permitted=permitted)
    crf = CRF(c2=0.1, features=selector.selected_, tol=1e-9).fit(X, Y, permitted=permitted)
    assert crf.objective_ == pytest.approx(selector.objective_, rel=1e-4)
    grown = GradientSelector(n_features=4, c2=0.1, conjunctions=10).fit(X, Y, permitted=permitted)
    assert len(grown.selected_) == 4
    refuses("not over permitted ones", GainSelector(n_features=1).fit, X, Y, permitted=permitted)


def test_gradient_of_candidates_that_only_the_chosen_tell_apart():
    """Copies are set aside, but not attributes that differ at one position."""
    X = [[["a", "b", "c"], ["a", "b"], ["d"]], [["a", "b", "c"]]]
    y = [["x", "y", "x"], ["y"]]
    search, features = searching(X, y)
    assert search.pool.n_duplicates == 1
    assert {name for name, _ in features} == {None, "a", "c", "d"}
    as_dicts = [[dict.fromkeys(item, 1.0) for item in items] for items in X]
    oracle = Enumerated(as_dicts, y, features)
    np.testing.assert_allclose(search.gradient(search.weights)[1], oracle.gradient(search.weights), atol=1e-5)


def test_features_that_occur_together_have_weights_of_their_own():
    """Attributes of different kinds are no copies; one may be chosen without the other."""
    x = [[["w:a", "e:a"], ["w:b"], ["w:a", "e:a"], ["w:c"]]]
    selector = GradientSelector(2, edge_attributes={"e:": "both"})
    pool = selector._pool(x, [["x", "y", "x", "y"]], None, None)
    assert pool.n_duplicates == 0
    weights = np.random.default_rng(0).normal(size=pool.n_candidates)
    free, held = (pool.likelihood(1).penalised(c2=c2) for c2 in (0.0, 2.0))
    here, there = (f(f.parameters(pool.vector(weights))) for f in (free, held))
    assert there.value - here.value == pytest.approx(2 * (weights**2).sum())
    by_weight = pool.numbers(held.weights(there.gradient)) - pool.numbers(free.weights(here.gradient))
    np.testing.assert_allclose(by_weight, 4 * weights, atol=1e-6)


def best_gain(oracle, weights, k):
    """Find the minimum along one weight by brute force."""

    def along(step):
        moved = weights.copy()
        moved[k] = step
        return oracle(moved)

    found = minimize_scalar(along, bounds=(-60, 60), method="bounded", options={"xatol": 1e-9})
    return oracle(weights) - found.fun, found.x


@pytest.mark.parametrize("n_threads", [1, 3])
def test_exact_gain(n_threads):
    sample_weight = np.array([1.0, 0.5, 2.0, 1.5])
    search, features = searching(X, Y, c2=0.2, sample_weight=sample_weight, n_threads=n_threads)
    oracle = Enumerated(X, Y, features, 0.2, sample_weight)
    scorer = GainScorer(search, approximate=False, screen=None)
    for _ in range(2):  # the second time from the weights found
        scores, starts = scorer(search)
        for k in range(len(features)):
            if k in search.chosen:
                assert scores[k] == -np.inf
                continue
            gain, weight = best_gain(oracle, search.weights, k)
            assert scores[k] == pytest.approx(gain, abs=1e-6)
            assert starts[k] == pytest.approx(weight, abs=1e-3)


def test_exact_gain_without_penalty_of_what_is_never_seen():
    """The weight would fall forever, but the gain has a limit."""
    search, features = searching(X, Y, all_possible_states=True, all_possible_transitions=True)
    oracle = Enumerated(X, Y, features)
    scores, _ = GainScorer(search, approximate=False, screen=None)(search)
    for k in np.setdiff1d(np.arange(len(features)), search.chosen):
        gain, _ = best_gain(oracle, search.weights, k)
        assert scores[k] == pytest.approx(gain, abs=1e-4)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), n_labels=st.integers(2, 4), length=st.integers(1, 6))
def test_exact_gain_of_random_data(seed, n_labels, length):
    rng = np.random.default_rng(seed)
    X = [[{name: 1.0 for name in "pqr" if rng.random() < 0.5} for _ in range(length)] for _ in range(2)]
    y = [[str(rng.integers(n_labels)) for _ in range(length)] for _ in range(2)]
    if len({label for labels in y for label in labels}) < 2 or not any(any(x) for x in X):
        return
    search, features = searching(X, y, c2=0.1)
    oracle = Enumerated(X, y, features, 0.1)
    scores, _ = GainScorer(search, approximate=False, screen=None)(search)
    for k in np.setdiff1d(np.arange(len(features)), search.chosen):
        assert scores[k] == pytest.approx(best_gain(oracle, search.weights, k)[0], abs=1e-6)


def test_exact_gain_of_a_long_sequence():
    """Scaling: a thousand positions, counts of hundreds."""
    rng = np.random.default_rng(0)
    y = [[str(label) for label in rng.integers(2, size=1000)]]
    X = [[{"a": 1.0} if rng.random() < 0.7 else {"b": 1.0} for _ in range(1000)]]
    search, _ = searching(X, y)
    scorer = GainScorer(search, approximate=False, screen=None)
    scores, weights = scorer(search)
    for k in np.flatnonzero(scores > -np.inf):
        moved = search.weights.copy()
        moved[k] = weights[k]
        before, after = search.gradient(search.weights)[0], search.gradient(moved)[0]
        assert scores[k] == pytest.approx(before - after, rel=1e-3, abs=0.02)
        assert search.gradient(moved)[1][k] == pytest.approx(0, abs=0.01)


def test_approximate_gain():
    """McCallum's formula, position by position."""
    search, features = searching(X, Y, c2=0.2)
    oracle = Enumerated(X, Y, features, 0.2)
    scores, _ = GainScorer(search, approximate=True, screen=None)(search)
    marginal = {}  # of each active position of each candidate: probability, value
    for k, (attribute, wanted) in enumerate(features):
        found = []
        for (table, _), items in zip(oracle.data, X, strict=True):
            s = table @ search.weights
            p = np.exp(s - np.logaddexp.reduce(s))
            paths = np.array(list(np.ndindex(*[3] * len(items))))
            ids = [oracle.classes.index(label) for label in wanted]
            for t in range(len(wanted) - 1, len(items)):
                value = 1.0 if attribute is None else items[t].get(attribute, 0.0)
                run = (paths[:, t + 1 - len(wanted) : t + 1] == ids).all(axis=1)
                found.append((p[run].sum(), value))
        marginal[k] = found
    for k in np.setdiff1d(np.arange(len(features)), search.chosen):
        observed = sum(seen[k] for _, seen in oracle.data)

        def loss(step, k=k, observed=observed):
            parts = sum(np.log1p(p * np.expm1(step * v)) for p, v in marginal[k])
            return parts - step * observed + 0.2 * step**2

        found = minimize_scalar(loss, bounds=(-30, 30), method="bounded", options={"xatol": 1e-9})
        assert scores[k] == pytest.approx(-found.fun, abs=1e-6)


def test_screening_scores_the_best_alone():
    search, _ = searching(ROLLS, DICE)
    exact, _ = GainScorer(search, approximate=False, screen=None)(search)
    screened, _ = GainScorer(search, approximate=False, screen=7)(search)
    kept = np.flatnonzero(screened > -np.inf)
    assert len(kept) == 7
    np.testing.assert_allclose(screened[kept], exact[kept], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"order": 2}, [["x", "y"]], "first-order"),
        ({"edge_attributes": "b"}, [["x", "y"]], "first-order"),
        ({}, [["x", None]], "gains need every label"),
    ],
)
def test_what_gains_are_not_for(parameters, y, message):
    y = [*y, ["y", "x"]]
    refuses(message, GainSelector(n_features=1, **parameters).fit, [[["a"], ["b"]]] * 2, y)


def test_gains_that_do_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr("crfkit.selection.gain.physical_memory", lambda: 100)
    message = "gains with 2 labels at 4 positions need 2.56e-07 GB.*or use GradientSelector"
    refuses(message, GainSelector(n_features=1).fit, [[["a"], ["b"]]] * 2, [["x", "y"]] * 2)


def test_mutual_information():
    from sklearn.metrics import mutual_info_score

    search, features = searching(X, Y, order=2, edge_attributes={"b": "both"})
    scores = relevance(search.pool)
    for (attribute, wanted), score in zip(features, scores, strict=True):
        first, second = [], []
        for items, labels in zip(X, Y, strict=True):
            n = len(wanted)
            for t in range(n - 1, len(items)):
                run = tuple(labels[t - n + 1 : t + 1])
                if attribute is None:
                    first.append(run[:-1] == wanted[:-1])
                    second.append(run[-1:] == wanted[-1:])
                else:
                    first.append(attribute in items[t])
                    second.append(run == wanted)
        assert score == pytest.approx(len(first) * mutual_info_score(first, second), abs=1e-9)


def test_redundancy():
    """Greedy choice by brute force."""
    selector = MutualInformationSelector(n_features=25).fit(ROLLS, DICE)
    search, features = searching(ROLLS, DICE)
    search.chosen = np.zeros(0, np.int64)
    relevances = dict(zip(features, relevance(search.pool), strict=True))
    places = {}
    for i, items in enumerate(ROLLS):
        for t, item in enumerate(items):
            for name in item:
                places.setdefault(name, set()).add((i, t))
    chosen = []
    for feature in selector.selected_:
        gains = {}
        for key, value in relevances.items():
            lost = 0.0
            for other in chosen:
                if key[0] is not None and other[0] is not None and key[1] == other[1]:
                    a, b = places[key[0]], places[other[0]]
                    lost = max(lost, len(a & b) / len(a | b) * min(value, relevances[other]))
            gains[key] = value - lost
        open_ones = {key: gain for key, gain in gains.items() if key not in chosen}
        assert feature.score == pytest.approx(max(open_ones.values()), abs=1e-9)
        assert feature.score == pytest.approx(gains[feature.key], abs=1e-9)
        chosen.append(feature.key)


def test_pick():
    scores = np.array([1.0, 5.0, -np.inf, 5.0, 3.0])
    assert pick(scores, 1, 10).tolist() == [1]
    assert pick(scores, 3, 10).tolist() == [1, 3, 4]
    assert pick(scores, 9, 10).tolist() == [1, 3, 4, 0]
    assert pick(scores, 3, 2).tolist() == [1, 3]
    assert pick(scores, 0.6, 10).tolist() == [1, 3, 4]
    assert pick(scores, 0.7, 10).tolist() == [1, 3]
    assert pick(np.full(3, -np.inf), 1, 1).tolist() == []
    assert pick(scores, 1, 0).tolist() == []
