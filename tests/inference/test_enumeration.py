"""Every function against the enumeration of all paths."""

import numpy as np
import pytest
from enumeration import Oracle, enumerate_paths
from hypothesis import given
from hypothesis import strategies as st
from lattices import SETTINGS, lattices

from crfkit.exceptions import NoPathError
from crfkit.inference import (
    Lattice,
    entropy,
    expectations,
    expected_counts,
    log_partition,
    marginals,
    max_marginal,
    nbest,
    path_score,
    sample,
    viterbi,
)

FUNCTIONS = (
    log_partition,
    marginals,
    expected_counts,
    expectations,
    entropy,
    max_marginal,
    viterbi,
    sample,
    lambda lattice: nbest(lattice, 3),
)


def oracles(lattice: Lattice) -> list[Oracle] | None:
    """Return one oracle per sequence; None, after checking that everything raises, if one has no path."""
    result = [enumerate_paths(lattice, i) for i in range(lattice.n_sequences)]
    dead = [i for i, oracle in enumerate(result) if not oracle.paths]
    if not dead:
        return result
    for function in FUNCTIONS:
        with pytest.raises(NoPathError, match=f"through sequence {dead[0]}\\b"):
            function(lattice)
    return None


@SETTINGS
@given(lattices())
def test_posterior(lattice: Lattice) -> None:
    truth = oracles(lattice)
    if truth is None:
        return
    n_labels = lattice.n_labels
    log_z = [oracle.log_z for oracle in truth]
    np.testing.assert_allclose(log_partition(lattice), log_z, rtol=1e-13, atol=1e-12)
    result = marginals(lattice, edge=True)
    plain = marginals(lattice)
    np.testing.assert_allclose(result.log_z, log_z, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(plain.log_z, log_z, rtol=1e-13, atol=1e-12)
    assert plain.edge is None
    counts = expected_counts(lattice)
    weights = np.arange(1.0, lattice.n_sequences + 1)
    weighted = expected_counts(lattice, weights=weights)
    for got, factors in ((counts, np.ones_like(weights)), (weighted, weights)):
        expected = {"node": 0.0, "start": 0.0, "end": 0.0, "edge": 0.0, "edge2": 0.0}
        for i, oracle in enumerate(truth):
            length = int(np.diff(lattice.offsets)[i])
            if length == 0:
                continue
            node = oracle.node(length, n_labels)
            expected["node"] += factors[i] * node.sum(axis=0)
            expected["start"] += factors[i] * node[0]
            expected["end"] += factors[i] * node[-1]
            expected["edge"] += factors[i] * oracle.window(length, n_labels, 2).sum(axis=0)
            expected["edge2"] += factors[i] * oracle.window(length, n_labels, 3).sum(axis=0)
        for name, value in expected.items():
            if name != "edge2" or lattice.edge2 is not None:
                np.testing.assert_allclose(getattr(got, name), value, rtol=1e-10, atol=1e-10, err_msg=name)
    for i, oracle in enumerate(truth):
        begin, end = lattice.offsets[i : i + 2]
        if begin == end:
            continue
        node = oracle.node(end - begin, n_labels)
        np.testing.assert_allclose(result.node[begin:end], node, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(plain.node[begin:end], node, rtol=1e-10, atol=1e-11)
        pair = oracle.window(end - begin, n_labels, 2)
        np.testing.assert_allclose(result.edge[begin:end], pair, rtol=1e-10, atol=1e-11)


def _occurrences(path: tuple[int, ...], run: list[int]) -> int:
    labels = tuple(label for label in run if label >= 0)
    return sum(path[t : t + len(labels)] == labels for t in range(len(path) - len(labels) + 1))


@SETTINGS
@given(lattices(), st.booleans())
def test_expectations_have_the_shapes_of_the_scores(lattice: Lattice, weighted: bool) -> None:
    truth = oracles(lattice)
    if truth is None:
        return
    n_labels, lengths = lattice.n_labels, np.diff(lattice.offsets)
    factors = np.arange(1.0, lattice.n_sequences + 1) - 1.5 if weighted else np.ones(lattice.n_sequences)
    windows = [
        np.concatenate(
            [f * o.window(n, n_labels, size) for f, o, n in zip(factors, truth, lengths, strict=True)]
        )
        for size in (1, 2, 3)
    ]  # per position; 0 where the window would begin before the sequence
    full = lattice.offsets[:-1][lengths > 0], lattice.offsets[1:][lengths > 0] - 1
    expected = {
        "node": windows[0],
        "edge": windows[1] if lattice.edge.ndim == 3 else windows[1].sum(axis=0),
        "edge2": None,
        "start": None if lattice.start is None else windows[0][full[0]].sum(axis=0),
        "end": None if lattice.end is None else windows[0][full[1]].sum(axis=0),
        "log_z": [oracle.log_z for oracle in truth],
    }
    if lattice.ngrams is not None:
        expected["ngrams"] = [
            sum(
                float(f * p * _occurrences(path, run))
                for f, o in zip(factors, truth, strict=True)
                for path, p in zip(o.paths, o.probabilities, strict=True)
            )
            for run in lattice.ngrams.labels.tolist()
        ]
    if lattice.edge2 is not None:
        expected["edge2"] = windows[2] if lattice.edge2.ndim == 4 else windows[2].sum(axis=0)
    result = expectations(lattice, weights=factors if weighted else None)
    for name, value in expected.items():
        got = getattr(result, name)
        assert (got is None) == (value is None), name
        if value is not None:
            assert name in ("log_z", "ngrams") or got.shape == getattr(lattice, name).shape
            np.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-10, err_msg=name)


@SETTINGS
@given(lattices())
def test_entropy(lattice: Lattice) -> None:
    truth = oracles(lattice)
    if truth is not None:
        np.testing.assert_allclose(
            entropy(lattice),
            [oracle.entropy() if oracle.paths[0] else 0.0 for oracle in truth],
            rtol=1e-9,
            atol=1e-10,
        )


@SETTINGS
@given(lattices())
def test_viterbi_and_path_score(lattice: Lattice) -> None:
    truth = oracles(lattice)
    if truth is None:
        return
    best = viterbi(lattice)
    np.testing.assert_allclose(
        best.score, [float(oracle.scores.max()) for oracle in truth], rtol=1e-14, atol=1e-12
    )
    np.testing.assert_array_equal(path_score(lattice, best.labels), best.score)
    for i, oracle in enumerate(truth):
        path = tuple(best.labels[lattice.offsets[i] : lattice.offsets[i + 1]].tolist())
        index = oracle.paths.index(path)
        assert oracle.scores[index] >= oracle.scores.max() - 1e-9
    # any path, including forbidden ones
    ones = np.full(lattice.n_positions, lattice.n_labels - 1)
    for i, value in enumerate(path_score(lattice, ones)):
        length = int(np.diff(lattice.offsets)[i])
        path = (lattice.n_labels - 1,) * length
        known = dict(zip(truth[i].paths, truth[i].scores, strict=True))
        np.testing.assert_allclose(value, float(known.get(path, -np.inf)), rtol=1e-14, atol=1e-12)


@SETTINGS
@given(lattices())
def test_ties_go_to_the_smallest_label_from_the_end(lattice: Lattice) -> None:
    whole = [np.where(np.isinf(a), a, np.round(np.clip(a, -2, 2))) for a in (lattice.node, lattice.edge)]
    tied = Lattice(whole[0], whole[1], lattice.offsets)
    truth = oracles(tied)
    if truth is None:
        return
    best = viterbi(tied)
    for i, oracle in enumerate(truth):
        path = tuple(best.labels[tied.offsets[i] : tied.offsets[i + 1]].tolist())
        ties = [p for p, s in zip(oracle.paths, oracle.scores, strict=True) if s == oracle.scores.max()]
        assert path == min(ties, key=lambda p: p[::-1])


@SETTINGS
@given(lattices())
def test_nbest(lattice: Lattice) -> None:
    truth = oracles(lattice)
    if truth is None:
        return
    for k in (1, 3, 40, 100_000):
        result = nbest(lattice, k)
        for i, oracle in enumerate(truth):
            expected = np.sort(oracle.scores)[::-1][:k].astype(float)
            np.testing.assert_allclose(result.scores_of(i), expected, rtol=1e-14, atol=1e-12)
            paths = result.paths_of(i)
            assert len({tuple(path) for path in paths.tolist()}) == len(expected)
            known = dict(zip(oracle.paths, oracle.scores, strict=True))
            given_scores = [float(known[tuple(path)]) for path in paths.tolist()]
            np.testing.assert_allclose(given_scores, result.scores_of(i), rtol=1e-14, atol=1e-12)
    first = [nbest(lattice, 1).paths_of(i)[0] for i in range(lattice.n_sequences)]
    np.testing.assert_array_equal(np.concatenate(first), viterbi(lattice).labels)


@SETTINGS
@given(lattices())
def test_max_marginal(lattice: Lattice) -> None:
    if oracles(lattice) is None:
        return
    result = max_marginal(lattice, posterior=True)
    np.testing.assert_array_equal(result.labels, marginals(lattice).node.argmax(axis=1))
    np.testing.assert_array_equal(result.posterior, marginals(lattice).node)
    assert max_marginal(lattice).posterior is None


@SETTINGS
@given(lattices())
def test_samples_are_permitted_paths(lattice: Lattice) -> None:
    truth = oracles(lattice)
    if truth is None:
        return
    drawn = sample(lattice, 5, random_state=1)
    assert drawn.shape == (5, lattice.n_positions)
    for i, oracle in enumerate(truth):
        possible = set(oracle.paths)
        for path in drawn[:, lattice.offsets[i] : lattice.offsets[i + 1]].tolist():
            assert tuple(path) in possible
