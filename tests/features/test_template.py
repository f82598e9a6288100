"""Templates as objects: dialects, label pairs, encoding, errors."""

import contextlib
import pickle
import threading

import numpy as np
import pytest
from refusals import refuses

from crfkit.data import Columns, Vocabulary
from crfkit.exceptions import InputError
from crfkit.features import Template

ROWS = [["the", "DT"], ["dog", "NN"], ["barks", "VBZ"]]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("U00:%x[0,0]\nB", "crf++"),
        ("# U and u\nU:%x[0,0] # t[0,0]\n\nB00:%x[-1,1]/%x[0,1]", "crf++"),
        ('#u:%x[0,0]\n# %t[0,0,"a"]\nU:%x[0,0]', "crf++"),
        ("u:%x[0,0]", "wapiti"),
        ("U:%x[0,0]\nb", "wapiti"),
        ("U:%x[0,0]\n*:%x[0,0]", "wapiti"),
        ("U:%X[0,0]\nB", "wapiti"),
        ('U:%t[0,0,"a"]', "wapiti"),
        ('U:%M[0,0,"a"]', "wapiti"),
        ("U:%x[@1,0]", "wapiti"),
    ],
)
def test_dialects_are_told_by_content(text, dialect):
    assert Template.parse(text).dialect == dialect
    assert Template.parse(text, "wapiti").dialect == "wapiti"


@pytest.mark.parametrize(
    ("text", "transitions", "edge_attributes"),
    [
        ("U:%x[0,0]", False, {}),
        ("U:%x[0,0]\nB", True, {}),
        ("U:%x[0,0]\nB0", True, {}),
        ("U:%x[0,0]\nB:%x[0,0]", False, {"B": "edge"}),
        ("B:%x[0,0]\nB\nU", True, {"B": "edge"}),
        ("B\nB", True, {"B": "edge"}),
        ("u:%x[0,0]\nb", True, {}),
        ("u:%x[0,0]\nB:%x[0,0]\nb", True, {"b": "edge"}),
        ("*:%x[0,0]", False, {"*": "both"}),
        ("*\nb:%x[0,0]", False, {"b": "edge", "*": "both"}),
    ],
)
def test_label_pairs(text, transitions, edge_attributes):
    template = Template.parse(text)
    assert template.transitions is transitions
    assert template.edge_attributes == edge_attributes


def test_the_first_bare_edge_line_makes_no_attribute():
    assert Template.parse("B\nB2\nU").attributes([["a"], ["b"]]) == [["U"], ["B2", "U"]]
    assert Template.parse("b\nu").attributes([["a"], ["b"]]) == [["u"], ["u"]]
    assert Template.parse("B").attributes([["a"], ["b"]]) == [[], []]


def test_columns_needed():
    assert Template.parse("U\nB").n_columns == 0
    assert Template.parse("U%x[0,0]\nB%x[0,4]").n_columns == 5


def test_equal_hashed_pickled_frozen():
    template = Template.parse("U:%x[0,0]\nB", source="here")
    same = Template.parse("U:%x[0,0]\nB", "crf++")
    assert template == same
    assert hash(template) == hash(same)
    assert template != Template.parse("U:%x[0,0]\nB", "wapiti")
    assert template != Template.parse("U:%x[0,0]\nB ")
    again = pickle.loads(pickle.dumps(template))
    assert again == template
    assert again.source == "here"
    assert again.attributes(ROWS) == template.attributes(ROWS)
    assert repr(template) == "<Template, crf++: 1 line and transitions, from 'here'>"
    assert repr(Template("u\nu")) == "<Template, wapiti: 2 lines, from 'template'>"
    with pytest.raises(AttributeError):
        template.text = "U"


def test_files(tmp_path):
    path = tmp_path / "größe.tpl"
    path.write_bytes("\ufeffUé:%x[0,0]\r\n\r\nB\r\n".encode())
    template = Template.read(path)
    assert template.attributes([["a"]]) == [["Ué:a"]]
    assert template.transitions
    assert template == Template.parse("Ué:%x[0,0]\r\n\r\nB\r\n")
    path.write_bytes(b"U\nU\xff")
    refuses(r"größe\.tpl:2: not UTF-8 text", Template.read, path)
    path.write_text("U\nX\n")
    refuses(r"größe\.tpl:2: a CRF\+\+ template line begins with U, B or #: 'X'", Template.read, path)
    with pytest.raises(FileNotFoundError):
        Template.read(tmp_path / "missing")


def test_what_is_no_template():
    for text in ("", "\n\n", "# nothing"):
        refuses(r"^here: the template has no lines", Template.parse, text, source="here")
    refuses(r"dialect must be 'crf\+\+', 'wapiti' or 'auto', got 'mallet'", Template.parse, "U", "mallet")
    refuses("a template is a str, got bytes", Template.parse, b"U")


def test_a_column_that_is_not_there():
    template = Template.parse("U:%x[0,0]\n\nB:%x[0,0]/%x[-1,2]", source="my.tpl")
    columns = Columns.from_rows([ROWS], source="data.txt")
    with pytest.raises(
        InputError, match=r"^my\.tpl:3: %x\[-1,2\] reads column 2, but data\.txt has 2 columns \(counted"
    ):
        template.encode(columns, Vocabulary(), grow=True)
    assert template.encode(Columns.from_rows([]), Vocabulary(), grow=True).n_positions == 0
    refuses("columns must be Columns, got list", template.encode, [ROWS], Vocabulary(), grow=True)


def test_growing_and_looking_up():
    template = Template.parse("U0:%x[0,0]\nU1:%x[1,1]\nB")
    vocabulary = Vocabulary(["U0:dog"])
    columns = Columns.from_rows([ROWS[:2], [], ROWS[2:]])
    found = template.encode(columns, vocabulary, grow=False)
    assert found.offsets.tolist() == [0, 2, 2, 3]
    assert found.indptr.tolist() == [0, 0, 1, 1]
    assert found.indices.tolist() == [0]
    assert found.n_attributes == len(vocabulary) == 1
    grown = template.encode(columns, vocabulary, grow=True)
    assert vocabulary.strings() == ["U0:dog", "U0:the", "U1:NN", "U1:_B+1", "U0:barks"]
    assert grown.indptr.tolist() == [0, 2, 4, 6]
    assert grown.indices.tolist() == [1, 2, 0, 3, 4, 3]
    assert grown.values is None
    assert grown.n_attributes == 5


def test_repeated_attributes_add_up():
    template = Template.parse("U:%x[0,0]\nU:%x[1,0]\nU:%x[0,0]\nB")
    vocabulary = Vocabulary()
    encoded = template.encode(Columns.from_rows([[["a"], ["a"], ["b"]]]), vocabulary, grow=True)
    assert vocabulary.strings() == ["U:a", "U:b", "U:_B+1"]
    assert encoded.indptr.tolist() == [0, 1, 3, 5]
    assert encoded.indices.tolist() == [0, 0, 1, 1, 2]
    assert encoded.values.tolist() == [3.0, 2.0, 1.0, 2.0, 1.0]
    # Different cells, the same string.
    glued = Template.parse("U:%x[0,0]%x[0,1]\nU:%x[0,1]%x[0,0]")
    encoded = glued.encode(Columns.from_rows([[["a", "aa"], ["a", "b"]]]), Vocabulary(), grow=True)
    assert encoded.values.tolist() == [2.0, 1.0, 1.0]


def test_lines_that_might_repeat_but_do_not():
    template = Template.parse("U:%x[0,0]\nU:%x[0,1]")
    encoded = template.encode(Columns.from_rows([[["a", "b"]]]), Vocabulary(), grow=True)
    assert encoded.values is None


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
@pytest.mark.parametrize(
    "text", ["U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB%x[0,1]\nB", "U%x[0,0]\nU%x[-1,0]\nU%x[0,1]%x[1,0]"]
)
def test_threads_give_the_same_ids(text, n_jobs):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 30, 2500)
    sentences = [[[f"w{w}", f"p{w % 7}"] for w in rng.geometric(0.003, n)] for n in lengths]
    columns = Columns.from_rows(sentences)
    template = Template.parse(text)
    alone, together = Vocabulary(["U:w1"]), Vocabulary(["U:w1"])
    expected = template.encode(columns, alone, grow=True, n_jobs=1)
    encoded = template.encode(columns, together, grow=True, n_jobs=n_jobs)
    assert together.strings() == alone.strings()
    for grow in (True, False):
        for name in ("offsets", "indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(encoded, name), getattr(expected, name))
        assert encoded.n_attributes == expected.n_attributes
        if grow:
            few = Vocabulary(alone.strings()[::2])
            expected = template.encode(columns, few, grow=False, n_jobs=1)
            encoded = template.encode(columns, few, grow=False, n_jobs=n_jobs)
            assert len(few) == len(alone.strings()[::2])


def test_one_very_long_sequence_among_threads():
    rows = [[f"w{i % 1000}"] for i in range(20_000)]
    template = Template.parse("U%x[-1,0]/%x[0,0]")
    alone, together = Vocabulary(), Vocabulary()
    expected = template.encode(Columns.from_rows([rows, rows[:1]]), alone, grow=True, n_jobs=1)
    encoded = template.encode(Columns.from_rows([rows, rows[:1]]), together, grow=True, n_jobs=4)
    np.testing.assert_array_equal(encoded.indices, expected.indices)
    assert together.strings() == alone.strings()


def test_a_vocabulary_in_use_is_refused():
    columns = Columns.from_rows([ROWS])
    refuses("is being read", Template.parse("U%x[0,0]").encode, columns, columns.cells, grow=True)
    assert columns[0] == ROWS


def test_damaged_tables_are_refused():
    columns = Columns.from_rows([ROWS])
    template = Template.parse("U%x[0,0]")
    columns.ids[1, 0] = 99
    with pytest.raises(IndexError):
        template.encode(columns, Vocabulary(), grow=True)
    columns.ids[1, 0] = -1
    with pytest.raises(IndexError):
        template.encode(columns, Vocabulary(), grow=False)


def test_cells_of_an_unpickled_table():
    columns = pickle.loads(pickle.dumps(Columns.from_rows([ROWS])))
    vocabulary = Vocabulary()
    Template.parse("U%x[0,0]").encode(columns, vocabulary, grow=True)
    assert vocabulary.strings() == ["Uthe", "Udog", "Ubarks"]


def test_looking_while_another_thread_fills_the_vocabulary():
    """Reading either succeeds or raises an error; it never sees a half-filled vocabulary."""
    columns = Columns.from_rows([[[f"w{i}", f"p{i % 50}"] for i in range(30_000)]] * 2)
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,0]/%x[1,0]\nU2:%x[-1,0]/%x[0,1]")
    vocabulary = Vocabulary()
    filling = threading.Thread(target=lambda: template.encode(columns, vocabulary, grow=True, n_jobs=2))
    filling.start()
    while filling.is_alive():
        with contextlib.suppress(InputError):  # "being filled by another thread"
            vocabulary.lookup(["U0:w1"] * 100)
            vocabulary.strings(0, 10)
    filling.join()
    assert len(vocabulary) == 90_000


def test_what_a_template_may_expand_to():
    long = "ab" * 10_000
    times = Template.parse("U0:%x[0,0]\nU1:" + "%x[0,0]" * 1000)
    assert times.attributes([["a"]]) == [["U0:a", f"U1:{'a' * 1000}"]]
    refuses("position 1: the attribute 'U1:abab.*more than 1048576 bytes", times.attributes, [["a"], [long]])
    lines = Template.parse("\n".join(f"U{i}:%x[0,0]" for i in range(900)))
    assert len(lines.attributes([["a"], [long[:1000]]])[1]) == 900
    refuses("position 1: the attributes .*more than 16777216 bytes", lines.attributes, [["a"], [long]])
    refuses("at most 50000 macros.*has 50001", Template.parse, "U0:" + "%x[0,0]" * 50_001)
    with pytest.raises(InputError) as told:
        Template.parse("U0:%y" + "a" * 100_000)
    assert len(str(told.value)) < 500


def test_single_cells_beside_lines_without_any():
    assert list(Template.parse("U00:%x[0,0]\nU01\nU02:").single_cells) == ["U00:"]
