"""Mixed tables: text, numbers, bools and missing values, in every form of X."""

import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses, unreadable

from crfkit.data import Columns, Encoded, Vocabulary, encode
from crfkit.data.raw_columns import read_raw
from crfkit.data.tables import TableSchema
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.csv_data import read_csv

NAN = math.nan
ITEMS = [
    [{"w": "b", "n": 1.5, "f": True}, {"w": "a", "n": None, "f": False}],
    [],
    [{"w": None, "n": 2}],
]
VALUES = [[1, 1.5, 1], [0, NAN, 0], [NAN, 2, NAN]]


def test_dicts():
    schema, table = TableSchema.learn(ITEMS)
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.offsets.tolist() == [0, 2, 2, 3]
    assert [(c.name, c.categories) for c in schema.columns] == [("w", ("a", "b")), ("n", None), ("f", None)]
    np.testing.assert_array_equal(table.outside, [2, NAN, NAN])
    again = schema.encode([[{"n": 3, "f": 1, "w": "b", "more": "x"}], [{"w": "c"}]])
    np.testing.assert_array_equal(again.values, [[1, 3, 1], [NAN, NAN, NAN]])


def test_rows_and_single_values():
    schema, table = TableSchema.learn([[("b", 1), ("a", None)], [(None, 2)]])
    np.testing.assert_array_equal(table.values, [[1, 1], [0, NAN], [NAN, 2]])
    assert schema.width == 2
    _, table = TableSchema.learn([["b", "a"], ["b"]])
    np.testing.assert_array_equal(table.values, [[1], [0], [1]])


def test_arrays():
    array = np.array([[1.0, NAN], [2.0, 3.0]])
    schema, table = TableSchema.learn([array, array[:1]])
    np.testing.assert_array_equal(table.values, np.concatenate([array, array[:1]]))
    np.testing.assert_array_equal(schema.encode(array, [1, 1]).values, array)
    _, cube = TableSchema.learn(np.zeros((2, 3, 4)) + 1)
    assert cube.values.shape == (6, 4)
    masked = np.ma.masked_equal([[1.0, 2.0]], 2.0)
    with pytest.warns(InputWarning, match="nothing but missing values in 1 of 2"):
        _, table = TableSchema.learn([masked])
    np.testing.assert_array_equal(table.values, [[1.0]])


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"w": ["b", None, "a"], "n": [1.0, NAN, 2.0], "f": [True, False, True]})
    frame["k"] = pandas.Series(["x", "y", None], dtype="category")
    frame["i"] = pandas.Series([1, None, 3], dtype="Int64")
    schema, table = TableSchema.learn(frame, [2, 1])
    expected = [[1, 1, 1, 0, 1], [NAN, NAN, 0, 1, NAN], [0, 2, 1, NAN, 3]]
    np.testing.assert_array_equal(table.values, expected)
    parts = schema.encode([frame[:2], frame[2:]])
    np.testing.assert_array_equal(parts.values, expected)
    refuses("does not say where sequences end", TableSchema.learn, frame)
    refuses("sequence 1: its columns are w, n", TableSchema.learn, [frame, frame[["w", "n"]]])
    refuses("two columns called 'w'", TableSchema.learn, [frame[["w", "w"]]])


def test_text_columns_are_numbers_where_all_cells_are():
    cells = Columns.from_rows([[("?", "1.5", "x"), ("a", "?", "y")], [("b", "-2e3", "x")]])
    schema, table = TableSchema.learn(cells)
    np.testing.assert_array_equal(table.values, [[0, 1.5, 0], [1, NAN, 1], [2, -2000, 0]])
    with pytest.raises(InputError, match="sequence 0, position 0: feature '1' held numbers in training"):
        schema.encode(Columns.from_rows([[("a", "many", "x")]]))
    schema, table = TableSchema.learn(cells, categorical=[1])
    assert schema.columns[1].categories == ("-2e3", "1.5", "?")


def named(text):
    return read_csv(io.BytesIO(text.encode()))


def test_columns_of_a_file_are_called_as_in_its_header():
    schema, _ = TableSchema.learn(named("size,empty,kind\n1.5,,x\n2,,y\n").without(1))
    assert [column.name for column in schema.columns] == ["size", "kind"]
    with pytest.raises(InputError, match="feature 'size' held numbers in training, but here 'many'"):
        schema.encode(named("size,kind\nmany,x\n"))
    refuses("feature 'size' held numbers", schema.encode, Columns.from_rows([[("many", "x")]]))
    expected = [[1.5, 0], [2, 1]]
    for data in (
        Columns.from_rows([[("1.5", "x"), ("2", "y")]]),
        named("kind,size\nx,1.5\ny,2\n"),  # in another order
        named("s,k\n1.5,x\n2,y\n"),  # under other names
    ):
        np.testing.assert_array_equal(schema.encode(data).values, expected)
    again = TableSchema.from_header(json.loads(json.dumps(schema.to_header())), "m")
    assert again == schema


def test_columns_are_meant_by_name_or_place():
    data = named("empty,1,a\n,5,x\n,6,y\n")  # a header may consist of numbers
    for meant in ("1", 1, "a", 2, "2"):
        with pytest.warns(InputWarning, match="'empty'"):
            schema, _ = TableSchema.learn(data, categorical=[meant])
        assert schema.columns[0].is_category == (str(meant) == "1")
        assert schema.number_of(meant) == (str(meant) != "1")
    assert schema.number_of("empty") is schema.number_of(0) is schema.number_of(3) is None
    for meant in ("b", 3, "3"):
        refuses("categorical names the column", TableSchema.learn, data, categorical=[meant])
    schema, _ = TableSchema.learn([[{"1": "a", "k": 2}]])  # only names
    assert schema.number_of("k") == 1
    assert schema.number_of(1) == 0
    assert schema.number_of(0) is None


@pytest.mark.parametrize("places", [[0], [0, 2], [0, -1]])
def test_places_that_cannot_be(places):
    header = TableSchema.learn([[["a", 1]]])[0].to_header()
    unreadable("its columns are malformed", TableSchema.from_header, {**header, "places": places}, "m")


def test_numbers_as_categories():
    schema, table = TableSchema.learn([[{"k": 3}, {"k": 10}, {"k": 3.0}, {"k": None}]], categorical=["k"])
    np.testing.assert_array_equal(table.values, [[1], [0], [1], [NAN]])
    np.testing.assert_array_equal(schema.encode([[{"k": 10}, {"k": 4}]]).values, [[0], [NAN]])


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 10**6),
)
def test_windows(lengths, before, after, seed):
    rng = np.random.default_rng(seed)
    letters = [[(str(rng.integers(3)), float(rng.normal())) for _ in range(n)] for n in lengths]
    if not sum(lengths):
        return
    _, table = TableSchema.learn(letters, categorical=[0])
    found = table.windows(np.arange(table.n_positions), before, after)
    row = 0
    for start, stop in zip(table.offsets[:-1], table.offsets[1:], strict=True):
        for t in range(start, stop):
            expected = [
                table.values[t + step] if start <= t + step < stop else table.outside
                for step in range(-before, after + 1)
            ]
            np.testing.assert_array_equal(found[row], np.concatenate(expected))
            row += 1


def test_headers():
    schema, _ = TableSchema.learn(ITEMS)
    assert TableSchema.from_header(schema.to_header(), "m") == schema
    for broken in (None, {}, {**schema.to_header(), "columns": [{"name": 1, "categories": None}]}):
        unreadable("its columns are malformed", TableSchema.from_header, broken, "m")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X must be a list of sequences, got str"),
        (["abc"], r"sequence 0: expected a list of items.*list\(word\)"),
        ([[{"a": 1}, ["a"]]], "sequence 0, position 1: expected a dict like the first item"),
        ([["a"], [["a"]]], "sequence 1, position 0: expected a single value"),
        ([[["a"], ["a", "b"]]], "sequence 0, position 1: expected 1 values like the first item, got 2"),
        ([[["a"], "b"]], "expected a list of values"),
        ([[{1: 2}]], "the name of a feature must be a str"),
        ([[{"a": "x"}], [{"a": 1}]], "sequence 1, position 0: feature 'a' holds text before"),
        ([[{"a": [1]}]], "a value must be a str, a bool or a number"),
        ([[{"a": math.inf}]], "expected a finite number"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "sequence 1: expected 2 columns like sequence 0, got 3"),
        ([np.zeros((2, 2)), [1]], "sequence 1: expected a 2-D array"),
        ([np.zeros((2, 2), complex)], "must be real numbers"),
        (np.zeros((2, 2)), "does not say where sequences end"),
    ],
)
def test_bad_input(X, message):
    refuses(message, TableSchema.learn, X)


def test_sparse_attributes_are_no_columns():
    vocabulary = Vocabulary()
    with pytest.raises(InputError, match="trees take columns"):
        TableSchema.learn(Encoded(encode([[["a"]]], vocabulary, grow=True), vocabulary))


def test_other_kinds_than_in_training():
    named, _ = TableSchema.learn(ITEMS)
    placed, _ = TableSchema.learn([np.ones((2, 2))])
    refuses("trained on named values", named.encode, [["a"]])
    refuses("trained on rows of 2 values", placed.encode, ITEMS)
    refuses("X has 3 columns, but 2 were expected", placed.encode, [np.ones((2, 3))])
    refuses("lengths add up to 3", placed.encode, np.ones((2, 2)), [3])
    refuses("lengths goes with", placed.encode, ITEMS, [3])


def test_declared_categories_take_numbers_and_text():
    X = [[{"x": "a"}, {"x": 1}, {"x": 2.5}, {"x": True}]]
    refuses(r"name it in categorical", TableSchema.learn, X)
    schema, table = TableSchema.learn(X, None, ["x"])
    assert schema.columns[0].categories == ("1", "2.5", "a")
    assert table.values[:, 0].tolist() == [2, 0, 1, 0]
    again = TableSchema.from_header(json.loads(json.dumps(schema.to_header())), "m")
    assert again.encode([[{"x": 1.0}, {"x": "2.5"}]]).values[:, 0].tolist() == [0, 1]
    texts, _ = TableSchema.learn([[{"x": "a"}, {"x": "b"}]], None, ["x"])
    assert np.isnan(texts.encode([[{"x": 3}]]).values).all()  # unseen


def test_categories_of_pandas_are_categories():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"zip": pandas.Categorical([20095, 10115, None, 20095]), "n": [1, 2, 3, 4]})
    schema, table = TableSchema.learn(frame, [4])
    assert [column.categories for column in schema.columns] == [("10115", "20095"), None]
    np.testing.assert_array_equal(table.values[:, 0], [1, 0, np.nan, 1])
    plain = pandas.DataFrame({"zip": [10115, 20095], "n": [1, 2]})
    assert schema.encode(plain, [2]).values[:, 0].tolist() == [0, 1]


def test_empty_sequences_are_of_any_type():
    pandas = pytest.importorskip("pandas")
    x = np.arange(6.0).reshape(3, 2)
    frame = pandas.DataFrame(x, columns=["a", "b"])
    for empty in ([], np.array([]), np.zeros((0, 0)), pandas.DataFrame(), pandas.DataFrame({"c": []})):
        for full in (x, frame, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]):
            for X, offsets in (([empty, full], [0, 0, 3]), ([full, empty], [0, 3, 3])):
                _, table = TableSchema.learn(X)
                np.testing.assert_array_equal(table.values, x)
                assert table.offsets.tolist() == offsets
        assert read_raw([empty]).offsets.tolist() == [0, 0]


def test_other_names_are_pointed_out():
    schema, _ = TableSchema.learn([[{"a": 1, "b": 2, "c": 3}]])
    with pytest.warns(InputWarning, match="X has 1 of the 3 columns of training: 'b', 'c' count as missing"):
        schema.encode([[{"a": 1, "B": 2, "C": 3}]])
    schema.encode([[{"a": 1}, {}]])  # missing values are permitted
    schema.encode([[{"a": 1, "b": 2, "more": 3}]])
