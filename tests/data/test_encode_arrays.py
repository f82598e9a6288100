"""Dense arrays, sparse matrices and data frames to attributes; the oracle is the dense array itself."""

import numpy as np
import pytest
import scipy.sparse
from frames import Frame
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refuses

from crfkit.data import Vocabulary, encode, matrices
from crfkit.exceptions import InputError


def dense(data):
    """Return the data as a dense array [ΣT, A]."""
    values = np.ones(data.indices.size) if data.values is None else data.values
    return scipy.sparse.csr_array(
        (values, data.indices, data.indptr), shape=(data.n_positions, data.n_attributes)
    ).toarray()


TABLES = st.tuples(st.integers(0, 4), st.integers(1, 5)).flatmap(
    lambda width_and_count: st.lists(
        st.integers(0, 6).flatmap(
            lambda t: arrays(
                np.float64, (t, width_and_count[0]), elements=st.sampled_from([0.0, 1.0, -2.5, 1e-300, 3.0])
            )
        ),
        min_size=1,
        max_size=width_and_count[1],
    )
)


@given(TABLES, st.booleans())
def test_every_form_gives_the_same(tables, small_blocks):
    stacked = np.vstack(tables)
    lengths = [len(table) for table in tables]
    block = matrices._BLOCK
    matrices._BLOCK = 3 if small_blocks else block
    try:
        forms = [
            encode(tables, Vocabulary(), grow=True),
            encode(iter(tables), Vocabulary(), grow=True),
            encode([scipy.sparse.csr_matrix(table) for table in tables], Vocabulary(), grow=True),
            encode([scipy.sparse.coo_array(table) for table in tables], Vocabulary(), grow=True),
            encode(stacked, Vocabulary(), grow=True, lengths=lengths),
            encode(scipy.sparse.csc_matrix(stacked), Vocabulary(), grow=True, lengths=np.array(lengths)),
        ]
    finally:
        matrices._BLOCK = block
    for data in forms:
        assert np.array_equal(dense(data), stacked)
        assert data.lengths.tolist() == lengths
        assert (data.values is None) == bool((stacked[stacked != 0] == 1).all())
        assert data.n_attributes == stacked.shape[1]


def test_names_are_column_numbers():
    vocabulary = Vocabulary()
    encode([np.eye(12)], vocabulary, grow=True)
    assert vocabulary.strings() == [str(j) for j in range(12)]
    assert encode([[{"3": 2.0}]], vocabulary, grow=False).indices.tolist() == [3]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, np.int64, np.longdouble])
def test_dtypes(dtype):
    X = np.array([[[1, 0], [0, 1]], [[0, 0], [1, 1]]], dtype=dtype)
    data = encode(X, Vocabulary(), grow=True)
    assert dense(data).tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]
    assert data.offsets.tolist() == [0, 2, 4]


def test_sparse_with_duplicates_and_stored_zeros_stays_as_it_was():
    matrix = scipy.sparse.csr_matrix(([1.0, 2.0, 0.0, 5.0, -5.0], [1, 1, 0, 2, 2], [0, 3, 5]), shape=(2, 3))
    data = encode(matrix, Vocabulary(), grow=True, lengths=[2])
    assert dense(data).tolist() == [[0, 3, 0], [0, 0, 0]]
    assert data.indices.tolist() == [1]
    assert matrix.data.tolist() == [1, 2, 0, 5, -5]


def test_no_sequences_and_empty_ones():
    assert encode(np.zeros((0, 3)), Vocabulary(), grow=True, lengths=[]).n_sequences == 0
    data = encode(np.ones((2, 3)), Vocabulary(), grow=True, lengths=[0, 2, 0])
    assert data.lengths.tolist() == [0, 2, 0]
    assert encode(np.zeros((2, 0, 3)), Vocabulary(), grow=True).lengths.tolist() == [0, 0]


def test_width_must_be_that_of_training():
    vocabulary = Vocabulary()
    encode([np.ones((1, 3))], vocabulary, grow=True)
    for grow in (True, False):
        refuses("X has 4 columns, but 3 were expected", encode, [np.ones((1, 4))], vocabulary, grow=grow)
        assert encode([np.ones((2, 3))], vocabulary, grow=grow).n_positions == 2
    with pytest.raises(InputError, match=r"attributes known so far have names .such as 'a'"):
        encode([np.ones((1, 3))], Vocabulary(["a", "b", "c"]), grow=False)


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        (np.ones((4, 3)), None, "does not say where sequences end: pass lengths"),
        (scipy.sparse.eye_array(3).tocsr(), None, "does not say where sequences end: pass lengths"),
        (np.ones((4, 3)), [2, 3], "lengths add up to 5 positions, but X has 4 rows"),
        (np.ones((4, 3)), [5, -1], "must not be negative, got -1 for sequence 1"),
        (np.ones((4, 3)), [1.5, 2.5], "lengths must be a 1-D list of ints, got 1-D float64"),
        (np.ones((4, 3)), 4, "lengths must be a 1-D list of ints, got 0-D"),
        (np.ones((2, 2, 3)), [2, 2], "lengths goes with one 2-D array"),
        ([[["a"]]], [1], "lengths goes with one 2-D array.* got X of type list"),
        ([np.ones((2, 3)), np.ones((2, 4))], None, "sequence 1: expected 3 columns like sequence 0, got 4"),
        ([np.ones((2, 3)), np.ones(3)], None, "sequence 1: expected a 2-D array .* got 1-D float64 array"),
        ([np.ones((2, 3)), [["a"]]], None, "sequence 1: expected a 2-D array .* got list"),
        ([np.ones((2, 3), dtype=complex)], None, "sequence 0: values must be real numbers, got complex128"),
        ([np.ma.masked_array(np.ones((2, 3)))], None, "sequence 0: masked arrays"),
        ([np.ones(3)], None, "sequence 0, position 0: an item must be .* got numpy.float64"),
        ([[["a"]], np.ones((2, 3))], None, "sequence 1, position 0: .*got numpy.float64 .*2-D array"),
    ],
)
def test_errors(X, lengths, message):
    vocabulary = Vocabulary()
    refuses(message, encode, X, vocabulary, grow=True, lengths=lengths)
    assert len(vocabulary) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_nan_and_infinity_name_the_place(bad, block, monkeypatch):
    monkeypatch.setattr(matrices, "_BLOCK", block)
    table = np.zeros((6, 4))
    table[0, 1] = table[3, 0] = 1
    table[4, 2] = bad
    message = "sequence 1, position 1: feature '2': expected a finite number"
    vocabulary = Vocabulary()
    for X in (table, scipy.sparse.csr_matrix(table)):
        refuses(message, encode, X, vocabulary, grow=True, lengths=[3, 3])
        refuses(message, encode, [X[:3], X[3:]], vocabulary, grow=True)
    assert len(vocabulary) == 0


def test_data_frames():
    vocabulary = Vocabulary()
    frame = Frame(word=["a", "b", "c"], length=[1.0, 2.0, 0.0], upper=[True, False, True])
    data = encode([frame, frame], vocabulary, grow=True)
    assert data.lengths.tolist() == [3, 3]
    assert vocabulary.strings() == ["word:a", "length", "upper", "word:b", "word:c"]
    cut = encode(frame, vocabulary, grow=False, lengths=[1, 2])
    assert cut.offsets.tolist() == [0, 1, 3]
    assert np.array_equal(cut.indices, data.indices[: cut.indices.size])
    refuses("a single data frame does not say where", encode, frame, vocabulary, grow=False)
    with pytest.raises(InputError, match="lengths add up to 2 positions, but X has 3 rows"):
        encode(frame, vocabulary, grow=False, lengths=[2])
    refuses("sequence 1: expected a data frame", encode, [frame, [["a"]]], vocabulary, grow=False)
    with pytest.raises(InputError, match="sequence 0, position 1: feature 'x'"):
        encode([Frame(x=[1.0, float("nan")])], vocabulary, grow=True)
    twice = Frame(x=[1])
    twice.columns = ["x", "x"]
    refuses("two columns called 'x'", encode, [twice], vocabulary, grow=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_real_data_frames(library):
    frame = pytest.importorskip(library).DataFrame({"word": ["a", "b"], "n": [1, 0]})
    vocabulary = Vocabulary()
    assert encode([frame], vocabulary, grow=True).indptr.tolist() == [0, 2, 3]
    assert vocabulary.strings() == ["word:a", "n", "word:b"]


def test_empty_sequences_are_of_any_type():
    x = np.arange(1.0, 7.0).reshape(3, 2)
    for empty in ([], (), np.array([])):
        for X, offsets in (([empty, x], [0, 0, 3]), ([x, empty], [0, 3, 3]), (iter([empty, x]), [0, 0, 3])):
            data = encode(X, Vocabulary(), grow=True)
            np.testing.assert_array_equal(dense(data), x)
            assert data.offsets.tolist() == offsets
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=["a", "b"])
    for X in ([pandas.DataFrame(), frame], [frame, []], [[], frame]):
        np.testing.assert_array_equal(dense(encode(X, Vocabulary(), grow=True)), x)
