"""CRFsuite data files: the rules and pitfalls of the format, compared with a slow reader."""

import contextlib
import gzip
import io
import os
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from crfsuite_text import files, plain, read, slow_read, written
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from trickle import Trickle

from crfkit.data import Vocabulary, encode
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.crfsuite_data import read_crfsuite, stream_crfsuite, write_crfsuite


@given(files())
def test_equals_the_slow_reader(text):
    try:
        expected = slow_read(text)
    except ValueError:  # an escape at the end of a name consumed the colon
        return
    assert read(text) == expected


# --- the rules one by one -----------------------------------------------------------------------------------


FIELDS = "B-NP\tw=The\tlen:3\tempty:\tcolon\\:x\tslash\\\\\tother\\n\\t\tt:-.5e1\n"
ONES = dict.fromkeys(["w=The", "empty", "colon:x", "slash\\", "other\\n\\t"], 1.0)
A = ("A", {"a": 1.0})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FIELDS, [[("B-NP", {**ONES, "len": 3.0, "t": -5.0})]]),
        # Spaces and number signs are ordinary characters; tabs in a row count as one.
        ("# no comment\ta b\t #\n", [[("# no comment", {"a b": 1.0, " #": 1.0})]]),
        ("A\t\ta\t\t\tb\t\n", [[("A", {"a": 1.0, "b": 1.0})]]),
        # Ends of sequences.
        *((text, [[A]]) for text in ("A\ta", "A\ta\n", "A\ta\n\n", "\n\nA\ta\n\n\n\n")),
        ("A\ta\n\n\nB\tb", [[A], [("B", {"b": 1.0})]]),
        ("A", [[("A", {})]]),  # one position, no attributes
        # Repeated attributes add up; zeros and numbers too small for a double are left out.
        ("A\ta\tb:2\ta:0.5\tc:0\td:1\td:-1\n", [[("A", {"a": 1.5, "b": 2.0})]]),
        *((f"A\ta:{number}\n", [[("A", {})]]) for number in ("1e-999", "0." + "0" * 400 + "1", "0e5")),
        ("A\ta:-1e-99999999999999999999\n", [[("A", {})]]),
        # A weight without a sequence is ignored, and after the label @ has no meaning.
        ("@weight:2\n", []),
        ("@weight:2\n\nA\t@weight:5\n", [[("A", {"@weight": 5.0})]]),
        ("A\t\ufeffa\n", [[("A", {"\ufeffa": 1.0})]]),  # a byte-order mark later on stays
    ],
)
def test_items(text, expected):
    assert read(text) == [(1.0, items) for items in expected]


def test_the_label_colon():
    """As ``\\:`` it is a normal label; bare, it is CRFsuite's empty label, which gives a warning."""
    assert read("\\:\ta\n\\\\\\:x\tb\n") == [(1.0, [(":", {"a": 1.0}), ("\\:x", {"b": 1.0})])]
    with pytest.warns(
        InputWarning, match=r"<stream>:2: the label has a colon that is not written \\:"
    ) as caught:
        assert read("A\ta\n:\tb\nB:3\tc\n") == [
            (1.0, [("A", {"a": 1.0}), ("", {"b": 1.0}), ("B", {"c": 1.0})])
        ]
    assert len(caught) == 1
    assert written([[["a"]]], [[":"]]) == "\\:\ta\n\n"


def test_weights():
    text = "@weight:2\tA\ta\nB\tb\n\nA\ta\n\n@weight:0.5\nA\tc\n@weight:3\tB\td\n"
    first, second, third = read(text)
    assert (first[0], second[0], third[0]) == (2.0, 1.0, 3.0)
    assert third[1] == [("A", {"c": 1.0}), ("B", {"d": 1.0})]
    assert read_crfsuite(io.BytesIO(b"@weight:1\tA\n"), Vocabulary(), grow=True).weights is None


def test_ones_are_not_stored():
    examples = read_crfsuite(io.BytesIO(b"A\ta\tb:1.0\n\nB\ta:\n"), Vocabulary(), grow=True)
    assert examples.sequences.values is None


def test_unknown_attributes_are_dropped_unless_the_vocabulary_grows():
    vocabulary = Vocabulary(["b"])
    examples = read_crfsuite(io.BytesIO("L\ta\tb\tü\n".encode()), vocabulary, grow=False)
    assert plain(examples, vocabulary) == [(1.0, [("L", {"b": 1.0})])]
    assert len(vocabulary) == 1
    assert read_crfsuite(io.BytesIO(b""), vocabulary, grow=True).sequences.n_attributes == 1
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


# --- pitfalls -----------------------------------------------------------------------------------------------


def test_crlf_is_read_as_crfsuite_reads_it_and_said_once():
    with pytest.warns(InputWarning, match=r"<stream>:1: the line ends in CR LF.*dos2unix") as caught:
        found = read("A\ta\r\nB\tb:2\r\n\r\nC\tc\n")
    assert len(caught) == 1
    # The "empty" line has the label CR, so no sequence ends; a number ends before the CR.
    assert found == [(1.0, [("A", {"a\r": 1.0}), ("B", {"b": 2.0}), ("\r", {}), ("C", {"c": 1.0})])]


def test_a_packed_file_is_written(tmp_path):
    write_crfsuite(tmp_path / "data.gz", [[["a"]]], [["A"]])
    assert gzip.decompress((tmp_path / "data.gz").read_bytes()) == b"A\ta\n\n"


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
    """Runs in its own process; glibc's localedef makes the locale if none is installed."""
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
        *((f"A\ta:{x}", f"'a:{x}': expected a finite number") for x in ("nan", "inf", "-Infinity", "1e999")),
        ("A\ta:1" + "0" * 400, "expected a finite number"),
        ("A\ta:1e99999999999999999999", "expected a finite number"),
        ("A\ta:1e308\ta:1e308", "attribute 'a': its values on this line add up to infinity"),
        ("A\ta:x", "'a:x': expected a number such as 0.5 after the colon; a colon that belongs to the name"),
        ("A\ta:0,5", "'a:0,5': expected a number such as 0.5"),
        *((f"A\ta:{x}", "expected a number") for x in ("1x", "--1", "+-1", "+", " ", "0x10")),
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
    refuses(rf"train\.txt:4: .*{message}", read_crfsuite, path, vocabulary, grow=True)
    assert vocabulary.strings() == ["a"]  # as it was


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
        # Without its last sequence, a piece has fewer positions than requested.
        assert piece.sequences.n_positions - piece.sequences.lengths[-1] < positions
    names = [piece.names for piece in pieces]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(names))


def test_errors_of_later_pieces_have_the_right_line():
    text = "A\ta%d\n\n" * 50 % tuple(range(50)) + "A\tx:?\n"
    vocabulary = Vocabulary()
    stream = stream_crfsuite(Trickle(text.encode(), 17), vocabulary, grow=True, positions=3)
    assert sum(next(stream).sequences.n_sequences for _ in range(16)) == 48
    refuses(r"<stream>:101: 'x:\?'", next, stream)
    assert len(vocabulary) == 48  # the whole piece with the error is lost


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


def test_labels_of_another_kind():
    refuses("labels must be", read, "", labels="no")


def test_a_very_long_line_and_many_labels():
    text = "L\t" + "\t".join(f"a{i}" for i in range(100_000)) + "\n"
    vocabulary = Vocabulary()
    examples = read_crfsuite(Trickle(text.encode(), 1000), vocabulary, grow=True)
    assert examples.sequences.indices.size == len(vocabulary) == 100_000
    text = "".join(f"L{i}\n\n" for i in range(20_000))
    assert len(read_crfsuite(io.BytesIO(text.encode()), vocabulary, grow=True).names) == 20_000
