"""The structure contract, for every structure: sums against enumeration, gradients against differences.

A new structure is one more line in ``CASES``: the structure, small random scores, how to replace a field,
and a labelling.
"""

from itertools import product

import numpy as np
import pytest
from graphs import random_graphs
from labelling_checks import number_of_ids
from lattices import big_lattice, random_ngrams
from segmentations import random_scores
from site_segmentations import random_sites

from crfkit.data.labels import Labels
from crfkit.inference import CHAIN, SEGMENTATIONS, SITE_SEGMENTATIONS, Graphs, LabelNgrams, Lattice
from crfkit.objectives.likelihood import expected_minus_observed, log_likelihood


def lattice_with(lattice: Lattice, field: str, values: np.ndarray | LabelNgrams) -> Lattice:
    if field == "ngrams" and lattice.ngrams is not None:
        values = lattice.ngrams.with_scores(values)
    return lattice.changed(**{field: values})


LENGTHS = [3, 0, 1, 2]
CASES = {
    f"chain of order {order}{', by position' * by_position}": (
        CHAIN,
        big_lattice(LENGTHS, 3, order, per_position=by_position, seed=order),
        lattice_with,
        [2, 0, 1, 1, 2, 2],
    )
    for order in (1, 2)
    for by_position in (False, True)
}
CASES |= {
    f"chain of order {order}, n-grams{', by position' * by_position}": (
        CHAIN,
        big_lattice(LENGTHS, 3, per_position=by_position, seed=order).changed(
            ngrams=random_ngrams(rng, 3, order, rng.normal(size=12))
        ),
        lattice_with,
        [2, 0, 1, 1, 2, 2],
    )
    for order in (2, 3)
    for by_position in (False, True)
    for rng in [np.random.default_rng(order)]
}
CASES |= {
    f"segments{', all tables' * parts}": (
        SEGMENTATIONS,
        random_scores(7, LENGTHS, 2, 2, parts=parts),
        lambda scores, field, values: scores.changed(**{field: values}),
        [1, 3, 0, 1, 0, 2],  # labels 0 and 1 where a segment begins, 2 and 3 where it goes on
    )
    for parts in (False, True)
}
CASES |= {
    f"segments between sites, {seed}": (
        SITE_SEGMENTATIONS,
        scores,
        lambda scores, field, values: scores.changed(**{field: values}),
        SITE_SEGMENTATIONS.best(scores).tolist(),
    )
    for seed, scores in ((seed, random_sites(seed, LENGTHS, 2, longest=2, share=0.9)) for seed in (6, 23, 24))
}
CASES |= {
    f"graphs, {kind}{', tables by kind' * shared}": (
        Graphs("exact"),
        random_graphs(3, LENGTHS, 3, kind, shared=shared),
        lambda scores, field, values: scores.changed(**{field: values}),
        [2, 0, 1, 1, 2, 2],
    )
    for kind, shared in (("forest", False), ("dense", False), ("dense", True))
}
WEIGHTS = np.array([0.5, 3.0, 2.0, 1.0])
H = 1e-5


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    return request.param


def labellings(scores):
    n_ids = number_of_ids(scores)
    return (np.array(ids, np.int32) for ids in product(range(n_ids), repeat=sum(LENGTHS)))


def check_gradient(function, scores, changed, gradient):
    """Check that every field of the gradient is the derivative of the function by that score."""
    for field, slopes in gradient._asdict().items():
        values = getattr(scores, field)
        values = values.scores if isinstance(values, LabelNgrams) else values
        assert (slopes is None) == (values is None), field
        for place in [] if slopes is None else np.ndindex(values.shape):
            sides = []
            for step in (H, -H):
                moved = values.copy()
                moved[place] += step
                sides.append(float(function(changed(scores, field, moved))))
            assert slopes[place] == pytest.approx((sides[0] - sides[1]) / (2 * H), abs=1e-6), (field, place)


def test_log_z_sums_over_all_labellings_and_best_is_the_best(case):
    structure, scores, _, _ = case
    totals = np.array([structure.labelling_score(scores, ids).sum() for ids in labellings(scores)])
    assert structure.log_partition(scores).sum() == pytest.approx(np.logaddexp.reduce(totals))
    best = structure.best(scores)
    assert structure.labelling_score(scores, best).sum() == pytest.approx(totals.max())


def test_expectations_are_the_gradient_of_log_z(case):
    structure, scores, changed, _ = case
    log_z, expected = structure.expectations(scores, weights=WEIGHTS)
    np.testing.assert_allclose(log_z, structure.log_partition(scores))
    check_gradient(lambda s: WEIGHTS @ structure.log_partition(s), scores, changed, expected)


def test_a_labelling_is_the_gradient_of_its_score(case):
    structure, scores, changed, labelling = case
    ids = np.array(labelling, np.int32)
    counts = structure.labelling_counts(scores, ids, weights=WEIGHTS)
    check_gradient(lambda s: WEIGHTS @ structure.labelling_score(s, ids), scores, changed, counts)


@pytest.mark.parametrize("partial", [False, True])
def test_expected_minus_observed_is_the_gradient_of_the_likelihood(case, partial):
    structure, scores, changed, labelling = case
    labels = Labels(np.array(labelling, np.int32), None)
    if partial:
        allowed = labels.ids[:, None] == np.arange(number_of_ids(scores))
        allowed[1] = np.arange(number_of_ids(scores)) != 1 - labels.ids[1] % 2
        allowed[1, labels.ids[1]] = allowed[3] = True
        labels = Labels(np.where(allowed.sum(axis=1) > 1, -1, labels.ids).astype(np.int32), allowed)
    found = expected_minus_observed(structure, scores, labels, weights=WEIGHTS)
    np.testing.assert_allclose(found.log_p, log_likelihood(structure, scores, labels))
    check_gradient(
        lambda s: -(WEIGHTS @ log_likelihood(structure, s, labels)), scores, changed, found.d_scores
    )


def test_partial_labels_and_margins(case):
    structure, scores, _, labelling = case
    n_ids = number_of_ids(scores)
    ids = np.array(labelling, np.int32)
    ids[[1, 3]] = -1
    allowed = (ids[:, None] == np.arange(n_ids)) | (ids < 0)[:, None]
    allowed[1, 0] = False
    labels, costs = Labels(ids, allowed), np.array([0.3, 1.1, -0.4, 0.7][:n_ids])
    agreeing, dear = structure.permit(scores, labels), structure.raise_wrong(scores, labels, costs)
    known = ids >= 0
    margin = []
    for y in labellings(scores):
        if structure.labelling_score(scores, y).sum() == -np.inf:
            continue
        right = allowed[np.arange(len(y)), y].all()
        assert (structure.labelling_score(agreeing, y).sum() > -np.inf) == right
        wrong = known & (y != ids)
        own = structure.labelling_score(scores, y).sum() + costs[ids[wrong]].sum()
        margin.append(structure.labelling_score(dear, y).sum() - own)
    np.testing.assert_allclose(margin, margin[0])  # the same up to a constant, which cancels


def test_samples_are_labellings(case):
    structure, scores, _, _ = case
    drawn = structure.sample(scores, 4000, random_state=0)
    shares = np.stack([(drawn == label).mean(axis=0) for label in range(number_of_ids(scores))], axis=1)
    expected, log_z = np.zeros_like(shares), structure.log_partition(scores).sum()
    for ids in labellings(scores):
        expected[np.arange(len(ids)), ids] += np.exp(structure.labelling_score(scores, ids).sum() - log_z)
    np.testing.assert_allclose(shares, expected, atol=0.04)


def test_scaled_scores(case):
    """Every labelling's score is multiplied; a piece keeps its place in the batch."""
    structure, scores, _, ids = case
    ids = np.array(ids, np.int32)
    half = scores.numbered_from(4).scaled(0.5)
    assert half.first_sequence == 4
    assert scores.scaled(1.0) is scores
    np.testing.assert_allclose(
        structure.labelling_score(half, ids), structure.labelling_score(scores, ids) / 2
    )
