"""The batch layout, and choosing sequences from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Sequences, Vocabulary, encode
from crfkit.data.sequences import first_positions, inner_positions
from crfkit.exceptions import InputError

X = [[["a", "b"], ["c"]], [], [["a"], [], ["b", "d"]], [["e"]]]
VALUED = [[dict.fromkeys(item, 2.0) for item in sequence] for sequence in X]


@given(st.lists(st.integers(0, 3)), st.booleans())
def test_subset(chosen, valued):
    source = VALUED if valued else X
    vocabulary = Vocabulary()
    whole = encode(source, vocabulary, grow=True)
    expected = encode([source[i] for i in chosen], vocabulary, grow=False)
    for ids in (chosen, np.array(chosen, dtype=np.int32)):
        subset = whole.subset(ids)
        for name in ("offsets", "indptr", "indices"):
            assert np.array_equal(getattr(subset, name), getattr(expected, name))
        assert (subset.values is None) == (not valued)
        assert subset.n_attributes == whole.n_attributes


def test_counts():
    data = encode(X, Vocabulary(), grow=True)
    assert (data.n_sequences, data.n_positions, data.n_attributes) == (4, 6, 5)
    assert data.lengths.tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("ids", [[4], [-1], [[0]]])
def test_subset_refuses_what_is_not_there(ids):
    refuses("sequence_ids must be", encode(X, Vocabulary(), grow=True).subset, ids)


def test_arrays_must_fit_together():
    good = encode(VALUED, Vocabulary(), grow=True)
    arrays = {"offsets": good.offsets, "indptr": good.indptr, "indices": good.indices, "values": good.values}
    for name, array in arrays.items():
        refuses("do not fit together", Sequences, **{**arrays, name: array[:-1].copy()}, n_attributes=5)
        with pytest.raises(InputError, match=f"{name} must be a contiguous 1-D"):
            Sequences(**{**arrays, name: array.astype(np.float32)}, n_attributes=5)
        with pytest.raises(InputError, match=f"{name} must be a contiguous 1-D"):
            Sequences(**{**arrays, name: np.repeat(array, 2)[::2]}, n_attributes=5)


def test_parts_end_to_end_and_entries_left_out():
    vocabulary = Vocabulary()
    X = [[["a", "b"], ["b"]], [], [[], ["c", "a"]]]
    whole = encode(X, vocabulary, grow=True)
    parts = [encode([x], vocabulary, grow=False) for x in X]
    again = Sequences.end_to_end(parts, whole.n_attributes)
    valued = encode([[{"a": 2.0}]], vocabulary, grow=False)
    both = Sequences.end_to_end([whole, valued], whole.n_attributes)
    for name in ("offsets", "indptr", "indices"):
        assert getattr(again, name).tolist() == getattr(whole, name).tolist()
    assert again.values is None
    assert both.values.tolist() == [1.0] * 5 + [2.0]
    assert Sequences.end_to_end([], 3).n_positions == 0
    left = both.only(both.indices != 1)  # without b
    assert left.indptr.tolist() == [0, 1, 1, 1, 3, 4]
    assert left.indices.tolist() == [0, 2, 0, 0]
    assert left.values.tolist() == [1.0, 1.0, 1.0, 2.0]


@given(st.lists(st.integers(0, 3)))
def test_first_and_inner_positions(lengths):
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    expected = [t > 0 for length in lengths for t in range(length)]
    assert inner_positions(offsets).tolist() == expected
    assert first_positions(offsets).tolist() == [i for i, inner in enumerate(expected) if not inner]
