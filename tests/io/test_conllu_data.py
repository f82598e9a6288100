"""CoNLL-U: words, labels by name, and what is written back."""

import io
import pickle

import pytest
from refusals import refuses

from crfkit.data.columns import Columns
from crfkit.io.conllu_data import read_conllu, stream_conllu, write_conllu
from crfkit.io.csv_data import NamedColumns

TEXT = """# sent_id = 1
# text = du bon
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tde\tde\tADP\tP\t_\t3\tcase\t_\tNE=O
2\tle\tle\tDET\tD\tDefinite=Def|Gender=Masc\t3\tdet\t_\t_
2.1\tvide\tvide\tVERB\t_\t_\t_\t_\t_\t_
3\tbon\tbon\tADJ\tA\t_\t0\troot\t_\tSpaceAfter=No|NE=B-X

# newpar
1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_

"""


def read(text=TEXT, **options):
    return read_conllu(io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        (None, ["ADP", "DET", "ADJ", "SYM"]),
        ("upos", ["ADP", "DET", "ADJ", "SYM"]),
        ("xpos", ["P", "D", "A", "_"]),
        ("deprel", ["case", "det", "root", "root"]),
        ("misc:NE", ["O", "_", "B-X", "_"]),
    ],
)
def test_words_and_labels(name, labels):
    table = read(label_key=name)
    assert table.column(0) == [["de", "le", "bon"], ["#"]]
    assert [label for sentence in table.column(1) for label in sentence] == labels
    assert table.names == ("form", name or "upos")
    assert table.lines.tolist() == [4, 5, 7, 10]
    assert read(default_label=name) == table
    # Nothing is lost: with its own labels the file comes out as it was.
    if "_" not in labels or name == "xpos":
        assert table.labelled(table.column(1)).decode() == TEXT


def test_predictions_take_the_place_of_labels():
    new = [["A", "B", "C"], ["D"]]
    text = read(label_key="misc:NE").labelled(new).decode()
    assert "\tNE=A\n" in text
    assert "\tSpaceAfter=No|NE=C\n" in text
    assert read(text, label_key="misc:NE").column(1) == new
    assert read(read().labelled(new).decode()).column(1) == new
    assert text.startswith("# sent_id = 1\n# text = du bon\n1-2\tdu")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 de de ADP", "<stream>:2: expected 10 columns between tabs, got 1"),
        ("x" + "\t_" * 9, "<stream>:2: expected an id and a form"),
        ("1\t" + "\t_" * 8, "<stream>:2: expected an id and a form"),
    ],
)
def test_bad_lines(line, message):
    refuses(message, read, "# comment\n" + line + "\n")


def test_unknown_columns():
    refuses("must be one of form, lemma, upos, .* or misc:KEY, got 'ner'", read, label_key="ner")


def test_pieces_and_parts():
    pieces = list(stream_conllu(io.BytesIO(TEXT.encode()), positions=2))
    assert [len(piece) for piece in pieces] == [1, 1]
    table = read()
    assert b"".join(piece.labelled(piece.column(1)) for piece in pieces).decode() == TEXT
    assert table.subset([1]).labelled([["SYM"]]).decode() == TEXT.split("\n\n")[1] + "\n\n"
    copy = pickle.loads(pickle.dumps(table))
    assert (list(copy), copy.texts) == (list(table), table.texts)
    assert table.select([1]).names == ("upos",)


def test_writing():
    out = io.BytesIO()
    rows = Columns.from_rows([[["a", "X"], ["b", "Y"]], [["c", "X"]]])
    write_conllu(out, [rows])
    assert list(read(out.getvalue().decode())) == list(rows)
    named, out = NamedColumns.of(rows, ("word", "xpos")), io.BytesIO()
    write_conllu(out, [named])
    assert read(out.getvalue().decode(), label_key="xpos").column(1) == [["X", "Y"], ["X"]]
    refuses("a tab or a line break", write_conllu, out, [Columns.from_rows([[["a\tb", "X"]]])])
