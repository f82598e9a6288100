"""The kernel potential: scores computed by hand, graphs other than chains."""

import pickle

import numpy as np
from refusals import refuses

from crfkit.data.positions import Positions
from crfkit.kernels import Kernel
from crfkit.potentials.kernel import KernelPotential, KernelTerm

RNG = np.random.default_rng(0)
L = 3
ROWS = RNG.standard_normal((7, 2))
SUPPORT = RNG.standard_normal((4, 2))
VERTEX, EDGE = RNG.standard_normal((4, L)), RNG.standard_normal((4, L, L))
BATCH = Positions(ROWS, np.array([0, 3, 3, 7]))
RBF, LINEAR = Kernel("rbf", gamma=0.5), Kernel("linear")


def potential(vertex=VERTEX, edge=EDGE):
    return KernelPotential(
        L,
        [KernelTerm(RBF, SUPPORT, vertex, edge), KernelTerm(LINEAR, SUPPORT[:2], vertex[:2])],
        np.arange(9.0).reshape(3, 3),
        np.array([0.1, 0.2, 0.3]),
    )


def test_scores_by_hand():
    lattice = potential().scores(BATCH)
    for t in range(7):
        rbf = np.exp(-0.5 * ((ROWS[t] - SUPPORT) ** 2).sum(axis=1))  # [4]
        node = rbf @ VERTEX + (SUPPORT[:2] @ ROWS[t]) @ VERTEX[:2] + [0.1, 0.2, 0.3]
        np.testing.assert_allclose(lattice.node[t], node)
        edge = np.einsum("j,jkl", rbf, EDGE) + np.arange(9.0).reshape(3, 3)
        np.testing.assert_allclose(lattice.edge[t], edge)


def test_any_graph():
    """A chain is a graph whose edges are neighbours; a star has the same vertices and other edges."""
    lattice = potential().scores(BATCH)
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [5, 6]])
    chain = potential().clique_scores(ROWS, edges)
    np.testing.assert_allclose(chain.vertices, lattice.node)
    np.testing.assert_allclose(chain.edges, lattice.edge[edges[:, 1]])
    star = potential().clique_scores(ROWS, np.array([[0, 6], [0, 2], [0, 2]]))
    np.testing.assert_allclose(star.edges, lattice.edge[[6, 2, 2]])
    shared = KernelPotential(L, [KernelTerm(RBF, SUPPORT, VERTEX)]).clique_scores(ROWS, edges)
    assert shared.edges.shape == (L, L)
    refuses(r"edges must name vertices 0..6, got 0..7", potential().clique_scores, ROWS, np.array([[0, 7]]))
    refuses(r"pairs of vertex numbers \[E, 2\]", potential().clique_scores, ROWS, np.array([0, 7]))


def test_pickling():
    again = pickle.loads(pickle.dumps(potential()))
    np.testing.assert_array_equal(again.scores(BATCH).node, potential().scores(BATCH).node)
    assert again.scores_per_position == L + L * L + 4
