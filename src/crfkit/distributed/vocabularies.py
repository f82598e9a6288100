"""Attributes, labels and features of all shards: found in each, merged in a tree, in the order of the shards.

The order of merging is fixed, so attributes have the numbers that they would have in one process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels, label_set
from crfkit.data.sequences import Sequences
from crfkit.data.training_data import check_label_count, counted_class_weights
from crfkit.data.vocabulary import Vocabulary
from crfkit.distributed.shards import Shard, label_ids
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import attribute_kinds
from crfkit.features.feature_counts import FeatureCounts, added
from crfkit.features.index import FeatureIndex, build_index
from crfkit.models.checkpoint import fingerprint
from crfkit.models.linear.steps import IndexSettings


@dataclass(frozen=True)
class Summary:
    """What some of the shards have: names, labels, features, and sums over positions."""

    vocabulary: Vocabulary
    classes: list[Any]
    features: FeatureCounts
    lengths: IntArray  # [N] of the sequences
    label_counts: IntArray  # [L]
    counts: FloatArray  # [A] how often each attribute occurs
    squares: FloatArray  # [A] the sum of its squared values
    fingerprints: tuple[str, ...]  # of the data, one per shard

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return 76 * len(self.vocabulary) + 16 * len(self.features.state_keys) + self.lengths.nbytes


def summary(shard: Shard, settings: IndexSettings, prefixes: dict[str, str]) -> Summary:
    """Describe a shard. ``prefixes`` are those of attributes on label pairs."""
    sequences, labels, L = shard.sequences, shard.labels, len(shard.classes)
    values, counts = sequences.values, sequences.by_attribute()
    return Summary(
        shard.vocabulary,
        shard.classes,
        FeatureCounts.of(
            sequences,
            labels,
            L,
            order=settings.order,
            kinds=attribute_kinds(shard.vocabulary, prefixes),
            exact=settings.min_freq > 1,
        ),
        sequences.lengths,
        labels.counts(L),
        counts,
        counts if values is None else sequences.by_attribute(lambda part: values[part] ** 2),
        (fingerprint((sequences, labels, shard.unknown, shard.weights)),),
    )


def merged(*parts: Summary) -> Summary:
    """Merge the summaries of neighbouring shards."""
    if len(parts) == 1:
        return parts[0]
    vocabulary = Vocabulary()
    attributes = [vocabulary.add(part.vocabulary.strings()) for part in parts]
    classes = label_set([part.classes for part in parts])
    places = [label_ids(part.classes, classes) for part in parts]
    A, L = len(vocabulary), len(classes)
    counts, squares, label_counts = np.zeros(A), np.zeros(A), np.zeros(L, np.int64)
    for part, own, labels in zip(parts, attributes, places, strict=True):
        counts[own] += part.counts
        squares[own] += part.squares
        label_counts[labels] += part.label_counts
    return Summary(
        vocabulary,
        classes,
        added(
            part.features.renumbered(own, labels, A, L)
            for part, own, labels in zip(parts, attributes, places, strict=True)
        ),
        np.concatenate([part.lengths for part in parts]),
        label_counts,
        counts,
        squares,
        tuple(one for part in parts for one in part.fingerprints),
    )


@dataclass(frozen=True)
class Common:
    """What all shards share once their vocabularies are merged."""

    vocabulary: Vocabulary
    classes: list[Any]
    index: FeatureIndex
    class_weights: FloatArray | None  # [L]

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return 60 * len(self.vocabulary) + self.index.state_labels.nbytes + self.index.state_indptr.nbytes


def common(
    whole: Summary, settings: IndexSettings, prefixes: dict[str, str], transitions: bool, class_weight: Any
) -> Common:
    """Return vocabulary, labels and features of the whole data."""
    classes, vocabulary = whole.classes, whole.vocabulary
    require_labelled(whole)
    if settings.features is not None:
        index = settings.features.feature_index(vocabulary, classes, order=settings.order)
    else:
        index = whole.features.frequent(settings.min_freq, transitions=transitions)
    if settings.features is None and (settings.all_possible_states or settings.all_possible_transitions):
        index = _with_all_possible(index, settings, attribute_kinds(vocabulary, prefixes), transitions)
    return Common(
        vocabulary, classes, index, counted_class_weights(class_weight, whole.label_counts, classes)
    )


def require_labelled(whole: Summary) -> None:
    """Raise if there is nothing to train on or nothing to learn."""
    if not len(whole.lengths) or not whole.lengths.any():
        raise InputError("there is nothing to train on: no partition has a sequence with a position")
    if not whole.classes:
        raise InputError("there is nothing to learn: every label is None")
    check_label_count(len(whole.classes))


def _with_all_possible(
    index: FeatureIndex, settings: IndexSettings, kinds: Any, transitions: bool
) -> FeatureIndex:
    """Return the index with the features that were not seen, as far as the settings want them."""
    nothing = np.zeros(1, np.int64)
    everything = build_index(
        Sequences(nothing, nothing, np.zeros(0, np.int32), None, index.n_attributes),
        Labels(np.zeros(0, np.int32), None),
        index.n_labels,
        order=settings.order,
        all_possible_states=True,
        all_possible_transitions=True,
        kinds=kinds,
        transitions=transitions,
    )
    found: dict[str, Any] = {}
    if settings.all_possible_states:
        found |= {name: getattr(everything, name) for name in ("state_indptr", "state_labels")}
    if settings.all_possible_transitions:
        found |= {name: getattr(everything, name) for name in ("edges", "ngrams", "pair_indptr", "pair_ids")}
    return replace(index, **found)
