"""CSV files to columns."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.io.csv_data import read_csv, stream_csv

ROWS = [[["EU", "NNP", "B-ORG"], ["rejects", "VBZ", "O"]], [["Peter", "NNP", "B-PER"]]]
TEXT = "word,pos,label\nEU,NNP,B-ORG\nrejects,VBZ,O\n\nPeter,NNP,B-PER\n"


def read(data, **options):
    data = data.encode() if isinstance(data, str) else data
    return read_csv(io.BytesIO(data), **options)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace(",", ";"),
        TEXT.replace(",", "\t"),
        "\n\n" + TEXT + "\n\n",
        TEXT.replace("\n\n", "\n,,\n"),  # a spreadsheet's empty row
        TEXT.replace("\n\n", "\n  \n"),
        TEXT.replace("EU", '"EU"').replace("word", '"word"'),
    ],
)
def test_one_table_in_many_guises(text):
    columns = read(text)
    assert columns == ROWS
    assert columns.names == ("word", "pos", "label")
    assert columns.column(columns.column_number("label")) == [["B-ORG", "O"], ["B-PER"]]


def test_parts_keep_their_names():
    columns = read(TEXT)
    assert columns.without(-1).names == ("word", "pos")
    assert columns.select([2, 0]).names == ("label", "word")
    assert columns.select([2, 0]).column_number("word") == 1
    assert columns.subset([1]).names == columns[1:].names == columns.names
    refuses("there is no column 3", columns.select, [3])


def test_source_and_line_numbers(tmp_path):
    path = tmp_path / "größe.csv"
    path.write_bytes(TEXT.encode())
    assert read_csv(path).source == str(path)
    assert read_csv(path).lines.tolist() == [2, 3, 5]


def test_quoted_cells_may_hold_anything():
    text = 'w,l\n"a,b",X\n"say ""hi""",Y\n"two\nlines",Z\n"",O\n""" ",P\n 5" pipe,Q\n'
    columns = read(text)
    assert columns == [
        [["a,b", "X"], ['say "hi"', "Y"], ["two\nlines", "Z"], ["", "O"], ['" ', "P"], [' 5" pipe', "Q"]]
    ]
    assert columns.lines.tolist() == [2, 3, 4, 6, 7, 8]


@pytest.mark.parametrize("column", ["id", 0, -3])
def test_a_sequence_column(column):
    text = "id,w,l\ns1,a,X\ns1,b,Y\ns2,c,X\ns1,d,X\n"
    columns = read(text, sequence_column=column)
    assert columns == [[["a", "X"], ["b", "Y"]], [["c", "X"]], [["d", "X"]]]
    assert columns.names == ("w", "l")
    # An empty cell means the sequence above; an empty line still ends a sequence.
    text = "w,id,l\na,Sentence: 1,X\nb,,Y\nc,Sentence: 2,X\nd,,X\n\ne,,X\n"
    columns = read(text, sequence_column="id")
    assert columns == [[["a", "X"], ["b", "Y"]], [["c", "X"], ["d", "X"]], [["e", "X"]]]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a,X\nb,Y\n", {"header": False}, [[["a", "X"], ["b", "Y"]]]),
        ("1,a\n2,b\n", {"header": False, "sequence_column": 0}, [[["a"]], [["b"]]]),
        ("a;b\n1,5;2,5\n", {}, [[["1,5", "2,5"]]]),  # a comma-decimal file
        ("a|b\n1|2\n", {"delimiter": "|"}, [[["1", "2"]]]),
        ("a,b\n1;2,3\n", {}, [[["1;2", "3"]]]),
        ("word\na\nb\n\nc\n", {}, [[["a"], ["b"]], [["c"]]]),  # one column
    ],
)
def test_headers_and_delimiters(text, options, expected):
    assert read(text, **options) == expected


def test_without_a_header_numbers_are_names():
    assert read("a,X\nb,Y\n", header=False).names == ("0", "1")


@pytest.mark.parametrize(
    ("text", "names"), [("", ()), ("\n\n", ()), ("a,b\n", ("a", "b")), ("a,b\n\n", ("a", "b"))]
)
def test_files_without_rows(text, names):
    columns = read(text)
    assert len(columns) == columns.n_positions == 0
    assert columns.names == names
    assert list(stream_csv(io.BytesIO(text.encode()))) == []


def test_pieces():
    text = "id,w\n" + "".join(f"{i // 3},w{i}\n" for i in range(100))
    pieces = list(stream_csv(io.BytesIO(text.encode()), sequence_column="id", positions=10))
    assert [len(piece) for piece in pieces] == [4] * 8 + [2]
    rows = [sentence for piece in pieces for sentence in piece]
    assert rows == read(text, sequence_column="id")
    assert pieces[1].lines[0] == 14


@pytest.mark.parametrize(
    ("text", "message", "options"),
    [
        ("a,b\n1,2\n\n3\n", r"f\.csv:4: expected 2 cells \(a, b\) between ',', got 1: \['3'\]", {}),
        ("a,b\n1,2,3\n", r"f\.csv:2: expected 2 cells .*, got 3", {}),
        ('a,b\n"x\ny",1\n3\n', r"f\.csv:4: expected 2 cells", {}),
        ('a,b\n1,2\n",3\n4,5\n', r"f\.csv:3: not a CSV record .*written twice", {}),
        ('a,b\n"x"y,2\n', r"f\.csv:2: not a CSV record", {}),
        ('a,b\n"' + "x" * 200_000 + '",2\n', r"f\.csv:2: not a CSV record \(field larger", {}),
        ("a,b\n1,2\rx,3\n", r"f\.csv:2: not a CSV record", {}),
        ("a,a\n", r"f\.csv:1: two columns are called 'a'.*header=False", {}),
        ("a,b\n1,2\n", r"f\.csv: there is no column 'c': the columns are a, b", {"sequence_column": "c"}),
        ("a,b\n1,2\n", r"f\.csv: there is no column 2: it has 2 columns", {"sequence_column": 2}),
        ("a\n1\n", r"f\.csv:1: there is no column except the sequence column 'a'", {"sequence_column": "a"}),
    ],
)
def test_errors_name_path_and_line(text, message, options, tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refuses(message, read_csv, path, **options)


def test_what_is_not_there():
    refuses("there is no column 'x': the columns are word, pos, label", read(TEXT).column_number, "x")
    refuses("delimiter must be one character, got '::'", read, "a", delimiter="::")


CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r"), max_size=6)


@given(
    st.lists(st.lists(st.tuples(CELLS, CELLS.filter(str.strip)), min_size=1, max_size=4), max_size=4),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read(sentences, delimiter, end):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(["cell", "label"])
    for i, sentence in enumerate(sentences):
        text.write(end if i else "")
        writer.writerows(sentence)
    found = read(text.getvalue(), delimiter=delimiter)
    assert found == [[list(row) for row in sentence] for sentence in sentences]
