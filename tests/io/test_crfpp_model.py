"""CRF++'s models, text and binary: their parts, and the double array."""

import struct
from itertools import pairwise

import numpy as np
import pytest
from foreign_models import FILES, assert_answers
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import unreadable

from crfkit import _native
from crfkit.io.foreign_model import read_foreign
from crfkit.models.foreign import import_model

TEXT, BINARY = FILES["crfpp_text"], FILES["crfpp_binary"]


class TestReading:
    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_answers_as_crfpp_does(self, content):
        assert_answers(import_model(content), "crfpp_text")

    @pytest.mark.parametrize("content", [TEXT, BINARY], ids=["text", "binary"])
    def test_the_parts(self, content):
        model, tagger = read_foreign(content, "crf++"), import_model(content)
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
        text, binary = read_foreign(TEXT, "crf++"), read_foreign(BINARY, "crf++")
        for name in ("state_weights", "edge_weights", "pair_weights"):
            np.testing.assert_array_equal(np.float32(getattr(text, name)), getattr(binary, name))
        for name in ("state_indptr", "state_labels", "edge_mask", "pair_indptr", "pair_ids"):
            np.testing.assert_array_equal(getattr(text, name), getattr(binary, name))

    def test_the_cost_factor_of_the_file_is_not_used(self):
        """crf_test replaces it by its own option."""
        assert_answers(import_model(BINARY[:8] + struct.pack("<d", 2.5) + BINARY[16:]), "crfpp_text")
        assert_answers(import_model(TEXT.replace(b"cost-factor: 1", b"cost-factor: 2.5")), "crfpp_text")

    def test_without_edge_lines(self):
        text = TEXT.replace(b"B\nB0:%x[0,1]\n", b"").replace(b"4 B\n8 B0:y\n", b"")
        unreadable("weights that belong to no attribute", read_foreign, text, "crf++")
        lines = text.replace(b"12 U0:b", b"4 U0:b").replace(b"maxid: 14", b"maxid: 6").split(b"\n")
        del lines[-11:-3]  # the weights of the edge lines
        model = read_foreign(b"\n".join(lines), "crf++")
        assert model.pair_weights is None
        assert not model.edge_mask.any()
        assert len(model.state_weights) == 6


def double_array(keys):
    """Build a Darts double array the slow way: keys (without NUL, distinct, not empty) to values."""
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
        """One node is its own child; two nodes have the same children."""
        array = double_array({b"ab": 0, b"cd": 1})
        a = 1 + ord("a") + 1
        loop, shared = array.copy(), array.copy()
        loop[a, 0] = 1
        shared[1 + ord("c") + 1, 0] = array[a, 0]
        for damaged in (loop, shared):
            with pytest.raises(ValueError, match="does not form a tree"):
                _native.double_array_keys(damaged.view(np.uint8).ravel())

    def test_keys_that_would_fill_the_memory(self):
        """A long path with a key at every step spells far more bytes than the array has."""
        n = 40_000
        array = np.zeros((3 * n + 260, 2), "<i4")
        bases = 1 + 3 * np.arange(n)
        array[0, 0] = 1
        array[bases] = np.stack((np.full(n, -1), bases), axis=1)  # a key ends
        array[bases + 2] = np.stack((bases + 3, bases), axis=1)  # byte 1 leads to the next node
        with pytest.raises(ValueError, match="impossibly long"):
            _native.double_array_keys(array.view(np.uint8).ravel())
