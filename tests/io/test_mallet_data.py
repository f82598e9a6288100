"""Data of MALLET's SimpleTagger."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Vocabulary
from crfkit.io.crfsuite_data import stream_crfsuite
from crfkit.io.mallet_data import read_mallet, stream_mallet, write_mallet


def plain(examples, vocabulary):
    """Return [[(label, [attributes])]]."""
    x, names = examples.sequences, vocabulary.strings()
    assert x.values is None  # MALLET's features are binary
    rows = [[names[a] for a in x.indices[i:j]] for i, j in zip(x.indptr[:-1], x.indptr[1:], strict=True)]
    return [
        list(zip(labels, rows[i:j], strict=True))
        for labels, i, j in zip(examples.labels, x.offsets[:-1], x.offsets[1:], strict=True)
    ]


def read(data, **options):
    vocabulary = Vocabulary()
    data = data.encode() if isinstance(data, str) else data
    return plain(read_mallet(io.BytesIO(data), vocabulary, grow=True, **options), vocabulary)


def written(*args, **options):
    file = io.BytesIO()
    write_mallet(file, *args, **options)
    return file.getvalue().decode()


TWO = [[("X", ["a", "b"])], [("Y", ["c"])]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CAPITAL Bill noun\nslept non-noun\n\nhere LOWER noun\n",
            [[("noun", ["CAPITAL", "Bill"]), ("non-noun", ["slept"])], [("noun", ["here", "LOWER"])]],
        ),
        # Features are not interpreted.
        ("a:2 w=1:b \\: # @weight:2 :\n", [[(":", ["a:2", "w=1:b", "\\:", "#", "@weight:2"])]]),
        # Blanks, tabs and line ends.
        ("a b X\n\nc Y\n", TWO),
        ("  a   b X  \n\n\n\nc Y", TWO),
        ("a\tb\tX\n \t \nc Y\n", TWO),
        ("a b X\r\n\r\nc Y\r\n", TWO),
        ("\ufeffa b X\n\nc Y\n", TWO),
        ("\n\na b X\n\f\nc Y\n", TWO),
        ("a\u00a0b X\n", [[("X", ["a\u00a0b"])]]),
        ("a b a a X\nb b Y\n", [[("X", ["a", "b"]), ("Y", ["b"])]]),  # repeated, counted once
        ("X\n", [[("X", [])]]),
        ("", []),
        ("\n \n", []),
    ],
)
def test_items(text, expected):
    assert read(text) == expected


def test_labels():
    assert read("a b\nc\n", labels=False) == [[(None, ["a", "b"]), (None, ["c"])]]
    refuses("labels must be one of True, False, got 'optional'", read, "a b\n", labels="optional")


def test_unknown_features_are_dropped():
    vocabulary = Vocabulary(["b"])
    examples = read_mallet(io.BytesIO(b"a b X\n"), vocabulary, grow=False)
    assert plain(examples, vocabulary) == [[("X", ["b"])]]


def test_pieces():
    text = "".join(f"a{i} b a{i} L{i % 3}\n\n" for i in range(100))
    vocabulary, whole = Vocabulary(), read(text)
    pieces = list(stream_mallet(io.BytesIO(text.encode()), vocabulary, grow=True, positions=7))
    assert len(pieces) == 15
    assert [sequence for piece in pieces for sequence in plain(piece, vocabulary)] == whole


WORDS = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters=" \t\n\r\f\v\0\ufeff"),
    min_size=1,
    max_size=5,
) | st.sampled_from([":", "\\", "#", "a:1", "\u00a0", "\u2028", "\x85"])


@given(
    st.lists(
        st.lists(st.tuples(st.lists(WORDS, unique=True, max_size=4), WORDS), min_size=1, max_size=3),
        max_size=3,
    )
)
def test_what_is_written_is_read_back(sequences):
    X = [[names for names, _ in items] for items in sequences]
    y = [[label for _, label in items] for items in sequences]
    assert read(written(X, y)) == [[(label, names) for names, label in items] for items in sequences]


def test_writing_without_labels_and_from_other_formats():
    assert written([[["a", "b"], ["c"]]]) == "a b\nc\n\n"
    vocabulary = Vocabulary()
    stream = stream_crfsuite(io.BytesIO(b"A\ta\\:1\tb\nB\n\nA\tc\n"), vocabulary, grow=True, positions=1)
    assert written(stream, vocabulary=vocabulary) == "a:1 b A\nB\n\nc A\n\n"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[["a"], ["b c"]]], [["A", "A"]], "sequence 0, position 1: the attribute 'b c' holds a blank"),
        ([[["a\u000bb"]]], [["A"]], "holds a blank"),
        ([[["a\rb"]]], [["A"]], "holds a blank"),
        ([[[""]]], [["A"]], "the attribute '' is empty"),
        ([[["a"]]], [["A B"]], "the label 'A B' holds a blank"),
        ([[["a"]]], [[""]], "the label '' is empty"),
        ([[{"a": 2.0}]], [["A"]], "the attribute 'a' has a value other than 1.*CRFsuite"),
        ([[["a", "a"]]], [["A"]], "the attribute 'a' has a value other than 1"),
        ([[["a"]], []], [["A"], []], "sequence 1 is empty, which MALLET data cannot express"),
        ([[["a"]]], [[None]], "there is no single label"),
        (
            [[["a"], []]],
            None,
            "sequence 0, position 1: without label or attributes it would be an empty line",
        ),
    ],
)
def test_what_cannot_be_written(X, y, message, tmp_path):
    path = tmp_path / "out"
    refuses(message, write_mallet, path, X, y)
    assert not list(tmp_path.iterdir())


def test_weights_cannot_be_written():
    vocabulary = Vocabulary()
    stream = stream_crfsuite(io.BytesIO(b"@weight:2\tA\ta\n"), vocabulary, grow=True)
    refuses("MALLET data has no weights", written, stream, vocabulary=vocabulary)
