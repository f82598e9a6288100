"""A fitted model with the weights and the new features of a batch put into it.

The old model stays as it is: other threads may be using it. What is copied are the weights, and the feature
lists if there are new features, by ``memcpy`` in the core; a large vocabulary is shared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import gather, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex, places_of, renamed_ngrams, rows_of
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.continuation import renamed_labels
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.local_problem import LocalProblem
from crfkit.models.linear.tagger import LinearTagger
from crfkit.potentials.linear import LinearWeights


def grown(
    old: LinearTagger,
    encoder: InputEncoder,  # over the vocabulary that grew with the batch
    classes: list[Any],
    local: LocalProblem,
    w: FloatArray,  # weights of the local features
    curvature: Curvature | None = None,  # of the batch, over the local attributes
    *,
    sparse: bool = False,
) -> LinearTagger:
    """Return the model with the local weights.

    ``sparse`` leaves out new features of weight 0, and new names without a feature.
    """
    index, weights = local.index, LinearWeights.of(local.index, w)
    if sparse:
        index, weights = _without_zeros(local, weights)
    vocabulary, ids = encoder.vocabulary, local.attributes  # ids: [a], -1 if left out
    if sparse or len(vocabulary) == len(old.vocabulary):
        vocabulary, ids = _vocabulary(old, encoder, index, ids)
    L, A = len(classes), len(vocabulary)
    old_state = Rows(old.index.state_indptr, old.index.state_labels, old.weights.state)
    old_pair = Rows(old.index.pair_indptr, old.index.pair_ids, old.weights.pair)
    if classes != old.classes:
        names = renamed_labels(old, classes).astype(np.int32)
        old_state = _renamed(old_state, names, L)
        old_pair = _renamed(old_pair, (names[:, None] * L + names).ravel(), L**2)
    state = _with_rows(old_state, Rows(index.state_indptr, index.state_labels, weights.state), ids, A)
    pair = _with_rows(old_pair, Rows(index.pair_indptr, index.pair_ids, weights.pair), ids, A)
    whole = FeatureIndex(L, state.indptr, state.ids, index.edges, index.ngrams, pair.indptr, pair.ids)
    parts = LinearWeights(weights.edge, weights.ngrams, pair.weights, state.weights)
    if curvature is not None:
        here = np.flatnonzero(ids >= 0)
        labels = renamed_labels(old, classes)
        ngrams = places_of(renamed_ngrams(old.index.ngrams, labels)[0], index.ngrams)
        curvature = curvature.at(here).after(old.curvature, labels, ngrams, ids[here], A)
    if vocabulary is not encoder.vocabulary:
        encoder = encoder.over(vocabulary, classes)
    return LinearTagger(classes, encoder, whole, parts, old.n_jobs, curvature)


class Rows(NamedTuple):
    """The features of attributes and their weights: row a is ``indptr[a] .. indptr[a+1]-1``."""

    indptr: IntArray  # [A+1]
    ids: IdArray  # [F] labels or label pairs
    weights: FloatArray  # [F]


def _with_rows(old: Rows, new: Rows, ids: IntArray, n_attributes: int) -> Rows:
    """Return the old rows with the new ones as those of the attributes ``ids``; -1: an empty row."""
    here = np.flatnonzero(ids >= 0)
    rows, lengths = ids[here], np.diff(new.indptr)[here]
    if n_attributes == len(old.indptr) - 1 and (lengths == old.indptr[rows + 1] - old.indptr[rows]).all():
        weights = old.weights.copy()
        weights[gather(old.indptr, rows)[1]] = new.weights
        return Rows(old.indptr, old.ids, weights)
    return Rows(*_native.replace_rows(*old, rows, offsets_of(lengths), new.ids, new.weights, n_attributes))


def _renamed(rows: Rows, names: IdArray, width: int) -> Rows:
    """Return the rows with the id ``names[i]`` for i, ascending within a row; ids are below ``width``."""
    ids, weights = names[rows.ids], rows.weights
    if (names[1:] < names[:-1]).any():  # labels that were not sorted: a model of another tool
        keys = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr)) * width + ids
        order = np.argsort(keys)
        ids, weights = ids[order], weights[order]
    return Rows(rows.indptr, ids, weights)


def _without_zeros(local: LocalProblem, weights: LinearWeights) -> tuple[FeatureIndex, LinearWeights]:
    """Return the local features without new ones of weight 0, and their weights."""
    index, n_transitions = local.index, sum(local.index.sizes[:2])
    known_pair, known_state = np.split(local.known[n_transitions:], [index.sizes[2]])
    state, pair = known_state | (weights.state != 0), known_pair | (weights.pair != 0)
    L, A = index.n_labels, index.n_attributes
    fewer = FeatureIndex(
        L,
        *rows_of(index.state_keys()[state], L, A),
        index.edges,
        index.ngrams,
        *rows_of(index.pair_keys()[pair], L**2, A),
    )
    return fewer, replace(weights, state=weights.state[state], pair=weights.pair[pair])


def _vocabulary(
    old: LinearTagger, encoder: InputEncoder, index: FeatureIndex, attributes: IntArray
) -> tuple[Vocabulary, IntArray]:
    """Return the vocabulary with the new names that are needed, and the batch's attributes in it.

    A name without a feature is left out (-1), unless conjunctions, rules or the width of arrays need it.
    """
    n_old, grown = len(old.vocabulary), encoder.vocabulary
    if len(grown) == n_old:
        return old.vocabulary, attributes
    used = (np.diff(index.state_indptr) > 0) | (np.diff(index.pair_indptr) > 0) | (attributes < n_old)
    n_needed = int((attributes[used] >= n_old).sum())
    if n_old + n_needed == len(grown) or encoder.associations is not None or encoder.conjunctions.atoms:
        return grown, attributes
    if grown.names_columns():
        return grown, attributes
    ids = np.where(used, attributes, -1)
    new = ids >= n_old
    vocabulary = old.vocabulary.copy() if new.any() else old.vocabulary
    if new.any():
        ids[new] = vocabulary.add(grown.strings_of(attributes[new]))
    return vocabulary, ids
