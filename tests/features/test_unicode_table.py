"""The fixed table of Unicode gives the answers of Python's own methods, in the version it was made from."""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.rendered_attributes import shape

from crfkit import _native
from crfkit.features.builder.characters import character_set
from crfkit.features.program_code import STEPS, TESTS, flag, step
from crfkit.features.shapes import fold_case, full_shape, lower_case, word_shape

ROOT = Path(__file__).parents[2]
SAME_VERSION = unicodedata.unidata_version == _native.UNICODE_VERSION
only_here = pytest.mark.skipif(not SAME_VERSION, reason="this Python has another version of Unicode")

# All characters that are assigned, and some of the others.
CHARACTERS = [
    chr(code)
    for code in range(0x110000)
    if not 0xD800 <= code < 0xE000
    and (code % 997 == 0 or unicodedata.category(chr(code)) not in ("Cn", "Co"))
]
TRICKY = st.text(
    st.sampled_from("aAzZ019 _.,;:'-\n\t\u0130\u0131\u03a3\u03c3\u03c2\u00df\u01c4\u01c5\u01c6\u0301\u00ad")
    | st.sampled_from("ÀéИй中文ʰ٣５²½Ⅷⅷ\u0345\u1e9e\ufb03\U00010400\U0001d7ce\U0001f600\u2028\x1c\x85")
    | st.characters(exclude_categories=("Cs",)),
    max_size=12,
)


def native(kind: str, *arguments: bytes) -> _native.Step:
    return _native.Step(step(kind, *arguments))


@only_here
def test_every_character_in_every_case():
    lower, upper, fold = native("lower"), native("upper"), native("fold")
    for c in CHARACTERS:
        assert (lower(c), upper(c), fold(c)) == (c.lower(), c.upper(), c.casefold()), ascii(c)


@only_here
def test_every_character_in_every_class():
    tests = {name: native("test", flag(False), bytes([i])) for i, name in enumerate(TESTS)}
    for name, test in tests.items():
        wrong = [ascii(c) for c in CHARACTERS if test(c) != getattr(str, name)(c)]
        assert not wrong, (name, wrong[:10])
    whole = native("shape")
    assert [whole(c) for c in CHARACTERS] == [shape(c, short=False) for c in CHARACTERS]


@only_here
@pytest.mark.parametrize("written", [r"[\w]", r"[\W]", r"[\d]", r"[\D]", r"[\s]", r"[\S]"])
def test_classes_of_regular_expressions(written):
    text = "".join(CHARACTERS)
    assert native("remove", character_set(written))(text) == re.sub(written, "", text)


@only_here
@given(TRICKY)
def test_words(text):
    assert native("lower")(text) == text.lower() == lower_case(text)
    assert native("upper")(text) == text.upper()
    assert native("fold")(text) == text.casefold() == fold_case(text)
    assert full_shape(text) == shape(text, short=False)
    assert word_shape(text) == shape(text, short=True)
    for i, name in enumerate(TESTS):
        assert native("test", flag(False), bytes([i]))(text) == getattr(str, name)(text), name
        assert native("test", flag(True), bytes([i]))(text) != getattr(str, name)(text), name


def test_the_known_differences_between_versions_of_python_and_the_final_sigma():
    """Answers that are written down: they hold with every version of Python."""
    lower = native("lower")
    assert lower("\u0130") == "i\u0307"
    assert [lower(word) for word in ("ΣΑΣ", "Σ", "ΑΣ.", "ΑΣ'Α", "Α\u0301Σ", "1Σ")] == [
        "σας",
        "σ",
        "ας.",
        "ασ'α",
        "α\u0301ς",
        "1σ",
    ]
    assert native("upper")("straße ŉ") == "STRASSE ʼN"
    assert native("fold")("Straße İ") == "strasse i\u0307"
    # U+1C89, a capital since Unicode 16; U+A7CB likewise: not in this table.
    assert full_shape("\u1c89\ua7cb") == "\u1c89\ua7cb"


def test_the_steps_have_one_code_each():
    assert len(set(STEPS)) == len(STEPS) < 256


@only_here
def test_the_table_is_the_one_that_the_script_writes():
    folder = ROOT / "native" / "unicode"
    made = subprocess.run(
        [sys.executable, str(folder / "make_tables.py")], capture_output=True, text=True, check=True
    )
    assert made.stdout == (folder / "tables.h").read_text(encoding="utf-8")
