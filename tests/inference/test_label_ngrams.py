"""Chains over label n-grams against tables of all transitions; cancellation; long sequences; many labels."""

import numpy as np
import pytest

from crfkit.exceptions import InputError
from crfkit.inference import (
    Constraints,
    LabelNgrams,
    Lattice,
    constrain,
    entropy,
    expected_counts,
    log_partition,
    marginals,
    max_marginal,
    nbest,
    path_score,
    segment_probabilities,
    segment_rules,
    viterbi,
)

NOTHING = LabelNgrams(np.zeros((0, 4), np.int32), np.zeros(0))  # order 3: never done by tables


def sparse_table(rng, shape, share, scale=1.0):
    return np.where(rng.random(shape) < share, scale * rng.normal(size=shape), 0.0)


def in_both_forms(rng, order, *, n_labels=9, scale=1.0, forbidden=0.0):
    """Return a lattice with tables of all transitions, and the same as n-grams of order 3."""
    lengths = [14, 0, 1, 2, 7]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    edge = sparse_table(rng, (n_labels, n_labels), 0.3, scale)
    edge[rng.random(edge.shape) < forbidden] = -np.inf
    triples = sparse_table(rng, (n_labels,) * 3, 0.1, scale)
    triples[rng.random(triples.shape) < forbidden / 4] = -np.inf
    dense = Lattice(
        scale * rng.normal(size=(offsets[-1], n_labels)),
        edge,
        offsets,
        start=rng.normal(size=n_labels),
        end=rng.normal(size=n_labels),
        edge2=triples if order == 2 else None,
    )
    if order == 1:
        return dense, dense.changed(ngrams=NOTHING)
    runs = np.argwhere(triples != 0)
    rows = np.insert(runs, 0, -1, axis=1)
    return dense, dense.changed(edge2=None, ngrams=LabelNgrams(rows, triples[tuple(runs.T)]))


CASES = [(order, scale, forbidden) for order in (1, 2) for scale in (1, 6, 300) for forbidden in (0, 0.1)]


@pytest.mark.parametrize(("order", "scale", "forbidden"), CASES)
def test_the_same_results_as_with_tables(order, scale, forbidden):
    dense, sparse = in_both_forms(
        np.random.default_rng(7 * order + scale), order, scale=scale, forbidden=forbidden
    )
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(log_partition(sparse), log_partition(dense), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(entropy(sparse), entropy(dense), **close)
    one, other = marginals(sparse, edge=True), marginals(dense, edge=True)
    np.testing.assert_allclose(one.node, other.node, **close)
    np.testing.assert_allclose(one.edge, other.edge, **close)
    here, there = expected_counts(sparse), expected_counts(dense)
    np.testing.assert_allclose(here.edge, there.edge, **close)
    np.testing.assert_array_equal(viterbi(sparse).labels, viterbi(dense).labels)
    np.testing.assert_array_equal(max_marginal(sparse).labels, max_marginal(dense).labels)
    np.testing.assert_allclose(nbest(sparse, 6).scores, nbest(dense, 6).scores, rtol=1e-12)
    y = viterbi(dense).labels
    np.testing.assert_allclose(path_score(sparse, y), path_score(dense, y), rtol=1e-12)
    if order == 2 and sparse.ngrams is not None:
        np.testing.assert_allclose(here.ngrams, there.edge2[tuple(sparse.ngrams.labels[:, 1:].T)], **close)


@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_of_segments(order):
    names = ["O", *(f"{place}-{kind}" for kind in "XYZ" for place in "BI")]
    dense, sparse = in_both_forms(np.random.default_rng(order), order, n_labels=7)
    rules = segment_rules(names)
    found = rules.find(viterbi(dense).labels, dense.offsets)
    assert len(found.start) > 3
    np.testing.assert_allclose(
        segment_probabilities(sparse, rules, found), segment_probabilities(dense, rules, found), rtol=1e-10
    )


@pytest.mark.parametrize("weight", [-12.0, -25.0, -36.0, -60.0])
def test_nothing_is_lost_where_nearly_everything_is_subtracted(weight):
    # Label 0 holds almost all of the mass; transitions from it weigh far less than those that are not listed.
    rng = np.random.default_rng(3)
    L, T = 6, 12
    node = rng.normal(size=(T, L))
    node[:, 0] += 30
    edge = np.zeros((L, L))
    edge[0] = weight
    edge[2, 3] = edge[3, 0] = weight / 2
    triples = np.zeros((L, L, L))
    triples[0, 0] = weight
    dense = Lattice(node, edge, [0, T], edge2=triples)
    runs = np.argwhere(triples != 0)
    rows = np.insert(runs, 0, -1, axis=1)
    sparse = dense.changed(edge2=None, ngrams=LabelNgrams(rows, triples[tuple(runs.T)]))
    np.testing.assert_allclose(log_partition(sparse), log_partition(dense), rtol=1e-13)
    np.testing.assert_allclose(marginals(sparse).node, marginals(dense).node, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(marginals(sparse, edge=True).edge, marginals(dense, edge=True).edge, rtol=1e-9)


def first_order_log_z(node, pairs, weights):
    """Return log Z by the formula α_j = ψ_j (S + Σ_i α_i (e^w_ij - 1)), over listed pairs only."""
    alpha, total = np.exp(node[0]), 0.0
    for row in node[1:]:
        size = alpha.sum()
        total, alpha = total + np.log(size), alpha / size
        into = np.ones_like(alpha)
        np.add.at(into, pairs[:, 1], alpha[pairs[:, 0]] * np.expm1(weights))
        alpha = np.exp(row) * into
    return total + np.log(alpha.sum())


def test_many_labels_and_a_sequence_too_long_to_keep():
    rng = np.random.default_rng(0)
    L, T = (
        5000,
        3400,
    )  # more than NgramSums::kKept numbers of α, and back-pointers for half of NgramBest::kKept
    pairs = np.unique(rng.integers(L, size=(2000, 2)), axis=0)
    weights = rng.normal(size=len(pairs))
    edge = np.zeros((L, L))
    edge[tuple(pairs.T)] = weights
    node = np.full((T, L), -np.inf)
    node[:, rng.choice(L, 300, replace=False)] = 1.0
    node += rng.normal(size=T)[:, None]
    lattice = Lattice(node, edge, [0, T])
    kept = np.isfinite(node[0])
    small = Lattice(node[:, kept], edge[np.ix_(kept, kept)], [0, T])
    assert log_partition(lattice)[0] == pytest.approx(first_order_log_z(node, pairs, weights), rel=1e-12)
    np.testing.assert_allclose(marginals(lattice).node[:, kept], marginals(small).node, rtol=1e-9, atol=1e-12)
    assert viterbi(lattice).score[0] == pytest.approx(viterbi(small).score[0])


def test_constraints_on_three_labels():
    rng = np.random.default_rng(5)
    dense, sparse = in_both_forms(rng, 2)
    permitted = rng.random((9, 9, 9)) < 0.8
    one, other = (constrain(each, Constraints(transitions2=permitted)) for each in (sparse, dense))
    np.testing.assert_allclose(marginals(one).node, marginals(other).node, atol=1e-12)
    with pytest.raises(InputError, match="transitions2 must have shape"):
        constrain(sparse, Constraints(transitions2=permitted[:3]))


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([[0, 1]], [1.0], r"shape \[M, n\+1\]"),
        ([[0, 1, 2]], [1.0, 2.0], "as many scores"),
        ([[-1, 1, 2]], [1.0], "three labels or more"),
        ([[0, -1, 1, 2]], [1.0], "three labels or more"),
    ],
)
def test_wrong_ngrams(labels, scores, message):
    with pytest.raises(InputError, match=message):
        LabelNgrams(labels, scores)


def test_ngrams_that_do_not_fit_the_lattice():
    node, edge = np.zeros((3, 2)), np.zeros((2, 2))
    ngrams = LabelNgrams([[0, 1, 2]], [1.0])
    with pytest.raises(InputError, match=r"must be in 0\.\.1; got 2"):
        Lattice(node, edge, [0, 3], ngrams=ngrams)
    with pytest.raises(InputError, match="edge2 or ngrams"):
        Lattice(node, edge, [0, 3], edge2=np.zeros((2, 2, 2)), ngrams=LabelNgrams([[0, 1, 0]], [1.0]))
    with pytest.raises(InputError, match="n-gram scores must be finite"):
        Lattice(node, edge, [0, 3], ngrams=LabelNgrams([[0, 1, 0]], [np.nan]))
