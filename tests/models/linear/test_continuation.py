"""Weights carried over to other features, matched by names."""

from hypothesis import given
from hypothesis import strategies as st
from random_taggers import LABELS, NAMES, by_name, random_tagger

from crfkit.models.linear.continuation import transfer
from crfkit.models.linear.tagger import LinearTagger


@given(st.integers(0, 2**31), NAMES, LABELS, NAMES, LABELS, st.integers(1, 2), st.integers(1, 2))
def test_transfer_goes_by_name(seed, old_names, old_classes, new_names, new_classes, old_order, new_order):
    old = random_tagger(seed, old_names, old_classes, old_order)
    new = random_tagger(seed + 1, new_names, new_classes, new_order)
    weights = transfer(old, new.vocabulary, new_classes, new.index)
    moved = by_name(LinearTagger(new_classes, new.encoder, new.index, weights))
    possible = set(by_name(new))
    assert moved == {key: weight for key, weight in by_name(old).items() if key in possible}
