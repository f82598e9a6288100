"""Clique selection and the risk: against enumeration; all derivatives by finite differences."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.labels import encode_labels
from crfkit.data.positions import Positions
from crfkit.kernels import Kernel
from crfkit.kernels.basis import Basis
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.clique_selection import CliqueSelector, take_all
from crfkit.models.kernels.risk import KernelRisk
from crfkit.objectives.likelihood import Likelihood
from crfkit.potentials.kernel_expansion import BasisBlock, KernelExpansion, Stretch

OFFSETS = np.array([0, 4, 5, 5, 8])
WHOLE = [["P", "Q", "R", "Q"], ["P"], [], ["R", "P", "P"]]
PARTIAL = [["P", None, {"R", "Q"}, "Q"], ["P"], [], [None, "P", None]]
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5])


def make(y=WHOLE, seed=0, edge=True):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((8, 2))
    labels = encode_labels(y, ["P", "Q", "R"], OFFSETS)
    expansion = KernelExpansion(3, edge_cliques=edge, transitions=True, bias=True)
    batch = Stretch(0, OFFSETS)
    loss = Likelihood(expansion, batch, labels, weights=WEIGHTS)
    risk = KernelRisk(expansion, batch, loss, reg=0.7, parametric_reg=0.3)
    matrices = [KernelMatrix(Kernel(name, gamma=0.5), rows, np.arange(8)) for name in ("rbf", "linear")]
    selector = CliqueSelector(risk, matrices, edge_cliques=edge, all_labelings=False, alternate=False)
    return risk, matrices, selector, rng


@pytest.mark.parametrize("y", [WHOLE, PARTIAL])
def test_the_loss_is_that_of_all_paths(y):
    risk, _, selector, rng = make(y)
    selector.choose(6)
    expansion = risk.expansion
    x = rng.standard_normal(expansion.n_parameters)
    lattice = expansion.scores(risk.batch, x)
    permitted = [[{"P", "Q", "R"} if x is None else x if isinstance(x, set) else {x} for x in s] for s in y]
    loss = 0.0
    for i, allowed in enumerate(permitted):
        oracle = enumerate_paths(lattice, i)
        right = [
            all("PQR"[k] in set_ for k, set_ in zip(path, allowed, strict=True)) for path in oracle.paths
        ]
        loss -= WEIGHTS[i] * np.log(float(oracle.probabilities[np.array(right, bool)].sum()))
    penalty = 0.15 * (x[:12] ** 2).sum() + 0.35 * (x[12:] ** 2).sum()
    assert risk.function()(x).value == pytest.approx(loss + penalty)


@given(st.integers(0, 100), st.sampled_from([WHOLE, PARTIAL]), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_gradient(seed, y, edge):
    risk, _, selector, rng = make(y, seed, edge)
    selector.choose(5)
    value, x = risk.function(), rng.standard_normal(risk.expansion.n_parameters)
    gradient = value(x).gradient
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += 1e-5
        down[j] -= 1e-5
        slope = (value(up).value - value(down).value) / 2e-5
        assert slope == pytest.approx(gradient[j], abs=1e-5)


def coefficients(expansion, basis):
    """Return the expansion's parameters that belong to a basis."""
    sizes = [len(b.basis) * len(b.labelings) for b in expansion.blocks]
    at = [b.basis is basis for b in expansion.blocks].index(True)
    start = expansion.n_parametric + sum(sizes[:at])
    return slice(start, start + sizes[at])


@pytest.mark.parametrize("y", [WHOLE, PARTIAL])
def test_functional_derivatives(y):
    """dR(f, h) of every candidate: (R(f + εh) - R(f - εh)) / 2ε, with h given its own place in the model."""
    risk, matrices, selector, rng = make(y)
    selector.choose(6)
    expansion = risk.expansion
    expansion.w = 0.5 * rng.standard_normal(expansion.n_parameters)
    tables = selector.derivatives()
    first = {0, 4, 5}  # first positions
    for family, table in zip(selector.families, tables, strict=True):
        matrix = matrices[family.kernel]
        for place in range(8):
            if family.edge and place in first:
                assert not family.free[place].any()
                continue
            for labeling in range(family.n_labelings):
                if not family.free[place, labeling]:
                    continue

                def along(step, family=family, place=place, labeling=labeling, matrix=matrix):
                    """Return R(f + step · h): f's part under this kernel and labelling, in a basis with h."""
                    own, basis = family.bases.get(labeling), Basis(matrix)
                    values, w = np.zeros(8), expansion.w.copy()
                    if own is not None:
                        values = expansion.function(family.kernel, family.edge, np.arange(8))[:, labeling]
                        for p in own.places:
                            basis.add(p)
                        w[coefficients(expansion, own)] = 0.0
                    column = matrix.columns(np.array([place]))[:, 0]
                    if basis.add(place) is None:  # spanned already
                        assert own is not None
                    beta = np.linalg.lstsq(basis.columns, values + step * column, rcond=None)[0]
                    kept = expansion.snapshot()
                    expansion.add(BasisBlock(family.kernel, family.edge, np.array([labeling]), basis))
                    expansion.grow()
                    found = risk.function()(np.concatenate([w, beta])).value
                    expansion.restore(kept)
                    return found

                slope = (along(1e-4) - along(-1e-4)) / 2e-4
                assert slope == pytest.approx(table[place, labeling], abs=2e-4)


def test_the_steepest_is_chosen():
    risk, _, selector, _ = make()
    tables = selector.derivatives()
    best = max(
        float(np.abs(np.where(f.free, t, 0)).max()) for f, t in zip(selector.families, tables, strict=True)
    )
    pick = selector.choose(1)[0]
    assert abs(pick.derivative) == pytest.approx(best)
    table = tables[2 * pick.kernel + pick.edge]
    assert table[pick.place, pick.labeling] == pytest.approx(pick.derivative, rel=1e-5)
    assert [len(b.basis) for b in risk.expansion.blocks] == [1]


def test_alternating_kernels():
    risk, matrices, _, _ = make()
    selector = CliqueSelector(risk, matrices, edge_cliques=False, all_labelings=True, alternate=True)
    assert [pick.kernel for pick in selector.choose(4)] == [0, 1, 0, 1]
    more = selector.choose(20)  # the linear kernel in two dimensions spans no more than two functions
    assert sum(pick.kernel == 1 for pick in more) == 0
    assert sum(pick.kernel == 0 for pick in more) == 6
    assert selector.choose(1) == []


def test_snapshots():
    risk, _, selector, rng = make()
    selector.choose(3)
    expansion = risk.expansion
    expansion.w = x = rng.standard_normal(expansion.n_parameters)
    value, before = risk.function()(x).value, expansion.snapshot()
    selector.choose(5)
    assert expansion.n_parameters == len(x) + 5
    assert risk.function()(expansion.w).value == pytest.approx(value)  # new entries have coefficients of 0
    expansion.w = rng.standard_normal(expansion.n_parameters)
    expansion.restore(before)
    assert risk.function()(expansion.w).value == pytest.approx(value)


def test_the_fitted_potential_has_the_same_scores():
    """On the positions of training, β in orthonormal bases and α on the selected positions agree."""
    risk, matrices, selector, rng = make()
    selector.choose(9)
    expansion = risk.expansion
    expansion.w = rng.standard_normal(expansion.n_parameters)
    potential, _ = expansion.fitted(matrices)
    found = potential.scores(Positions(matrices[0].rows, OFFSETS))
    expected = expansion.scores(risk.batch)
    np.testing.assert_allclose(found.node, expected.node, atol=1e-9)
    np.testing.assert_allclose(found.edge, expected.edge, atol=1e-9)


def test_all_cliques():
    risk, matrices, _, _ = make()
    take_all(risk.expansion, matrices, edge_cliques=True)
    assert [(len(b.basis), len(b.labelings)) for b in risk.expansion.blocks] == [
        (8, 3),
        (8, 9),
        (2, 3),
        (2, 9),
    ]
