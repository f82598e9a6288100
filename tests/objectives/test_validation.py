"""The constraints of validation sets against enumeration of all labellings, and their gradients."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_problems import Problem, make_problem

from crfkit.data.labels import Labels
from crfkit.exceptions import InputError
from crfkit.inference import PermittedPairs
from crfkit.objectives import linear_likelihood
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.validation import ValidationConstraints
from crfkit.objectives.validation_sets import Spans
from crfkit.potentials.linear import LinearWeights


@pytest.fixture(autouse=True, scope="module")
def threads_for_small_problems():
    """Use as many threads as a test says, however few positions there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_likelihood, "_POSITIONS_PER_THREAD", 1)
        yield


LENGTHS = [5, 4, 6, 1]
SPANS = Spans(
    np.array([2, 5, 9, 11, 15]), np.array([5, 9, 11, 15, 16]), np.array([0, 0, 1, 1, 2], np.int32), 3
)
WHOLE = Spans.of_sequences([[0], [2, 3]], np.array([0, 5, 9, 15, 16], np.int64))


def scores_of(problem: Problem, first: int, last: int, may: PermittedPairs | None, margin: float):
    """Return every permitted labelling of a span with its score (and its gain for wrong labels)."""
    free, _ = problem.lattices()
    truth = problem.labels.ids
    for y in itertools.product(range(problem.n_labels), repeat=last - first):
        score = 0.0
        for i, t in enumerate(range(first, last)):
            score += free.node[t, y[i]] + margin * (truth[t] >= 0 and y[i] != truth[t])
            if i > 0:
                edge = free.edge if free.edge.ndim == 2 else free.edge[t]
                score += edge[y[i - 1], y[i]]
                if may is not None and not may.tables[may.kinds[t], y[i - 1], y[i]]:
                    score = -np.inf
            if i > 1 and free.edge2 is not None:
                score += free.edge2[y[i - 2], y[i - 1], y[i]]
        yield np.array(y), score


def enumerated(
    problem: Problem, spans: Spans, temperature: float, may: PermittedPairs | None = None, margin: float = 0.0
) -> np.ndarray:
    """Return h of each set or, at a temperature, its smoothed bound."""
    h = np.zeros(spans.n_sets)
    allowed = problem.labels.allowed
    for first, last, j in zip(spans.first, spans.last, spans.sets, strict=True):
        every = list(scores_of(problem, first, last, may, margin))
        scores = np.array([score for _, score in every])
        truth = problem.labels.ids[first:last]
        agrees = np.array(
            [
                all(
                    label == t if t >= 0 else allowed[first + i, label]
                    for i, (label, t) in enumerate(zip(y, truth, strict=True))
                )
                for y, _ in every
            ]
        )
        if temperature == 0:
            h[j] += scores.max() - scores[agrees].max()
        else:
            top = scores.max()
            parts = [np.log(np.exp((s - top) / temperature).sum()) for s in (scores, scores[agrees])]
            h[j] += temperature * (parts[0] - parts[1])
    return h


def permissions(problem: Problem, seed: int) -> PermittedPairs:
    """Return random tables that permit the true labels."""
    rng = np.random.default_rng(seed)
    ids, L = problem.labels.ids, problem.n_labels
    tables = np.ones((len(ids), L, L), bool)
    for t in range(1, len(ids)):
        tables[t] = rng.random((L, L)) < 0.6
        tables[t, ids[t - 1], ids[t]] = True
    return PermittedPairs(np.arange(len(ids), dtype=np.int32), tables)


KINDS = {
    "second order": {"order": 2},
    "pairs": {"pairs": True},
    "partial": {"partial": "mixed"},
    "twins": {"copies": 2},
}
kinds = st.sampled_from(["first order", "permitted", *KINDS])


def problem_of(kind: str, seed: int, n_labels: int = 3, **more) -> tuple[Problem, PermittedPairs | None]:
    problem = make_problem(seed, n_labels, LENGTHS, **KINDS.get(kind, {}), **more)
    return problem, permissions(problem, seed) if kind == "permitted" else None


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_labels=st.integers(1, 3),
    kind=kinds,
    threads=st.integers(1, 3),
    spans=st.sampled_from([SPANS, WHOLE]),
    margin=st.sampled_from([0.0, 0.7]),
)
def test_values_are_those_of_all_labellings(seed, n_labels, kind, threads, spans, margin):
    problem, may = problem_of(kind, seed, n_labels, real=seed % 2 == 0)
    objective = problem.objective(n_threads=threads, permitted=may)
    constraints = ValidationConstraints(objective, spans, tau=0.0, margin=margin)
    x = objective.parameters(problem.linear_weights())
    np.testing.assert_allclose(
        constraints(x).values, enumerated(problem, spans, 0, may, margin), rtol=1e-6, atol=1e-6
    )
    for temperature in (0.3, 2.0):
        np.testing.assert_allclose(
            constraints.smoothed(x, temperature).values,
            enumerated(problem, spans, temperature, may, margin),
            rtol=1e-4,
            atol=1e-4,
        )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=kinds,
    margin=st.sampled_from([0.0, 0.5]),
)
def test_gradients_are_finite_differences(seed, kind, margin):
    problem, may = problem_of(kind, seed)
    objective = problem.objective(permitted=may)
    constraints = ValidationConstraints(objective, SPANS, gradient="envelope", margin=margin)
    x = objective.parameters(problem.linear_weights())
    coefficients = np.array([1.0, 0.5, 2.0])

    def slopes(at, step):
        return np.array([coefficients @ (at(x + step * e) - at(x - step * e)) for e in np.eye(len(x))]) / (
            2 * step
        )

    # with random weights h is smooth here: no two labellings have equal scores
    found = constraints(x).pull(coefficients)
    np.testing.assert_allclose(found, slopes(lambda w: constraints(w).values, 1e-6), rtol=1e-4, atol=1e-4)
    found = constraints.smoothed(x, 0.8).pull(coefficients)
    step = 1e-2  # scores are in float
    np.testing.assert_allclose(
        found, slopes(lambda w: constraints.smoothed(w, 0.8).values, step), rtol=0.02, atol=0.02
    )


def test_the_smoothed_bound_falls_to_the_constraint():
    problem = make_problem(4, 3, LENGTHS)
    objective = problem.objective()
    constraints = ValidationConstraints(objective, SPANS)
    x = objective.parameters(problem.linear_weights())
    exact = constraints(x).values
    gaps = [constraints.smoothed(x, t).values - exact for t in (3.0, 1.0, 0.3, 0.1, 0.03)]
    assert all((gap > -1e-5).all() for gap in gaps)
    assert all((b <= a + 1e-5).all() for a, b in itertools.pairwise(gaps))
    assert gaps[-1].max() < 0.05


def test_values_scale_with_the_weights_and_vanish_where_viterbi_is_right():
    problem = make_problem(5, 3, LENGTHS)
    objective = problem.objective()
    constraints = ValidationConstraints(objective, WHOLE, tau=0.0)
    x = objective.parameters(problem.linear_weights())
    np.testing.assert_allclose(constraints(3 * x).values, 3 * constraints(x).values)
    assert (constraints(0 * x).values == 0).all()
    every = Spans.of_sequences([[0, 1, 2, 3]], problem.offsets)
    constraints = ValidationConstraints(objective, every, tau=0.0)
    assert constraints.violations(x)[0] > 0
    problem.labels = Labels(constraints.sets.best_labels(x), None)
    right = ValidationConstraints(problem.objective(), every, tau=0.0)
    assert right.violations(x)[0] == 0


def distinct(seed: int, n_labels: int, length: int) -> tuple[PenalisedLikelihood, np.ndarray, Problem]:
    """Return one sequence in which every position has its own attribute: each feature occurs once."""
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n_labels, [length])
    problem.attributes = np.eye(length)
    problem.features = np.ones((length, n_labels), bool)
    problem.state = rng.normal(size=(length, n_labels))
    problem.edges = np.ones((n_labels, n_labels), bool)
    problem.edge = rng.normal(size=(n_labels, n_labels))
    objective = problem.objective()
    return objective, objective.parameters(problem.linear_weights()), problem


def best_path(problem: Problem, state: np.ndarray) -> np.ndarray:
    problem.state = state
    every = list(scores_of(problem, 0, len(state), None, 0.0))
    return max(every, key=lambda pair: pair[1])[0]


def path_score(problem: Problem, y: np.ndarray, state: np.ndarray) -> float:
    return float(
        state[np.arange(len(y)), y].sum() + sum(problem.edge[a, b] for a, b in itertools.pairwise(y))
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [0.5, 2.0])
def test_flips_of_single_features_are_those_that_enumeration_finds(seed, c):
    """A feature that occurs once enters the best path when raised by Δ, but not when raised by less.

    The estimate only considers predecessors of ŷ_{t+1}. If the whole path would move sooner, its Δ is larger
    than in enumeration, so only features whose flip keeps the rest of the path are compared.
    """
    L, T = 3, 5
    objective, x, problem = distinct(seed, L, T)
    state = problem.state.copy()
    spans = Spans.of_sequences([[0]], problem.offsets)
    envelope = ValidationConstraints(objective, spans, gradient="envelope")(x).pull(np.ones(1))
    flip = ValidationConstraints(objective, spans, gradient="flip", c=c)(x).pull(np.ones(1))
    estimate = problem.parts(objective.weights(flip - envelope)).state.reshape(T, L)
    old = best_path(problem, state)
    compared = 0
    for t, label in itertools.product(range(T), range(L)):
        own = old[t] == label
        # the least change after which the best path differs at t and is the same after it
        keeps = [
            (y, score)
            for y, score in ((y, path_score(problem, y, state)) for y, _ in scores_of(problem, 0, T, None, 0))
            if (y[t + 1 :] == old[t + 1 :]).all() and (y[t] != label if own else y[t] == label)
        ]
        new, score = max(keeps, key=lambda pair: pair[1])
        need = path_score(problem, old, state) - score
        loss = score - path_score(problem, old, state)  # Σ w ΔC
        expected = -loss / (need + c) if own else loss / (need + c)
        assert estimate[t, label] == pytest.approx(expected, abs=1e-9)
        moved = state.copy()
        moved[t, label] += (-1 if own else 1) * need * 0.999
        if (best_path(problem, moved) == old).all():  # nothing else flips before
            moved[t, label] = state[t, label] + (-1 if own else 1) * (need + 1e-6)
            assert (best_path(problem, moved) == new).all()
            compared += 1
    assert compared >= T


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), pairs=st.booleans(), threads=st.integers(1, 3))
def test_flips_follow_the_recipe(seed, pairs, threads):
    """Positions, least Δ, backtracking and quotient, recomputed slowly in Python for every feature."""
    L, c = 3, 0.7
    problem = make_problem(seed, L, LENGTHS, pairs=pairs)
    objective = problem.objective(n_threads=threads)
    x = objective.parameters(problem.linear_weights())
    envelope = ValidationConstraints(objective, SPANS, gradient="envelope")(x).pull(np.array([1.0, 2.0, 1.0]))
    flip = ValidationConstraints(objective, SPANS, gradient="flip", c=c)(x).pull(np.array([1.0, 2.0, 1.0]))
    found = problem.parts(objective.weights(flip - envelope))
    expected = recipe(problem, SPANS, np.array([1.0, 2.0, 1.0]), c)
    np.testing.assert_allclose(found.state, expected.state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.edge[problem.edges], expected.edge[problem.edges], rtol=1e-5, atol=1e-6)
    if pairs:
        np.testing.assert_allclose(found.pair, expected.pair, rtol=1e-5, atol=1e-6)


def recipe(problem: Problem, spans: Spans, coefficients: np.ndarray, c: float) -> LinearWeights:
    free, _ = problem.lattices()
    L = problem.n_labels
    state, edge = np.zeros_like(problem.state), np.zeros((L, L))
    pair = None if problem.pair is None else np.zeros_like(problem.pair)
    for j in range(spans.n_sets):
        near: dict[tuple, list] = {}  # feature -> [(Δ, quotient)] of both directions
        for first, last in zip(spans.first[spans.sets == j], spans.last[spans.sets == j], strict=True):
            visit(problem, free, first, last, c, near)
        for feature, flips in near.items():
            value = coefficients[j] * min(flips, key=lambda flip: (flip[0], flip[1] > 0))[1]
            if feature[0] == "state":
                state[feature[1:]] += value
            elif feature[0] == "edge":
                edge[feature[1:]] += value
            else:
                pair[feature[1:]] += value
    pairs = np.zeros(0) if pair is None else pair[problem.pair_features]
    return LinearWeights(edge, None, pairs, state[problem.features])


def visit(problem, free, first, last, c, near):
    T, L = last - first, problem.n_labels

    def edge_at(t):
        return free.edge if free.edge.ndim == 2 else free.edge[first + t]

    delta, back = np.zeros((T, L)), np.zeros((T, L), int)
    delta[0] = free.node[first]
    for t in range(1, T):
        into = delta[t - 1][:, None] + edge_at(t)
        back[t] = into.argmax(axis=0)
        delta[t] = free.node[first + t] + into.max(axis=0)
    best = [int(delta[-1].argmax())]
    for t in range(T - 1, 0, -1):
        best.insert(0, int(back[t, best[0]]))

    def score(y):
        return sum(free.node[first + t, y[t]] for t in range(T)) + sum(
            edge_at(t)[y[t - 1], y[t]] for t in range(1, T)
        )

    def offer(feature, value, need, own, change):
        up = (value > 0) != own
        way = need / abs(value)
        near.setdefault(feature, []).append((way, (1 if up else -1) * change / (way + c)))

    for t in range(T):
        reach = delta[t] + (edge_at(t + 1)[:, best[t + 1]] if t + 1 < T else 0.0)
        lack = reach[best[t]] - reach
        others = [label for label in range(L) if label != best[t]]
        for label in range(L):
            own = label == best[t]
            rival = min(others, key=lambda k: lack[k]) if own else label
            new = [*best]
            new[t] = rival
            for i in range(t, 0, -1):
                new[i - 1] = int(back[i, new[i]])
            change = score(new) - score(best)
            assert change == pytest.approx(
                -lack[rival]
            )  # so that the quotient is -Δ/(Δ + c), or its negative
            for a in np.flatnonzero(problem.attributes[first + t]):
                if problem.features[a, label]:
                    value = problem.attributes[first + t, a]
                    offer(("state", a, label), value, lack[rival], own, change)
            if t + 1 == T:
                continue
            offer(("edge", label, best[t + 1]), 1.0, lack[rival], own, change)
            if problem.pair is not None:
                for a in np.flatnonzero(problem.attributes[first + t + 1]):
                    if problem.pair_features[a, label, best[t + 1]]:
                        value = problem.attributes[first + t + 1, a]
                        offer(("pair", a, label, best[t + 1]), value, lack[rival], own, change)


def test_threads_do_not_change_the_values():
    problem = make_problem(8, 3, [40, 30, 50, 20])
    spans = Spans.of_sequences([[0, 3], [1, 2]], problem.offsets)
    found = []
    for threads in (1, 3):
        objective = problem.objective(n_threads=threads)
        constraints = ValidationConstraints(objective, spans, gradient="flip")
        at = constraints(objective.parameters(problem.linear_weights()))
        found.append((at.values, at.pull(np.ones(2))))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])


def test_paths_of_an_earlier_point_are_found_again():
    problem = make_problem(9, 3, LENGTHS)
    objective = problem.objective()
    constraints = ValidationConstraints(objective, SPANS, gradient="envelope")
    x = objective.parameters(problem.linear_weights())
    earlier = constraints(x)
    expected = earlier.pull(np.ones(3))
    constraints(-x)
    np.testing.assert_array_equal(earlier.pull(np.ones(3)), expected)


def test_a_gradient_of_another_name():
    problem = make_problem(1, 2, LENGTHS)
    with pytest.raises(InputError, match="one of smooth, envelope, flip, got 'exact'"):
        ValidationConstraints(problem.objective(), SPANS, gradient="exact")
