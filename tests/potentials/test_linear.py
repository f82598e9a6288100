"""The linear potential: scores against a dense product, backward against its transpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_problems import make_problem

from crfkit.inference.chain import ScoreGradient
from crfkit.potentials.linear import LinearPotential

CASES = given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 10),
    lengths=st.lists(st.integers(0, 5), min_size=0, max_size=4),
    order=st.integers(1, 2),
    real=st.booleans(),
    pairs=st.booleans(),
)


def make(seed, n_labels, lengths, **options):
    """Return a problem with dense matrices, its batch and its potential."""
    problem = make_problem(seed, n_labels, lengths, **options)
    return problem, problem.sequences(), LinearPotential(problem.index(), problem.linear_weights())


@CASES
def test_scores_are_the_dense_product(**drawn):
    problem, batch, potential = make(**drawn)
    lattice, (expected, _) = potential.scores(batch), problem.lattices()
    if expected.edge2 is not None:
        table = np.zeros_like(expected.edge2)
        table[tuple(lattice.ngrams.labels.T)] = lattice.ngrams.scores
        np.testing.assert_allclose(table, expected.edge2, atol=1e-12)
    for name in ("node", "edge", "offsets"):
        found, dense = getattr(lattice, name), getattr(expected, name)
        assert (found is None) == (dense is None)
        if dense is not None:
            np.testing.assert_allclose(found, dense, atol=1e-12)


@CASES
def test_backward_is_the_transpose_of_scores(seed, **drawn):
    """⟨scores(w), d⟩ = ⟨w, backward(d)⟩ for any d, with 0 for transitions without a feature."""
    problem, batch, potential = make(seed, **drawn)
    rng, lattice = np.random.default_rng(seed), potential.scores(batch)
    scores = [lattice.node, lattice.edge, *([] if lattice.ngrams is None else [lattice.ngrams.scores])]
    d_scores = [rng.normal(size=part.shape) for part in scores]
    ngrams = None if lattice.ngrams is None else d_scores[2]
    back = potential.backward(batch, ScoreGradient(*d_scores[:2], ngrams=ngrams))
    parts = problem.parts(back)
    np.testing.assert_allclose(
        parts.state, (problem.attributes.T @ d_scores[0])[problem.features], atol=1e-12
    )
    assert (parts.edge[~problem.edges] == 0).all()
    left = sum(float((part * d).sum()) for part, d in zip(scores, d_scores, strict=True))
    assert left == pytest.approx(float(back @ potential.weights.vector))


def test_many_positions_in_threads():
    problem, batch, potential = make(3, 4, [5000, 1, 2000])
    expected = problem.attributes @ problem.state
    np.testing.assert_allclose(potential.scores(batch).node, expected, atol=1e-12)
