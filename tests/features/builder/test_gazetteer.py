"""Gazetteers: phrases of a dictionary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.features import Features, token
from crfkit.features.builder.gazetteer import Gazetteer

CITIES = ["New York", "New York City", "York", "Bath\n", ["St.", "Ives"], "", "   "]


def marks(text, entries=CITIES, **settings):
    found = Gazetteer.of(entries, settings.get("ignore_case", False)).mark(text.split())
    return "".join(mark or "." for mark in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in New York City now", ".BII."),
        ("in New York now", ".BI."),
        ("York New York", "BBI"),
        ("New new York", "..B"),
        ("Bath St. Ives Bath", "BBIB"),
        ("New", "."),
        ("", ""),
    ],
)
def test_longest_match(text, expected):
    assert marks(text) == expected


def test_matches_do_not_overlap():
    assert marks("a b c", ["a b", "b c"]) == "BI."
    assert marks("a a a a a", ["a a"]) == "BIBI."


@given(
    st.sets(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4),
    st.lists(st.sampled_from("abc"), max_size=8),
)
def test_against_a_plain_search(phrases, tokens):
    expected = []
    while len(expected) < len(tokens):
        t = len(expected)
        n = max((len(p) for p in phrases if tuple(tokens[t : t + len(p)]) == p), default=0)
        expected += ["B", *"I" * (n - 1)] if n else [None]
    assert Gazetteer.of(phrases, False).mark(tokens) == expected


def test_attributes():
    word = token()
    sentence = ["To", "new", "York", "!"]
    cities = word.member(["New York"], "city", ignore_case=True)
    assert Features(cities).transform([sentence]) == [[[], ["w.city"], ["w.city"], []]]
    marked = word.member(["New York"], "city", ignore_case=True, bio=True)
    assert Features(marked.window(-1, 0), padding=False).transform([sentence]) == [
        [[], ["w.city=B"], ["w.city[-1]=B", "w.city=I"], ["w.city[-1]=I"]]
    ]
    assert Features(marked & word.lower()).transform([sentence])[0][1] == ["w.city|w.lower=B|new"]
    bare = word.map(lambda w: w.strip("!"), "bare").member(["York"], "city")
    assert Features(bare).transform([["York!"]]) == [[["w.bare.city"]]]


def test_phrases_do_not_reach_over_sentences():
    assert Features(token().member(["a b"], "x")).transform([["a"], ["b"]]) == [[[]], [[]]]


def test_missing_cells_are_in_no_phrase():
    assert Features(token().member(["a b"], "x")).transform([[("a",), (None,), ("b",)]]) == [[[], [], []]]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("Paris", "must be a list or set of entries, got the string 'Paris'"),
        ([], "must have entries, got none"),
        (["", " "], "must have entries, got none"),
        (["Paris", 5], "entry 1 of the dictionary: expected text or a list of tokens, got 5"),
        ([["Paris", None]], "entry 0"),
    ],
)
def test_bad_dictionaries(entries, message):
    refuses(message, token().member, entries, "city")


def test_repr_is_short():
    big = token().member([f"town{i}" for i in range(1000)], "town", bio=True)
    assert repr(big) == "column(0, 'w').member(['town0', 'town1', …], 'town', bio=True)"
