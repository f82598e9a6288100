"""The native objective of linear CRFs against enumeration of all paths, finite differences and inference."""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.inference import Lattice, expected_counts, log_partition, marginals
from crfkit.objectives.likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearPotential, LinearWeights


@dataclass
class Problem:
    """Random data, features and weights, kept dense for the oracle."""

    attributes: np.ndarray  # [ΣT, A]
    features: np.ndarray  # bool [A, L]
    state: np.ndarray  # [A, L], 0 where there is no feature
    edge: np.ndarray  # [L, L]
    edge2: np.ndarray | None  # [L, L, L]
    edges: np.ndarray
    edges2: np.ndarray | None
    labels: Labels
    offsets: np.ndarray
    weights: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    pair_features: np.ndarray | None = None  # bool [A, L, L]
    pair: np.ndarray | None = None  # [A, L, L], 0 where there is no feature

    @property
    def n_labels(self) -> int:
        return self.edge.shape[0]

    def sequences(self) -> Sequences:
        rows, columns = np.nonzero(self.attributes)
        values = self.attributes[rows, columns]
        return Sequences(
            self.offsets,
            np.searchsorted(rows, np.arange(len(self.attributes) + 1)).astype(np.int64),
            columns.astype(np.int32),
            None if (values == 1).all() else values,
            self.attributes.shape[1],
        )

    def index(self) -> FeatureIndex:
        rows, labels = np.nonzero(self.features)
        indptr = np.searchsorted(rows, np.arange(len(self.features) + 1)).astype(np.int64)
        pairs = ()
        if self.pair_features is not None:
            attributes, ids = np.nonzero(self.pair_features.reshape(len(self.features), -1))
            pair_indptr = np.searchsorted(attributes, np.arange(len(self.features) + 1)).astype(np.int64)
            pairs = (pair_indptr, ids.astype(np.int32))
        return FeatureIndex(self.n_labels, indptr, labels.astype(np.int32), self.edges, self.edges2, *pairs)

    def linear_weights(self) -> LinearWeights:
        pair = None if self.pair is None else self.pair[self.pair_features]
        return LinearWeights(self.state[self.features], self.edge, self.edge2, pair)

    def objective(self, *, c2: float = 0.0, n_threads: int = 1, **more) -> LinearLikelihood:
        return LinearLikelihood(
            self.sequences(),
            self.labels,
            self.index(),
            c2=c2,
            n_threads=n_threads,
            weights=self.weights,
            class_weights=self.class_weights,
            **more,
        )

    def lattices(self) -> tuple[Lattice, Lattice]:
        """All paths, and the permitted ones; a path wrong at a position pays the class weight there."""
        node = self.attributes @ self.state
        ids = self.labels.ids
        if self.class_weights is not None:
            for t in np.flatnonzero(ids >= 0):
                node[t] += np.log(self.class_weights[ids[t]]) * (np.arange(self.n_labels) != ids[t])
        permitted = np.arange(self.n_labels) == ids[:, None]
        if self.labels.allowed is not None:
            permitted = self.labels.allowed
        edge = self.edge
        if self.pair is not None:
            edge = edge + np.einsum("ta,ajl->tjl", self.attributes, self.pair)
        return (
            Lattice(node, edge, self.offsets, edge2=self.edge2),
            Lattice(np.where(permitted, node, -np.inf), edge, self.offsets, edge2=self.edge2),
        )

    @property
    def sequence_weights(self) -> np.ndarray:
        return np.ones(len(self.offsets) - 1) if self.weights is None else self.weights

    def loss(self) -> float:
        free, bound = self.lattices()
        return float(self.sequence_weights @ (log_partition(free) - log_partition(bound)))

    def enumerated_loss(self) -> float:
        free, bound = self.lattices()
        return sum(
            w * (enumerate_paths(free, i).log_z - enumerate_paths(bound, i).log_z)
            for i, w in enumerate(self.sequence_weights)
        )

    def gradient(self) -> LinearWeights:
        """The generic route: marginals, minus those of the permitted paths, back through the potential."""
        potential = LinearPotential(self.index(), self.linear_weights())
        per_position = np.repeat(self.sequence_weights, np.diff(self.offsets))[:, None]
        free, bound = self.lattices()
        d_node = per_position * (marginals(free).node - marginals(bound).node)
        all_, kept = (expected_counts(lattice, weights=self.sequence_weights) for lattice in (free, bound))
        d_edges = [all_.edge - kept.edge]
        if self.pair is not None:
            both = (marginals(lattice, edge=True).edge for lattice in (free, bound))
            d_edges = [per_position[:, :, None] * np.subtract(*both)]
        if self.edge2 is not None:
            d_edges.append(all_.edge2 - kept.edge2)
        return potential.backward(self.sequences(), d_node, *d_edges)


KINDS = ("full", "none", "sets", "mixed")


def make_problem(
    seed: int,
    n_labels: int,
    lengths: list[int],
    *,
    order: int = 1,
    scale: float = 1.0,
    real: bool = True,
    partial: str = "full",
    weighted: bool = False,
    costs: bool = False,
    copies: int = 0,
    n_attributes: int = 9,
    density: float = 0.5,
    pairs: bool = False,
) -> Problem:
    rng = np.random.default_rng(seed)
    total, L = sum(lengths), n_labels
    present = rng.random((total, n_attributes)) < 0.4
    values = rng.normal(size=present.shape) * rng.choice([0.1, 1, 3], size=present.shape)
    attributes = np.where(present, values if real else 1.0, 0.0)
    features = rng.random((n_attributes, L)) < density
    features[0] = True  # at least one dense row, one list and one attribute without features
    features[1] = np.arange(L) == rng.integers(L)
    features[2] = False
    attributes[:, 3] = 0  # an attribute of the vocabulary that does not occur
    for _ in range(copies):
        twin = rng.integers(attributes.shape[1])
        attributes = np.hstack([attributes, attributes[:, [twin]]])
        features = np.vstack([features, features[[twin]]])
    state = np.where(features, scale * rng.normal(size=features.shape), 0.0)
    edges = rng.random((L, L)) < 0.7
    edges2 = rng.random((L, L, L)) < 0.6 if order == 2 else None
    ids = rng.integers(L, size=total).astype(np.int32)
    allowed = None
    if partial != "full" and total:
        allowed = np.arange(L) == ids[:, None]
        loose = rng.random(total) < (0.9 if partial != "mixed" else 0.4)
        loose[rng.integers(total)] = True
        some = allowed | (rng.random((total, L)) < 0.5)
        if partial == "none":
            some[:] = True
        allowed = np.where(loose[:, None], some, allowed)
        ids = np.where(loose & (allowed.sum(axis=1) != 1), -1, ids).astype(np.int32)
        if (ids >= 0).all():
            allowed = None
    pair_features = None
    if pairs:
        pair_features = rng.random((len(features), L, L)) < density
        pair_features[0] = True
        pair_features[4] = False
        if copies:  # twins in labels, maybe not in pairs
            pair_features[-1] = pair_features[rng.integers(len(features))]
    return Problem(
        attributes,
        features,
        state,
        np.where(edges, scale * rng.normal(size=edges.shape), 0.0),
        None if edges2 is None else np.where(edges2, scale * rng.normal(size=edges2.shape), 0.0),
        edges,
        edges2,
        Labels(ids, allowed),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.choice([0.0, 0.3, 1.0, 2.5], size=len(lengths)) if weighted else None,
        rng.uniform(0.2, 5, size=L) if costs else None,
        pair_features,
        np.where(pair_features, scale * rng.normal(size=pair_features.shape), 0.0) if pairs else None,
    )


def score_size(problem: Problem) -> float:
    """How large the scores are that are subtracted from each other: rounding errors go with it."""
    free, bound = problem.lattices()
    w = problem.sequence_weights
    return float(1 + w @ (np.abs(log_partition(free)) + np.abs(log_partition(bound))))


def check(problem: Problem, *, value: float | None = None, n_threads: int = 1, tol: float = 1e-5) -> None:
    """Value and gradient of the native objective are the oracle's."""
    objective = problem.objective(n_threads=n_threads)
    theta = objective.parameters(problem.linear_weights())
    result = objective(theta, diagonal=True)
    expected = problem.loss() if value is None else value
    assert result.value == pytest.approx(expected, abs=1e-6 * score_size(problem))
    # by features: the sum of the parameter's derivative over features that share it, in equal parts
    back = objective.weights(result.gradient)
    gradient = problem.gradient()
    state = np.zeros(problem.features.shape)
    state[problem.features] = gradient.state
    got = np.zeros(problem.features.shape)
    got[problem.features] = back.state
    # an attribute that does not occur has derivative 0 in both
    size = 1 + problem.sequence_weights.max(initial=1) * np.abs(problem.attributes).sum(axis=0)[:, None]
    assert (np.abs(got - state) / size).max(initial=0) < tol
    np.testing.assert_allclose(back.edge, gradient.edge, atol=tol * (1 + len(problem.attributes)))
    if problem.edge2 is not None:
        np.testing.assert_allclose(back.edge2, gradient.edge2, atol=tol * (1 + len(problem.attributes)))
    if problem.pair is not None:
        error = np.zeros(problem.pair.shape)
        error[problem.pair_features] = back.pair - gradient.pair
        assert (np.abs(error) / size[:, :, None]).max(initial=0) < tol
    check_diagonal(problem, objective, result.diagonal)


def check_diagonal(problem: Problem, objective: LinearLikelihood, diagonal: np.ndarray) -> None:
    """Σ weight · value² · p (1 - p) for state features; for transitions not more than that of a label."""
    assert (diagonal >= 0).all()
    p = marginals(problem.lattices()[0]).node
    spread = np.repeat(problem.sequence_weights, np.diff(problem.offsets))[:, None] * p * (1 - p)
    n_edges = int(problem.edges.sum()) + (0 if problem.edges2 is None else int(problem.edges2.sum()))
    n_pairs = len(objective.parameters(problem.linear_weights())) - len(
        replace(problem, pair=None, pair_features=None).objective().l1(1.0)
    )
    n_state = len(diagonal) - n_edges - n_pairs
    assert (
        diagonal[n_state : n_state + n_edges] <= spread.sum(axis=0).max(initial=0) + 1e-4 * (1 + len(p))
    ).all()
    expected = problem.attributes.T**2 @ spread  # [A, L]
    if n_state == problem.features[problem.attributes.any(axis=0)].sum():  # no two features share a parameter
        found = objective.weights(diagonal).state
        np.testing.assert_allclose(found, expected[problem.features], rtol=1e-3, atol=1e-5 * (1 + len(p)))
    if problem.pair is not None:
        p = marginals(problem.lattices()[0], edge=True).edge
        p[problem.offsets[:-1][np.diff(problem.offsets) > 0]] = 0
        weight = np.repeat(problem.sequence_weights, np.diff(problem.offsets))[:, None, None]
        expected = np.einsum("ta,tjl->ajl", problem.attributes**2, weight * p * (1 - p))
        if n_pairs == (problem.pair_features & (expected.sum(axis=(1, 2), keepdims=True) > 0)).sum():
            np.testing.assert_allclose(
                objective.weights(diagonal).pair,
                expected[problem.pair_features],
                rtol=1e-3,
                atol=1e-5 * (1 + len(p)),
            )


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    order=st.integers(1, 2),
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
@pytest.mark.parametrize("order", [1, 2])
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


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.sampled_from([1, 2, 3, 9, 20]),
    order=st.integers(1, 2),
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


@pytest.mark.parametrize("order", [1, 2])
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
    native = problem.objective()._native
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
    native = make_problem(2, 4, [5, 2]).objective()._native
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
    objective = problem.objective()
    theta = np.random.default_rng(seed).normal(size=objective.n_parameters)
    weights = objective.weights(theta)
    np.testing.assert_allclose(objective.parameters(weights), theta, rtol=1e-12, atol=1e-12)
    assert (weights.edge[~problem.edges] == 0).all()
    # the other way only the scores of the data are kept, and the penalty does not grow
    sequences, index = problem.sequences(), problem.index()
    given_weights = problem.linear_weights()
    back = objective.weights(objective.parameters(given_weights))
    before, after = (LinearPotential(index, w).scores(sequences) for w in (given_weights, back))
    np.testing.assert_allclose(after.node, before.node, atol=1e-9)
    inner = ... if not pairs else [t for t in range(7) if t not in problem.offsets]
    np.testing.assert_allclose(after.edge[inner], before.edge[inner], atol=1e-9)
    assert np.linalg.norm(back.state) <= np.linalg.norm(given_weights.state) + 1e-9
    # ‖θ‖² and the scaled ‖θ‖₁ are those of the weights
    parts = [part for part in vars(weights).values() if part is not None]
    total = sum(float((part**2).sum()) for part in parts)
    assert theta @ theta == pytest.approx(total)
    total = sum(float(np.abs(part).sum()) for part in parts)
    assert objective.l1(0.5) @ np.abs(theta) == pytest.approx(0.5 * total)
    assert objective.l1(0.0) is None


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
@pytest.mark.parametrize("order", [1, 2])
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
    features[problem.features] = kept.state
    np.testing.assert_array_equal(features[3], problem.state[3])


def test_values_too_large_for_single_precision_are_refused_with_the_place():
    problem = make_problem(4, 2, [3, 4])
    problem.attributes[5, 0] = -1e20
    with pytest.raises(InputError, match="sequence 1, position 2: the value -1e\\+20 is too large"):
        problem.objective()


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("partial", ["full", "mixed"])
def test_stochastic_steps_follow_the_gradient(order, partial, pairs):
    """Against the same steps made of whole-gradient evaluations of single sequences."""
    problem = make_problem(
        6, 5, [4, 1, 0, 6, 3], order=order, partial=partial, weighted=True, copies=3, pairs=pairs
    )
    objective = problem.objective(c2=0.4)
    native, P = objective._native, objective.n_parameters
    n_edges = int(problem.edges.sum()) + (0 if order == 1 else int(problem.edges2.sum()))
    before = replace(problem, pair=None, pair_features=None).objective().n_parameters
    edge = np.arange(before - n_edges, before)
    state = np.setdiff1d(np.arange(P), edge)  # labels and label pairs
    theta = np.random.default_rng(0).normal(size=P)
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
            theta[state] -= size * gradient[state]
            pull += gradient[edge]
            sizes.append(size)
        mean = np.mean(sizes)
        theta[edge] = theta[edge] * (1 - mean * rate) ** len(batch) - mean * pull
    np.testing.assert_allclose(found, theta, atol=1e-4)
    assert loss == pytest.approx(expected_loss, rel=1e-4)


SCRIPT = """
import pickle, sys
import importlib.util
spec = importlib.util.spec_from_file_location("likelihood_cases", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["likelihood_cases"] = module
sys.path.insert(0, sys.argv[2])
spec.loader.exec_module(module)
sys.stdout.buffer.write(pickle.dumps(module.all_widths()))
"""


def all_widths():
    from crfkit import _native

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
    return _native.isa(), results


def test_instruction_sets_agree():
    found = {}
    for isa in ("baseline", "avx2", "avx512"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, __file__, os.path.join(os.path.dirname(__file__), "../inference")],
            env={**os.environ, "CRFKIT_ISA": isa},
            capture_output=True,
            check=True,
        )
        name, results = pickle.loads(run.stdout)
        found[name] = results
    assert "baseline" in found
    for results in found.values():
        for (value, gradient, diagonal), (v, g, d) in zip(results, found["baseline"], strict=True):
            assert value == pytest.approx(v, rel=1e-5, abs=1e-5)
            np.testing.assert_allclose(gradient, g, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(diagonal, d, rtol=1e-3, atol=1e-4)
