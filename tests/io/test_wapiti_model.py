"""Wapiti's text models. The models below, and what they answer, are from Wapiti 1.5.0 itself."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, ModelFileError
from crfkit.io.wapiti_model import read_wapiti_model
from crfkit.models.foreign import import_model

# wapiti train -a l-bfgs -1 0.1, with the template
#   u:w:%x[0,0]
#   U:v:%X[-1,0]   # the word before
#   *:p:%x[0,1]
#   b
#   b:q:%x[0,1]
MODEL = """#mdl#2#29
#rdr#5/1/0
11:u:w:%x[0,0],
12:u:v:%X[-1,0],
11:*:p:%x[0,1],
1:b,
11:b:q:%x[0,1],
#qrk#4
4:B-NP,
4:I-NP,
4:B-VP,
1:O,
#qrk#25
7:u:w:the,
8:u:v:_x-1,
6:*:p:DT,
1:b,
6:b:q:DT,
7:u:w:dog,
7:u:v:the,
6:*:p:NN,
6:b:q:NN,
9:u:w:barks,
7:u:v:dog,
6:*:p:VB,
6:b:q:VB,
6:u:w:é,
9:u:v:barks,
5:u:w:.,
6:u:v:é,
5:*:p:.,
5:b:q:.,
5:u:w:a,
7:u:w:cat,
5:u:v:a,
7:u:w:run,
5:u:w:!,
7:u:v:run,
8=0x1.7be779d3b87fdp-1
29=0x1.9ef3b8e24b28cp-1
31=0x1.8c36672091ea4p-2
36=0x1.60fc68396669cp-2
39=0x1.2ae1dbd7b3dbfp-2
69=0x1.66544da89cefdp-2
70=-0x1.460c38b6f180fp-2
73=0x1.8807833100a44p+0
80=0x1.7cb458b46de38p-1
89=0x1.8807833100a44p+0
96=0x1.7cb458b46de38p-1
112=-0x1.8ecfd4436fbcbp-2
114=0x1.4ac270587d2c2p+1
122=0x1.1d7c6ea3070a4p-2
138=0x1.1d7c6ea3070a4p-2
148=0x1.4cd1f297aed1fp-1
152=0x1.4cd1f297aed1fp-1
159=0x1.5a3ef707ea9afp-2
163=0x1.5a3ef707ea9afp-2
167=0x1.99926a2457e46p+0
171=0x1.419b295d3ca65p+0
179=0x1.b03bb00831261p-1
187=0x1.419b295d3ca65p+0
195=0x1.b03bb00831261p-1
205=0x1.247aba4c660dep-3
209=0x1.247aba4c660dep-3
214=0x1.6ed63136ff288p-1
219=0x1.e69d71ab8914fp-3
223=0x1.e69d71ab8914fp-3
""".encode()

# wapiti label -s -p: each row with its label and the label's probability.
ANSWERS = """the DT B-NP 0.922282
dog NN I-NP 0.924147
barks VB B-VP 0.971976
é NN B-NP 0.971020
. . O 0.973034

a DT B-NP 0.910400
cat NN I-NP 0.905532

run VB B-VP 0.931030
! . O 0.943046"""

# u:%m[0,0,".$"] matches the last byte of é.
CUT = b"""#mdl#2#16
#rdr#2/0/0
14:u:%m[0,0,".$"],
1:b,
#qrk#4
4:B-NP,
4:I-NP,
4:B-VP,
1:O,
#qrk#10
3:u:e,
1:b,
3:u:g,
3:u:s,
3:u:\xa9,
3:u:.,
3:u:a,
3:u:t,
3:u:n,
3:u:!,
0=0x1.1779c945fa17p+0
5=0x1.9aabfa3c10b0cp+1
7=0x1.a7ac1ecb9ef1p+0
10=0x1.03a1a6448bb31p+0
12=0x1.1afce78d453f9p+0
15=0x1.7b77e839c95d1p+0
21=0x1.3f0942b3d1812p+0
26=0x1.b347ea5ea62c7p+0
28=0x1.0316f5c7ebfcp+1
33=-0x1.5c8cc0330138dp-1
35=0x1.87a88b22260e7p+1
36=0x1.427ba49c8894ep+0
41=0x1.c2506e238b58cp+0
44=-0x1.37b2a792ed24p-7
46=0x1.6fb6db4eefc4cp+1
51=0x1.2bc2ebf0b07acp+1
"""
CUT_ANSWERS = """the DT B-NP 0.926421
dog NN I-NP 0.923050
barks VB B-VP 0.890984
é NN B-NP 0.901562
. . O 0.886909"""

# Two lines b (one of them written B), a further edge line without a macro, and a bare *.
TWICE = """#mdl#2#16
#rdr#5/0/0
9:u:%x[0,0],
1:b,
1:b,
2:bx,
1:*,
#qrk#2
1:A,
1:B,
#qrk#6
3:u:a,
1:b,
2:bx,
1:*,
4:u:é,
3:u:b,
0=0x1.1d5edd9dcf5b4p+0
1=-0x1.1d5edd9dcf5bbp+0
2=-0x1.cef0c483b7a61p-2
3=0x1.a05b1c71faa1ep-1
4=0x1.c36c2b8e11844p-3
5=-0x1.54f1e22edc2aap-1
6=-0x1.0004ae6618ecep-5
7=0x1.71e8716505807p-2
9=-0x1.a90feac240ddep-3
10=-0x1.9c4936a7e6004p-5
11=0x1.9c4936a7e5edep-5
12=-0x1.0004ae6618ecep-5
13=0x1.71e8716505807p-2
15=-0x1.a90feac240ddep-3
18=-0x1.3b23207ab764cp+0
19=0x1.3b23207ab764bp+0
""".encode()
TWICE_ANSWERS = """a x A 0.982452
é y B 0.952106
a y A 0.950766

b x B 0.928420

é x A 0.969961
b y B 0.985055"""

# Without a template, tokens are attributes.
RAW = b"""#mdl#2#10
#rdr#0/0/0
#qrk#2
1:A,
1:B,
#qrk#7
3:u:a,
3:*:z,
3:b:x,
3:u:b,
3:*:q,
3:b:y,
1:b,
0=0x1.0bfcb2f0e9093p+0
1=-0x1.0bfcb2f0e9092p+0
12=-0x1.e30e4749096f5p-2
13=0x1.e30e4749096f6p-2
16=-0x1.07d81bb52f3f7p-2
17=0x1.d3b78de35a9b9p-1
20=-0x1.07d81bb52f3f7p-2
21=0x1.d3b78de35a9b9p-1
24=-0x1.081425d1b9c96p+0
25=0x1.24fd021759fbdp+1
"""
RAW_DATA = [[["u:a", "b:x", "*:z"], ["u:b", "b:y", "*:q"]], [["u:a", "*:q"], ["b"]]]

# wapiti train --me -T maxent: Wapiti puts the u in front of the attributes itself.
MAXENT = b"""#mdl#0#4
#rdr#0/0/1
#qrk#2
1:A,
1:B,
#qrk#4
4:ured,
4:ubig,
5:ublue,
6:usmall,
0=0x1.61d0e00dbe6adp+0
1=-0x1.61d0e00dbe6aep+0
4=-0x1.1dcd1bb61ef06p+0
5=0x1.1dcd1bb61ef06p+0
"""


def assert_answers(tagger, answers):
    rows = [[line.split() for line in sentence.split("\n")] for sentence in answers.split("\n\n")]
    columns = Columns.from_rows([[row[:2] for row in sentence] for sentence in rows])
    labels = [[row[2] for row in sentence] for sentence in rows]
    assert tagger.predict(columns) == labels
    for array, sentence in zip(tagger.marginal_arrays(columns), rows, strict=True):
        found = [array[t, tagger.classes.index(row[2])] for t, row in enumerate(sentence)]
        np.testing.assert_allclose(found, [float(row[3]) for row in sentence], rtol=0, atol=1e-6)


class TestReading:
    def test_answers_as_wapiti_does(self):
        tagger = import_model(MODEL)
        assert tagger.classes == ["B-NP", "I-NP", "B-VP", "O"]
        assert_answers(tagger, ANSWERS)

    def test_the_parts(self):
        model = read_wapiti_model(MODEL)
        assert model.template_dialect == "wapiti"
        assert model.template_text == "u:w:%x[0,0]\nu:v:%X[-1,0]\n*:p:%x[0,1]\nb\nb:q:%x[0,1]\n"
        tagger = import_model(MODEL)
        assert tagger.template.transitions
        states = tagger.state_features()
        assert states["*:p:DT", "B-NP"] == float.fromhex("0x1.7be779d3b87fdp-1")
        # Attribute 3 is b: its 16 weights begin at 2 · 4 + (4 + 16) = 28.
        transitions = tagger.transition_features()
        assert transitions["B-NP", "I-NP"] == float.fromhex("0x1.9ef3b8e24b28cp-1")
        assert len(transitions) == 4
        assert model.edge_mask.all()
        edges = tagger.edge_features()
        assert edges["*:p:NN", "B-NP", "I-NP"] == float.fromhex("0x1.8807833100a44p+0")
        assert not any(name == "b" for name, *_ in edges)

    def test_parts_of_characters(self):
        tagger = import_model(CUT)
        assert_answers(tagger, CUT_ANSWERS)
        assert "u:\\xa9" in tagger.vocabulary.strings()
        with pytest.raises(ModelFileError, match="would match iso-8859-1 and UTF-8 differently"):
            import_model(CUT, encoding="iso-8859-1")

    def test_edge_lines_without_macros(self):
        assert_answers(import_model(TWICE), TWICE_ANSWERS)

    def test_without_a_template(self):
        tagger = import_model(RAW)
        assert tagger.template is None
        assert tagger.predict(RAW_DATA) == [["A", "B"], ["A", "B"]]
        found = [array.max(axis=1).tolist() for array in tagger.marginal_arrays(RAW_DATA)]
        np.testing.assert_allclose(found, [[0.974134, 0.957624], [0.976454, 0.954174]], atol=1e-6)
        assert not read_wapiti_model(RAW).edge_mask.any()

    def test_maximum_entropy(self):
        tagger = import_model(MAXENT)
        X = [[["red", "big"]], [["blue", "small"]], [["red", "small"]]]
        assert tagger.predict(X) == [["A"], ["B"], ["A"]]
        found = [array.max() for array in tagger.marginal_arrays(X)]
        np.testing.assert_allclose(found, [0.940710, 0.903158, 0.940710], atol=1e-6)

    def test_memm_is_refused(self):
        with pytest.raises(ModelFileError, match=r"\(MEMM\).*Train it again with --type crf"):
            read_wapiti_model(MODEL.replace(b"#mdl#2", b"#mdl#1"))

    def test_old_files_without_type_and_flag(self):
        old = MODEL.replace(b"#mdl#2#29", b"#mdl#29").replace(b"#rdr#5/1/0", b"#rdr#5/1")
        assert_answers(import_model(old), ANSWERS)

    def test_line_ends_of_windows(self):
        assert_answers(import_model(MODEL.replace(b"\n", b"\r\n")), ANSWERS)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0.25", 0.25),
            ("-1e-3", -1e-3),
            ("0x1p-2", 0.25),
            ("0X1.8P+0", 1.5),
            ("+0x.8p1", 1.0),
            ("0x0.0000000000001p-1022", 5e-324),
            ("0x1.fffffffffffffp+1023", 1.7976931348623157e308),
            ("-0x1.000000000000000000001p+0", -1.0),
        ],
    )
    def test_numbers_as_c_reads_them(self, text, value):
        content = MAXENT.replace(b"#mdl#0#4", b"#mdl#0#1")[: MAXENT.index(b"0=0x")] + f"0={text}\n".encode()
        assert read_wapiti_model(content).state_weights.tolist() == [value]

    @settings(max_examples=200, deadline=None)
    @given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
    def test_hexadecimal_numbers_are_exact(self, value):
        content = MAXENT.replace(b"#mdl#0#4", b"#mdl#0#1")[: MAXENT.index(b"0=0x")]
        # hex() is what %a prints, but for trailing zeros and the plus sign.
        assert read_wapiti_model(content + f"0={value.hex()}\n".encode()).state_weights.tolist() == [value]

    def test_another_encoding(self):
        latin = MODEL.decode().replace("6:u:w:é", "5:u:w:é").replace("6:u:v:é", "5:u:v:é").encode("latin-1")
        with pytest.raises(ModelFileError, match="name 13 is not UTF-8; pass encoding="):
            read_wapiti_model(latin)
        assert_answers(import_model(latin, encoding="latin-1"), ANSWERS)


def works_or_fails(content):
    """A damaged file gives an error, or a model that can be used."""
    try:
        tagger = import_model(content, "wapiti", n_jobs=1)
    except ModelFileError:
        return False
    rows = [[["the", "DT"], ["dog", "NN"]], [["!", "."]]]
    try:
        tagger.predict(rows if tagger.template is None else Columns.from_rows(rows))
    except InputError as error:
        assert "column" in str(error)  # the damaged template wants more of them  # noqa: PT017
    return True


class TestDamage:
    @pytest.mark.parametrize("content", [MODEL, CUT, RAW, MAXENT], ids=["model", "cut", "raw", "maxent"])
    def test_cut_off_anywhere(self, content):
        for n in range(len(content)):
            with pytest.raises(ModelFileError):
                read_wapiti_model(content[:n])

    @settings(max_examples=400, deadline=None)
    @given(data=st.data())
    def test_damaged_anywhere(self, data):
        damaged = bytearray(MODEL)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(damaged) - 1))
            piece = data.draw(
                st.sampled_from([b"", b"9", b"999999999999999999", b"-", b"\n", b":", b"#", b"%m["])
            )
            damaged[at : at + data.draw(st.integers(0, 2))] = piece
        works_or_fails(bytes(damaged))

    def test_bit_flips(self):
        rng = random.Random(0)
        outcomes = set()
        for _ in range(1000):
            damaged = bytearray(MODEL)
            damaged[rng.randrange(len(MODEL))] ^= 1 << rng.randrange(8)
            outcomes.add(works_or_fails(bytes(damaged)))
        assert outcomes == {True, False}

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
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
            ("8=0x1.7be779d3b87fdp-1", "8=nan", "not finite"),
            ("8=0x1.7be779d3b87fdp-1", "8=0x1p+99999999999999", "not finite"),
            ("8=0x1.7be779d3b87fdp-1", "8=", "expected a weight, got"),
            ("8=0x1.7be779d3b87fdp-1", "8=0x1.8,", "expected a weight, got"),
            ("11:u:w:%x[0,0]", "11:u:w:%y[0,0]", "the template in <bytes>:1: expected %x"),
            ("11:u:w:%x[0,0]", "11:u:w:#x[0,0]", "is no template line"),
            ("11:u:w:%x[0,0]", "11:u:w\n%x[0,0]", "is no template line"),
        ],
    )
    def test_what_is_wrong_is_said(self, old, new, message):
        damaged = MODEL.decode().replace(old, new, 1).encode()
        assert damaged != MODEL
        with pytest.raises(ModelFileError, match=message):
            import_model(damaged, "wapiti")

    def test_more_labels_than_a_file_can_be_for(self):
        labels = b"".join(b"%d:%d," % (len(str(i)), i) for i in range(5000))
        content = b"#mdl#2#0\n#rdr#0/0/0\n#qrk#5000\n" + labels + b"\n#qrk#1\n1:b,\n\n"
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="5000 labels, whose pairs would take 190 MiB"):
            read_wapiti_model(content)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * len(content)
