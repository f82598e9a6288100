"""Token attributes."""

import pytest
from refusals import refuses

from crfkit.features import token_features
from crfkit.features.tokens import word_shape


def test_one_list_of_strings_per_token():
    features = token_features(["12", "Main", "St.,"])
    assert len(features) == 3
    assert all(isinstance(attribute, str) for attributes in features for attribute in attributes)
    assert token_features([]) == []


def test_word_and_neighbours():
    first, second, third = map(set, token_features(["12", "Main", "St.,"], window=1))
    assert {"word=Main", "lower=main", "shape=Xx", "prefix=ma", "suffix=ain"} <= second
    assert {"-1:lower=12", "-1:shape=9", "+1:lower=st.,", "-1|0:lower=12|main"} <= second
    assert {"first", "digits=2"} <= first
    assert {"last", "bare=st", "ends=.,"} <= third
    assert not any(attribute.startswith(("-1", "-2")) for attribute in first)
    assert not any(attribute.startswith("+2") for attribute in first)


def test_window():
    (middle,) = (set(token_features(list("abcde"), window=2)[2]),)
    assert {"-2:lower=a", "-1:lower=b", "+1:lower=d", "+2:lower=e"} <= middle


@pytest.mark.parametrize(
    ("word", "shape"),
    [("", ""), ("a", "x"), ("ÄÖ", "X"), ("McDonald", "XxXx"), ("80020-310", "9-9"), ("#12", "#9")],
)
def test_shape(word, shape):
    assert word_shape(word) == shape


def test_a_string_is_no_list_of_words():
    refuses("split it first", token_features, "12 Main St")
