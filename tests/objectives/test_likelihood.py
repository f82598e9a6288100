"""The native objective of linear CRFs against enumeration of all paths, finite differences and inference."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import on_each_instruction_set
from linear_problems import Problem, make_problem
from refusals import refuses

from crfkit.data.labels import Labels
from crfkit.inference import log_partition, marginals
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.potentials.linear import LinearPotential

KINDS = ("full", "none", "sets", "mixed")


def score_size(problem: Problem) -> float:
    """Return the size of the scores that are subtracted from each other; rounding errors scale with it."""
    free, bound = problem.lattices()
    w = problem.sequence_weights
    return float(1 + w @ (np.abs(log_partition(free)) + np.abs(log_partition(bound))))


def check(problem: Problem, *, value: float | None = None, n_threads: int = 1, tol: float = 1e-5) -> None:
    """Check value and gradient of the native objective against the oracle."""
    objective = problem.objective(n_threads=n_threads)
    theta = objective.parameters(problem.linear_weights())
    result = objective(theta, diagonal=True)
    expected = problem.loss() if value is None else value
    assert result.value == pytest.approx(expected, abs=1e-6 * score_size(problem))
    # by features: the derivative of a parameter is shared equally by its features
    back = problem.parts(objective.weights(result.gradient))
    general = problem.general()(problem.linear_weights())
    assert general.value == pytest.approx(expected, abs=1e-9 * score_size(problem))
    gradient = problem.parts(general.gradient)
    state = np.zeros(problem.features.shape)
    state[problem.features] = gradient.state
    got = np.zeros(problem.features.shape)
    got[problem.features] = back.state
    # an attribute that does not occur has derivative 0 in both
    size = 1 + problem.sequence_weights.max(initial=1) * np.abs(problem.attributes).sum(axis=0)[:, None]
    assert (np.abs(got - state) / size).max(initial=0) < tol
    np.testing.assert_allclose(back.edge, gradient.edge, atol=tol * (1 + len(problem.attributes)))
    if len(problem.ngrams):
        np.testing.assert_allclose(back.ngrams, gradient.ngrams, atol=tol * (1 + len(problem.attributes)))
    if problem.pair is not None:
        error = np.zeros(problem.pair.shape)
        error[problem.pair_features] = back.pair - gradient.pair
        assert (np.abs(error) / size[:, :, None]).max(initial=0) < tol
    check_diagonal(problem, objective, result.diagonal)


def check_diagonal(problem: Problem, objective: PenalisedLikelihood, diagonal: np.ndarray) -> None:
    """Check Σ weight · value² · p (1 - p) for state features; for transitions at most that of a label."""
    assert (diagonal >= 0).all()
    p = marginals(problem.lattices()[0]).node
    spread = np.repeat(problem.sequence_weights, np.diff(problem.offsets))[:, None] * p * (1 - p)
    n_edges = int(problem.edges.sum()) + len(problem.ngrams)
    n_pairs = len(objective.parameters(problem.linear_weights())) - len(
        replace(problem, pair=None, pair_features=None).objective(c1=1.0).l1
    )
    n_state = len(diagonal) - n_edges - n_pairs
    assert (
        diagonal[n_state : n_state + n_edges] <= spread.sum(axis=0).max(initial=0) + 1e-4 * (1 + len(p))
    ).all()
    expected = problem.attributes.T**2 @ spread  # [A, L]
    if n_state == problem.features[problem.attributes.any(axis=0)].sum():  # no two features share a parameter
        found = problem.parts(objective.weights(diagonal)).state
        np.testing.assert_allclose(found, expected[problem.features], rtol=1e-3, atol=1e-5 * (1 + len(p)))
    if problem.pair is not None:
        p = marginals(problem.lattices()[0], edge=True).edge
        p[problem.offsets[:-1][np.diff(problem.offsets) > 0]] = 0
        weight = np.repeat(problem.sequence_weights, np.diff(problem.offsets))[:, None, None]
        expected = np.einsum("ta,tjl->ajl", problem.attributes**2, weight * p * (1 - p))
        if (objective.function.roots()[len(diagonal) - n_pairs :] == 1).all():  # no two share a parameter
            np.testing.assert_allclose(
                problem.parts(objective.weights(diagonal)).pair,
                expected[problem.pair_features],
                rtol=1e-3,
                atol=1e-5 * (1 + len(p)),
            )


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    order=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1.0, 5.0]),
    real=st.booleans(),
    partial=st.sampled_from(KINDS),
    weighted=st.booleans(),
    costs=st.booleans(),
    copies=st.integers(0, 4),
    pairs=st.booleans(),
)
def test_value_and_gradient_are_those_of_enumeration(seed, n_labels, lengths, **options):
    problem = make_problem(seed, n_labels, lengths, **options)
    check(problem, value=problem.enumerated_loss())


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("partial", KINDS)
@pytest.mark.parametrize(
    ("n_labels", "order"),
    [(1, 1), (2, 1), (3, 2), (8, 1), (9, 1), (20, 1), (40, 1), (70, 1), (9, 2), (20, 2)],
)
def test_every_width_of_row(n_labels, order, partial, pairs):
    lengths = [7, 0, 1, 2, 75, 13]
    problem = make_problem(
        n_labels,
        n_labels,
        lengths,
        order=order,
        partial=partial,
        weighted=True,
        costs=True,
        copies=3,
        n_attributes=30,
        density=0.3,
        pairs=pairs,
    )
    check(problem)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("partial", KINDS)
@pytest.mark.parametrize("scale", [20.0, 50.0, 500.0, 1e4])
def test_extreme_weights(order, partial, scale, pairs):
    """Float falls back to double, and that to log space, without the caller noticing."""
    lengths = [1, 2, 3, 30, 60]
    problem = make_problem(
        3, 4, lengths, order=order, scale=scale, real=False, partial=partial, costs=True, pairs=pairs
    )
    check(problem, tol=1e-4)
    assert problem.objective()(np.zeros(problem.objective().n_parameters)).value > 0


def test_extreme_edges_force_log_space():
    """Nearly forbidden transitions that the observed path must take."""
    for size in (100.0, 1000.0):
        problem = make_problem(1, 3, [1, 2, 40], scale=1.0, partial="mixed")
        edge = np.full((3, 3), -size)
        np.fill_diagonal(edge, size)
        problem = replace(problem, edge=edge, edges=np.ones((3, 3), bool))
        check(problem, tol=1e-4)


@pytest.mark.parametrize("size", [12.0, 190.0])  # lost in single precision, and in double
def test_a_path_that_is_poor_at_both_ends(size):
    """α loses the right path at the beginning and β at the end, but it is by far the best."""
    attributes = np.zeros((60, 2))
    attributes[[0, -1], 0] = attributes[20:40, 1] = 1
    state = np.zeros((2, 3))
    state[:, 1] = -8 * size, size
    edge = np.where(np.eye(3) > 0, 0.0, -40 * size)
    labels = Labels(np.ones(60, np.int32), None)
    offsets = np.array([0, 60], np.int64)
    problem = Problem(attributes, state != 0, state, edge, None, np.ones((3, 3), bool), None, labels, offsets)
    objective = problem.objective()
    assert objective(objective.parameters(problem.linear_weights())).value == pytest.approx(0, abs=1e-6)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.sampled_from([1, 2, 3, 9, 20]),
    order=st.integers(1, 3),
    partial=st.sampled_from(KINDS),
    weighted=st.booleans(),
    costs=st.booleans(),
    copies=st.integers(0, 3),
    pairs=st.booleans(),
)
def test_gradient_is_the_slope_of_the_value(seed, n_labels, **options):
    """Finite differences of the native value itself, along random directions of the parameters."""
    problem = make_problem(seed, n_labels, [4, 1, 6], **options)
    objective = problem.objective(c2=0.3)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=objective.n_parameters)
    gradient = objective(x).gradient
    h = 2e-3  # single precision scores: a smaller step would measure their rounding
    for _ in range(3):
        u = rng.choice([-1.0, 1.0], size=len(x)) / np.sqrt(max(1, len(x)))
        slope = (
            8 * (objective(x + h * u).value - objective(x - h * u).value)
            - (objective(x + 2 * h * u).value - objective(x - 2 * h * u).value)
        ) / (12 * h)
        assert gradient @ u == pytest.approx(slope, abs=2e-3 * (1 + np.linalg.norm(gradient) * 0.1))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("pairs", [False, True])
def test_threads_give_the_same_sum(order, n_threads, pairs):
    problem = make_problem(
        5, 5, [800] * 20, order=order, partial="mixed", weighted=True, real=False, pairs=pairs
    )
    one, more = (problem.objective(n_threads=n) for n in (1, n_threads))
    x = one.parameters(problem.linear_weights())
    a, b, again = one(x, diagonal=True), more(x, diagonal=True), more(x, diagonal=True)
    assert b.value == pytest.approx(a.value, rel=1e-9)
    np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-2)
    np.testing.assert_allclose(b.diagonal, a.diagonal, rtol=1e-4, atol=1e-4)
    assert again.value == b.value
    np.testing.assert_array_equal(again.gradient, b.gradient)
    np.testing.assert_array_equal(again.diagonal, b.diagonal)


def test_more_threads_than_sequences():
    problem = make_problem(5, 3, [9000, 0, 1], real=False)
    check(problem, n_threads=7, tol=1e-4)


def test_subsets_add_up():
    problem = make_problem(2, 4, [5, 0, 9, 1, 3], partial="mixed", weighted=True, order=2)
    native = problem.objective().function.native
    x = np.random.default_rng(0).normal(size=native.n_parameters)
    whole, parts = np.empty_like(x), np.zeros_like(x)
    value = native.evaluate(x, whole)
    sums = 0.0
    for ids in ([3, 0], [], [2, 4], [1]):
        some = np.empty_like(x)
        sums += native.evaluate(x, some, np.array(ids, np.int32))
        parts += some
    assert sums == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(parts, whole, atol=1e-4)


def test_native_objective_refuses_ids_out_of_range():
    native = make_problem(2, 4, [5, 2]).objective().function.native
    x = np.zeros(native.n_parameters)
    for ids in ([2], [-1]):
        with pytest.raises(ValueError, match="out of range"):
            native.evaluate(x, np.empty_like(x), np.array(ids, np.int32))
    with pytest.raises(ValueError, match="n_parameters"):
        native.evaluate(x[1:], x[1:].copy())


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 2), st.integers(0, 5), st.booleans())
def test_features_and_parameters_convert_into_each_other(seed, n_labels, order, copies, pairs):
    problem = make_problem(seed, n_labels, [4, 3], order=order, copies=copies, pairs=pairs)
    objective = problem.objective(c1=0.5)
    theta = np.random.default_rng(seed).normal(size=objective.n_parameters)
    weights = objective.weights(theta)
    np.testing.assert_allclose(objective.parameters(weights), theta, rtol=1e-12, atol=1e-12)
    assert (problem.parts(weights).edge[~problem.edges] == 0).all()
    # the reverse keeps only the scores of the data, and the penalty does not grow
    sequences, index = problem.sequences(), problem.index()
    given_weights = problem.linear_weights()
    back = objective.weights(objective.parameters(given_weights))
    before, after = (LinearPotential(index, w).scores(sequences) for w in (given_weights, back))
    np.testing.assert_allclose(after.node, before.node, atol=1e-9)
    inner = ... if not pairs else [t for t in range(7) if t not in problem.offsets]
    np.testing.assert_allclose(after.edge[inner], before.edge[inner], atol=1e-9)
    state, given_state = problem.parts(back).state, problem.parts(given_weights).state
    assert np.linalg.norm(state) <= np.linalg.norm(given_state) + 1e-9
    # ‖θ‖² and the scaled ‖θ‖₁ are those of the weights
    assert theta @ theta == pytest.approx(float(weights @ weights))
    assert objective.l1 @ np.abs(theta) == pytest.approx(0.5 * float(np.abs(weights).sum()))
    assert problem.objective().l1 is None


def test_twins_share_one_parameter():
    single = make_problem(4, 3, [6, 5], copies=0)
    double = replace(
        single,
        attributes=np.hstack([single.attributes] * 2),
        features=np.vstack([single.features] * 2),
        state=np.vstack([single.state] * 2),
    )
    assert double.objective().n_parameters == single.objective().n_parameters
    check(double)
    # other values, or other labels, keep columns apart
    for changed in (
        replace(double, attributes=double.attributes * np.repeat([1.0, 2.0], single.attributes.shape[1])),
        replace(double, features=np.vstack([single.features, np.ones_like(single.features)])),
    ):
        assert changed.objective().n_parameters > single.objective().n_parameters
        check(changed)


@pytest.mark.parametrize("rows", ["dense", "lists"])
def test_diagonal_where_all_rows_are_of_one_kind(rows):
    problem = make_problem(2, 4, [5, 3], n_attributes=4)
    labels = np.arange(4) if rows == "dense" else np.array([1])
    problem = replace(problem, features=np.isin(np.arange(4), labels)[None, :].repeat(4, axis=0))
    problem = replace(problem, state=np.where(problem.features, 0.5, 0.0))
    check(problem)
    assert (problem.objective()(np.zeros(problem.objective().n_parameters), diagonal=True).diagonal > 0).any()


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_penalty_pulls_to_the_centre(order, pairs):
    problem = make_problem(8, 3, [5, 7], order=order, copies=2, pairs=pairs)
    centre = problem.linear_weights()
    plain, centred = problem.objective(c2=0.7), problem.objective(c2=0.7, centre=centre)
    zero = np.zeros(plain.n_parameters)
    assert centred(zero).value == pytest.approx(problem.loss(), rel=1e-5)
    x = np.random.default_rng(1).normal(size=len(zero))
    w0 = plain.parameters(centre)
    moved = plain(x + w0)
    here = centred(x)
    assert here.value - 0.7 * x @ x == pytest.approx(moved.value - 0.7 * float((x + w0) @ (x + w0)), rel=1e-5)
    np.testing.assert_allclose(here.gradient, moved.gradient - 1.4 * w0, atol=1e-4)
    # a feature of an attribute that does not occur keeps its weight
    kept = centred.weights(x)
    features = np.zeros(problem.features.shape)
    features[problem.features] = problem.parts(kept).state
    np.testing.assert_array_equal(features[3], problem.state[3])


def test_values_too_large_for_single_precision_are_refused_with_the_place():
    problem = make_problem(4, 2, [3, 4])
    problem.attributes[5, 0] = -1e20
    refuses("sequence 1, position 2: the value -1e\\+20 is too large", problem.objective)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("partial", ["full", "mixed"])
def test_stochastic_steps_follow_the_gradient(order, partial, pairs):
    """Against the same steps computed from the full gradients of single sequences, in the data's units."""
    problem = make_problem(
        6, 5, [4, 1, 0, 6, 3], order=order, partial=partial, weighted=True, copies=3, pairs=pairs
    )
    objective = problem.objective(c2=0.4)
    native, P = objective.function.native, objective.n_parameters
    n_edges = int(problem.edges.sum()) + len(problem.ngrams)
    before = replace(problem, pair=None, pair_features=None).objective().n_parameters
    edge = np.arange(before - n_edges, before)
    state = np.setdiff1d(np.arange(P), edge)  # labels and label pairs
    theta, units = np.random.default_rng(0).normal(size=P), objective.function.units(0.0)[state]
    assert len(set(units)) > 1
    examples, step0, rate = np.array([3, 0, 4, 2, 1], np.int32), 0.05, 2 * 0.4 / 5
    objective.begin(theta)
    loss = objective.steps(examples, step0, 7.0)
    loss += objective.steps(examples[::-1].copy(), step0, 12.0)
    found = objective.end()

    expected_loss, t = 0.0, 7
    for batch in (examples, examples[::-1]):  # transitions move at the end of a batch
        pull, sizes = np.zeros(n_edges), []
        for i in batch:
            size = step0 / (1 + step0 * rate * t)
            t += 1
            theta[state] *= 1 - size * rate
            gradient = np.empty(P)
            expected_loss += native.evaluate(theta, gradient, np.array([i], np.int32))
            theta[state] -= size * gradient[state] / units**2
            pull += gradient[edge]
            sizes.append(size)
        theta[state] *= np.exp(-rate * sum(sizes) * (1 / units**2 - 1))  # the rest of the penalty
        mean = np.mean(sizes)
        theta[edge] = theta[edge] * (1 - mean * rate) ** len(batch) - mean * pull
    np.testing.assert_allclose(found, theta, atol=1e-4)
    assert loss == pytest.approx(expected_loss, rel=1e-4)


def all_widths():
    results = []
    for n_labels, order in [(1, 1), (3, 1), (8, 2), (9, 1), (17, 1), (25, 1), (40, 1), (3, 2), (12, 2)]:
        for scale, pairs in ((1.0, False), (50.0, False), (1.0, True), (50.0, True)):
            problem = make_problem(
                7,
                n_labels,
                [20, 1, 3],
                order=order,
                scale=scale,
                partial="mixed",
                n_attributes=20,
                pairs=pairs,
            )
            objective = problem.objective()
            result = objective(objective.parameters(problem.linear_weights()), diagonal=True)
            results.append((result.value, result.gradient, result.diagonal))
    return results


def test_instruction_sets_agree():
    found = on_each_instruction_set(__file__, "all_widths")
    for results in found.values():
        for (value, gradient, diagonal), (v, g, d) in zip(results, found["baseline"], strict=True):
            assert value == pytest.approx(v, rel=1e-5, abs=1e-5)
            np.testing.assert_allclose(gradient, g, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(diagonal, d, rtol=1e-3, atol=1e-4)
