"""Labels to ids and back."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import decode_labels, encode_labels, label_set
from crfkit.exceptions import InputError


def offsets_of(y):
    return np.concatenate(([0], np.cumsum([len(sequence) for sequence in y], dtype=np.int64))).astype(
        np.int64
    )


LABELS = st.one_of(st.text(max_size=3), st.integers(2, 9), st.booleans())


@given(st.lists(st.lists(LABELS, max_size=5), max_size=5))
def test_there_and_back(y):
    classes = label_set(y)
    assert set(classes) == {label for sequence in y for label in sequence}
    labels = encode_labels(y, classes, offsets_of(y))
    assert labels.allowed is None
    assert labels.ids.dtype == np.int32
    back = decode_labels(labels.ids, offsets_of(y), classes)
    assert back == y
    assert [[type(label) for label in s] for s in back] == [[type(label) for label in s] for s in y]


def test_label_set_is_sorted_by_type_then_value():
    assert label_set([["b", 3, True], ["a", -1, False], [], [None]]) == [False, True, -1, 3, "a", "b"]
    assert label_set([["O", {"B-é", "I"}], [("x", "O"), [":", "O"], None]]) == [":", "B-é", "I", "O", "x"]
    assert label_set([]) == []
    assert label_set(iter([("B",), ("A",)])) == ["A", "B"]


def test_numpy_labels_become_pythons_own():
    forms = [
        ([np.array([2, 1]), np.array([3])], [1, 2, 3]),
        ([[np.int64(2), np.int64(1)], [3]], [1, 2, 3]),
        (np.array([["a", "b"], ["b", "c"]]), ["a", "b", "c"]),
        ([[np.str_("b")], ["a"]], ["a", "b"]),
        ([np.array([True, False])], [False, True]),
        ([[np.bool_(True)], [np.bool_(False)]], [False, True]),
        ([np.array(["x", None, "y"], dtype=object)], ["x", "y"]),
    ]
    for y, expected in forms:
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


def test_sets_of_one_are_known_labels():
    y = [[{"A"}, frozenset("B")]]
    labels = encode_labels(y, ["A", "B"], offsets_of(y))
    assert labels.ids.tolist() == [0, 1]
    assert labels.allowed is None


def test_unknown_labels():
    y = [["A"], ["A", "Z", {"Z", "B"}, {"Z"}, {"A", "B", "Z"}]]
    with pytest.raises(InputError, match=r"sequence 1, position 1: label 'Z' is not among the 2 known"):
        encode_labels(y, ["A", "B"], offsets_of(y))
    with pytest.raises(InputError, match=r"sequence 0, position 0: label 'Z' .* known ones: 'A', 'B'$"):
        encode_labels([[{"Z"}]], ["A", "B"], np.array([0, 1]))
    labels = encode_labels(y, ["A", "B"], offsets_of(y), unknown="ignore")
    assert labels.ids.tolist() == [0, 0, -1, 1, -1, -1]
    assert labels.allowed.astype(int).tolist() == [[1, 0], [1, 0], [1, 1], [0, 1], [1, 1], [1, 1]]
    with pytest.raises(InputError, match="unknown must be 'error' or 'ignore', got 'skip'"):
        encode_labels(y, ["A", "B"], offsets_of(y), unknown="skip")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("BIO", "y must be a list of sequences of labels, got str"),
        (None, "y must be a list of sequences of labels, got NoneType"),
        (["B", "I"], "sequence 0 is str 'B'; one sequence alone is"),
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


def test_ragged_and_empty_sets():
    refuses("X has 2 sequences but y has 1", encode_labels, [["A"]], ["A"], np.array([0, 1, 2]))
    with pytest.raises(InputError, match="sequence 1 has 3 items but 2 labels"):
        encode_labels([["A"], ["A", "A"]], ["A"], np.array([0, 1, 4]))
    refuses("position 0: an empty set permits no label", encode_labels, [[set()]], ["A"], np.array([0, 1]))
    refuses("position 0: None within a set", encode_labels, [[{"A", None}]], ["A"], np.array([0, 1]))


def test_equal_lengths_stay_lists():
    y = [["a", "b"], ["b", "a"]]
    assert decode_labels(np.array([0, 1, 1, 0]), np.array([0, 2, 4]), ["a", "b"]) == y


def test_quick_enough():
    y = [["B-NP", "I-NP", "O", "B-VP"] * 6 for _ in range(10_000)]
    offsets = offsets_of(y)
    start = time.perf_counter()
    classes = label_set(y)
    ids = encode_labels(y, classes, offsets).ids
    decode_labels(ids, offsets, classes)
    assert time.perf_counter() - start < 1.0
