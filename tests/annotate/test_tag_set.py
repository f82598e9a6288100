"""Marks of a person as labels, and back."""

import pytest

from crfkit.annotate.tag_set import Marks, Span, TagSet
from crfkit.data.schemes import SCHEMES
from crfkit.exceptions import InputError


@pytest.mark.parametrize("scheme", SCHEMES)
def test_segments_in_every_scheme(scheme):
    tags = TagSet.of_names(["PER", "LOC"], scheme)
    marks = Marks([Span(0, 1, "PER"), Span(1, 3, "PER"), Span(4, 7, "LOC")], [])
    labels = tags.labels(marks, 8)
    assert labels[3] == labels[7] == "O"
    assert tags.marks(labels) == marks


def test_labels_of_iob2():
    tags = TagSet.of_labels(["O", "B-PER", "I-PER", "B-LOC"])
    assert tags == TagSet(("PER", "LOC"), "IOB2")
    assert tags.labels(Marks([Span(1, 3, "PER")], [0]), 4) == [None, "B-PER", "I-PER", "O"]
    assert tags.marks([None, "B-PER", "I-PER", "O"]) == Marks([Span(1, 3, "PER")], [0])


def test_an_unknown_token_inside_a_segment():
    """A person may not know the middle of a name; its ends are learnt from."""
    tags = TagSet.of_names(["PER"], "IOB2")
    assert tags.labels(Marks([Span(0, 3, "PER")], [1]), 3) == ["B-PER", None, "I-PER"]


def test_plain_labels():
    tags = TagSet.of_labels(["NOUN", "VERB"])
    assert tags == TagSet(("NOUN", "VERB"), None)
    marks = Marks([Span(0, 2, "NOUN"), Span(2, 3, "VERB")], [])
    assert tags.labels(marks, 4) == ["NOUN", "NOUN", "VERB", None]
    assert tags.marks(["NOUN", "NOUN", "VERB", None]) == marks


def test_bare_tags():
    tags = TagSet.of_labels(["B", "I", "O"])
    assert tags == TagSet(("",), "IOB2")
    assert tags.labels(Marks([Span(0, 2, "")], []), 3) == ["B", "I", "O"]
    assert tags.marks(["B", "I", "O"]).spans == [Span(0, 2, "")]


@pytest.mark.parametrize(
    ("names", "scheme", "expected"),
    [
        (["PER", "LOC"], "auto", TagSet(("PER", "LOC"), "IOB2")),
        (["PER", "O"], "auto", TagSet(("PER",), "IOB2")),
        (["B-PER", "I-PER", "O"], "auto", TagSet(("PER",), "IOB2")),
        (["NOUN", "O"], "none", TagSet(("NOUN", "O"), None)),
        (["PER"], "bilou", TagSet(("PER",), "BILOU")),
    ],
)
def test_names_that_a_user_gives(names, scheme, expected):
    assert TagSet.of_names(names, scheme) == expected


@pytest.mark.parametrize(
    ("spans", "unknown", "message"),
    [
        ([(0, 3, "PER")], [], "from 0 to 3, but the sentence has 2 tokens"),
        ([(-1, 1, "PER")], [], "from -1 to 1"),
        ([(1, 1, "PER")], [], "from 1 to 1"),
        ([(0, 2, "PER"), (1, 2, "LOC")], [], "overlap at token 1"),
        ([(0, 1, "ORG")], [], "no label 'ORG'; there are PER, LOC"),
        ([], [2], "token 2 is unknown"),
    ],
)
def test_marks_that_do_not_fit(spans, unknown, message):
    tags = TagSet.of_names(["PER", "LOC"], "IOB2")
    with pytest.raises(InputError, match=message):
        tags.labels(Marks([Span(*span) for span in spans], unknown), 2)


def test_every_key_is_used_once_and_none_that_has_a_meaning():
    keys = TagSet(tuple(map(str, range(70))), None).shortcuts()
    used = [key for key in keys if key]
    assert len(keys) == 70
    assert len(set(used)) == len(used) == 9 + 2 * 24
    assert not {"0", "u", "z", "?"} & set(used)
