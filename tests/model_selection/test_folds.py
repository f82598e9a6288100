"""Folds of sequences: parts of the data, groups together, equal sizes, the same for the same seed."""

import numpy as np
import pytest
from refusals import refuses

from crfkit.model_selection import sequence_folds
from crfkit.model_selection.folds import nested_sample

GROUPS = [f"g{i % 7}" for i in range(30)]


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_every_sequence_is_held_out_once_and_no_group_is_split(groups):
    folds = sequence_folds(30, groups, cv=4, random_state=3)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(30))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(30))
        if groups is not None:
            assert not {groups[i] for i in train} & {groups[i] for i in test}
    again = sequence_folds(30, groups, cv=4, random_state=3)
    assert [test.tolist() for _, test in folds] == [test.tolist() for _, test in again]
    other = sequence_folds(30, groups, cv=4, random_state=4)
    assert [test.tolist() for _, test in folds] != [test.tolist() for _, test in other]


def test_folds_share_positions_evenly():
    lengths = np.array([100, 1, 1, 1, 50, 50])
    sizes = sorted(int(lengths[test].sum()) for _, test in sequence_folds(lengths, cv=2))
    assert sizes == [101, 102]


def test_samples_are_nested_and_keep_groups():
    small, large = (set(nested_sample(30, GROUPS, share, 0).tolist()) for share in (0.3, 0.6))
    assert small < large < set(range(30))
    assert {GROUPS[i] for i in large}.isdisjoint(GROUPS[i] for i in set(range(30)) - large)


def test_refusals():
    refuses("cv=5 needs as many sequences, but there are 3", sequence_folds, 3)
    refuses("cv=3 needs as many groups, but there are 2", sequence_folds, 4, "aabb", cv=3)
    refuses("groups must be one per sequence, 4 of them; got 2", sequence_folds, 4, "ab", cv=2)
    refuses("cv must be the number of folds, .* got 1", sequence_folds, 4, cv=1)
    refuses("cv must be the number of folds, .* got 'kfold'", sequence_folds, 4, cv="kfold")
