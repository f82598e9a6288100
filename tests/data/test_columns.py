"""Columns: sentences of rows of cells, stored as ids."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Columns, Vocabulary
from crfkit.exceptions import InputError
from crfkit.io import read_columns

SENTENCES = [[["The", "DT", "B"], ["dog", "NN", "I"]], [["The", "DT", "B"]], [["Größe", "NN", "B"]]]

cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
tables = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.lists(cells, min_size=k, max_size=k), max_size=5), max_size=5)
)


@given(tables)
def test_rows_come_back(sentences):
    columns = Columns.from_rows(sentences)
    assert list(columns) == sentences
    assert columns == sentences
    assert len(columns) == columns.n_sequences == len(sentences)
    assert columns.n_positions == sum(map(len, sentences))
    assert columns.lengths.tolist() == list(map(len, sentences))
    for k in range(columns.n_columns):
        column = [[row[k] for row in sentence] for sentence in sentences]
        assert columns.column(k) == column
        names, codes = columns.codes(k)
        flat = [cell for sentence in column for cell in sentence]
        assert names == list(dict.fromkeys(flat))
        assert [names[code] for code in codes] == flat
        assert codes.dtype == np.int32


def test_a_sequence_of_sentences():
    columns = Columns.from_rows(SENTENCES)
    assert columns[-1] == SENTENCES[-1]
    assert columns[:2] == SENTENCES[:2]
    assert columns[::-1] == SENTENCES[::-1]
    assert columns[:None] == columns
    assert columns != SENTENCES[:2]
    assert columns != "The"
    assert SENTENCES[1] in columns
    with pytest.raises(IndexError):
        columns[3]
    assert columns.lines.tolist() == [1, 2, 4, 6]
    assert repr(columns) == "Columns(3 sequences, 4 rows, 3 columns, from 'rows')"


def test_generators_and_tuples():
    columns = Columns.from_rows((tuple(map(tuple, sentence)) for sentence in SENTENCES), source="here")
    assert columns == SENTENCES
    assert columns.source == "here"


def test_columns_by_number():
    columns, none = Columns.from_rows(SENTENCES), Columns.from_rows([])
    assert columns.column(-1) == [["B", "I"], ["B"], ["B"]]
    assert columns.codes(-2)[0] == ["DT", "NN"]
    for k in (3, -4):
        refuses(f"no column {k}: the rows have 3 columns, 0 to 2", columns.codes, k)
    assert none.n_columns == 0
    refuses("no column 0: the rows have 0 columns", none.column, 0)


def test_without_and_subset():
    columns = Columns.from_rows(SENTENCES)
    words = columns.without(-1).without(1)
    assert words == [[[row[0]] for row in sentence] for sentence in SENTENCES]
    chosen = columns.subset([2, 0, 0])
    assert chosen == [SENTENCES[2], SENTENCES[0], SENTENCES[0]]
    assert chosen.lines.tolist() == [6, 1, 2, 1, 2]
    refuses(r"0\.\.2, got 3\.\.3", columns.subset, [3])


def test_pickle():
    columns = Columns.from_rows(SENTENCES)
    list(columns)
    again = pickle.loads(pickle.dumps(columns))
    assert again == columns
    assert again.lines.tolist() == columns.lines.tolist()


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[["a", "b"], ["c"]]], "sentence 0, row 1: expected 2 columns as in the first row, got 1"),
        ([[["a"]], [[]]], "sentence 1, row 0: a row needs at least one cell"),
        ([[["a", 1]]], "sentence 0, row 0: a cell must be str, got int 1"),
        ([["ab"]], "sentence 0, row 0: expected a list of cells, got str 'ab'"),
        (["ab"], "sentence 0: expected a list of rows, got str 'ab'"),
        ("ab", "expected a list of sentences, got str 'ab'"),
        (3, "expected a list of sentences, got int 3"),
        ([[["\ud800"]]], "lone surrogate"),
    ],
)
def test_what_is_no_table(sentences, message):
    refuses(message, Columns.from_rows, sentences)


def test_arrays_that_do_not_fit():
    ids = np.zeros((2, 1), np.int32)
    good = {"offsets": np.array([0, 2]), "lines": np.array([1, 2]), "source": "x"}
    Columns(Vocabulary(["a"]), ids, **good)
    refuses("ids must be a contiguous 2-D int32", Columns, Vocabulary(["a"]), ids.astype(np.int64), **good)
    for offsets in ([0, 1], [1, 2], [0, 3, 2]):
        with pytest.raises(InputError, match="do not fit together"):
            Columns(Vocabulary(["a"]), ids, **{**good, "offsets": np.array(offsets)})


@given(
    st.integers(1, 3).flatmap(
        lambda k: st.lists(
            st.lists(
                st.lists(st.text("abß#\u00a0", min_size=1, max_size=3), min_size=k, max_size=k), min_size=1
            )
        )
    ),
    st.sampled_from(["\t", " "]),
)
def test_text_is_read_back(tmp_path_factory, sentences, separator):
    columns = Columns.from_rows(sentences)
    path = tmp_path_factory.getbasetemp() / "written"
    path.write_bytes(columns.text(separator=separator))
    again = read_columns(path)
    assert again == columns
    assert again.lines.tolist() == columns.lines.tolist()
    path.write_bytes(columns.text(columns.codes(0) if sentences else ([], np.empty(0, np.int32))))
    assert read_columns(path) == [[[*row, row[0]] for row in sentence] for sentence in sentences]


def test_text_with_more_columns():
    columns = Columns.from_rows([[["a"], ["b c"]], [["d"]]])
    text = columns.text((["X", "Ä"], np.array([1, 0, 1])), (["0.5"], np.zeros(3, np.int64)))
    assert text.decode() == "a\tÄ\t0.5\nb c\tX\t0.5\n\nd\tÄ\t0.5\n\n"
    refuses("'b c' cannot be written between blanks", columns.text, separator=" ")
    refuses(r"places must be in 0\.\.0, got 0\.\.1", columns.text, (["X"], np.array([0, 1, 0])))
    refuses("a tab or a blank", columns.text, separator=",")
    for cell in ("x\ny", "x\ty"):
        refuses("between tabs", Columns.from_rows([[[cell]]]).text)
    assert Columns.from_rows([[["", "x"]]]).text() == b"\tx\n\n"
    refuses("'' cannot be written between blanks", Columns.from_rows([[["", "x"]]]).text, separator=" ")
