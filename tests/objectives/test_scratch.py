"""The objective from scratch files, and sums of which each thread has a part."""

from dataclasses import replace

import numpy as np
import pytest
from linear_problems import make_problem

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import build_index
from crfkit.objectives.linear_likelihood import LinearLikelihood


def local_data(rare: int = 4) -> tuple[Sequences, Labels]:
    """Return 400 sequences with common attributes, and others that occur in one stretch of the data only."""
    random = np.random.default_rng(3)
    T = 400 * 60
    common = random.integers(0, 50, (T, 3))
    local = 50 + np.arange(T)[:, None] // 4 * rare + random.integers(0, rare, (T, 2))
    indices = np.sort(np.concatenate([common, local], axis=1), axis=1)
    kept = np.ones_like(indices, np.bool_)
    kept[:, 1:] = indices[:, 1:] != indices[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    found = Sequences(np.arange(0, T + 1, 60), indptr, indices[kept].astype(np.int32), None, 50 + T * rare)
    return found, Labels(random.integers(0, 5, T).astype(np.int32), None)


@pytest.mark.parametrize("everything", [False, True])  # lists, dense rows
def test_threads_that_touch_a_part_of_the_features_give_the_same_sum(everything):
    sequences, labels = local_data()
    index = build_index(sequences, labels, 5, all_possible_states=everything)
    one, three = (LinearLikelihood(sequences, labels, index, n_threads=n) for n in (1, 3))
    random, some = np.random.default_rng(0), np.arange(0, 400, 3, dtype=np.int32)
    for _ in range(2):  # other passes in between leave nothing behind
        x = random.normal(size=one.n_parameters)
        a, b = one(x, diagonal=True), three(x, diagonal=True)
        assert b.value == pytest.approx(a.value, rel=1e-9)
        np.testing.assert_allclose(b.gradient, a.gradient, atol=2e-4)
        np.testing.assert_allclose(b.diagonal, a.diagonal, atol=2e-4)
        np.testing.assert_allclose(three.part(some)(x).gradient, one.part(some)(x).gradient, atol=2e-4)
        assert three.done == pytest.approx(len(some) / 400)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("partial", ["full", "mixed"])
def test_scratch_files_change_nothing_and_leave_nothing(tmp_path, pairs, partial):
    problem = make_problem(5, 4, [300] * 30, partial=partial, weighted=True, pairs=pairs)
    sequences = problem.sequences()
    both = [
        LinearLikelihood(home, problem.labels, problem.index(), n_threads=2, weights=problem.weights)
        for home in (sequences, replace(sequences, home=str(tmp_path)))
    ]
    assert not list(tmp_path.iterdir())
    x = np.random.default_rng(0).normal(size=both[0].n_parameters)
    here, there = (function(x, diagonal=True) for function in both)
    assert here.value == there.value
    np.testing.assert_array_equal(here.gradient, there.gradient)
    np.testing.assert_array_equal(here.diagonal, there.diagonal)
    order = np.random.default_rng(0).permutation(30).astype(np.int32)
    for function in both:
        function.begin(x)
        function.steps(order, 0.01, 0.0, 1.0)
    np.testing.assert_array_equal(both[0].end(), both[1].end())


def test_sequences_on_disk_are_visited_by_neighbourhoods(tmp_path):
    n = 40_000
    sequences = Sequences(
        np.arange(n + 1), np.arange(n + 1), np.zeros(n, np.int32), None, 1, home=str(tmp_path)
    )
    labels = Labels((np.arange(n) % 2).astype(np.int32), None)
    function = LinearLikelihood(sequences, labels, build_index(sequences, labels, 2), n_threads=1)
    order = function.order(np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(n))
    assert len(np.unique(order[: 1 << 14] // 1024)) <= 17
    assert np.abs(np.diff(order[:100])).mean() > 1000


def test_a_directory_without_room_is_an_error_of_the_system(tmp_path):
    problem = make_problem(5, 4, [30] * 3)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        LinearLikelihood(
            replace(problem.sequences(), home=str(tmp_path / "nowhere")),
            problem.labels,
            problem.index(),
            n_threads=1,
        )
