"""Validation sets as the user specifies them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from crfkit.models.linear.validation_choice import validation_spans

OFFSETS = np.array([0, 4, 4, 9, 11, 20], np.int64)  # lengths 4, 0, 5, 2, 9


def pieces(spans):
    """Return [(first, last), …] of each set."""
    found = [[] for _ in range(spans.n_sets)]
    for first, last, j in zip(spans.first, spans.last, spans.sets, strict=True):
        found[j].append((int(first), int(last)))
    return found


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=10).filter(lambda found: sum(found) >= 4),
    n_sets=st.integers(1, 4),
)
def test_a_number_of_sets_cuts_the_data_into_about_equal_parts(lengths, n_sets):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    spans = validation_spans(n_sets, offsets)
    assert spans.n_sets == n_sets
    assert (spans.lengths > 0).all()
    assert spans.lengths.sum() == offsets[-1]
    covered = sorted((a, b) for found in pieces(spans) for a, b in found)
    assert covered[0][0] == 0
    assert all(b == c for (_, b), (c, _) in itertools.pairwise(covered))
    for first, last in covered:  # each within one sequence
        assert np.searchsorted(offsets, first, side="right") == np.searchsorted(offsets, last, side="left")
    if max(lengths) <= offsets[-1] / n_sets / 2:
        assert spans.lengths.max() - spans.lengths.min() <= 2 * max(lengths)


@pytest.mark.parametrize(
    ("validation", "offsets", "more", "expected"),
    [
        (3, [0, 9], {}, [[(0, 3)], [(3, 6)], [(6, 9)]]),  # too few sequences are cut
        ([[0, 2], [4]], OFFSETS, {}, [[(0, 4), (4, 9)], [(11, 20)]]),
        ((np.array([3]),), OFFSETS, {}, [[(9, 11)]]),
        ("sequences", OFFSETS, {}, [[(0, 4)], [(4, 9)], [(9, 11)], [(11, 20)]]),  # without the empty one
        (3, OFFSETS, {"groups": list("babaa")}, [[(9, 11), (11, 20)], [(0, 4), (4, 9)]]),
        (KFold(2), OFFSETS, {}, [[(0, 4), (4, 9)], [(9, 11), (11, 20)]]),
        (3, [0, 5, 12], {"last": 3}, [[(2, 5), (9, 12)]]),  # the end of each sequence
    ],
)
def test_sets(validation, offsets, more, expected):
    assert pieces(validation_spans(validation, np.array(offsets, np.int64), **more)) == expected


def test_splitters():
    by_group = pieces(validation_spans(GroupKFold(2), OFFSETS, groups=list("babaa")))
    assert sorted(map(len, by_group)) == [2, 2]
    overlapping = validation_spans(ShuffleSplit(4, test_size=0.6, random_state=0), OFFSETS)
    assert overlapping.n_sets == 4


@pytest.mark.parametrize(
    ("validation", "more", "message"),
    [
        ([[0], []], {}, "validation set 1 is empty"),
        ([[1]], {}, "validation set 0 is empty: its sequences have no positions"),
        ([[0, 7]], {}, "set 0 names sequence 7, but the data has the sequences 0 to 4"),
        ([[0], [-1]], {}, "set 1 names sequence -1"),
        ([[0, 2, 0]], {}, "set 0 names sequence 0 more than once"),
        ([[0, 2], [2]], {}, "must not overlap, but sequence 2 is in set 0 and in set 1"),
        ([0, 2], {}, "validation set 0 must be a list of the numbers of its sequences, got 0"),
        ([["a"]], {}, "validation set 0 must be a list of the numbers"),
        (21, {}, "21 validation sets need as many positions; the data has 20"),
        (3, {"last": 3}, "last=3, but sequence 1 has only 0 positions; take a smaller last"),
        (3, {"groups": ["a"]}, r"groups must be one per sequence, \[5\]; got shape \(1,\)"),
        (KFold(9), {}, "cannot split 5 sequences"),
    ],
)
def test_bad_input(validation, more, message):
    refuses(message, validation_spans, validation, OFFSETS, **more)
