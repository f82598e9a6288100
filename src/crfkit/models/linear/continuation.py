"""Weights of an earlier model on the features of a new one, matched by the names of attributes and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex, places_of, renamed_ngrams, spread
from crfkit.models.linear.tagger import LinearTagger
from crfkit.potentials.linear import LinearWeights


def transfer(
    old: LinearTagger, vocabulary: Vocabulary, classes: list[Any], index: FeatureIndex
) -> FloatArray:
    """Return the old model's weight for every feature of ``index``; 0 if it has none."""
    w = np.zeros(sum(index.sizes))
    new = LinearWeights.of(index, w)
    _carry(*_renamed_keys(old, vocabulary, classes), old.weights.state, index.state_keys(), new.state)
    _carry(*_renamed_pair_keys(old, vocabulary, classes), old.weights.pair, index.pair_keys(), new.pair)
    ids, L = renamed_labels(old, classes), len(classes)
    np.copyto(new.edge, spread(old.weights.edge, ids, L), where=index.edges)
    if old.index.order == index.order:
        ngrams, kept = renamed_ngrams(old.index.ngrams, ids)
        at = places_of(ngrams, index.ngrams)
        new.ngrams[at[at >= 0]] = old.weights.ngrams[kept[at >= 0]]
    return w


def renamed_labels(old: LinearTagger, classes: list[Any]) -> IntArray:
    """Return the new id of each old label, -1 if it no longer exists."""
    places = {label: i for i, label in enumerate(classes)}
    return np.array([places.get(label, -1) for label in old.classes], dtype=np.int64)


def _renamed_keys(old: LinearTagger, vocabulary: Vocabulary, classes: list[Any]) -> tuple[IntArray, IntArray]:
    """Return the new keys ``attribute * L + label`` of old features that still exist, and their places."""
    attributes = vocabulary.lookup(old.vocabulary.strings()).astype(np.int64)  # [old A]
    old_keys = old.index.state_keys()
    attribute = attributes[old_keys // old.index.n_labels]
    label = renamed_labels(old, classes)[old_keys % old.index.n_labels]
    places = np.flatnonzero((attribute >= 0) & (label >= 0))
    return attribute[places] * len(classes) + label[places], places


def _renamed_pair_keys(
    old: LinearTagger, vocabulary: Vocabulary, classes: list[Any]
) -> tuple[IntArray, IntArray]:
    """Return the same for pair features: ``(attribute * L + previous label) * L + label``."""
    old_keys, L = old.index.pair_keys(), old.index.n_labels
    if not len(old_keys):
        return old_keys, old_keys
    labels = renamed_labels(old, classes)
    attribute = vocabulary.lookup(old.vocabulary.strings()).astype(np.int64)[old_keys // L**2]
    previous, label = labels[old_keys // L % L], labels[old_keys % L]
    places = np.flatnonzero((attribute >= 0) & (previous >= 0) & (label >= 0))
    keys = (attribute * len(classes) + previous) * len(classes) + label
    return keys[places], places


def _carry(keys: IntArray, places: IntArray, weights: FloatArray, wanted: IntArray, out: FloatArray) -> None:
    """Write, for each wanted key, the weight of the old feature with this key, if there is one."""
    order = np.argsort(keys)
    keys, weights = keys[order], weights[places][order]
    if len(keys):
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        out[found] = weights[at[found]]
