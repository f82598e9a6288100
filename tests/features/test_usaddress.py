"""The address parser's features, written with the builder, against the same written in plain Python."""

import string
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.test_unicode_table import TRICKY, only_here

from crfkit.data.encode import encode
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.extraction import learn_extraction

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from address_parser import usaddress_features

DIRECTIONS, STREETS = {"n", "sw", "north"}, {"st", "ave", "street"}
WORDS = st.sampled_from(
    [
        "123",
        "100",
        "N.",
        "Main",
        "St.,",
        "#",
        "&",
        "(Apt.",
        "4B",
        "½",
        "O'Brien-",
        "P.O.",
        "sw;",
        "AVE.",
        "a_1",
    ]
)


def is_word(c: str) -> bool:
    return c.isalnum() or c == "_"


def described(token: str) -> dict[str, str | bool]:
    """Return what usaddress says about a token."""
    clean = token
    if token not in ("&", "#", "½"):
        while clean and not is_word(clean[0]):
            clean = clean[1:]
        while clean and clean[-1] != "." and not is_word(clean[-1]):
            clean = clean[:-1]
    short = clean.lower().replace(".", "")
    number = short.isdigit()
    kinds = ("some_digits" if set(clean) & set(string.digits) else "no_digits", "all_digits")
    return {
        "abbrev": clean.endswith("."),
        "digits": kinds[clean.isdigit()],
        "word": not number and short,
        "trailing.zeros": number and short[len(short.rstrip("0")) :],
        "length": ("d:" if number else "w:") + str(len(short)),
        "endsinpunc": any(c != "." and not is_word(c) for c in token[1:]) and token[-1],
        "directional": short in DIRECTIONS,
        "street_name": short in STREETS,
        "has.vowels": bool(set(short[1:]) & set("aeiou")),
    }


def items(tokens: list[str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for t, token in enumerate(tokens):
        item: dict[str, object] = dict(described(token))
        if t + 1 < len(tokens):
            item["next"] = {**described(tokens[t + 1]), "address.end": t + 2 == len(tokens)}
        if t:
            item["previous"] = {**described(tokens[t - 1]), "address.start": t == 1}
        found.append({**item, "address.start": t == 0, "address.end": t + 1 == len(tokens)})
    return found


def attributes(X, extraction=None):
    """Return the sets of attributes at all positions."""
    vocabulary = Vocabulary()
    made = (
        encode(X, vocabulary, grow=True)
        if extraction is None
        else extraction.encode(X, vocabulary, grow=True)
    )
    names = vocabulary.strings()
    return [{names[i] for i in made.indices[a:b]} for a, b in zip(made.indptr, made.indptr[1:], strict=False)]


@only_here
@given(st.lists(WORDS | TRICKY.filter(lambda text: any(map(is_word, text)) and "\n" not in text), max_size=6))
def test_the_same_attributes_as_in_python(tokens):
    made = attributes([tokens], learn_extraction(usaddress_features(DIRECTIONS, STREETS), [tokens]))
    assert made == attributes([items(tokens)])


@pytest.mark.skipif(find_spec("usaddress") is None, reason="usaddress is not installed")
def test_the_same_attributes_as_usaddress():
    import usaddress

    X = [
        ["123", "N.", "Main", "St.,", "Apt.", "#", "4B"],
        ["P.O.", "Box", "100"],
        ["The", "White", "House"],
        ["1"],
    ]
    features = usaddress_features(usaddress.DIRECTIONS, usaddress.STREET_NAMES)
    assert attributes(X, learn_extraction(features, X)) == attributes(
        [usaddress.tokens2features(x) for x in X]
    )
