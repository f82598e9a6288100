"""The part of a fitted model that a batch of new data speaks about: a small training problem of its own.

A batch speaks about the attributes and labels that occur in it. Its problem has all features of these
attributes, old and new, and all transitions; only features and transitions whose labels all occur in the
batch may move. The rest of the model is neither read nor copied here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Encoded, Sequences, gather
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex, places_of, renamed_ngrams, spread
from crfkit.features.labelled import LabelledInput
from crfkit.models.linear.continuation import renamed_labels
from crfkit.models.linear.curvature import Curvature, spread_over
from crfkit.models.linear.tagger import LinearTagger
from crfkit.potentials.linear import LinearWeights


@dataclass(frozen=True)
class LocalProblem:
    """The features of a batch's attributes, with what the model knows about them."""

    attributes: IntArray  # [a] ids of the batch's attributes in the vocabulary that grew with it, ascending
    index: FeatureIndex  # of these attributes, which have the ids 0 .. a-1 in it
    known: BoolArray  # [sum(index.sizes)] features that the model has already
    start: FloatArray  # [the same] weights so far; 0 for new features
    hold: FloatArray  # [the same] how firmly earlier data holds them
    free: BoolArray  # [the same] features that may move


def localised(data: LabelledInput, encoded: Encoded) -> tuple[IntArray, LabelledInput, Encoded]:
    """Return the batch over the attributes that occur in it: their ids, and the data with ids 0 .. a-1."""
    attributes, sequences = _renumbered(encoded.sequences)
    names = Vocabulary(encoded.vocabulary.strings_of(attributes))
    hints = encoded.hints
    if hints is not None and hints.own is not None:
        hints = replace(hints, own=hints.own[attributes])
    return (
        attributes,
        replace(data, sequences=sequences, vocabulary=names),
        Encoded(sequences, names, hints),
    )


def _renumbered(sequences: Sequences) -> tuple[IntArray, Sequences]:
    attributes, places = np.unique(sequences.indices, return_inverse=True)
    local = replace(
        sequences, indices=places.ravel().astype(np.int32, copy=False), n_attributes=len(attributes)
    )
    return attributes.astype(np.int64), local


def local_problem(
    old: LinearTagger, data: LabelledInput, index: FeatureIndex, attributes: IntArray
) -> LocalProblem:
    """Return the problem of a batch; ``index`` has the features that occur in it, over its attributes."""
    labels, L = renamed_labels(old, data.classes), len(data.classes)
    here = attributes[attributes < old.index.n_attributes]  # known ones come first
    state_keys, state = _old_rows(old.index.state_indptr, here)
    state_keys = state_keys * L + labels[old.index.state_labels[state]]
    pair_keys, pair = _old_rows(old.index.pair_indptr, here)
    before, label = np.divmod(old.index.pair_ids[pair], old.index.n_labels)
    pair_keys = pair_keys * L**2 + labels[before] * L + labels[label]
    edges = spread(old.index.edges, labels, L)
    ngrams, _ = renamed_ngrams(old.index.ngrams, labels)
    index = index.union(state_keys, edges, ngrams, pair_keys)

    state_at = np.searchsorted(index.state_keys(), state_keys)
    pair_at = np.searchsorted(index.pair_keys(), pair_keys)

    start = np.zeros(sum(index.sizes))
    new, weights = LinearWeights.of(index, start), old.weights
    np.copyto(new.edge, spread(weights.edge, labels, L), where=edges)
    ngrams_at = places_of(ngrams, index.ngrams)
    new.ngrams[ngrams_at] = weights.ngrams
    new.state[state_at], new.pair[pair_at] = weights.state[state], weights.pair[pair]

    known = np.zeros(len(start), np.bool_)
    known[: edges.size] = edges.ravel()
    known[edges.size + ngrams_at] = True
    n_transitions = sum(index.sizes[:2])
    known[n_transitions + pair_at] = True
    known[n_transitions + index.sizes[2] + state_at] = True
    hold = np.zeros(len(start))
    if old.curvature is not None:
        hold = _held(old.curvature.at(attributes), edges, labels, ngrams_at, index).by_feature(index)
    return LocalProblem(
        attributes,
        index,
        known,
        start,
        hold,
        _free(index, _spoken_labels(data.labels, L)),
    )


def _held(
    local: Curvature, edges: BoolArray, labels: IntArray, ngrams_at: IntArray, index: FeatureIndex
) -> Curvature:
    """Return the curvature over the new labels; transitions that are new are held like the average one.

    ``ngrams_at`` are the places of the old n-grams among those of the index.
    """
    edge = spread_over(spread(local.edge, labels, len(edges)), edges)
    ngrams, known = np.zeros(len(index.ngrams), np.float32), np.zeros(len(index.ngrams), np.bool_)
    ngrams[ngrams_at], known[ngrams_at] = local.ngrams, True
    return replace(local, edge=edge, ngrams=spread_over(ngrams, known))


def _old_rows(indptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return, for every feature of these rows, the place of its row among them and its own place."""
    bounds, places = gather(indptr, rows)
    return np.repeat(np.arange(len(rows)), np.diff(bounds)), places


def _spoken_labels(labels: Labels, n_labels: int) -> BoolArray:
    """Return which labels a batch speaks about [L]: those that occur in it, also in sets."""
    spoken = np.zeros(n_labels, np.bool_)
    spoken[labels.ids[labels.ids >= 0]] = True
    if labels.allowed is not None:
        sets = labels.allowed[labels.ids < 0]
        spoken |= sets[~sets.all(axis=1)].any(axis=0)
    if not spoken.any():
        raise InputError("there is nothing to learn: every label in y is None")
    return spoken


def _free(index: FeatureIndex, spoken: BoolArray) -> BoolArray:
    """Return which features have only labels that the batch speaks about, in the order of ``sizes``."""
    both = spoken[:, None] & spoken
    parts = [(index.edges & both).ravel()]
    heard: BoolArray = spoken[index.ngrams] | (index.ngrams < 0)  # [M, order + 1]
    parts.append(np.logical_and.reduce(heard, axis=1))
    parts += [both.ravel()[index.pair_ids], spoken[index.state_labels]]
    return np.concatenate(parts)
