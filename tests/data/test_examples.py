"""Examples, as read from item files."""

import numpy as np
import pytest

from crfkit.data import Examples, Vocabulary, encode
from crfkit.exceptions import InputError


def test_labels_by_sequence():
    sequences = encode([[["a"], ["b"]], [], [["a"]]], Vocabulary(), grow=True)
    examples = Examples(sequences, ["X", "Y"], np.array([1, 0, -1], dtype=np.int32), None)
    assert examples.labels == [["Y", "X"], [], [None]]


@pytest.mark.parametrize(
    ("ids", "weights", "message"),
    [
        ([0, 0], None, r"3 positions, but ids has shape \(2,\)"),
        ([0, 1, 2], None, r"ids must be in -1\.\.1, got 0\.\.2"),
        ([0, -2, 1], None, r"ids must be in -1\.\.1, got -2\.\.1"),
        ([0, 1, 0], [1.0], r"2 sequences, but weights has shape \(1,\)"),
    ],
)
def test_arrays_that_do_not_fit(ids, weights, message):
    sequences = encode([[["a"], ["b"]], [["a"]]], Vocabulary(), grow=True)
    with pytest.raises(InputError, match=message):
        Examples(
            sequences,
            ["X", "Y"],
            np.array(ids, dtype=np.int32),
            None if weights is None else np.array(weights),
        )
