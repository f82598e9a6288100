"""Growing data, laid out once: the objective is that of the prefix shown."""

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import build_index
from crfkit.objectives.linear_likelihood import LinearLikelihood


def batch(lengths, seed=0, n_attributes=12, n_labels=3):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(offsets[-1])
    indices = rng.integers(0, n_attributes, 2 * T).astype(np.int32)
    values = rng.normal(size=2 * T)
    sequences = Sequences(offsets, np.arange(0, 2 * T + 1, 2, dtype=np.int64), indices, values, n_attributes)
    return sequences, rng.integers(0, n_labels, T).astype(np.int32)


def objective(sequences, labels, n_threads=1, as_given=True):
    y = Labels(labels, None)
    index = build_index(sequences, y, 3, all_possible_states=True, all_possible_transitions=True)
    likelihood = LinearLikelihood(sequences, y, index, n_threads=n_threads, as_given=as_given)
    return likelihood.penalised(c2=0.5)


def first(sequences, labels, T):
    offsets = np.unique(np.minimum(sequences.offsets, T))
    n = int(sequences.indptr[T])
    cut = Sequences(
        offsets,
        sequences.indptr[: T + 1],
        sequences.indices[:n],
        None if sequences.values is None else sequences.values[:n],
        sequences.n_attributes,
    )
    return cut, labels[:T]


@pytest.mark.parametrize("lengths", [[30], [4, 9, 1, 16], [1] * 30])
def test_what_is_shown_counts(lengths):
    """The same bits as an objective of the truncated data; the prefix may grow again."""
    sequences, labels = batch(lengths)
    growing = objective(sequences, labels)
    x = np.random.default_rng(1).normal(size=growing.n_parameters)
    for T in (7, 1, 12, 30):
        growing.function.show(T)
        whole = objective(*first(sequences, labels, T))
        assert whole.n_parameters == growing.n_parameters  # seen or not
        a, b = growing(x, diagonal=True), whole(x, diagonal=True)
        assert a.value == b.value
        assert (a.gradient == b.gradient).all()
        assert (a.diagonal == b.diagonal).all()


def test_the_same_function_as_otherwise():
    """One parameter per feature, in the order of features: another layout of the same objective."""
    sequences, labels = batch([20, 10])
    given, merged = objective(sequences, labels), objective(sequences, labels, as_given=False)
    x = np.random.default_rng(2).normal(size=given.n_parameters)
    weights = given.weights(x)
    n_edges = (labels.max() + 1) ** 2  # transitions come first among weights, last among parameters
    np.testing.assert_array_equal(np.roll(weights, -n_edges), x)
    at = merged.parameters(weights)
    data = given(x).value - 0.5 * x @ x
    assert data == pytest.approx(merged(at).value - 0.5 * at @ at, rel=1e-6)


def test_too_much_to_show():
    growing = objective(*batch([5]))
    for n in (6, -1):
        with pytest.raises(ValueError, match=r"positions must be in 0\.\.n_positions"):
            growing.function.show(n)
