"""The contract of parametric potentials, for every one of them: shapes, and gradients against differences.

A new potential is one more line in ``POTENTIALS``: a function that makes it, and a batch of LENGTHS. If it is
not over a chain, ``STRUCTURES`` has its structures; if its labels are not IDS, ``LABELS_OF`` has them.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import segment_problem
from linear_problems import make_problem
from numpy_network import NumPyNetwork
from random_graphs import all_features, graph_input, random_graphs

from crfkit.data.labels import Labels
from crfkit.data.tables import Table
from crfkit.inference import CHAIN, SEGMENTATIONS, Graphs, LabelNgrams
from crfkit.kernels import Kernel
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.clique_selection import take_all
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.pseudo_likelihood import PseudoLikelihood
from crfkit.potentials.contract import Curved
from crfkit.potentials.edge_tables import EdgeTables, GivenScores, typed_topology
from crfkit.potentials.graph_kernels import GraphStretch
from crfkit.potentials.graph_table import GraphPoints
from crfkit.potentials.graphs import GraphPotential
from crfkit.potentials.kernel_expansion import KernelExpansion, Stretch
from crfkit.potentials.linear import LinearPotential
from crfkit.potentials.transitions import NodeScores, TransitionPotential, TransitionTables

LENGTHS, L, STEP = [4, 1, 0, 3], 3, 1e-5
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
ROWS = np.random.default_rng(7).normal(size=(8, L))
IDS = np.array([2, 0, 1, 1, 2, 2, 0, 1], np.int32)


def whole_and_partial(ids, n_ids):
    """Return labels, and the same with gaps and sets."""
    allowed = (ids[:, None] == np.arange(n_ids)) | (np.arange(8) % 3 == 1)[:, None]
    allowed[4, 0] = True  # one more label, not all of them
    gaps = np.where(allowed.sum(axis=1) > 1, -1, ids).astype(np.int32)
    return {"whole": Labels(ids, None), "partial": Labels(gaps, allowed)}


LABELS = whole_and_partial(IDS, L)
LABELS_OF = {"segments": whole_and_partial(segment_problem.IDS, 2 * segment_problem.L)}


def linear(**options):
    problem = make_problem(1, L, LENGTHS, **options)
    return LinearPotential(problem.index()), problem.sequences()


def network():
    batch = make_problem(2, L, LENGTHS, real=False).sequences()
    return NumPyNetwork(batch.n_attributes, L, width=2), batch


def expansion(edge, transitions=True, bias=True):
    potential = KernelExpansion(L, edge_cliques=edge, transitions=transitions, bias=bias)
    kernels = [KernelMatrix(Kernel(name, gamma=0.5), ROWS, np.arange(8)) for name in ("rbf", "linear")]
    take_all(potential, kernels, edge_cliques=edge)
    return potential, Stretch(0, OFFSETS)


def tables(order):
    return TransitionPotential(TransitionTables.zeros(L, order)), NodeScores(ROWS, OFFSETS)


def graphs(**options):
    batch = graph_input(random_graphs(6, LENGTHS, **options), ends=True)
    return GraphPotential(all_features(batch, L)), batch


def edge_tables():
    layout = graph_input(random_graphs(6, LENGTHS)).layout
    given = GivenScores(layout, ROWS, None, typed_topology(layout))
    return EdgeTables(np.zeros((layout.n_types, L, L))), given


def graph_expansion(edge):
    data = graph_input(random_graphs(6, LENGTHS))
    of_edges = np.random.default_rng(8).normal(size=(data.layout.n_edges, 2))
    points = GraphPoints(
        data.layout,
        Table(ROWS, np.zeros(L), data.layout.offsets),
        Table(of_edges, np.zeros(2), data.layout.edge_offsets) if edge else None,
        False,
    )
    tables = [ROWS, points.edge_rows.values] if edge else [ROWS]
    kernels = [KernelMatrix(Kernel("rbf", gamma=0.5), rows, np.arange(len(rows))) for rows in tables]
    potential = KernelExpansion(L, edge_cliques=edge, transitions=data.layout.n_types, bias=True)
    take_all(potential, kernels, kinds=[(s, s == 1) for s in range(len(tables))])
    return potential, GraphStretch(points, (0, 0), 1, edge)


def segments():
    potential, batch, _, _ = segment_problem.segment_problem(np.random.default_rng(9))
    return potential, batch


POTENTIALS = {
    "linear": linear,
    "linear of order 2": lambda: linear(order=2),
    "linear of order 3": lambda: linear(order=3),
    "linear with label pairs": lambda: linear(pairs=True),
    "kernel": lambda: expansion(False),
    "kernel on edges": lambda: expansion(True, transitions=False, bias=False),
    "tables": lambda: tables(1),
    "tables of order 2": lambda: tables(2),
    "network": network,
    "segments": segments,
    "graphs": lambda: graphs(width=2),
    "graphs without direction": lambda: graphs(width=1, directed=False),
    "tables of edges": edge_tables,
    "kernel on graphs": lambda: graph_expansion(False),
    "kernel on edges of graphs": lambda: graph_expansion(True),
}
EXACT, SURROGATE = Graphs("exact"), Graphs("trw", tolerance=1e-12, max_iterations=5000)
ON_GRAPHS = (
    *("graphs", "graphs without direction", "tables of edges"),
    *("kernel on graphs", "kernel on edges of graphs"),
)
STRUCTURES = {"segments": [SEGMENTATIONS], **{name: [EXACT, SURROGATE] for name in ON_GRAPHS}}
CURVED = {"tables", "tables of order 2", "segments"}


CASES = [(name, k) for name in POTENTIALS for k in range(len(STRUCTURES.get(name, [CHAIN])))]


class Case(NamedTuple):
    """A potential with a batch, a structure over it, a nonzero point and labels."""

    potential: Any
    batch: Any
    structure: Any
    w: np.ndarray
    labels: dict[str, Labels]
    n_ids: int
    curved: bool  # whether it estimates the curvature


def case_of(name, k, rng):
    """Return the case of a potential and the number of its structure."""
    potential, batch = POTENTIALS[name]()
    labels = LABELS_OF.get(name, LABELS)
    return Case(
        potential,
        batch,
        STRUCTURES.get(name, [CHAIN])[k],
        rng.normal(size=potential.n_parameters),
        labels,
        labels["partial"].allowed.shape[1],
        name in CURVED,
    )


@pytest.fixture(params=CASES, ids=[f"{name}{f', {k}' * (k > 0)}" for name, k in CASES])
def case(request):
    return case_of(*request.param, np.random.default_rng(3))


def test_shapes(case):
    """Scores are a lattice of the batch; a gradient by scores becomes a gradient by w."""
    potential, batch, structure, w, labels, n_ids, curved = case
    lattice = potential.scores(batch, w, n_jobs=1)
    np.testing.assert_array_equal(lattice.offsets, OFFSETS)
    assert lattice.node.shape == (8, n_ids)
    found = Likelihood(potential, batch, labels["whole"], structure=structure).residuals(w, expected=True)
    for part in (found.d_scores, found.expected):
        for name, values in part._asdict().items():
            score = getattr(lattice, name)
            score = score.scores if isinstance(score, LabelNgrams) else score
            assert np.shape(values) == np.shape(score), name
    back = potential.backward(batch, found.d_scores)
    assert (back.shape, back.dtype) == ((potential.n_parameters,), np.float64)
    assert isinstance(potential, Curved) == curved


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 1.0, 1.5])], ids=["plain", "weights"])
@pytest.mark.parametrize("costs", [None, np.array([0.5, 2.0, 1.2])], ids=["even", "class weights"])
def test_the_gradient_of_the_likelihood_by_finite_differences(case, labels, weights, costs):
    potential, batch, structure, w, known, n_ids, curved = case
    costs = None if costs is None else np.resize(costs, n_ids)
    given = {"structure": structure, "weights": weights, "class_weights": costs, "n_jobs": 1}
    function = Likelihood(potential, batch, known[labels], **given)
    assert function.n_parameters == len(w)
    found = function(w, diagonal=True)
    assert (found.diagonal is not None) == curved
    assert not curved or (found.diagonal[found.gradient != 0] > 0).all()
    check_slopes(function, potential, w, found.gradient)


@pytest.mark.parametrize("name", ON_GRAPHS)
@pytest.mark.parametrize("labels", LABELS)
def test_the_gradient_of_the_pseudo_likelihood_by_finite_differences(name, labels):
    potential, batch, _, w, known, *_ = case_of(name, 0, np.random.default_rng(3))
    function = PseudoLikelihood(potential, batch, known[labels], weights=np.array([0.5, 2.0, 1.0, 1.5]))
    check_slopes(function, potential, w, function(w).gradient)


def check_slopes(function, potential, w, gradient):
    moves = STEP * np.eye(len(w))[getattr(getattr(potential, "index", None), "places", slice(None))]
    slopes = [(function(w + move).value - function(w - move).value) / (2 * STEP) for move in moves]
    np.testing.assert_allclose(moves @ gradient / STEP, slopes, atol=1e-6)
