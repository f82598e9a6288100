"""Labels to ids and back."""

import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

import crfkit.data.labels as labels_module
from crfkit.data import decode_labels, encode_labels, label_set
from crfkit.data.labels import cut_labels


def offsets_of(y):
    return np.concatenate(([0], np.cumsum([len(sequence) for sequence in y], dtype=np.int64)))


LABELS = st.one_of(st.text(max_size=3), st.integers(2, 9), st.booleans())


@given(st.lists(st.lists(LABELS, max_size=5), max_size=5))
@example([["a", "b"], ["b", "a"]])  # of equal lengths: they stay lists
def test_there_and_back(y):
    classes = label_set(y)
    assert set(classes) == {label for sequence in y for label in sequence}
    labels = encode_labels(y, classes, offsets_of(y))
    assert labels.allowed is None
    assert labels.ids.dtype == np.int32
    back = decode_labels(labels.ids, offsets_of(y), classes)
    assert back == y
    assert [[type(label) for label in s] for s in back] == [[type(label) for label in s] for s in y]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([["b", 3, True], ["a", -1, False], [], [None]], [False, True, -1, 3, "a", "b"]),
        ([["O", {"B-é", "I"}], [("x", "O"), [":", "O"], None]], [":", "B-é", "I", "O", "x"]),
        ([], []),
        (iter([("B",), ("A",)]), ["A", "B"]),
    ],
)
def test_label_set_is_sorted_by_type_then_value(y, expected):
    assert label_set(y) == expected


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([np.array([2, 1]), np.array([3])], [1, 2, 3]),
        ([[np.int64(2), np.int64(1)], [3]], [1, 2, 3]),
        (np.array([["a", "b"], ["b", "c"]]), ["a", "b", "c"]),
        ([[np.str_("b")], ["a"]], ["a", "b"]),
        ([np.array([True, False])], [False, True]),
        ([[np.bool_(True)], [np.bool_(False)]], [False, True]),
        ([np.array(["x", None, "y"], dtype=object)], ["x", "y"]),
    ],
)
def test_numpy_labels_become_pythons_own(y, expected):
    classes = label_set(y)
    assert classes == expected
    assert {type(label) for label in classes} <= {int, str, bool}
    ids = encode_labels(y, classes, offsets_of(y)).ids
    flat = [label for sequence in y for label in sequence]
    assert [None if i < 0 else classes[i] for i in ids] == flat


def test_missing_and_sets():
    y = [["A", None, {"A", "C"}], [["B"], ("C", "B")], []]
    labels = encode_labels(y, ["A", "B", "C"], offsets_of(y))
    assert labels.ids.tolist() == [0, -1, -1, 1, -1]
    assert labels.allowed.astype(int).tolist() == [[1, 0, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert decode_labels(labels.ids, offsets_of(y), ["A", "B", "C"]) == [["A", None, None], ["B", None], []]
    known = encode_labels([[{"A"}, frozenset("B")]], ["A", "B"], np.array([0, 2]))  # sets of one
    assert known.ids.tolist() == [0, 1]
    assert known.allowed is None


def test_unknown_labels():
    y = [["A"], ["A", "Z", {"Z", "B"}, {"Z"}, {"A", "B", "Z"}]]
    labels = encode_labels(y, ["A", "B"], offsets_of(y), unknown="ignore")
    assert labels.ids.tolist() == [0, 0, -1, 1, -1, -1]
    assert labels.allowed.astype(int).tolist() == [[1, 0], [1, 0], [1, 1], [0, 1], [1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("BIO", "y must be a list of sequences of labels, got str"),
        (None, "y must be a list of sequences of labels, got NoneType"),
        (["B", "I"], "sequence 0 is str 'B'; write a single sequence as"),
        ([["B"], {"I"}], "sequence 1 is set"),
        ([["B"], 3], "sequence 1 is int 3"),
        ([["B"], None], "sequence 1 is NoneType None"),
        ([["B", 1.5]], "sequence 0, position 1: a label must be .* got float 1.5"),
        ([["B"], ["I", {"k": 1}]], "sequence 1, position 1: a label must be .* got dict"),
        ([["B", {2.5, 3.5}]], "sequence 0, position 1: a label must be .* got float"),
        ([["B", [["B"]]]], "sequence 0, position 1: a label must be .* got list"),
        ([["B", b"I"]], "sequence 0, position 1: a label must be .* got bytes"),
        ([[0, 1, 2], [True]], "both the label 1 and the label True"),
        ([[{0, 2}, False]], "both the label 0 and the label False"),
        ([[np.int64(0), np.bool_(False)]], "both the label 0 and the label False"),
    ],
)
def test_errors(y, message):
    refuses(message, label_set, y)
    lengths = [len(s) if hasattr(s, "__len__") else 1 for s in y or []]
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    refuses(message, encode_labels, y, ["B", "I"], offsets)


@pytest.mark.parametrize(
    ("y", "cut"),
    [
        (["A", "B", "A"], [["A", "B"], ["A"]]),
        (np.array([1, 2, 1]), [[1, 2], [1]]),
        ([None, {"A", "B"}, None], [[None, {"A", "B"}], [None]]),
        ([None, None, None], [[None, None], [None]]),
        ([["A", "B"], "A", None], [[["A", "B"], "A"], [None]]),  # a list of labels beside a label is a set
        ([None, None], [None, None]),  # two sequences
        ([["A", "B"], None], [["A", "B"], None]),
        ([np.array(["A", "B"]), ("A",)], None),
        ("AB", "AB"),
        (3, 3),
    ],
)
def test_lengths_cut_labels_in_one_list(y, cut):
    found = cut_labels(y, [2, 1])
    assert list(map(list, found)) == [["A", "B"], ["A"]] if cut is None else found == cut
    assert cut_labels(y, None) is y


LATE = [["A"], ["A", "Z", {"Z"}]]


@pytest.mark.parametrize(
    ("y", "offsets", "options", "message"),
    [
        (LATE, [0, 1, 4], {}, "sequence 1, position 1: label 'Z' is not among the 2 known"),
        ([[{"Z"}]], [0, 1], {}, r"sequence 0, position 0: label 'Z' .* known ones: 'A', 'B'$"),
        ([["A"]], [0, 1], {"unknown": "skip"}, "unknown must be 'error' or 'ignore', got 'skip'"),
        ([["A"]], [0, 1, 2], {}, "X has 2 sequences but y has 1"),
        ([["A"], ["A", "A"]], [0, 1, 4], {}, "sequence 1 has 3 items but 2 labels"),
        ([[set()]], [0, 1], {}, "position 0: an empty set permits no label"),
        ([[{"A", None}]], [0, 1], {}, "position 0: None within a set"),
    ],
)
def test_labels_that_do_not_fit(y, offsets, options, message):
    refuses(message, encode_labels, y, ["A", "B"], np.array(offsets), **options)


def test_quick_enough():
    y = [["B-NP", "I-NP", "O", "B-VP"] * 6 for _ in range(10_000)]
    offsets = offsets_of(y)
    start = time.perf_counter()
    classes = label_set(y)
    ids = encode_labels(y, classes, offsets).ids
    decode_labels(ids, offsets, classes)
    assert time.perf_counter() - start < 1.0


def test_every_different_set_is_encoded_once(monkeypatch):
    calls = []
    encoded = labels_module._permitted
    monkeypatch.setattr(labels_module, "_permitted", lambda *given: calls.append(given) or encoded(*given))
    y = [[{"A", "B"}, ["B", "C"], None, "A", ("B", "A"), frozenset("C")] * 50] * 4
    labels = encode_labels(y, ["A", "B", "C"], offsets_of(y))
    assert len(calls) == 3
    assert labels.ids[:6].tolist() == [-1, -1, -1, 0, -1, 2]
    rows = [[True, True, False], [False, True, True], [True] * 3, [True, False, False], [True, True, False]]
    assert labels.allowed[:5].tolist() == rows
    assert labels.allowed.shape == (1200, 3)
    # The place in an error is that of the first one.
    y[2] = [*y[2][:7], {"A", "D"}, *y[2][8:]]
    refuses(r"sequence 2, position 7: label 'D'", encode_labels, y, ["A", "B", "C"], offsets_of(y))
