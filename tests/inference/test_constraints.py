"""Constraints against filtering the enumerated paths."""

from itertools import pairwise

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given
from hypothesis import strategies as st
from lattices import SETTINGS, big_lattice, lattices
from refusals import refuses

from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import (
    Constraints,
    Lattice,
    constrain,
    forced_labels,
    log_partition,
    marginals,
    partial_log_likelihood,
    path_score,
    permitted_labels,
    viterbi,
)


@SETTINGS
@given(lattices(), st.integers(0, 2**32 - 1))
def test_constrained_paths_are_the_permitted_ones(lattice: Lattice, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = lattice.n_labels
    masks = {
        "transitions": rng.random((n, n)) < 0.8,
        "starts": rng.random(n) < 0.8,
        "ends": rng.random(n) < 0.8,
        "positions": rng.random((lattice.n_positions, n)) < 0.9,
    }
    if lattice.order == 2:
        masks["transitions2"] = rng.random((n, n, n)) < 0.9
    together = constrain(lattice, Constraints(**masks))
    apart = constrain(lattice, *(Constraints(**{name: mask}) for name, mask in masks.items()))
    for name in ("node", "edge", "start", "end", "edge2"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))
    for i in range(lattice.n_sequences):
        allowed = masks["positions"][lattice.offsets[i] : lattice.offsets[i + 1]]
        expected = {}
        free = enumerate_paths(lattice, i)
        for path, score in zip(free.paths, free.scores, strict=True):
            fine = all(allowed[t, label] for t, label in enumerate(path))
            if path:
                fine &= masks["starts"][path[0]] and masks["ends"][path[-1]]
            fine &= all(masks["transitions"][pair] for pair in pairwise(path))
            if lattice.order == 2:
                fine &= all(masks["transitions2"][t] for t in zip(path, path[1:], path[2:], strict=False))
            if fine:
                expected[path] = score
        got = enumerate_paths(together, i)
        assert dict(zip(got.paths, got.scores, strict=True)) == expected


@SETTINGS
@given(lattices(), st.integers(0, 2**32 - 1))
def test_partial_likelihood(lattice: Lattice, seed: int) -> None:
    allowed = np.random.default_rng(seed).random(lattice.node.shape) < 0.7
    truth = [enumerate_paths(lattice, i) for i in range(lattice.n_sequences)]
    expected = []
    for i, oracle in enumerate(truth):
        rows = allowed[lattice.offsets[i] : lattice.offsets[i + 1]]
        inside = [all(rows[t, label] for t, label in enumerate(path)) for path in oracle.paths]
        if not any(inside):
            with pytest.raises(NoPathError):
                partial_log_likelihood(lattice, allowed)
            return
        scores = oracle.scores[np.array(inside)]
        restricted = scores.max() + np.log(np.exp(scores - scores.max()).sum())
        expected.append(float(restricted - oracle.log_z))
    np.testing.assert_allclose(partial_log_likelihood(lattice, allowed), expected, rtol=1e-12, atol=1e-9)


def test_forced_labels_fix_positions() -> None:
    lattice = big_lattice([10, 5], 4)
    labels = np.full(15, -1)
    labels[[0, 4, 12]] = [3, 1, 2]
    fixed = constrain(lattice, forced_labels(labels, 4))
    known = labels >= 0
    np.testing.assert_array_equal(viterbi(fixed).labels[known], labels[known])
    np.testing.assert_allclose(marginals(fixed).node[known, labels[known]], 1, rtol=1e-12)
    whole = viterbi(lattice).labels
    everything = constrain(lattice, forced_labels(whole, 4))
    np.testing.assert_allclose(log_partition(everything), path_score(lattice, whole), rtol=1e-13)


def test_combination_is_intersection() -> None:
    a = Constraints(starts=np.array([True, True, False]))
    b = Constraints(starts=np.array([False, True, True]), ends=np.array([True, False, False]))
    both = a & b
    np.testing.assert_array_equal(both.starts, [False, True, False])
    np.testing.assert_array_equal(both.ends, [True, False, False])
    assert both.transitions is None


def test_errors_name_what_is_wrong() -> None:
    lattice = big_lattice([4], 3)
    with pytest.raises(InputError, match=r"transitions must have shape \(3, 3\).*got \(2, 2\)"):
        constrain(lattice, Constraints(transitions=np.ones((2, 2), dtype=bool)))
    refuses("booleans", constrain, lattice, Constraints(starts=[1, 0, 1]))
    refuses("order 2", constrain, lattice, Constraints(transitions2=np.ones((3, 3, 3), dtype=bool)))
    with pytest.raises(InputError, match=r"shapes \(3,\) and \(2,\)"):
        Constraints(starts=np.ones(3, dtype=bool)) & Constraints(starts=np.ones(2, dtype=bool))
    refuses("got 3 at position 1", forced_labels, [0, 3], 3)
    refuses("integers", forced_labels, [0.5, 1.0], 3)
    with pytest.raises(TypeError):
        Constraints() & 3
    allowed = np.ones((4, 3), dtype=bool)
    allowed[2] = False
    with pytest.raises(NoPathError, match="sequence 0: at its position 2 "):
        viterbi(constrain(lattice, permitted_labels(allowed)))
