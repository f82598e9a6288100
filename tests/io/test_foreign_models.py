"""Common behaviour of the readers of other tools' models: sources, encodings, damage."""

import io
import random
import re
import struct
import tracemalloc
import warnings
from functools import partial

import pytest
from foreign_models import FILES, LABELS, assert_answers, crfsuite_data, train_crfsuite
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses, unreadable

from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, InputWarning, ModelFileError
from crfkit.io.foreign_model import read_foreign
from crfkit.io.model_formats import FOREIGN
from crfkit.models.foreign import export_crfsuite, import_model

READERS = {format: partial(read_foreign, format=format) for format in FOREIGN}
NAMES = [*FILES, "crfsuite"]
TEXTS = [name for name in FILES if name != "crfpp_binary"]
ANSWERED = ["crfpp_text", "crfpp_twice", "wapiti", "wapiti_cut", "wapiti_twice"]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    X, y = crfsuite_data(10, labels=LABELS[:2])
    path = train_crfsuite(tmp_path_factory.mktemp("foreign") / "m", X, y, max_iterations=5)
    return {**FILES, "crfsuite": path.read_bytes()}


def tool(name):
    return name.split("_")[0].replace("crfpp", "crf++")


def works_or_fails(content, name):
    """Check that a damaged file gives an error or a usable model (that can be written, if possible)."""
    try:
        tagger = import_model(content, tool(name), n_jobs=1)
    except ModelFileError:
        return False
    items = [[["w=a", "bias"], ["u:a", "b"]], [[]]]
    rows = Columns.from_rows([[["a", "DT"], ["é", "y"]], [["the", "x"]]])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # the damaged model may know none of the attributes
            tagger.predict(items if tagger.template is None else rows)
    except (
        InputError
    ) as error:  # a damaged template needs more columns; a damaged weight gives scores beyond the bound
        assert re.search("column|scores must be at most", str(error))  # noqa: PT017
    if name == "crfsuite":
        export_crfsuite(tagger, io.BytesIO())
    return True


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_as_the_tool_does(name):
    for content in (FILES[name], FILES[name].replace(b"\n", b"\r\n")):
        assert_answers(import_model(content), name)


@pytest.mark.parametrize("name", NAMES)
def test_paths_bytes_and_file_objects(contents, name, tmp_path):
    path, read = tmp_path / "née", READERS[tool(name)]
    path.write_bytes(contents[name])
    expected = read(path)
    with path.open("rb") as file:
        for model in (read(str(path)), read(contents[name]), read(file)):
            assert model.classes == expected.classes
            assert model.attributes.strings() == expected.attributes.strings()
            assert model.state_weights.tolist() == expected.state_weights.tolist()
            assert model.edge_weights.tolist() == expected.edge_weights.tolist()
    with path.open(encoding="latin-1") as file, pytest.raises(ModelFileError, match="binary mode"):
        read(file)
    path.write_bytes(contents[name][: len(contents[name]) // 2])
    unreadable(r"cannot read the model .*née: ", read, path)


@pytest.mark.parametrize(
    ("name", "changes", "encoding", "label"),
    [
        ("crfpp_text", [("U0:é", "U0:東"), ("A\nB\n", "名\nB\n")], "euc-jp", "名"),
        ("wapiti", [("6:u:w:é", "5:u:w:é"), ("6:u:v:é", "5:u:v:é")], "latin-1", "O"),
        ("crfsuite", [("Übung", "Übung ")], "latin-1", "Übung "),
    ],
)
def test_another_encoding(contents, name, changes, encoding, label):
    content, read = contents[name], READERS[tool(name)]
    for old, new in changes:
        content = content.replace(old.encode(), new.encode(encoding))
    unreadable(r"name \d+ is not UTF-8; pass encoding=", read, content)
    assert label in read(content, encoding=encoding).classes
    if name == "wapiti":
        assert_answers(import_model(content, encoding=encoding), name)
    refuses("encoding must be the name of a text encoding", read, content, encoding="klingon")


# ---- damage


@pytest.mark.parametrize("name", NAMES)
def test_cut_off_anywhere(contents, name):
    for n in range(len(contents[name])):
        with pytest.raises(ModelFileError):
            READERS[tool(name)](contents[name][:n])


@pytest.mark.parametrize("name", NAMES)
def test_bit_flips(contents, name):
    rng, outcomes = random.Random(0), set()
    for _ in range(1000):
        damaged = bytearray(contents[name])
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        outcomes.add(works_or_fails(bytes(damaged), name))
    assert outcomes == {True, False}


PIECES = [b"", b"\n", b" ", b"\0", *b"9 99999999999 999999999999999999 - : # %x[ %m[".split()]


@settings(max_examples=200)
@given(data=st.data())
@pytest.mark.parametrize("name", TEXTS)
def test_text_damaged_anywhere(name, data):
    damaged = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 2))] = data.draw(st.sampled_from(PIECES))
    works_or_fails(bytes(damaged), name)


@settings(max_examples=400)
@given(data=st.data())
@pytest.mark.parametrize("name", ["crfpp_binary", "crfsuite"])
def test_binary_damaged_where_it_matters(contents, name, data):
    """Damage in the header and in words that are used: most of CRF++'s double array is not."""
    damaged = bytearray(contents[name])
    in_use = [at for at in range(0, len(damaged) - 3, 4) if at < 64 or any(damaged[at : at + 4])]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.sampled_from(in_use))
        value = data.draw(st.integers(-5, len(damaged)) | st.integers(-(2**31), 2**31 - 1))
        damaged[at : at + 4] = struct.pack("<i", value)
    works_or_fails(bytes(damaged), name)


@pytest.mark.parametrize("at", range(0, 48, 4))
@pytest.mark.parametrize("name", ["crfpp_binary", "crfsuite"])
def test_absurd_numbers_in_the_header(contents, name, at):
    content = contents[name]
    for value in (0, 1, 47, 10_000, 0x7FFFFFF8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF):
        tracemalloc.start()
        works_or_fails(content[:at] + struct.pack("<I", value) + content[at + 4 :], name)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50 * len(content)


WEIGHT = "8=0x1.7be779d3b87fdp-1"
SAID = {
    "crfpp_text": [
        ("version: 100", "version: 200", "it has version 200, expected 100"),
        ("maxid: 14", "maxid: 13", "announces 13 weights and has 14"),
        ("maxid: 14", "maxid: 99999999999", "announces 99999999999 weights and has 14"),
        ("maxid: 14", "maxid: x", "its header lacks 'maxid'"),
        ("A\nB\n\n", "\n", "it has no labels"),
        ("A\nB\n\n", "A\nA\n\n", "name 1 comes twice"),
        ("8 B0:y", "7 B0:y", "overlap"),
        ("8 B0:y", "11 B0:y", "outside the list"),
        ("8 B0:y", "B0:y", "line 14: expected a number"),
        ("8 B0:y", "8", "line 14: expected ' '"),
        ("8 B0:y", "8 ", "empty attribute"),
        ("8 B0:y", "8 X0:y", "begins with neither U nor B"),
        ("8 B0:y", "8 U0:a", "name 2 comes twice"),
        ("0.4709", "O.4709", "list of weights is damaged"),
        ("0.4709853837876320", "nan", "not finite"),
        ("U0:%x[0,0]\n", "X0:%x[0,0]\n", "is not a template line"),
        ("U0:%x[0,0]\n", "U0:%y[0,0]\n", "the template in <bytes>:1: expected %x"),
    ],
    "wapiti": [
        ("#mdl#2#29", "#mdl#1#29", r"\(MEMM\).*Train it again with --type crf"),
        ("#mdl#2#29", "#mdl#2#28", "26 bytes follow its 28 weights"),
        ("#mdl#2#29", "#mdl#2#30", "expected a number"),
        ("#mdl#2#29", "#mdl#2#999999999999999999", "weights are announced, but the file ends before"),
        ("#mdl#2#29", "#mdl#7#29", "it is of type 7, which Wapiti does not have"),
        ("#mdl#2#29", "#mdl#2#9999999999999999999999", "expected the first line of a Wapiti model"),
        ("#rdr#5", "#rdr#900000000", "strings are announced, but the file ends before"),
        ("#qrk#25", "#qrk#900000000000", "strings are announced, but the file ends before"),
        ("#qrk#25", "#qrk#24", "line 38: expected '='"),
        ("#qrk#4", "#qrk#0", "it has no labels"),
        ("7:u:w:the", "999999999:u:w:the", "line 14: a string of 999999999 bytes is cut off"),
        ("7:u:w:the", "6:u:w:the", "line 14: expected ','"),
        ("7:u:w:the", "7:x:w:the", "begins with none of u, b and"),
        ("7:u:w:the", "0:", "empty attribute"),
        ("7:u:w:the", "7:u:w:dog", "name 5 comes twice"),
        ("4:I-NP", "4:B-NP", "name 1 comes twice"),
        ("8=0x", "999999=0x", "weights that belong to no attribute"),
        ("29=0x", "8=0x", "a feature twice"),
        (WEIGHT, "8=nan", "not finite"),
        (WEIGHT, "8=0x1p+99999999999999", "not finite"),
        (WEIGHT, "8=", "expected a weight, got"),
        (WEIGHT, "8=0x1.8,", "expected a weight, got"),
        ("11:u:w:%x[0,0]", "11:u:w:%y[0,0]", "the template in <bytes>:1: expected %x"),
        ("11:u:w:%x[0,0]", "11:u:w:#x[0,0]", "is not a template line"),
        ("11:u:w:%x[0,0]", "11:u:w\n%x[0,0]", "is not a template line"),
    ],
}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"), [(name, *case) for name, cases in SAID.items() for case in cases]
)
def test_what_is_wrong_is_said(name, old, new, message):
    damaged = FILES[name].decode().replace(old, new, 1).encode()
    assert damaged != FILES[name]
    unreadable(message, import_model, damaged, tool(name))
