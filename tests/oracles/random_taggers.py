"""Linear taggers with random features and weights, and their weights by name."""

import numpy as np
from hypothesis import strategies as st

from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger

NAMES = st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=6)
LABELS = st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1, max_size=4)


def random_tagger(seed, names, classes, order):
    rng = np.random.default_rng(seed)
    L = len(classes)
    features = rng.random((len(names), L)) < 0.6
    attribute, label = np.nonzero(features)
    edges = rng.random((L, L)) < 0.6
    ngrams = np.argwhere(rng.random((L, L, L)) < 0.6) if order == 2 else np.zeros((0, 2))
    indptr = np.searchsorted(attribute, np.arange(len(names) + 1)).astype(np.int64)
    pairs = rng.random((len(names), L * L)) < rng.choice([0.0, 0.4])
    attribute, pair = np.nonzero(pairs)
    pair_rows = ()
    if pairs.any():
        pair_indptr = np.searchsorted(attribute, np.arange(len(names) + 1)).astype(np.int64)
        pair_rows = (pair_indptr, pair.astype(np.int32))
    index = FeatureIndex(L, indptr, label.astype(np.int32), edges, ngrams.astype(np.int32), *pair_rows)
    weights = np.zeros(sum(index.sizes))
    weights[index.places] = rng.normal(size=index.n_features)
    return LinearTagger(classes, InputEncoder(Vocabulary(names), None), index, weights)


def by_name(tagger):
    edges = {("edge", *key): weight for key, weight in tagger.edge_features().items()}
    return {**tagger.state_features(), **tagger.transition_features(), **edges}
