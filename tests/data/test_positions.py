"""X as rows of positions: every permitted form, and the errors for other forms."""

import numpy as np
import pytest
from refusals import refuses
from scipy.sparse import csr_matrix

from crfkit.data.columns import Columns
from crfkit.data.positions import read_positions, stack_rows, take_rows
from crfkit.exceptions import InputError

A, B = np.arange(6.0).reshape(3, 2), np.ones((1, 2))


def test_the_same_positions_in_every_form():
    plain = read_positions([A, B])
    assert plain.offsets.tolist() == [0, 3, 4]
    assert plain.width == 2
    for other in (
        read_positions(np.vstack([A, B]), [3, 1]),
        read_positions([A.tolist(), B.tolist()]),
        read_positions([csr_matrix(A), csr_matrix(B)]),
        read_positions(csr_matrix(np.vstack([A, B])), [3, 1]),
        read_positions([A.astype(np.float32), B.astype(int)]),
    ):
        rows = other.rows.toarray() if hasattr(other.rows, "toarray") else other.rows
        np.testing.assert_array_equal(rows, plain.rows)
        assert other.offsets.tolist() == plain.offsets.tolist()
    assert read_positions(np.zeros((2, 3, 4))).offsets.tolist() == [0, 3, 6]
    frames = pytest.importorskip("pandas").DataFrame(A)
    np.testing.assert_array_equal(read_positions([frames, B]).rows, plain.rows)


def test_empty_sequences():
    found = read_positions([A, [], np.zeros((0, 2)), B])
    assert found.offsets.tolist() == [0, 3, 3, 3, 4]
    assert read_positions([]).n_sequences == 0


def test_objects():
    found = read_positions(["abc", ["x"], []], objects=True)
    assert found.rows == ["a", "b", "c", "x"]
    assert found.width is None
    assert found.subset(np.array([1])).rows == ["x"]
    assert take_rows(found.rows, np.array([2, 0])) == ["c", "a"]
    assert stack_rows([["a"], ["b"]]) == ["a", "b"]
    np.testing.assert_array_equal(read_positions([A, B], objects=True).rows[:3], A)  # numbers stay numbers


def test_cells_of_text():
    cells = Columns.from_rows([[("1", "2.5", "x"), ("-3", "1e2", "y")], [("0", "7", "z")]], "data.txt")
    found = read_positions(cells, width=2)
    assert found.rows.tolist() == [[1, 2.5], [-3, 100], [0, 7]]
    assert found.offsets.tolist() == [0, 2, 3]
    refuses(r"data\.txt:1: expected a finite number in column 2, got 'x'", read_positions, cells)
    refuses(r"data\.txt: expected 4 columns of numbers, got 3", read_positions, cells, width=4)


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        ([A, np.ones((2, 3))], None, "sequence 1: expected 2 columns as before, got 3"),
        (A, None, "does not say where sequences end"),
        (A, [1, 1], "lengths add up to 2 positions, but X has 3 rows"),
        ([A], [3], "lengths goes with one 2-D array"),
        ("abc", None, "X must be a list of sequences, got str"),
        ([["a", "b"]], None, "words and other objects need a kernel that is a function"),
        ([np.ones(3)], None, r"expected an array or sparse matrix \[T, d\] of numbers, got 1-D"),
        ([[[1.0, 2.0], [3.0]]], None, "sequence 0: expected an array"),
        ([A, np.array([[1.0, np.nan]])], None, "sequence 1, position 0, column 1: expected a finite number"),
        ([csr_matrix(A), csr_matrix([[0.0, np.inf]])], None, "sequence 1, position 0, column 1"),
        ([A.astype(complex)], None, "got 2-D complex128"),
        ([np.ma.masked_array(A)], None, "masked arrays"),
    ],
)
def test_bad_input(X, lengths, message):
    refuses(message, read_positions, X, lengths)


def test_the_width_of_before():
    with pytest.raises(InputError, match="X_dev, sequence 0: expected 3 columns as before, got 2"):
        read_positions([A], width=3, name="X_dev")
