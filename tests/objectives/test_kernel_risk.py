"""The regularised risk: against enumeration; gradient and functional derivatives by finite differences."""

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.labels import encode_labels
from crfkit.kernels import Kernel
from crfkit.kernels.basis import Basis
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.clique_selection import CliqueSelector, take_all
from crfkit.objectives.kernel_risk import Block, KernelRisk

OFFSETS = np.array([0, 4, 5, 5, 8])
WHOLE = [["P", "Q", "R", "Q"], ["P"], [], ["R", "P", "P"]]
PARTIAL = [["P", None, {"R", "Q"}, "Q"], ["P"], [], [None, "P", None]]
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5])


def make(y=WHOLE, seed=0, edge=True, **more):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((8, 2))
    labels = encode_labels(y, ["P", "Q", "R"], OFFSETS)
    settings = {
        "reg": 0.7,
        "parametric_reg": 0.3,
        "transitions": True,
        "bias": True,
        "weights": WEIGHTS,
    } | more
    risk = KernelRisk(OFFSETS, labels, 3, **settings)
    matrices = [KernelMatrix(Kernel(name, gamma=0.5), rows, np.arange(8)) for name in ("rbf", "linear")]
    selector = CliqueSelector(risk, matrices, edge_cliques=edge, all_labelings=False, alternate=False)
    return risk, matrices, selector, rng


@pytest.mark.parametrize("y", [WHOLE, PARTIAL])
def test_the_loss_is_that_of_all_paths(y):
    risk, _, selector, rng = make(y)
    selector.choose(6)
    risk.set(rng.standard_normal(len(risk.vector())))
    scores = risk.scores()
    lattice = risk.lattice(scores, OFFSETS)
    permitted = [[{"P", "Q", "R"} if x is None else x if isinstance(x, set) else {x} for x in s] for s in y]
    loss = 0.0
    for i, allowed in enumerate(permitted):
        oracle = enumerate_paths(lattice, i)
        right = [
            all("PQR"[k] in set_ for k, set_ in zip(path, allowed, strict=True)) for path in oracle.paths
        ]
        loss -= WEIGHTS[i] * np.log(float(oracle.probabilities[np.array(right, bool)].sum()))
    assert risk.residuals(scores, edges=True).loss == pytest.approx(loss)
    penalty = 0.35 * sum((b.beta**2).sum() for b in risk.blocks)
    penalty += 0.15 * ((risk.parameters.transitions**2).sum() + (risk.parameters.bias**2).sum())
    assert risk(risk.vector()).value == pytest.approx(loss + penalty)


@given(st.integers(0, 100), st.sampled_from([WHOLE, PARTIAL]), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_gradient(seed, y, edge):
    risk, _, selector, rng = make(y, seed, edge)
    selector.choose(5)
    x = rng.standard_normal(len(risk.vector()))
    gradient = risk(x).gradient
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += 1e-5
        down[j] -= 1e-5
        slope = (risk(up).value - risk(down).value) / 2e-5
        assert slope == pytest.approx(gradient[j], abs=1e-5)


@pytest.mark.parametrize("y", [WHOLE, PARTIAL])
def test_functional_derivatives(y):
    """dR(f, h) of every candidate: (R(f + εh) - R(f - εh)) / 2ε, with h given its own place in the model."""
    risk, matrices, selector, rng = make(y)
    selector.choose(6)
    risk.set(0.5 * rng.standard_normal(len(risk.vector())))
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
                    """R(f + step · h): f's part under this kernel and labelling, in a basis with h in it."""
                    kept = list(risk.blocks)
                    own = family.blocks.get(labeling)
                    basis = Basis(matrix)
                    values = np.zeros(8)
                    if own is not None:
                        values = own.basis.columns @ own.beta[:, 0]
                        for p in own.basis.places:
                            basis.add(p)
                    column = matrix.columns(np.array([place]))[:, 0]
                    new = basis.add(place)
                    wanted = values + step * column
                    beta = np.linalg.lstsq(basis.columns, wanted, rcond=None)[0][:, None]
                    if new is None:  # spanned already
                        assert own is not None
                    block = Block(family.kernel, family.edge, np.array([labeling]), basis, beta)
                    risk.blocks = [b for b in kept if b is not own] + [block]
                    loss = risk.residuals(risk.scores(), edges=False).loss
                    found = loss + risk.penalty()
                    risk.blocks = kept
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
    assert [len(b.basis) for b in risk.blocks] == [1]


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
    sizes, x = risk.sizes(), rng.standard_normal(len(risk.vector()))
    value = risk(x).value
    selector.choose(5)
    risk.restore(sizes, x)
    assert risk(risk.vector()).value == pytest.approx(value)


def test_all_cliques():
    risk, matrices, _, _ = make()
    take_all(risk, matrices, edge_cliques=True)
    assert [(len(b.basis), len(b.labelings)) for b in risk.blocks] == [(8, 3), (8, 9), (2, 3), (2, 9)]
