"""Sums over millions of positions: gradient, diagonal and transitions against float64.

The data repeats two sequences, all of the first label and then all of the second, which is the worst order
for a running sum. The truth is that of the two sequences in float64, times their numbers.
"""

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearPotential

LENGTH = 20
WEIGHT = 0.3


def index(kind: str) -> FeatureIndex:
    """Return the features of one attribute: of both labels, of one label, or of label pairs as well."""
    labels = np.array([0] if kind == "list" else [0, 1], np.int32)
    pairs = (np.array([0, 4]), np.arange(4, dtype=np.int32)) if kind == "pairs" else ()
    return FeatureIndex(
        2, np.array([0, len(labels)]), labels, np.ones((2, 2), bool), np.zeros((0, 2)), *pairs
    )


def repeated(n_positions: int, value: float, *, joined: bool = False) -> tuple[Sequences, Labels]:
    """Return n / 20 sequences of one attribute, the first half labelled 0 and the others 1."""
    n = n_positions // LENGTH
    offsets = np.array([0, n_positions]) if joined else np.arange(n + 1) * LENGTH
    ids = np.repeat((np.arange(n) >= n // 2).astype(np.int32), LENGTH)
    values = None if value == 1 else np.full(n_positions, value)
    indices = np.zeros(n_positions, np.int32)
    return Sequences(offsets, np.arange(n_positions + 1), indices, values, 1), Labels(ids, None)


def check(n_positions: int, kind: str, *, value: float = 1.0, n_threads: int = 1, edges: float = 0.0) -> None:
    features = index(kind)
    w = np.zeros(sum(features.sizes))
    w[:4] = np.array([0.2, -0.1, 0.1, 0.0]) * edges  # edges, then pairs, then labels
    w[4:-1] = 0.05 * edges
    w[-1] = WEIGHT
    small = repeated(2 * LENGTH, value)
    expected = Likelihood(LinearPotential(features), *small)(w)
    times = n_positions / (2 * LENGTH)
    large = LinearLikelihood(*repeated(n_positions, value), features, n_threads=n_threads, as_given=True)
    found = large(large.parameters(w), diagonal=True)
    gradient = large.weights(found.gradient)
    assert found.value == pytest.approx(times * expected.value, rel=1e-6)
    # With edge weights, the terms of both labels nearly cancel: what counts is the size of the terms.
    size = value * n_positions if edges else 0.0
    np.testing.assert_allclose(gradient, times * expected.gradient, rtol=1e-5, atol=1e-6 * size)
    few = LinearLikelihood(*small, features, n_threads=1, as_given=True)
    of_few = few(few.parameters(w), diagonal=True)
    np.testing.assert_allclose(found.diagonal, times * of_few.diagonal, rtol=1e-5)


def test_twenty_million_positions_sorted_by_label() -> None:
    check(20_000_000, "rows")


@pytest.mark.parametrize("kind", ["rows", "list", "pairs"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_kind_of_sum(kind: str, n_threads: int) -> None:
    check(4_000_000, kind, value=0.7, n_threads=n_threads, edges=1.0)


def test_one_sequence_of_a_million_positions() -> None:
    """Sums are moved to double within a sequence, too."""
    n = 1_000_000
    features = index("rows")
    w = np.array([0, 0, 0, 0, 0, WEIGHT])  # without transitions positions are independent
    long = LinearLikelihood(*repeated(n, 1.0, joined=True), features, n_threads=1, as_given=True)
    gradient = long.weights(long(long.parameters(w)).gradient)
    p = 1 / (1 + np.exp(-WEIGHT))
    np.testing.assert_allclose(gradient[4:], [n / 2 - n * p, n * p - n / 2], rtol=1e-5)


def test_the_penalty_of_stochastic_steps_on_many_sequences() -> None:
    """The factor 1 - step·λ of one step is so close to 1 that float cannot hold it."""
    n, step, c2 = 1_000_000, 0.01, 1.0
    features = FeatureIndex(2, np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.ones((2, 2), bool))
    indices = np.ones(n, np.int32)
    indices[0] = 0  # the only place of attribute 0, which no step visits
    data = Sequences(np.arange(n + 1), np.arange(n + 1), indices, None, 2)
    f = LinearLikelihood(
        data, Labels(np.arange(n, dtype=np.int32) % 2, None), features, n_threads=1, as_given=True
    )
    f.begin(f.parameters(np.array([0, 0, 0, 0, 1.0, -2.0, 0, 0])))
    f.steps(np.arange(1, n, dtype=np.int32), step, 0.0, c2)
    shrink = np.prod(1 - step * 2 * c2 / n / (1 + step * 2 * c2 / n * np.arange(n - 1)))
    assert shrink < 0.99
    np.testing.assert_allclose(f.weights(f.end())[4:6], [shrink, -2 * shrink], rtol=1e-5)
