"""Inference on graphs against enumeration: every method, forbidden parts, scores of any size, bad input."""

import pickle
from unittest import mock

import numpy as np
import pytest
from graph_checks import EXACT, METHODS, check_against_enumeration
from graphs import Enumerated, random_edges, random_graphs
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data import Labels, Topology
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import Graphs, GraphScores, graph_ways
from crfkit.optional import find

KINDS = ("forest", "cycles", "dense", "none")


def grid(height, width):
    at = np.arange(height * width).reshape(height, width)
    down, right = (at[:-1], at[1:]), (at[:, :-1], at[:, 1:])
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in (down, right)])


def grid_scores(seed, height, width, n_labels, *, scale=1.0, shared=False):
    rng = np.random.default_rng(seed)
    edges = grid(height, width)
    kinds = [np.arange(len(edges)) % 2] if shared else None
    topology = Topology.of_graphs([height * width], [edges], kinds)
    node = rng.normal(size=(height * width, n_labels))
    edge = rng.normal(scale=scale, size=(2 if shared else len(edges), n_labels, n_labels))
    return GraphScores(node, edge, topology)


@pytest.fixture
def nothing_is_quick(monkeypatch):
    """Make single labellings take the ways of wide graphs."""
    monkeypatch.setattr(graph_ways, "QUICK", 0)


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    n_labels=st.integers(1, 3),
    kind=st.sampled_from(KINDS),
    scale=st.sampled_from([0.1, 3.0, 400.0, 1e5]),
    forbidden=st.sampled_from([0.0, 0.0, 0.2]),
    shared=st.booleans(),
)
def test_every_method_against_enumeration(seed, sizes, n_labels, kind, scale, forbidden, shared):
    check_against_enumeration(seed, sizes, n_labels, kind, scale, forbidden, shared)


@pytest.mark.parametrize(("n_labels", "size"), [(7, 5), (9, 4), (16, 3), (30, 3)])
@pytest.mark.parametrize("kind", ["forest", "dense"])
def test_rows_of_any_width(n_labels, size, kind):
    """Registers are filled once, several times, and in part."""
    x = random_graphs(n_labels, [size], n_labels, kind, scale=2.0)
    expected = Enumerated(x)
    for structure in [EXACT] + [Graphs("bp", schedule="residual")] * (kind == "forest"):
        found = structure.infer(x)
        np.testing.assert_allclose(found.log_z, expected.log_z)
        np.testing.assert_allclose(found.node, expected.node, atol=1e-9)
        np.testing.assert_allclose(found.edge, expected.edge, atol=1e-9)


@pytest.mark.parametrize("schedule", ["sequential", "synchronous", "residual"])
@pytest.mark.parametrize("method", ["trw", "bp"])
def test_schedules_have_the_same_fixed_point(method, schedule):
    x = grid_scores(1, 4, 4, 3, scale=0.5)
    expected = Graphs(method, tolerance=1e-10).infer(x)
    found = Graphs(method, schedule=schedule, tolerance=1e-10, damping=0.3, max_iterations=1000).infer(x)
    assert expected.converged.all()
    assert found.converged.all()
    np.testing.assert_allclose(found.log_z, expected.log_z, atol=1e-7)
    np.testing.assert_allclose(found.edge, expected.edge, atol=1e-7)
    np.testing.assert_allclose(found.edge.sum(axis=2), found.node[x.topology.edges[:, 0]], atol=1e-6)


def test_odds_of_two_labels_are_messages_of_two_labels():
    x = grid_scores(2, 5, 6, 2, scale=0.7)
    by_odds = Graphs("bp", schedule="synchronous", tolerance=1e-9).infer(x)
    by_rows = Graphs("bp", schedule="synchronous", tolerance=1e-9, damping=1e-12).infer(x)
    assert by_odds.converged.all()
    assert by_odds.iterations == pytest.approx(by_rows.iterations, abs=2)
    np.testing.assert_allclose(by_odds.node, by_rows.node, atol=1e-8)
    np.testing.assert_allclose(by_odds.log_z, by_rows.log_z, atol=1e-8)


@pytest.mark.parametrize("method", ["trw", "mean-field", "bp"])
@pytest.mark.parametrize("shared", [False, True])
def test_marginals_are_the_gradient_of_the_bound(method, shared):
    x = grid_scores(3, 3, 3, 2, scale=0.4, shared=shared)
    structure = Graphs(method, tolerance=1e-11, max_iterations=5000)
    _, slopes = structure.expectations(x, weights=np.array([2.0]))
    rng = np.random.default_rng(0)
    for field in ("node", "edge"):
        values = getattr(x, field)
        for place in [tuple(rng.integers(values.shape)) for _ in range(5)]:
            sides = []
            for step in (1e-4, -1e-4):
                moved = values.copy()
                moved[place] += step
                sides.append(2 * structure.log_partition(x.changed(**{field: moved}))[0])
            slope = (sides[0] - sides[1]) / 2e-4
            assert getattr(slopes, field)[place] == pytest.approx(slope, abs=1e-5), (field, place)


def test_the_tree_reweighted_bound_is_convex_and_a_bound_on_a_grid():
    a, b = grid_scores(4, 3, 4, 2), grid_scores(5, 3, 4, 2)
    middle = a.changed(node=(a.node + b.node) / 2, edge=(a.edge + b.edge) / 2)
    bounds = [Graphs("trw", tolerance=1e-9, max_iterations=2000).infer(x) for x in (a, middle, b)]
    assert all(one.kind == ["upper bound"] for one in bounds)
    assert bounds[1].log_z <= (bounds[0].log_z + bounds[2].log_z) / 2 + 1e-6
    for x, bound in zip((a, middle, b), bounds, strict=True):
        assert EXACT.log_partition(x)[0] < bound.log_z[0]
        assert EXACT.log_partition(x)[0] > Graphs("mean-field").log_partition(x)[0]


def test_shares_of_spanning_trees():
    edges = [[0, 1], [1, 2], [2, 0], [2, 3]]  # a triangle and a bridge
    topology = Topology.of_graphs([4, 5, 6], [edges, [], grid(2, 3)])
    shares = topology.tree_shares
    assert shares[3] == 1
    assert shares[:3].sum() == pytest.approx(2)
    assert shares[4:].sum() == pytest.approx(5)
    assert ((shares > 0.4) & (shares <= 1)).all()
    dense = Topology.of_graphs([40], [random_edges(np.random.default_rng(0), 40, "dense")])
    assert (dense.tree_shares > 0).all()
    assert dense.tree_shares.sum() == pytest.approx(39)


def test_partial_labels_fix_nodes():
    x = random_graphs(8, [5], 3, "cycles")
    allowed = np.ones((5, 3), np.bool_)
    allowed[0] = [True, False, False]
    allowed[3] = [False, True, True]
    agreeing = EXACT.permit(x, Labels(np.full(5, -1, np.int32), allowed))
    every = Enumerated(x)
    fits = allowed[np.arange(5), every.labellings].all(axis=1)
    assert EXACT.log_partition(agreeing)[0] == pytest.approx(np.logaddexp.reduce(every.scores[fits]))
    for method in METHODS:
        node = Graphs(method).infer(agreeing).node
        assert node[0, 0] == pytest.approx(1, abs=1e-12)
        assert node[0, 1] == node[0, 2] == node[3, 0] == 0


def test_all_labels_known_leave_one_labelling():
    x = grid_scores(6, 3, 3, 3)
    ids = np.arange(9, dtype=np.int32) % 3
    only = EXACT.permit(x, Labels(ids, None))
    for method in METHODS:
        assert Graphs(method).log_partition(only)[0] == pytest.approx(EXACT.labelling_score(x, ids)[0])


@pytest.mark.parametrize("method", METHODS)
def test_empty_graphs_and_single_nodes(method):
    structure = Graphs(method)
    nothing = GraphScores(np.empty((0, 2)), np.empty((0, 2, 2)), Topology.of_graphs([], []))
    assert structure.infer(nothing).log_z.shape == (0,)
    assert structure.best(nothing).shape == (0,)
    for kinds in (None, [[]] * 3):  # a table for each of no edges, or no tables to share
        topology = Topology.of_graphs([0, 2, 0], [[]] * 3, kinds)
        some = GraphScores([[0.0, 1.0], [2.0, 0.0]], np.empty((0, 2, 2)), topology)
        expected = np.logaddexp(0, 1) + np.logaddexp(2, 0)
        np.testing.assert_allclose(structure.log_partition(some), [0, expected, 0])
        log_z, counts = pickle.loads(pickle.dumps(structure)).expectations(some)
        np.testing.assert_allclose(log_z, [0, expected, 0])
        np.testing.assert_allclose(counts.node.sum(axis=1), 1)
        assert structure.best(some).tolist() == [1, 0]
        assert structure.sample(some, 2, random_state=0).shape == (2, 2)


def test_one_label_has_one_labelling():
    x = grid_scores(0, 12, 12, 1)
    score = EXACT.labelling_score(x, np.zeros(144, np.int32))
    for method in METHODS:
        assert Graphs(method).log_partition(x) == pytest.approx(score)
        assert Graphs(method).decode(x).score == pytest.approx(score)


def test_width_and_memory_are_named():
    x = grid_scores(0, 30, 30, 4)
    with pytest.raises(
        InputError, match=r"graph 0 has width 30: with 4 labels, exact inference would take .* bytes"
    ):
        EXACT.log_partition(x)
    with pytest.raises(InputError, match="and max_memory is 100"):
        Graphs("exact", max_memory=100).best(grid_scores(0, 3, 3, 2))
    dense = random_graphs(0, [90], 2, "dense")
    with pytest.raises(
        InputError, match=r"graph 0 is too wide for exact inference: .* given up at width \d+"
    ):
        EXACT.log_partition(dense)
    found = Graphs("auto").infer(grid_scores(0, 4, 4, 2))
    assert found.kind == ["exact"]
    assert found.width == [4]
    assert Graphs("bp").infer(grid_scores(0, 4, 4, 2)).width == [-1]
    assert Graphs("trw", rho=0.6).infer(grid_scores(0, 4, 4, 2)).kind == ["approximation"]


def test_what_did_not_converge_is_said():
    x = grid_scores(9, 6, 6, 3, scale=4.0)
    found = Graphs("trw", max_iterations=2).infer(x)
    assert found.converged.tolist() == [False]
    assert found.kind == ["approximation"]
    assert found.iterations.tolist() == [2]
    assert found.updates.tolist() == [4 * 60]


def test_impossible_graphs_are_named():
    forbidden = np.full((1, 2, 2), -np.inf)
    topology = Topology.of_graphs([1, 2, 2], [[], [[0, 1]], [[1, 0]]], [[], [0], [0]])
    x = GraphScores(np.zeros((5, 2)), forbidden, topology)
    for method in METHODS:
        with pytest.raises(NoPathError, match=r"graph 1 \(nor of 1 other graphs\): at its node") as caught:
            Graphs(method).log_partition(x)
        assert caught.value.sequence == 1
    with pytest.raises(NoPathError, match="no permitted labelling of graph 1"):
        EXACT.best(x)
    with pytest.raises(NoPathError, match="no permitted labelling of graph 1"):
        EXACT.sample(x)


def test_a_triangle_of_two_labels_that_must_differ(nothing_is_quick):
    """Messages cannot see that nothing is permitted; the search for a labelling can only fail."""
    differ = np.array([[[-np.inf, 0], [0, -np.inf]]])
    topology = Topology.of_graphs([3], [[[0, 1], [1, 2], [2, 0]]], [[0, 0, 0]])
    x = GraphScores(np.zeros((3, 2)), differ, topology)
    with pytest.raises(NoPathError, match="no permitted labelling of graph 0: at its node"):
        EXACT.log_partition(x)
    with pytest.raises(NoPathError, match="found no permitted labelling of graph 0"):
        Graphs("trw").best(x)


def test_minimum_cuts_are_optimal(nothing_is_quick):
    rng = np.random.default_rng(0)
    edges = grid(4, 5)
    tables = rng.normal(size=(len(edges), 2, 2))
    tables[:, 0, 0] = tables[:, 0, 1] + tables[:, 1, 0] - tables[:, 1, 1] + rng.random(len(edges))
    x = GraphScores(rng.normal(size=(20, 2)), tables, Topology.of_graphs([20], [edges]))
    found = Graphs("trw").decode(x)
    assert found.optimal.all()  # by PyMaxflow, or by tree-reweighted bounds: both are tight here
    assert found.score == pytest.approx(EXACT.decode(x).score)


@pytest.mark.skipif(find("maxflow") is None, reason="PyMaxflow is not installed")
def test_minimum_cuts_by_pymaxflow(nothing_is_quick):
    """Large enough that tree-reweighted messages do not end within two iterations."""
    rng = np.random.default_rng(1)
    edges = grid(12, 12)
    topology = Topology.of_graphs([144], [edges], [np.zeros(len(edges), int)])
    x = GraphScores(rng.normal(size=(144, 2)), 0.5 * np.eye(2)[None], topology)
    with mock.patch("crfkit.inference.max_flow.find", return_value=None):
        slow = Graphs("trw").decode(x)
    assert (slow.bound >= slow.score).all()
    assert Graphs("trw").decode(x).score == pytest.approx(slow.score)
    quick = Graphs("trw", max_iterations=1)
    assert quick.decode(x).optimal.all()
    assert quick.decode(x).score == pytest.approx(Graphs("trw").decode(x.changed(node=x.node)).score)
    other = x.changed(edge=-x.edge)  # prefers different labels: not submodular
    assert not quick.decode(other).optimal.any()


def test_samples_have_the_probabilities_of_labellings(nothing_is_quick):
    x = random_graphs(2, [4], 2, "dense")
    expected = Enumerated(x)
    for structure, n in ((EXACT, 20000), (Graphs("trw", sweeps=30), 20000)):
        drawn = structure.sample(x, n, random_state=3)
        share = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / n
        np.testing.assert_allclose(share, expected.p, atol=0.015)
        assert np.array_equal(drawn, structure.sample(x, n, random_state=3))


def test_warm_starts_save_iterations():
    x = grid_scores(7, 6, 6, 3)
    structure = Graphs("trw", warm_start=True)
    first = structure.infer(x)
    again = structure.infer(x.changed(node=x.node + 1e-4))
    assert first.iterations > 5
    assert again.iterations < first.iterations / 2
    np.testing.assert_allclose(again.node, first.node, atol=1e-4)
    forbidden = x.node.copy()
    forbidden[0, 0] = -np.inf
    for _ in range(2):
        assert structure.infer(x.changed(node=forbidden)).node[0, 0] == 0
    assert structure.infer(x).node[0, 0] > 0


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_for_any_number_of_threads(method):
    x = random_graphs(4, [5, 3, 6, 0, 4] * 8, 3, "cycles", shared=True)
    one, two = (Graphs(method).expectations(x, n_jobs=n) for n in (1, 3))
    assert np.array_equal(one[0], two[0])
    assert all(np.array_equal(a, b) for a, b in zip(one[1], two[1], strict=True))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_threads_share_the_nodes_of_a_large_graph(n_labels):
    x = grid_scores(1, 400, 400 if n_labels == 2 else 90, n_labels, scale=0.3)
    structure = Graphs("bp" if n_labels == 2 else "trw", max_iterations=3)
    one, two = (structure.infer(x, n_jobs=n) for n in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert (one.updates == 3 * 2 * x.topology.n_edges).all()


def test_topologies_are_pickled_without_their_plan():
    x = grid_scores(1, 3, 3, 2)
    EXACT.log_partition(x)
    again = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(EXACT.log_partition(again), EXACT.log_partition(x))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, "method must be one of auto, exact, trw, bp, mean-field; got 'magic'"),
        ({"schedule": "random"}, "schedule must be None or one of"),
        ({"rho": 0.0}, "rho must be above 0"),
        ({"damping": 1.0}, "damping must be from 0 to below 1"),
        ({"tolerance": -1}, "tolerance must be"),
        ({"max_iterations": 0}, "max_iterations must be a whole number"),
        ({"sweeps": 1.5}, "sweeps must be a whole number"),
        ({"max_memory": True}, "max_memory must be a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Graphs(**settings)
