"""User functions as extractors: their results, their arguments, their errors."""

import numpy as np
import pytest
from refusals import refuses

from crfkit.exceptions import InputError
from crfkit.features import Features, column, function

WORD = column(0, "w")
SENTENCE = [("The", "DT"), ("2nd", "JJ"), ("dog", "NN")]


def made(*extractors, sentence=SENTENCE):
    (items,) = Features(*extractors).transform([sentence])
    return items


def test_what_a_function_may_return():
    answers = [
        "x",
        True,
        False,
        None,
        ["a", "b", "a"],
        {"z", "y"},
        2,
        np.float64(0.5),
        {"a": "x", "n": 3, "no": None},
    ]
    items = made(lambda sentence, t: sentence[t], function(lambda s, t: len(s), "n"), sentence=answers[:0])
    assert items == []
    (items,) = Features(function(lambda s, t: answers[t], "f")).transform([["w"] * len(answers)])
    assert items == [
        ["f=x"],
        ["f"],
        [],
        [],
        ["f=a", "f=b"],
        ["f=y", "f=z"],
        {"f": 2.0},
        {"f": 0.5},
        {"f:a=x": 1.0, "f:n": 3.0},
    ]


def test_functions_see_the_sentence_as_it_was_given():
    seen = []

    def look(sentence, t):
        seen.append((sentence, t))

    given_sentences = [SENTENCE, SENTENCE[:1]]
    assert Features(WORD, look).transform(given_sentences)[1] == [["w=The"]]
    assert [t for _, t in seen] == [0, 1, 2, 0]
    assert seen[0][0] is SENTENCE


def test_names_of_functions():
    def length(sentence, t):
        return str(len(sentence))

    features = Features(length, [lambda s, t: "a"], lambda s, t: "b")
    assert features.transform([["x"]]) == [[["length=1", "f1=a", "f2=b"]]]
    assert function(length).name == "length"
    refuses(r"needs one for its attributes: function\(…, 'name'\)", function, lambda s, t: "")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            object(),
            "must return text, a bool, a number, a list of texts, a dict of these, or None, got object",
        ),
        (float("nan"), "expected a finite number, got nan"),
        ([1], "a list must have text in it, got"),
        ({"a=b": 1}, "without '=' as keys"),
        ({"a": {"b": 1}}, "without '=' as keys"),
    ],
)
def test_what_a_function_may_not_return(answer, message):
    features = Features(function(lambda s, t: answer if s[t] == "bad" else None, "f"))
    with pytest.raises(InputError) as caught:
        features.transform([["a"], ["a", "bad"]])
    assert str(caught.value).startswith("sequence 1, position 1: f: ")
    assert message in str(caught.value)


def test_a_function_that_fails():
    with pytest.raises(InputError, match=r"sequence 0, position 2: f1: the function failed: IndexError: "):
        made(lambda sentence, t: sentence[t + 1][0])
    with pytest.raises(
        InputError, match=r"sequence 0, position 1: w\.n: the function of 'n' failed for '2nd': Zero"
    ):
        made(WORD.map(lambda cell: "" if cell.isalpha() else 1 // 0, "n"))
    with pytest.raises(
        InputError, match=r"position 0: w\.up: map 'up' must return text.*got False.* write \.test"
    ):
        made(WORD.map(str.isupper, "up"))
