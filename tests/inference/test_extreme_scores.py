"""Scores up to 10⁹ in size give the right probabilities; larger ones are refused."""

import numpy as np
import pytest
from path_table import path_table
from refusals import refuses

from crfkit import CRF
from crfkit.exceptions import InputError
from crfkit.inference import Lattice, entropy, expected_counts, marginals, viterbi
from crfkit.inference.lattice import LARGEST_SCORE
from crfkit.objectives.linear_likelihood import LinearLikelihood

BEYOND = np.nextafter(LARGEST_SCORE, np.inf)


def extreme(seed: int, size: float, forbidden: float) -> Lattice:
    """Return scores of -size, 0 and size plus a little, shared or per position, in first or second order."""
    rng = np.random.default_rng(seed)
    L, T = 2 + seed % 2, 2 + seed % 5

    def table(shape: tuple[int, ...]) -> np.ndarray:
        values = np.clip(size * rng.integers(-1, 2, size=shape) + rng.normal(size=shape), -size, size)
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    node = table((T, L))
    node[:, 0] = np.maximum(node[:, 0], -size)  # leaves a path
    edge, edge2 = table((T, L, L) if seed % 3 else (L, L)), table((L, L, L))
    for each in (edge, edge2):
        each[..., 0] = np.maximum(each[..., 0], -size)
    return Lattice(node, edge, [0, T], edge2=edge2 if seed % 2 else None)


@pytest.mark.parametrize("size", [1e6, LARGEST_SCORE])
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_up_to_the_bound_probabilities_are_right(size: float, forbidden: float) -> None:
    for seed in range(60):
        lattice = extreme(seed, size, forbidden)
        L, oracle = lattice.n_labels, path_table(lattice, 0)
        tol = 1e-9 + 2e-14 * size
        found = marginals(lattice, edge=True)
        np.testing.assert_allclose(found.node, oracle.windows(L, 1), atol=tol)
        np.testing.assert_allclose(found.edge, oracle.windows(L, 2), atol=tol)
        np.testing.assert_allclose(found.node.sum(axis=1), 1, atol=tol)
        np.testing.assert_allclose(entropy(lattice), [oracle.entropy], atol=40 * tol)
        np.testing.assert_allclose(
            expected_counts(lattice).edge, oracle.windows(L, 2).sum(axis=0), atol=9 * tol
        )
        np.testing.assert_allclose(viterbi(lattice).score, [float(oracle.scores[0])], rtol=1e-14, atol=tol)


@pytest.mark.parametrize("score", [BEYOND, -BEYOND, 1e13, -1e17, 1.7e308, -1.7e308])
@pytest.mark.parametrize("name", ["node", "edge", "edge2", "start", "end"])
def test_beyond_the_bound_they_are_refused(name: str, score: float) -> None:
    tables = {
        "node": np.zeros((3, 2)),
        "edge": np.zeros((2, 2)),
        "edge2": np.zeros((2, 2, 2)),
        "start": np.zeros(2),
        "end": np.zeros(2),
    }
    tables[name].flat[1] = score
    with pytest.raises(
        InputError, match=f"^{name} scores must be at most 1e\\+09 in size, or -inf to forbid"
    ):
        Lattice(**tables, offsets=[0, 3])
    tables[name].flat[1] = np.copysign(LARGEST_SCORE, score)
    marginals(Lattice(**tables, offsets=[0, 3]))


def test_the_message_names_the_place() -> None:
    node = np.zeros((5, 2))
    node[3, 1] = -1e10
    refuses(
        "got -1e\\+10 in sequence 1 at position 1, label 1; scale the features or the weights they come from",
        Lattice, node, np.zeros((2, 2)), [0, 2, 5],
    )  # fmt: skip


def test_models_whose_scores_become_too_large_refuse() -> None:
    model = CRF().fit([[{"a": 1.0}, {"b": 1.0}]] * 3, [["A", "B"]] * 3)
    assert model.predict([[{"a": 1e6}]]) == [["A"]]
    refuses("node scores must be at most 1e\\+09 in size", model.predict_marginals, [[{"a": 1e12}]])


def test_training_takes_scores_that_are_too_large_as_infinite_loss() -> None:
    """Optimisers then try a smaller step, and nothing is learnt from wrong numbers."""
    from crfkit.data.labels import Labels
    from crfkit.data.sequences import Sequences
    from crfkit.features.index import FeatureIndex

    index = FeatureIndex(2, np.array([0, 2]), np.array([0, 1], np.int32), np.ones((2, 2), bool))
    data = Sequences(np.array([0, 2]), np.arange(3), np.zeros(2, np.int32), None, 1)
    f = LinearLikelihood(data, Labels(np.array([0, 1], np.int32), None), index, n_threads=1, as_given=True)
    for size in (1e3, 1e9):
        assert f(np.array([size, -size, 0, 0, 0, 0])).value == pytest.approx(2 * size)
    for size in (1.1e9, 1e30, 1e39, 1e300):
        assert f(np.array([size, -size, 0, 0, 0, 0])).value == np.inf
