"""ItemSequence against the original: the same items for the same input, and clear errors for bad input."""

import pickle

import pycrfsuite as original
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.compat.pycrfsuite import ItemSequence, Tagger, Trainer

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
numbers = st.booleans() | st.integers(-9, 9) | st.floats(-1e6, 1e6)
items = st.recursive(
    st.lists(names, max_size=4)
    | st.sets(names, max_size=4)
    | st.dictionaries(names, numbers | names, max_size=4),
    lambda inner: st.dictionaries(names, inner | numbers | names, max_size=3),
    max_leaves=8,
)


@given(st.lists(items, max_size=4))
def test_equals_the_original(sequence):
    ours, theirs = ItemSequence(sequence), original.ItemSequence(sequence)
    assert ours.items() == theirs.items()
    assert len(ours) == len(theirs)
    assert repr(ours) == repr(theirs)
    assert ItemSequence(ours.items()).items() == ours.items()


def test_every_kind_of_item(diary):
    xseq, _ = diary
    assert ItemSequence(xseq).items() == original.ItemSequence(xseq).items()
    assert ItemSequence(ItemSequence(xseq)).items() == ItemSequence(xseq).items()
    assert ItemSequence(iter(xseq)).items() == ItemSequence(xseq).items()
    assert ItemSequence(item.keys() for item in xseq if isinstance(item, dict)).items()[1] == {"swim": 1.0}
    assert ItemSequence([]).items() == []


def test_it_keeps_what_it_was_given():
    item = {"a": 1}
    sequence = ItemSequence([item])
    item["a"] = 2
    sequence.items()[0]["a"] = 3
    assert sequence.items() == [{"a": 1.0}]
    assert pickle.loads(pickle.dumps(sequence)).items() == [{"a": 1.0}]


def test_repeated_names_count_each_time(tmp_path):
    """["so", "so"] shows one "so" with twice the weight, as in the original."""
    once, twice = [["so"], ["no"]], [["so", "so"], ["no"]]
    assert ItemSequence(twice).items() == original.ItemSequence(twice).items() == [{"so": 1.0}, {"no": 1.0}]
    trainer = Trainer(verbose=False)
    trainer.append(once, ["a", "b"])
    trainer.train(tmp_path / "model")
    ours, theirs = Tagger(), original.Tagger()
    ours.open(tmp_path / "model")
    theirs.open(str(tmp_path / "model"))
    for xseq in (twice, ItemSequence(twice)):
        ours.set(xseq)
        theirs.set(twice)
        assert ours.marginal("a", 0) == pytest.approx(theirs.marginal("a", 0), abs=1e-12)
    ours.set(once)
    assert ours.marginal("a", 0) < theirs.marginal("a", 0)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("word", "a sequence is a list of items"),
        ({"a": 1}, "a sequence is a list of items"),
        (3, "a sequence is a list of items"),
        (["word"], "position 0: an item must be a list of attribute strings or a dict, got str 'word'"),
        ([["a"], [{"a": 1}]], "position 1: an attribute in a list must be str or bytes, got dict"),
        ([[3]], "must be str or bytes, got int 3"),
        ([{3: 1}], "a key of a dict must be str or bytes"),
        ([{"a": None}], "feature 'a': a value must be"),
        ([{"a": float("nan")}], "feature 'a': expected a finite number, got nan"),
        ([{"a": {"b": float("inf")}}], "feature 'a:b': expected a finite number"),
        ([{"a": b"\xff"}], "bytes must be UTF-8"),
    ],
)
def test_bad_input_in_words(bad, words):
    refuses(words, ItemSequence, bad)
