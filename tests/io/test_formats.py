"""Format detection."""

import pytest

from crfkit.data.columns import Columns
from crfkit.data.vocabulary import Vocabulary
from crfkit.io.csv_data import NamedColumns
from crfkit.io.formats import FORMATS, HEAD, format_by_content, format_by_name

COLUMNS = b"The DT B-NP\ndog NN I-NP\n\nruns VBZ B-VP\n"
CRFSUITE = b"B-NP\tw=The\tp=DT\tBOS\nI-NP\tw=dog\tp=NN\n\nB-VP\tw=runs\tp=VBZ\tBOS\tEOS\n"
MALLET = b"w=The p=DT first B-NP\nw=dog p=NN I-NP\n\nCAPS w=runs B-VP\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (COLUMNS, "columns"),
        (COLUMNS.replace(b" ", b"\t"), "columns"),
        (COLUMNS.replace(b"\n", b"\r\n"), "columns"),
        (CRFSUITE, "crfsuite"),
        (b"B-NP\tbias\tThe\nI-NP\tdog\nI-NP\tdog\tx\ty\nO\n", "crfsuite"),
        (MALLET, "mallet"),
        (b"Bill CAPITALIZED noun\nslept non-noun\nhere LOWERCASE STOPWORD non-noun\n", "mallet"),
        (b"", "columns"),
        (b"\n\n \t\n", "columns"),
        (b": : O\n= = O\n# # O\n", "columns"),  # tokens typical of no format
        (COLUMNS * 5 + b"one too many cells here\n", "columns"),  # the parser must name the line
        (b"a\nb\n", "columns"),
        (b"# SYM O\nfoo NN B-NP\n# comment line here\n\n#x NN O\n", "columns"),
        (b"12:00:01 B-T\n12:30:00 I-T\n", "columns"),
        ("Hà Nội\tN\tB-LOC\nđi\tN\tO\nsinh viên đại học\tN\tO\n".encode(), "columns"),
        ((b"The DT B-NP\n" * HEAD)[:HEAD], "columns"),  # cut off within a line
        ("naïve JJ B-NP\nKöln NNP I-NP\n".encode(), "columns"),
        (b"\xff\xfe\x00 x\n", "columns"),
    ],
)
def test_by_content(head, expected):
    assert format_by_content(head).name == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", "csv"),
        ("a.CSV.gz", "csv"),
        ("dir.csv/a.txt", None),
        ("a.mallet", "mallet"),
        ("train.crfsuite", "crfsuite"),
        ("a.conll.gz", "columns"),
        ("a.gz", None),
        ("-", None),
    ],
)
def test_by_name(name, expected):
    found = format_by_name(name)
    assert (found and found.name) == expected


@pytest.mark.parametrize(
    "format", [format for format in FORMATS.values() if format.has_labels], ids=lambda format: format.name
)
def test_every_format_reads_what_it_writes(format, tmp_path):
    rows = [[["The", "B-NP"], ["dog", "I-NP"]], [["runs", "B-VP"]]]
    labels = [[label for _, label in sentence] for sentence in rows]
    path = tmp_path / "data"
    if format.is_table:
        format.write(path, [NamedColumns.of(Columns.from_rows(rows), ("word", "label"))])
        assert format.read(path) == rows
        assert [sentence for piece in format.stream(path, positions=1) for sentence in piece] == rows
        return
    format.write(path, [[[f"w={word}"] for word, _ in sentence] for sentence in rows], labels)
    vocabulary = Vocabulary()
    assert format.read(path, vocabulary, grow=True).labels == labels
    assert vocabulary.strings() == ["w=The", "w=dog", "w=runs"]
    pieces = format.stream(path, vocabulary, grow=False, positions=1)
    assert [sentence for piece in pieces for sentence in piece.labels] == labels


def test_a_long_cell_is_compared_once():
    """A cell of 64 KB was compared from each of its letters on: that took 52 seconds."""
    assert format_by_content(b"a" * 65_000 + b" x\n").name == "columns"
    assert format_by_content(b"a=" + b"b" * 65_000 + b" x\n").name == "mallet"
    assert format_by_content(b"12:30 x\n12:31 y\n").name == "columns"
    assert format_by_content(b"1a2:30 x\n_:31 y\n").name == "mallet"
