"""CRF++'s models, text and binary. The models below, and what they answer, are from CRF++ 0.59 itself."""

import base64
import random
import struct
import tracemalloc
import zlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit import _native
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, ModelFileError
from crfkit.io.crfpp_model import read_crfpp_model
from crfkit.models.foreign import import_model

TEXT = """version: 100
cost-factor: 1
maxid: 14
xsize: 2

A
B

U0:%x[0,0]
B
B0:%x[0,1]

4 B
8 B0:y
0 U0:a
12 U0:b
2 U0:é

0.4709853837876320
-0.4709853837876321
-0.0060557057574787
0.0060557057574786
-0.2993164562601444
0.4801862645680659
0.1201653517266585
-0.3010351600345802
-0.2993164562601444
0.4801862645680659
0.1201653517266585
-0.3010351600345802
-0.4675172219662256
0.4675172219662257
""".encode()

# The same model in binary; 3984 bytes, most of them zeros.
BINARY = zlib.decompress(
    base64.b64decode(
        "eNpLYUAGH+z5gCQTEEvwMzCwAGlHBicGCSAdamClWhFtoGMQCxRwgnIMYxkYGUbBKMANXIEYlEZ+////3xWatrgHgbt8oO4a"
        "aYAbGieEwHdgfFUD6WponDlDw0wWym6EspugNFD5f5DYZyDdNJrsKQZ/geG4GokPYjOPBsugBczQfDAKRsEoGAWjYBSMgpEL"
        "/qt8tAPifR/zju0GYmsmh5n7ft76aucg+c3WQ3HWPnR+dtx7ELYDAMJVQSo="
    )
)
DICTIONARY_AT = 32 + 4 + 4 + 24  # header, labels, size and text of the template

# crf_test -v2: each row with its label and the label's probability.
ANSWERS = """a x A 0.813442
é y B 0.721589
a y A 0.715421

b x B 0.718096

é x A 0.727460
b y B 0.814548"""

# Lines that come twice count twice; a further edge line without a macro is an attribute.
TWICE = """version: 100
cost-factor: 1
maxid: 14
xsize: 1

A
B

U0:%x[0,0]
U0:%x[0,0]
B
B
B1

4 B
8 B1
0 U0:a
12 U0:b
2 U0:é

0.4104571160721261
-0.4104571160721249
0.0238313256673873
-0.0238313256673866
-0.3202062931519465
0.4954372425883619
0.1546673984470377
-0.3298983478834520
-0.1601031465759733
0.2477186212941809
0.0773336992235189
-0.1649491739417260
-0.4419875258742700
0.4419875258742695
""".encode()
TWICE_ANSWERS = """a x A 0.924700
é y B 0.859179
a y A 0.868947

b x B 0.854203

é x A 0.849096
b y B 0.926567"""


def assert_answers(tagger, answers):
    rows = [[line.split() for line in sentence.split("\n")] for sentence in answers.split("\n\n")]
    columns = Columns.from_rows([[row[:2] for row in sentence] for sentence in rows])
    assert tagger.predict(columns) == [[row[2] for row in sentence] for sentence in rows]
    for array, sentence in zip(tagger.marginal_arrays(columns), rows, strict=True):
        found = [array[t, tagger.classes.index(row[2])] for t, row in enumerate(sentence)]
        np.testing.assert_allclose(found, [float(row[3]) for row in sentence], rtol=0, atol=1e-6)


class TestReading:
    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_answers_as_crfpp_does(self, content):
        assert_answers(import_model(content), ANSWERS)

    def test_lines_that_come_twice(self):
        assert_answers(import_model(TWICE), TWICE_ANSWERS)

    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_the_parts(self, content):
        model, tagger = read_crfpp_model(content), import_model(content)
        assert (model.template_text, model.template_dialect) == ("U0:%x[0,0]\nB\nB0:%x[0,1]\n", "crf++")
        assert tagger.classes == ["A", "B"]
        assert tagger.vocabulary.strings() == ["B", "B0:y", "U0:a", "U0:b", "U0:é"]
        found = {key: round(w, 6) for key, w in tagger.state_features().items()}
        assert found == {
            ("U0:a", "A"): 0.470985,
            ("U0:a", "B"): -0.470985,
            ("U0:b", "A"): -0.467517,
            ("U0:b", "B"): 0.467517,
            ("U0:é", "A"): -0.006056,
            ("U0:é", "B"): 0.006056,
        }
        assert {key: round(w, 6) for key, w in tagger.transition_features().items()} == {
            ("A", "A"): -0.299316,
            ("A", "B"): 0.480186,
            ("B", "A"): 0.120165,
            ("B", "B"): -0.301035,
        }
        assert set(tagger.edge_features()) == {("B0:y", a, b) for a in "AB" for b in "AB"}

    def test_binary_and_text_agree(self):
        text, binary = read_crfpp_model(TEXT), read_crfpp_model(BINARY)
        for name in ("state_weights", "edge_weights", "pair_weights"):
            np.testing.assert_array_equal(np.float32(getattr(text, name)), getattr(binary, name))
        for name in ("state_indptr", "state_labels", "edge_mask", "pair_indptr", "pair_ids"):
            np.testing.assert_array_equal(getattr(text, name), getattr(binary, name))

    def test_the_cost_factor_of_the_file_is_not_used(self):
        """crf_test replaces it by its own option."""
        assert_answers(import_model(BINARY[:8] + struct.pack("<d", 2.5) + BINARY[16:]), ANSWERS)
        assert_answers(import_model(TEXT.replace(b"cost-factor: 1", b"cost-factor: 2.5")), ANSWERS)

    def test_without_edge_lines(self):
        text = TEXT.replace(b"B\nB0:%x[0,1]\n", b"").replace(b"4 B\n8 B0:y\n", b"")
        with pytest.raises(ModelFileError, match="weights that belong to no attribute"):
            read_crfpp_model(text)
        lines = text.replace(b"12 U0:b", b"4 U0:b").replace(b"maxid: 14", b"maxid: 6").split(b"\n")
        del lines[-11:-3]  # the weights of the edge lines
        model = read_crfpp_model(b"\n".join(lines))
        assert model.pair_weights is None
        assert not model.edge_mask.any()
        assert len(model.state_weights) == 6

    def test_line_ends_of_windows(self):
        assert_answers(import_model(TEXT.replace(b"\n", b"\r\n")), ANSWERS)

    def test_another_encoding(self):
        text = TEXT.decode().replace("U0:é", "U0:東").replace("A\nB\n", "名\nB\n")
        content = text.encode("euc-jp")
        with pytest.raises(ModelFileError, match="not UTF-8; pass encoding="):
            read_crfpp_model(content)
        model = read_crfpp_model(content, encoding="euc-jp")
        assert model.classes == ["名", "B"]
        assert "U0:東" in model.attributes


def works_or_fails(content):
    """A damaged file gives an error, or a model that can be used."""
    try:
        tagger = import_model(content, "crf++", n_jobs=1)
    except ModelFileError:
        return False
    if tagger.template is None:
        return True
    try:
        tagger.predict(Columns.from_rows([[["a", "x"], ["é", "y"]], [["b", "x"]]]))
    except InputError as error:
        assert "column" in str(error)  # the damaged template wants more of them  # noqa: PT017
    return True


class TestDamage:
    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_cut_off_anywhere(self, content):
        for n in range(len(content)):
            with pytest.raises(ModelFileError):
                read_crfpp_model(content[:n])

    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_bit_flips(self, content):
        rng = random.Random(0)
        outcomes = set()
        for _ in range(1000):
            damaged = bytearray(content)
            damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            outcomes.add(works_or_fails(bytes(damaged)))
        assert outcomes == {True, False}

    @settings(max_examples=300, deadline=None)
    @given(data=st.data())
    def test_text_damaged_anywhere(self, data):
        damaged = bytearray(TEXT)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(damaged) - 1))
            piece = data.draw(
                st.sampled_from([b"", b"9", b"99999999999", b"-", b"\n", b" ", b"#", b"%x[", b"\0"])
            )
            damaged[at : at + data.draw(st.integers(0, 2))] = piece
        works_or_fails(bytes(damaged))

    @settings(max_examples=400, deadline=None)
    @given(data=st.data())
    def test_binary_damaged_where_it_matters(self, data):
        """Header, and the units of the double array that are in use."""
        damaged = bytearray(BINARY)
        in_use = [at for at in range(DICTIONARY_AT, len(BINARY), 4) if any(BINARY[at : at + 4])]
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.sampled_from([*range(0, DICTIONARY_AT, 4), *in_use]))
            value = data.draw(st.integers(-5, 600) | st.integers(-(2**31), 2**31 - 1))
            damaged[at : at + 4] = struct.pack("<i", value)
        works_or_fails(bytes(damaged))

    @pytest.mark.parametrize("at", [0, 4, 16, 20, 24, 28, 36])
    @pytest.mark.parametrize("value", [0, 1, 0x7FFFFFF8, 0x80000000, 0xFFFFFFFF])
    def test_absurd_numbers_in_the_header(self, at, value):
        tracemalloc.start()
        works_or_fails(BINARY[:at] + struct.pack("<I", value) + BINARY[at + 4 :])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50 * len(BINARY)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
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
            ("U0:%x[0,0]\n", "X0:%x[0,0]\n", "is no template line"),
            ("U0:%x[0,0]\n", "U0:%y[0,0]\n", "the template in <bytes>:1: expected %x"),
        ],
    )
    def test_what_is_wrong_is_said(self, old, new, message):
        damaged = TEXT.decode().replace(old, new, 1).encode()
        assert damaged != TEXT
        with pytest.raises(ModelFileError, match=message):
            import_model(damaged, "crf++")


def double_array(keys):
    """A Darts double array, made the slow way: keys (without NUL, different, not empty) to values."""
    units = {0: [1, 0]}  # unit: [base, check]
    taken = {1}

    def place(prefix, base):
        nexts = sorted(
            {key[len(prefix)] for key in keys if key.startswith(prefix) and len(key) > len(prefix)}
        )
        if prefix in keys:
            units[base] = [-keys[prefix] - 1, base]
        for byte in nexts:
            units[base + byte + 1] = [0, base]
        for byte in nexts:
            child = prefix + bytes([byte])
            offsets = [key[len(child)] + 1 for key in keys if key.startswith(child) and len(key) > len(child)]
            if child in keys:
                offsets.append(0)
            begin = 1
            while begin in taken or any(begin + offset in units for offset in offsets):
                begin += 1
            taken.add(begin)
            units[base + byte + 1][0] = begin
            place(child, begin)

    place(b"", 1)
    array = np.zeros((max(units) + 1 + 256, 2), "<i4")
    for unit, pair in units.items():
        array[unit] = pair
    return array


class TestDoubleArray:
    @settings(max_examples=60, deadline=None)
    @given(
        st.dictionaries(
            st.binary(min_size=1, max_size=8).filter(lambda key: 0 not in key),
            st.integers(0, 2**31 - 2),
            max_size=25,
        )
    )
    def test_all_keys_are_found(self, keys):
        values, arena, offsets = _native.double_array_keys(double_array(keys).view(np.uint8).ravel())
        content = arena.tobytes()
        found = [content[a:b] for a, b in pairwise(offsets)]
        assert found == sorted(keys)
        assert values.tolist() == [keys[key] for key in found]

    def test_cycles(self):
        """A node that is its own child, and two nodes with the same children."""
        array = double_array({b"ab": 0, b"cd": 1})
        a = 1 + ord("a") + 1
        loop, shared = array.copy(), array.copy()
        loop[a, 0] = 1
        shared[1 + ord("c") + 1, 0] = array[a, 0]
        for damaged in (loop, shared):
            with pytest.raises(ValueError, match="does not form a tree"):
                _native.double_array_keys(damaged.view(np.uint8).ravel())

    def test_keys_that_would_fill_the_memory(self):
        """One long path with a key at every step spells far more bytes than the array has."""
        n = 40_000
        array = np.zeros((3 * n + 260, 2), "<i4")
        bases = 1 + 3 * np.arange(n)
        array[0, 0] = 1
        array[bases] = np.stack((np.full(n, -1), bases), axis=1)  # a key ends
        array[bases + 2] = np.stack((bases + 3, bases), axis=1)  # byte 1 leads to the next node
        with pytest.raises(ValueError, match="impossibly long"):
            _native.double_array_keys(array.view(np.uint8).ravel())
