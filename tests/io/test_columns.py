"""The reader of column files."""

import io
import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.exceptions import InputError
from crfkit.io.columns import read_columns, stream_columns

TEXT = "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter\tNNP\tB-PER\n"
SENTENCES = [[["EU", "NNP", "B-ORG"], ["rejects", "VBZ", "O"]], [["Peter", "NNP", "B-PER"]]]


def read(content, **options):
    return read_columns(io.BytesIO(content if isinstance(content, bytes) else content.encode()), **options)


def reference(content, at_tabs):
    """Apply the module's documented rules in Python: sentences and line numbers, or None for an error."""
    sentences, numbers, sentence = [], [], []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = line.rstrip(b"\r")
        cells = line.split(b"\t") if at_tabs else line.replace(b"\t", b" ").split(b" ")
        if not at_tabs:
            cells = [cell for cell in cells if cell]
        if not line.strip(b" \t") or cells[0] == b"-DOCSTART-":
            cells = []
        try:
            row = [cell.decode() for cell in cells]
            line.decode()
        except UnicodeDecodeError:
            return None
        if b"\0" in line:
            return None
        if row:
            sentence.append(row)
            numbers.append(number)
        elif sentence:
            sentences.append(sentence)
            sentence = []
    sentences += [sentence] if sentence else []
    widths = {len(row) for sentence in sentences for row in sentence}
    return (sentences, numbers) if len(widths) < 2 else None


def test_the_table(tmp_path):
    path = tmp_path / "f"
    path.write_text(TEXT)
    columns = read_columns(path)
    assert columns.source == str(path)
    assert columns.lines.tolist() == [3, 4, 7]
    assert columns.offsets.tolist() == [0, 2, 3]
    assert columns.n_columns == 3


ODD = "a\u2028b a\x0bb a\x0cb a\x85b a\rb \u3000"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\n \n\t\n\r\n", []),
        ("-DOCSTART- -X-\n\n", []),
        # Unusual blanks belong to tokens.
        ("10\u00a0000  CD\n# X\n", [[["10\u00a0000", "CD"], ["#", "X"]]]),
        (ODD + "\n", [[ODD.split(" ")]]),
        # Blanks around cells do not count, and runs of them count once.
        ("  a \t b\t\tc  \n", [[["a", "b", "c"]]]),
        ("a b \r\n \t\r\nc d\r\n", [[["a", "b"]], [["c", "d"]]]),
        (b"\xef\xbb\xbfa b\n\xef\xbb\xbfc d\n", [[["a", "b"], ["\ufeffc", "d"]]]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf-DOCSTART- x\na b\n", [[["a", "b"]]]),
        # -DOCSTART- ends a sentence.
        ("a b\n-DOCSTART- O\nc d\n-DOCSTART--1 x\n", [[["a", "b"]], [["c", "d"], ["-DOCSTART--1", "x"]]]),
    ],
)
def test_cells_and_sentences(content, expected):
    assert read(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("New York\tB\n\tO\na \t\n\nx\ty", [[["New York", "B"], ["", "O"], ["a ", ""]], [["x", "y"]]]),
        ("a\t\tb\n", [[["a", "", "b"]]]),
        ("a\tb\n\t\nc\td\n", [[["a", "b"]], [["c", "d"]]]),  # an empty row
        ("-DOCSTART-\tO\na\tb\r\n", [[["a", "b"]]]),
    ],
)
def test_single_tabs(content, expected):
    assert read(content, separator="tab") == read(content, separator="\t") == expected


def test_other_separators():
    refuses("separator must be None", read, "a", separator=",")
    refuses("separator must be None", stream_columns, io.BytesIO(b"a"), separator=",")


def test_errors_name_path_and_line(tmp_path):
    path = tmp_path / "f"
    path.write_text("a b\n\nc d\ne\n")
    refuses(r"f:4: expected 2 columns as in line 1, got 1: 'e'", read_columns, path)
    path.write_bytes(b"-DOCSTART- x\na \xff\n")
    refuses(r"f:2: not UTF-8 text; convert the file to UTF-8: '\ufffd'", read_columns, path)
    path.write_bytes("x y\n".encode("utf-16"))
    refuses(r"f:1: expected text, got a NUL byte.*UTF-16", read_columns, path)


def test_long_lines_are_shortened_in_messages():
    with pytest.raises(InputError) as caught:
        read("a b\n" + "ß" * 10000)
    assert str(caught.value) == f"<stream>:2: expected 2 columns as in line 1, got 1: '{'ß' * 30}…'"


# Mostly characters with a meaning in the format.
SMALL = [b"a", b"bc", b" ", b"\t", b"\n", b"\n\n", b"\r\n", b"\r", b"\xc3\xa9", b"\xc3", b"\0"]
pieces = st.sampled_from([*SMALL, b"-DOCSTART-", b"\xef\xbb\xbf", *[b"a b\n"] * 4])
contents = st.one_of(st.lists(pieces, max_size=30).map(b"".join), st.binary(max_size=50))


@given(contents, st.booleans(), st.lists(st.integers(0, 60), max_size=4))
@example(b"\xef\xbb\xbfa b\r\nc d", False, [1, 2, 6])
@example(b"a\r\n\r\nb", False, [2, 3, 4, 5])
def test_any_bytes_cut_anywhere(content, at_tabs, cuts):
    """The same table or error as by the rules, and the same from pieces."""
    separator = "tab" if at_tabs else None
    bounds = [0, *sorted(cuts), len(content)]
    stream = InPieces([content[a:b] for a, b in itertools.pairwise(bounds)])
    expected = reference(content, at_tabs)
    if content.startswith(b"\x1f\x8b"):
        return
    if expected is None:
        refuses(r"^<stream>:[0-9]+: ", read, content, separator=separator)
        refuses(r"^<stream>:[0-9]+: ", list, stream_columns(stream, separator=separator, prompt=True))
        return
    columns = read(content, separator=separator)
    assert columns == expected[0]
    assert columns.lines.tolist() == expected[1]
    parts = list(stream_columns(stream, separator=separator, prompt=True))
    assert [sentence for part in parts for sentence in part] == expected[0]
    assert [line for part in parts for line in part.lines.tolist()] == expected[1]


class InPieces(io.RawIOBase):
    """A stream that returns its pieces one at a time."""

    def __init__(self, pieces):
        self.pieces = [piece for piece in pieces if piece]

    def readable(self):
        return True

    def read(self, n=-1):
        if not self.pieces:
            return b""
        piece, self.pieces[0] = self.pieces[0][:n], self.pieces[0][n:]
        if not self.pieces[0]:
            del self.pieces[0]
        return piece


def test_streams_have_whole_sentences_and_bounded_size():
    content = b"".join(b"w%d x\n" % i + b"\n" * (i % 3 == 0) for i in range(50_000))
    whole = read(content)
    parts = list(stream_columns(io.BytesIO(content), positions=1000))
    assert len(parts) > 20
    assert max(part.n_positions for part in parts) < 3000
    assert max(len(part.cells) for part in parts) < 3000
    assert [sentence for part in parts for sentence in part] == list(whole)


def test_a_sentence_longer_than_the_bound_stays_whole():
    content = b"a b\n\n" + b"c d\n" * 5000 + b"\ne f\n"
    parts = list(stream_columns(io.BytesIO(content), positions=10))
    assert [len(sentence) for part in parts for sentence in part] == [1, 5000, 1]


def test_an_error_later_in_a_stream_comes_after_the_sentences_before_it():
    stream = stream_columns(InPieces([b"a b\n\n", b"c\n"]), prompt=True)
    assert next(stream) == [[["a", "b"]]]
    refuses(":3: expected 2 columns as in line 1, got 1", next, stream)
