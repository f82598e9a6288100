"""Writing CRFsuite data: written data is read back; data that cannot be written raises an error."""

import io
import math
import os

import numpy as np
import pytest
from crfsuite_text import read, slow_read, written
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Encoded, Examples, Vocabulary, encode
from crfkit.exceptions import InputWarning
from crfkit.io.crfsuite_data import read_crfsuite, stream_crfsuite, write_crfsuite

WRITABLE = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\n\0\r"), max_size=6
) | st.sampled_from([":", "\\", "\\:", ":\\", "a:b", "", "@", "#", " ", "\\\\"])
VALUES = st.floats(allow_nan=False, allow_infinity=False).filter(bool)


@st.composite
def labelled(draw, names=WRITABLE, values=VALUES):
    items = st.dictionaries(names, st.just(1.0) | values, max_size=4)
    X = draw(st.lists(st.lists(items, min_size=1, max_size=3), max_size=3))
    label = names.filter(lambda name: name and not name.startswith("@"))
    y = [[draw(label) for _ in sequence] for sequence in X]
    return X, y


@given(labelled(), st.data())
def test_what_is_written_is_read_back(data, more):
    X, y = data
    weights = [more.draw(st.floats(0, 1e9)) for _ in X] if more.draw(st.booleans()) else None
    expected = [
        (
            1.0 if weights is None else weights[i],
            [(label, item) for label, item in zip(labels, items, strict=True)],
        )
        for i, (labels, items) in enumerate(zip(y, X, strict=True))
    ]
    text = written(X, y, weights)
    assert read(text) == expected
    assert slow_read(text) == expected


def test_labels_may_be_numbers():
    assert written([[["a"], ["b"]]], [[1, 2]]) == "1\ta\n2\tb\n\n"
    refuses("two labels that are both written '1'", written, [[["a"], ["b"]]], [[1, "1"]])


def test_dicts_are_named_as_in_training():
    item = {"w": "The", "len": 3, "caps": True, "no": 0, "sub": {"x": 0.25}, "set": ["p", "q"]}
    assert written([[item]], [["A"]]) == "A\tw\\:The\tlen:3\tcaps\tsub\\:x:0.25\tset\\:p\tset\\:q\n\n"


def test_an_empty_label_and_an_empty_name():
    text = written([[["", "a"]]], [[""]])
    assert text == ":\t:\ta\n\n"
    with pytest.warns(InputWarning, match="colon"):
        assert read(text) == [(1.0, [("", {"": 1.0, "a": 1.0})])]


def test_shortest_numbers_that_read_back():
    X = [[{"a": 0.1, "b": 1e300, "c": -1 / 3, "d": 5e-324, "e": 100.0, "f": math.pi}]]
    text = written(X, [["A"]])
    assert text == "A\ta:0.1\tb:1e+300\tc:-0.3333333333333333\td:5e-324\te:100\tf:3.141592653589793\n\n"
    assert read(text)[0][1][0][1] == X[0][0]


@pytest.mark.parametrize(
    ("X", "y", "weights", "message"),
    [
        (
            [[["a"]], []],
            [["A"], []],
            None,
            "sequence 1 is empty, which CRFsuite data cannot express; leave it out",
        ),
        ([[["a"], ["b\tc"]]], [["A", "A"]], None, "sequence 0, position 1: the attribute 'b\tc' holds a TAB"),
        ([[["a\nb"]]], [["A"]], None, "the attribute 'a\nb' holds a line feed"),
        ([[["a\0b"]]], [["A"]], None, "holds a NUL"),
        ([[["a"]]], [["A\tB"]], None, "the label 'A\tB' holds a TAB"),
        ([[["a"]]], [["@A"]], None, "the label '@A' begins with @"),
        ([[["a"], ["b"]]], [["A", None]], None, "sequence 0, position 1: there is no single label"),
        ([[["a"], ["b"]]], [["A", {"A", "B"}]], None, "sequence 0, position 1: there is no single label"),
        ([[["a"]]], [["A", "B"]], None, "sequence 0 has 1 items but 2 labels"),
        ([[["a"]]], [["A"]], [math.nan], "sequence 0, position 0: expected a weight of 0 or more, got nan"),
        ([[["a"]]], [["A"]], [-1.0], "expected a weight of 0 or more, got -1"),
        ([[["a"]]], [["A"]], [1.0, 2.0], r"1 sequences, but weights has shape \(2,\)"),
        ([[["a\ud800"]]], [["A"]], None, "surrogate|UTF-8"),
    ],
)
def test_what_cannot_be_written(X, y, weights, message, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    refuses(message, write_crfsuite, path, X, y, weights)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_from_one_file_to_another_in_pieces(tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    text = "".join(f"@weight:{i + 2}\tL{i % 7}\ta{i}\tb\\:{i}:0.5\nM\n\n" for i in range(300))
    source.write_text(text)
    vocabulary = Vocabulary()
    write_crfsuite(
        target, stream_crfsuite(source, vocabulary, grow=True, positions=10), vocabulary=vocabulary
    )
    assert target.read_text() == text
    examples = read_crfsuite(source, vocabulary, grow=False)
    write_crfsuite(target, examples, vocabulary=vocabulary)
    assert target.read_text() == text
    write_crfsuite(target, examples.sequences, examples.labels, examples.weights, vocabulary=vocabulary)
    assert target.read_text() == text
    write_crfsuite(target, Encoded(examples.sequences, vocabulary), examples.labels, examples.weights)
    assert target.read_text() == text


def test_writing_ready_made_sequences_needs_their_vocabulary():
    vocabulary = Vocabulary()
    X = encode([[["a"]]], vocabulary, grow=True)
    refuses("vocabulary goes with", written, X, [["A"]])
    refuses("vocabulary goes with", written, [[["a"]]], [["A"]], vocabulary=vocabulary)
    with pytest.raises(ValueError, match="an attribute is not in the vocabulary"):
        written(X, [["A"]], vocabulary=Vocabulary())
    one = Examples(X, ["A"], np.zeros(1, dtype=np.int32), None)
    none = Examples(X, [], np.full(1, -1, dtype=np.int32), None)
    refuses("leave y and weights out", written, one, [["A"]], vocabulary=vocabulary)
    refuses("the ones before have none", written, iter([none, one]), vocabulary=vocabulary)
    refuses("no single label", written, iter([one, none]), vocabulary=vocabulary)
    refuses("it gave int", written, iter([3]), vocabulary=vocabulary)


def test_messages_number_sequences_over_all_pieces():
    vocabulary = Vocabulary()
    stream = stream_crfsuite(io.BytesIO(b"A\ta\n\nB\tb\n\nC\tc\n"), vocabulary, grow=True, positions=1)
    renamed = (
        Examples(e.sequences, [*e.names[:-1], "@" if i == 2 else "x"], e.ids, None)
        for i, e in enumerate(stream)
    )
    refuses("sequence 2, position 0: the label '@'", written, renamed, vocabulary=vocabulary)
