"""CRFsuite data files: the rules and traps of the format, and a slow reader to compare with."""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import os
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data import Encoded, Examples, Vocabulary, encode
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.crfsuite_data import read_crfsuite, stream_crfsuite, write_crfsuite

# --- a slow oracle ------------------------------------------------------------------------------------------


def fields_of(line):
    """(name, value) of every field, one character at a time."""
    fields, name, value, inside = [], "", None, False
    i = 0
    while i <= len(line):
        c = line[i : i + 1]
        if c in ("\t", ""):
            if inside:
                fields.append((name, value))
            name, value, inside = "", None, False
        else:
            inside = True
            if c == "\\" and line[i + 1 : i + 2] in ("\\", ":") and value is None:
                i += 1
                name += line[i]
            elif c == ":" and value is None:
                value = ""
            elif value is None:
                name += c
            else:
                value += c
        i += 1
    return fields


def slow_read(text):
    """[(weight, [(label, {attribute: value})])]"""
    sequences, items, weight = [], [], 1.0
    for line in [*text.split("\n"), ""]:
        if not line:
            if items:
                sequences.append((weight, items))
            items, weight = [], 1.0
            continue
        label, attributes = None, {}
        for name, value in fields_of(line):
            if label is None and name.startswith("@"):
                weight = float(value)
            elif label is None:
                label = name
            else:
                attributes[name] = attributes.get(name, 0.0) + (float(value) if value else 1.0)
        if not np.isfinite(list(attributes.values())).all():
            raise ValueError("infinite")
        if label is not None:
            items.append((label, {name: value for name, value in attributes.items() if value}))
    return sequences


def plain(examples, vocabulary):
    """The same shape from Examples."""
    x, names = examples.sequences, vocabulary.strings()
    values = np.ones(x.indices.size) if x.values is None else x.values
    weights = np.ones(x.n_sequences) if examples.weights is None else examples.weights
    rows = [
        {names[a]: float(v) for a, v in zip(x.indices[i:j], values[i:j], strict=True)}
        for i, j in zip(x.indptr[:-1], x.indptr[1:], strict=True)
    ]
    return [
        (float(weight), list(zip(labels, rows[i:j], strict=True)))
        for weight, labels, i, j in zip(weights, examples.labels, x.offsets[:-1], x.offsets[1:], strict=True)
    ]


def read(data, **options):
    """What a text or bytes hold, as in slow_read."""
    vocabulary = Vocabulary()
    data = data.encode() if isinstance(data, str) else data
    return plain(read_crfsuite(io.BytesIO(data), vocabulary, grow=True, **options), vocabulary)


def written(*args, **options):
    file = io.BytesIO()
    write_crfsuite(file, *args, **options)
    return file.getvalue().decode()


NAMES = st.text(st.sampled_from("ab:\\ #@=é語\u00a0\u2028😀"), max_size=5)
NUMBERS = st.sampled_from(["", "1", "0.5", "-2e3", "+3", " 4 ", "0", "1e-999", ".5", "5.", "1e308"])


@st.composite
def files(draw):
    """Texts that CRFsuite reads without surprises: labels without a value, numbers, one colon a field."""

    def escaped(name):
        # A backslash before anything but a colon or another one may stay as it is.
        text = name.replace("\\", "\\\\") if draw(st.booleans()) else name.replace("\\\\", "\\\\\\\\")
        text = (
            text.replace(":", "\\:") if "\\:" not in name else name.replace("\\", "\\\\").replace(":", "\\:")
        )
        return text

    lines = []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.integers(0, 4)) == 0:
            lines.append("")
            continue
        tabs = st.sampled_from(["\t", "\t\t"])
        line = draw(st.sampled_from(["", "", "", "@weight:2.5\t", "@weight:0\t\t"]))
        label = escaped(draw(NAMES)).lstrip("@")
        line += label if label not in ("", "\\") else "L"
        for _ in range(draw(st.integers(0, 4))):
            name = escaped(draw(NAMES))
            line += draw(tabs) + (name + ":" + draw(NUMBERS) if draw(st.booleans()) or not name else name)
        lines.append(line + draw(st.sampled_from(["", "\t"])))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(files())
def test_equals_the_slow_reader(text):
    try:
        expected = slow_read(text)
    except ValueError:  # an escape at the end of a name took the colon away
        return
    assert read(text) == expected


# --- the rules one by one -----------------------------------------------------------------------------------


def test_fields_values_and_escapes():
    text = "B-NP\tw=The\tlen:3\tempty:\tcolon\\:x\tslash\\\\\tother\\n\\t\tt:-.5e1\n"
    assert read(text) == [
        (
            1.0,
            [
                (
                    "B-NP",
                    {
                        "w=The": 1.0,
                        "len": 3.0,
                        "empty": 1.0,
                        "colon:x": 1.0,
                        "slash\\": 1.0,
                        "other\\n\\t": 1.0,
                        "t": -5.0,
                    },
                )
            ],
        )
    ]


def test_the_label_colon():
    """As ``\\:`` it is a label like any other; bare, it is CRFsuite's empty label, which is said."""
    assert read("\\:\ta\n\\\\\\:x\tb\n") == [(1.0, [(":", {"a": 1.0}), ("\\:x", {"b": 1.0})])]
    with pytest.warns(
        InputWarning, match=r"<stream>:2: the label has a colon that is not written \\:"
    ) as caught:
        assert read("A\ta\n:\tb\nB:3\tc\n") == [
            (1.0, [("A", {"a": 1.0}), ("", {"b": 1.0}), ("B", {"c": 1.0})])
        ]
    assert len(caught) == 1
    assert written([[["a"]]], [[":"]]) == "\\:\ta\n\n"


def test_spaces_and_number_signs_are_ordinary():
    assert read("# no comment\ta b\t #\n") == [(1.0, [("# no comment", {"a b": 1.0, " #": 1.0})])]


def test_tabs_in_a_row_are_one():
    assert read("A\t\ta\t\t\tb\t\n") == [(1.0, [("A", {"a": 1.0, "b": 1.0})])]


def test_weights():
    text = "@weight:2\tA\ta\nB\tb\n\nA\ta\n\n@weight:0.5\nA\tc\n@weight:3\tB\td\n"
    first, second, third = read(text)
    assert (first[0], second[0], third[0]) == (2.0, 1.0, 3.0)
    assert third[1] == [("A", {"c": 1.0}), ("B", {"d": 1.0})]
    assert read_crfsuite(io.BytesIO(b"@weight:1\tA\n"), Vocabulary(), grow=True).weights is None
    # Behind the label @ means nothing, and a weight without a sequence goes to nobody.
    assert read("@weight:2\n\nA\t@weight:5\n") == [(1.0, [("A", {"@weight": 5.0})])]


def test_ends_of_sequences():
    one = [(1.0, [("A", {"a": 1.0})])]
    for text in ("A\ta", "A\ta\n", "A\ta\n\n", "\n\nA\ta\n\n\n\n"):
        assert read(text) == one
    assert read("A\ta\n\n\nB\tb") == [*one, (1.0, [("B", {"b": 1.0})])]
    assert read("A") == [(1.0, [("A", {})])]  # one position, no attributes


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", "@weight:2\n"])
def test_files_without_sequences(text):
    vocabulary = Vocabulary(["known"])
    examples = read_crfsuite(io.BytesIO(text.encode()), vocabulary, grow=True)
    assert examples.sequences.n_sequences == 0
    assert examples.sequences.n_attributes == 1
    assert examples.names == examples.labels == []
    assert list(stream_crfsuite(io.BytesIO(text.encode()), vocabulary, grow=True)) == []


def test_repeated_attributes_and_zeros():
    assert read("A\ta\tb:2\ta:0.5\tc:0\td:1\td:-1\n") == [(1.0, [("A", {"a": 1.5, "b": 2.0})])]
    vocabulary = Vocabulary()
    examples = read_crfsuite(io.BytesIO(b"A\ta\tb:1.0\n\nB\ta:\n"), vocabulary, grow=True)
    assert examples.sequences.values is None  # all ones


def test_unknown_attributes_are_dropped_unless_the_vocabulary_grows():
    vocabulary = Vocabulary(["b"])
    examples = read_crfsuite(io.BytesIO("L\ta\tb\tü\n".encode()), vocabulary, grow=False)
    assert plain(examples, vocabulary) == [(1.0, [("L", {"b": 1.0})])]
    assert len(vocabulary) == 1
    read_crfsuite(io.BytesIO("L\ta\tb\tü\n".encode()), vocabulary, grow=True)
    assert vocabulary.strings() == ["b", "a", "ü"]


def test_the_same_ids_as_encode():
    X = [[["a", "b", "a"], ["c"]], [["b", "d:e", "f\\g"]]]
    grown, read_in = Vocabulary(), Vocabulary()
    expected = encode(X, grown, grow=True)
    text = written(X, [["A", "B"], ["A"]])
    found = read_crfsuite(io.BytesIO(text.encode()), read_in, grow=True)
    assert read_in.strings() == grown.strings()
    for name in ("offsets", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(found.sequences, name), getattr(expected, name))
        assert getattr(found.sequences, name).dtype == getattr(expected, name).dtype
    assert found.ids.dtype == np.int32
    assert found.names == ["A", "B"]


# --- traps --------------------------------------------------------------------------------------------------


def test_crlf_is_read_as_crfsuite_reads_it_and_said_once():
    with pytest.warns(InputWarning, match=r"<stream>:1: the line ends in CR LF.*dos2unix") as caught:
        found = read("A\ta\r\nB\tb:2\r\n\r\nC\tc\n")
    assert len(caught) == 1
    # The "empty" line has the label CR, so that nothing ends; a number ends before the CR.
    assert found == [(1.0, [("A", {"a\r": 1.0}), ("B", {"b": 2.0}), ("\r", {}), ("C", {"c": 1.0})])]


def test_a_byte_order_mark_is_dropped():
    assert read(b"\xef\xbb\xbfA\ta\n") == [(1.0, [("A", {"a": 1.0})])]
    assert read("A\t\ufeffa\n") == [(1.0, [("A", {"\ufeffa": 1.0})])]


def test_non_ascii_paths_labels_and_names(tmp_path):
    path = tmp_path / "größe-語.crfsuite"
    X, y = [[["wört=Öl", "語"]]], [["Ä"]]
    write_crfsuite(path, X, y)
    vocabulary = Vocabulary()
    assert plain(read_crfsuite(path, vocabulary, grow=True), vocabulary) == [
        (1.0, [("Ä", {"wört=Öl": 1.0, "語": 1.0})])
    ]
    path.write_bytes(b"A\ta:x\n")
    with pytest.raises(InputError, match=r"größe-語\.crfsuite:1: 'a:x'"):
        read_crfsuite(str(path), vocabulary, grow=True)


def test_gzip(tmp_path):
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(b"A\ta\n" * 1000))
    assert read_crfsuite(path, Vocabulary(), grow=True).sequences.n_positions == 1000
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="gzip"):
        read_crfsuite(path, Vocabulary(), grow=True)
    write_crfsuite(path, [[["a"]]], [["A"]])
    assert gzip.decompress(path.read_bytes()) == b"A\ta\n\n"


COMMA = """
import io, locale
from crfkit.data import Vocabulary
from crfkit.io import read_crfsuite, write_crfsuite

locale.setlocale(locale.LC_ALL, "")
if locale.localeconv()["decimal_point"] != ",":
    raise SystemExit(77)
found = read_crfsuite(io.BytesIO(b"A\\ta:0.5\\n"), Vocabulary(), grow=True)
file = io.BytesIO()
write_crfsuite(file, [[{"a": 0.5}]], [["A"]], [2.5])
same = found.sequences.values.tolist() == [0.5] and file.getvalue() == b"@weight:2.5\\tA\\ta:0.5\\n\\n"
raise SystemExit(not same)
"""


def test_a_comma_decimal_locale(tmp_path):
    """In a process of its own; glibc's localedef makes the locale where none is installed."""
    with contextlib.suppress(FileNotFoundError):
        command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
        subprocess.run(command, capture_output=True, check=False)
    for extra in ({"LOCPATH": str(tmp_path)}, {}):
        environment = {**os.environ, "LC_ALL": "de_DE.UTF-8", **extra}
        done = subprocess.run(
            [sys.executable, "-c", COMMA], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        if done.returncode != 77 and "unsupported locale" not in done.stderr:
            pytest.fail(done.stderr or "numbers were read or written with a comma")
    pytest.skip("no comma-decimal locale is installed, and none could be made")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A\ta:nan", "'a:nan': expected a finite number"),
        ("A\ta:inf", "'a:inf': expected a finite number"),
        ("A\ta:-Infinity", "'a:-Infinity': expected a finite number"),
        ("A\ta:1e999", "'a:1e999': expected a finite number"),
        ("A\ta:1" + "0" * 400, "expected a finite number"),
        ("A\ta:1e99999999999999999999", "expected a finite number"),
        ("A\ta:1e308\ta:1e308", "attribute 'a': its values on this line add up to infinity"),
        ("A\ta:x", "'a:x': expected a number such as 0.5 after the colon; a colon that belongs to the name"),
        ("A\ta:0,5", "'a:0,5': expected a number such as 0.5"),
        ("A\ta:1x", "expected a number"),
        ("A\ta:--1", "expected a number"),
        ("A\ta:+-1", "expected a number"),
        ("A\ta:+", "expected a number"),
        ("A\ta: ", "expected a number"),
        ("A\ta:0x10", "expected a number"),
        ("A\ta:1:2", r"'a:1:2': expected name or name:value, got two colons.*\\:"),
        ("A\thttp://x:80", "got two colons"),
        ("A\ta::", "got two colons"),
        ("A:1:2\ta", "'A:1:2': expected name or name:value"),
        ("@group:1\tA", "unknown declaration '@group:1': only @weight:w"),
        ("@weight\tA", "'@weight': expected a number"),
        ("@weight:\tA", "'@weight:': expected a number"),
        ("@weight:nan\tA", "expected a finite number"),
        ("@weight:-1\tA", "expected a weight of 0 or more, got '@weight:-1'"),
        ("\ta", 'expected a label, but the line begins with a TAB.*labels="optional"'),
        ("\t", "expected a label"),
        ("A\ta\0b", "NUL"),
        ("A\t" + "n" * 500 + ":x", "'" + "n" * 60 + r"\.\.\.': expected"),
        ("A\t" + "ü" * 500 + ":x", "'" + "ü" * 30 + r"\.\.\.': expected"),
    ],
)
def test_errors_name_path_and_line(line, message, tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(f"A\ta\n\nA\tnew\n{line}\nA\tb\n", encoding="utf-8")
    vocabulary = Vocabulary(["a"])
    with pytest.raises(InputError, match=rf"train\.txt:4: .*{message}"):
        read_crfsuite(path, vocabulary, grow=True)
    assert vocabulary.strings() == ["a"]  # as it was


@pytest.mark.parametrize("bad", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8"])
def test_bytes_that_are_not_utf8(bad):
    with pytest.raises(InputError, match=r"<stream>:2: not UTF-8 text.*convert"):
        read(b"A\tgood \xe4\xb8\xad\nA\t" + bad + b"\n")


def test_tiny_numbers_are_zero():
    for number in ("1e-999", "0." + "0" * 400 + "1", "-1e-99999999999999999999", "0e5"):
        assert read(f"A\ta:{number}\n") == [(1.0, [("A", {})])]


def test_data_without_labels():
    text = "\ta\tb:2\n\t\n\nB\tc\n"
    expected = [(1.0, [(None, {"a": 1.0, "b": 2.0}), (None, {})]), (1.0, [("B", {"c": 1.0})])]
    assert read(text, labels="optional") == expected
    assert read("a\tb:2\n\t@c\n", labels=False) == [
        (1.0, [(None, {"a": 1.0, "b": 2.0}), (None, {"@c": 1.0})])
    ]
    assert written([[["a", "b"], []]]) == "\ta\tb\n\t\n\n"
    assert read("\ta\tb\n\t\n\n", labels="optional") == [(1.0, [(None, {"a": 1.0, "b": 1.0}), (None, {})])]


# --- streaming ----------------------------------------------------------------------------------------------


class Trickle(io.RawIOBase):
    """Gives n bytes at a time."""

    def __init__(self, data, n):
        self.file, self.n = io.BytesIO(data), n

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.file.read(min(self.n, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


@given(files(), st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_pieces_add_up_to_the_whole(text, positions, chunk, prompt):
    try:
        whole = slow_read(text)
    except ValueError:
        return
    vocabulary = Vocabulary()
    pieces = list(
        stream_crfsuite(
            Trickle(text.encode(), chunk), vocabulary, grow=True, positions=positions, prompt=prompt
        )
    )
    assert [sequence for piece in pieces for sequence in plain(piece, vocabulary)] == whole
    for piece in pieces if not prompt else []:
        # Not a whole sequence more than was asked for.
        assert piece.sequences.n_positions - piece.sequences.lengths[-1] < positions
    names = [piece.names for piece in pieces]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(names))


def test_errors_of_later_pieces_have_the_right_line():
    text = "A\ta%d\n\n" * 50 % tuple(range(50)) + "A\tx:?\n"
    vocabulary = Vocabulary()
    stream = stream_crfsuite(Trickle(text.encode(), 17), vocabulary, grow=True, positions=3)
    assert sum(next(stream).sequences.n_sequences for _ in range(16)) == 48
    with pytest.raises(InputError, match=r"<stream>:101: 'x:\?'"):
        next(stream)
    assert len(vocabulary) == 48  # the piece with the error is lost as a whole


def test_a_sequence_comes_as_soon_as_it_is_complete():
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as source, open(write_end, "wb", buffering=0) as sink:
        stream = stream_crfsuite(source, Vocabulary(), grow=True, prompt=True)
        got: list[list[list[str | None]]] = []
        sink.write(b"A\ta\n\nB\tb\n")
        got.append(next(stream).labels)  # would wait for ever if it wanted more
        sink.write(b"C\tc\n\n")
        got.append(next(stream).labels)
        sink.close()
        assert list(stream) == []
    assert got == [[["A"]], [["B", "C"]]]


def test_warnings_come_once_over_all_pieces():
    stream = stream_crfsuite(io.BytesIO(b"A:1\ta\r\n\nB:2\tb\r\n\n"), Vocabulary(), grow=True, positions=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(stream)) == 2
    assert [str(warning.message)[:10] for warning in caught] == ["<stream>:1", "<stream>:1"]


def test_nobody_else_touches_the_vocabulary_while_it_is_filled():
    vocabulary = Vocabulary()
    refused = []

    class Meddler(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            for call in (vocabulary.strings, lambda: vocabulary.add(["x"])):
                try:
                    call()
                except InputError as error:
                    refused.append(str(error))
            return 0

    read_crfsuite(Meddler(), vocabulary, grow=True)
    assert len(refused) >= 2
    assert all("being filled by another" in message for message in refused)


def test_bad_arguments(tmp_path):
    with pytest.raises(InputError, match="binary mode"):
        read_crfsuite(io.StringIO("A\ta\n"), Vocabulary(), grow=True)
    with pytest.raises(InputError, match="positions must be at least 1, got 0"):
        stream_crfsuite(io.BytesIO(b""), Vocabulary(), grow=True, positions=0)
    with pytest.raises(InputError, match="labels must be"):
        read_crfsuite(io.BytesIO(b""), Vocabulary(), grow=True, labels="no")
    with pytest.raises(FileNotFoundError):
        read_crfsuite(tmp_path / "missing", Vocabulary(), grow=True)


# --- writing ------------------------------------------------------------------------------------------------

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
    with pytest.raises(InputError, match="two labels that are both written '1'"):
        written([[["a"], ["b"]]], [[1, "1"]])


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
    with pytest.raises(InputError, match=message):
        write_crfsuite(path, X, y, weights)
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
    with pytest.raises(InputError, match="vocabulary goes with"):
        written(X, [["A"]])
    with pytest.raises(InputError, match="vocabulary goes with"):
        written([[["a"]]], [["A"]], vocabulary=vocabulary)
    with pytest.raises(ValueError, match="an attribute is not in the vocabulary"):
        written(X, [["A"]], vocabulary=Vocabulary())
    one = Examples(X, ["A"], np.zeros(1, dtype=np.int32), None)
    none = Examples(X, [], np.full(1, -1, dtype=np.int32), None)
    with pytest.raises(InputError, match="leave y and weights out"):
        written(one, [["A"]], vocabulary=vocabulary)
    with pytest.raises(InputError, match="the ones before have none"):
        written(iter([none, one]), vocabulary=vocabulary)
    with pytest.raises(InputError, match="no single label"):
        written(iter([one, none]), vocabulary=vocabulary)
    with pytest.raises(InputError, match="it gave int"):
        written(iter([3]), vocabulary=vocabulary)


def test_messages_number_sequences_over_all_pieces():
    vocabulary = Vocabulary()
    stream = stream_crfsuite(io.BytesIO(b"A\ta\n\nB\tb\n\nC\tc\n"), vocabulary, grow=True, positions=1)
    renamed = (
        Examples(e.sequences, [*e.names[:-1], "@" if i == 2 else "x"], e.ids, None)
        for i, e in enumerate(stream)
    )
    with pytest.raises(InputError, match="sequence 2, position 0: the label '@'"):
        written(renamed, vocabulary=vocabulary)


# --- any bytes at all ---------------------------------------------------------------------------------------


@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from([b"A", b"\t", b"\n", b":", b"\\", b"@weight", b"1", b"\r", b"\xc3", b"\xa9"])
    ).map(b"".join),
    st.sampled_from([True, False, "optional"]),
    st.integers(1, 9),
)
def test_any_bytes_give_sequences_or_an_input_error(data, labels, chunk):
    vocabulary = Vocabulary()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            pieces = list(
                stream_crfsuite(Trickle(data, chunk), vocabulary, grow=True, labels=labels, positions=2)
            )
        except InputError:
            return
    for piece in pieces:
        x = piece.sequences
        assert (x.lengths > 0).all()
        assert x.indices.size == 0 or 0 <= x.indices.min() <= x.indices.max() < len(vocabulary)
        assert x.values is None or (np.isfinite(x.values) & (x.values != 0)).all()


def test_a_very_long_line_and_many_labels():
    text = "L\t" + "\t".join(f"a{i}" for i in range(100_000)) + "\n"
    vocabulary = Vocabulary()
    examples = read_crfsuite(Trickle(text.encode(), 1000), vocabulary, grow=True)
    assert examples.sequences.indices.size == len(vocabulary) == 100_000
    text = "".join(f"L{i}\n\n" for i in range(20_000))
    assert len(read_crfsuite(io.BytesIO(text.encode()), vocabulary, grow=True).names) == 20_000
