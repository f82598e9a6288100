"""Cells of text files as numbers: scales, categories, missing values, the header of a model file."""

import json

import numpy as np
import pytest

from crfkit.data.columns import Columns
from crfkit.data.table_numbers import TableNumbers
from crfkit.exceptions import InputError, ModelFileError

ROWS = [[["1", "a", "5"], ["3", "b", "5"]], [["", "a", "5"]]]


def test_numbers_are_standardised_and_texts_are_columns():
    numbers, positions = TableNumbers.learn(Columns.from_rows(ROWS))
    assert numbers.scales == ((2.0, 1.0), (0.0, 1.0), (5.0, 1.0))  # a constant column is 0
    assert numbers.width == 4
    np.testing.assert_array_equal(positions.rows, [[-1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]])
    assert positions.offsets.tolist() == [0, 2, 3]
    assert [len(table) for table in positions.tables()] == [2, 1]
    other = numbers.encode(Columns.from_rows([[["4", "c", "6"]]]))
    np.testing.assert_array_equal(other.rows, [[2, 0, 0, 1]])  # an unknown text: 0 everywhere


def test_numbers_can_be_categories():
    numbers, positions = TableNumbers.learn(Columns.from_rows(ROWS), categorical=[2])
    assert numbers.schema.columns[2].categories == ("5",)
    np.testing.assert_array_equal(positions.rows[:, 3], 1)


def test_what_is_refused():
    numbers, _ = TableNumbers.learn(Columns.from_rows(ROWS))
    with pytest.raises(InputError, match="'high'"):
        numbers.encode(Columns.from_rows([[["high", "a", "5"]]]))
    with pytest.raises(InputError, match="2 columns, but 3 were expected"):
        numbers.encode(Columns.from_rows([[["1", "a"]]]))
    with pytest.raises(InputError, match="column '0' has 1,001 different texts, too many for a kernel"):
        TableNumbers.learn(Columns.from_rows([[[f"w{k}"] for k in range(1001)]]))


def test_the_header_of_a_model_file():
    numbers, _ = TableNumbers.learn(Columns.from_rows(ROWS))
    header = json.loads(json.dumps(numbers.to_header()))
    assert TableNumbers.from_header(header, "m") == numbers
    for damage in ({"scales": [[0.0, 1.0]]}, {"scales": [[0.0, 0.0]] * 3}, {"scales": "x"}, {"table": None}):
        with pytest.raises(ModelFileError, match="cannot read the model m"):
            TableNumbers.from_header({**header, **damage}, "m")
    with pytest.raises(ModelFileError, match="cannot read the model m"):
        TableNumbers.from_header([], "m")
