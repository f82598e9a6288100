"""Results do not depend on the number of threads, nor (except for rounding) on the instruction set."""

from typing import Any

import numpy as np
import pytest
from instruction_sets import on_each_instruction_set
from lattices import big_lattice

from crfkit.inference import (
    Lattice,
    constrain,
    entropy,
    expectations,
    expected_counts,
    forced_labels,
    log_partition,
    marginals,
    nbest,
    sample,
    viterbi,
)

CASES = [(1, False), (1, True), (2, False), (2, True)]


def case(order: int, per_position: bool, seed: int = 0) -> Lattice:
    lengths = np.random.default_rng(seed).integers(0, 90, size=40).tolist()
    return big_lattice(lengths, 5, order, per_position=per_position, scale=3.0, seed=seed)


def everything(lattice: Lattice, n_jobs: int) -> dict[str, Any]:
    """Return every array that inference computes."""
    both, few = marginals(lattice, edge=True, n_jobs=n_jobs), nbest(lattice, 4, n_jobs=n_jobs)
    counts, best = expected_counts(lattice, n_jobs=n_jobs), viterbi(lattice, n_jobs=n_jobs)
    expected = expectations(lattice, n_jobs=n_jobs)
    return {
        "log_partition": log_partition(lattice, n_jobs=n_jobs),
        "node": marginals(lattice, n_jobs=n_jobs).node,
        "node and edge": both.node,
        "edge": both.edge,
        "entropy": entropy(lattice, n_jobs=n_jobs),
        "labels": best.labels,
        "score": best.score,
        "nbest": few.labels,
        "nbest scores": few.scores,
        "samples": sample(lattice, 3, random_state=5, n_jobs=n_jobs),
        **{f"counts {name}": value for name, value in counts._asdict().items() if value is not None},
        **{f"expected {name}": value for name, value in expected._asdict().items() if value is not None},
    }


@pytest.mark.parametrize(("order", "per_position"), CASES)
def test_threads_give_the_same_bits(order: int, per_position: bool) -> None:
    one, two = (everything(case(order, per_position), n_jobs) for n_jobs in (1, 2))
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)


@pytest.mark.parametrize("order", [1, 2])
def test_sequences_do_not_see_each_other(order: int) -> None:
    lattice = case(order, False)
    result, best = marginals(lattice), viterbi(lattice)
    for i in range(lattice.n_sequences):
        at = slice(lattice.offsets[i], lattice.offsets[i + 1])
        alone = Lattice(
            lattice.node[at], lattice.edge, [0, at.stop - at.start], lattice.start, lattice.end, lattice.edge2
        )
        np.testing.assert_array_equal(marginals(alone).node, result.node[at])
        np.testing.assert_array_equal(log_partition(alone), log_partition(lattice)[i : i + 1])
        np.testing.assert_array_equal(viterbi(alone).labels, best.labels[at])


def test_samples_depend_on_the_seed_alone() -> None:
    lattice = case(1, False)
    np.testing.assert_array_equal(
        sample(lattice, 4, random_state=3)[:2], sample(lattice, 2, random_state=3)[:2]
    )
    assert (sample(lattice, random_state=3) != sample(lattice, random_state=4)).any()
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(
            sample(lattice, random_state=make(1)), sample(lattice, random_state=make(1))
        )


def masked(lattice: Lattice) -> Lattice:
    """Return the lattice with every third label fixed, and scores so large that log space is often needed."""
    labels = np.where(np.arange(lattice.n_positions) % 3 == 0, np.arange(lattice.n_positions) % 5, -1)
    large = Lattice(
        100 * lattice.node, 200 * lattice.edge, lattice.offsets, lattice.start, lattice.end, lattice.edge2
    )
    return constrain(large, forced_labels(labels, 5))


def all_cases() -> list[dict[str, np.ndarray]]:
    return [everything(lattice, 1) for c in CASES for lattice in (case(*c), masked(case(*c)))]


def test_instruction_sets_agree() -> None:
    results = on_each_instruction_set(__file__, "all_cases")
    for values in results.values():
        for case_values, baseline in zip(values, results["baseline"], strict=True):
            for name, value in baseline.items():
                if "nbest" in name or name in ("labels", "samples"):
                    assert np.mean(case_values[name] != value) < 1e-3, name
                else:
                    np.testing.assert_allclose(case_values[name], value, rtol=1e-9, atol=1e-11, err_msg=name)
