"""Weights carried over to other features, matched by names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex
from crfkit.models.linear.continuation import transfer, with_features_of
from crfkit.models.linear.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger

NAMES = st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=6)
LABELS = st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1, max_size=4)


def random_tagger(seed, names, classes, order):
    rng = np.random.default_rng(seed)
    L = len(classes)
    features = rng.random((len(names), L)) < 0.6
    attribute, label = np.nonzero(features)
    edges = rng.random((L, L)) < 0.6
    edges2 = rng.random((L, L, L)) < 0.6 if order == 2 else None
    indptr = np.searchsorted(attribute, np.arange(len(names) + 1)).astype(np.int64)
    pairs = rng.random((len(names), L * L)) < rng.choice([0.0, 0.4])
    attribute, pair = np.nonzero(pairs)
    pair_rows = ()
    if pairs.any():
        pair_indptr = np.searchsorted(attribute, np.arange(len(names) + 1)).astype(np.int64)
        pair_rows = (pair_indptr, pair.astype(np.int32))
    index = FeatureIndex(L, indptr, label.astype(np.int32), edges, edges2, *pair_rows)
    weights = np.zeros(sum(index.sizes))
    weights[index.places] = rng.normal(size=index.n_features)
    return LinearTagger(classes, InputEncoder(Vocabulary(names), None), index, weights)


def by_name(tagger):
    edges = {("edge", *key): weight for key, weight in tagger.edge_features().items()}
    return {**tagger.state_features(), **tagger.transition_features(), **edges}


@given(st.integers(0, 2**31), NAMES, LABELS, NAMES, LABELS, st.integers(1, 2), st.integers(1, 2))
def test_transfer_goes_by_name(seed, old_names, old_classes, new_names, new_classes, old_order, new_order):
    old = random_tagger(seed, old_names, old_classes, old_order)
    new = random_tagger(seed + 1, new_names, new_classes, new_order)
    weights = transfer(old, new.vocabulary, new_classes, new.index)
    moved = by_name(LinearTagger(new_classes, new.encoder, new.index, weights))
    possible = set(by_name(new))
    assert moved == {key: weight for key, weight in by_name(old).items() if key in possible}


@given(st.integers(0, 2**31), NAMES, LABELS, NAMES, LABELS, st.integers(1, 2))
def test_all_features_of_the_old_model_stay(seed, old_names, old_classes, more_names, more_classes, order):
    names = old_names + [name for name in more_names if name not in old_names]
    classes = sorted(set(old_classes) | set(more_classes))
    old = random_tagger(seed, old_names, old_classes, order)
    new = random_tagger(seed + 1, names, classes, order)
    index = with_features_of(old, new.vocabulary, classes, new.index)
    weights = transfer(old, new.vocabulary, classes, index)
    assert by_name(LinearTagger(classes, new.encoder, index, weights)) == by_name(old)
    assert index.n_features >= max(old.index.n_features, new.index.n_features)
    assert set(new.index.state_keys()) <= set(index.state_keys())
