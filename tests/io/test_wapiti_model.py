"""Wapiti's text models: with and without templates, maximum entropy, old files, and C's number formats."""

import tracemalloc

import numpy as np
import pytest
from foreign_models import FILES, assert_answers
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import unreadable

from crfkit.io.foreign_model import read_foreign
from crfkit.models.foreign import import_model

MODEL, CUT, RAW, MAXENT = (FILES[f"wapiti{name}"] for name in ("", "_cut", "_raw", "_maxent"))

RAW_DATA = [[["u:a", "b:x", "*:z"], ["u:b", "b:y", "*:q"]], [["u:a", "*:q"], ["b"]]]


class TestReading:
    def test_the_parts(self):
        model = read_foreign(MODEL, "wapiti")
        assert model.classes == ["B-NP", "I-NP", "B-VP", "O"]
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
        assert "u:\\xa9" in tagger.vocabulary.strings()
        unreadable("would match iso-8859-1 and UTF-8 differently", import_model, CUT, encoding="iso-8859-1")

    def test_without_a_template(self):
        tagger = import_model(RAW)
        assert tagger.template is None
        assert tagger.predict(RAW_DATA) == [["A", "B"], ["A", "B"]]
        found = [array.max(axis=1).tolist() for array in tagger.marginal_arrays(RAW_DATA)]
        np.testing.assert_allclose(found, [[0.974134, 0.957624], [0.976454, 0.954174]], atol=1e-6)
        assert not read_foreign(RAW, "wapiti").edge_mask.any()

    def test_maximum_entropy(self):
        tagger = import_model(MAXENT)
        X = [[["red", "big"]], [["blue", "small"]], [["red", "small"]]]
        assert tagger.predict(X) == [["A"], ["B"], ["A"]]
        found = [array.max() for array in tagger.marginal_arrays(X)]
        np.testing.assert_allclose(found, [0.940710, 0.903158, 0.940710], atol=1e-6)

    def test_old_files_without_type_and_flag(self):
        old = MODEL.replace(b"#mdl#2#29", b"#mdl#29").replace(b"#rdr#5/1/0", b"#rdr#5/1")
        assert_answers(import_model(old), "wapiti")

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
        assert read_foreign(content, "wapiti").state_weights.tolist() == [value]

    @settings(max_examples=200, deadline=None)
    @given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
    def test_hexadecimal_numbers_are_exact(self, value):
        content = MAXENT.replace(b"#mdl#0#4", b"#mdl#0#1")[: MAXENT.index(b"0=0x")]
        # hex() gives what %a prints, except for trailing zeros and the plus sign.
        assert read_foreign(content + f"0={value.hex()}\n".encode(), "wapiti").state_weights.tolist() == [
            value
        ]


class TestDamage:
    def test_more_labels_than_a_file_can_be_for(self):
        labels = b"".join(b"%d:%d," % (len(str(i)), i) for i in range(5000))
        content = b"#mdl#2#0\n#rdr#0/0/0\n#qrk#5000\n" + labels + b"\n#qrk#1\n1:b,\n\n"
        tracemalloc.start()
        unreadable("5000 labels, whose pairs would take 190 MiB", read_foreign, content, "wapiti")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * len(content)
