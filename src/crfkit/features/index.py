"""The features of a linear CRF: attributes with a label, transitions, attributes with a label pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences, first_positions, offsets_of, whole_pieces
from crfkit.data.training_data import check_label_count
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import EDGE, STATE

Mask = BoolArray
_BLOCK = 1 << 20  # numbers at once
HIGHEST_ORDER = 30  # runs of labels are indices of arrays, which have at most 32 dimensions in NumPy 1
_MOST_POSSIBLE = 1 << 24  # label n-grams that need not occur
_MOST_OPEN_RUNS = 1 << 24  # runs of labels that are counted under partial labels
NO_NGRAMS: IdArray = np.zeros((0, 2), np.int32)  # of a first-order model


@dataclass(frozen=True)
class FeatureIndex:
    """State features by attribute, and the transitions that have a weight.

    Attribute a has the state features ``state_indptr[a] .. state_indptr[a+1]-1``; feature f is for the label
    ``state_labels[f]``, ascending within an attribute. A vector of weights has them in the order of
    ``sizes``.
    """

    n_labels: int  # L
    state_indptr: IntArray  # [A+1]
    state_labels: IdArray  # [F]
    edges: Mask  # [L, L] label bigrams with a weight
    ngrams: IdArray = field(default_factory=lambda: NO_NGRAMS)  # [M, order + 1] longer ones, ascending
    pair_indptr: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # [A+1] by default: no pairs
    pair_ids: IdArray = field(default_factory=lambda: np.zeros(0, np.int32))  # [G] previous label * L + label

    # The parts of a vector of weights: edges [L, L], n-grams [M], pair features [G], state features [F].
    # Label bigrams without a feature have a place too; their weight is 0.
    sizes: tuple[int, int, int, int] = field(init=False)
    has_pairs: bool = field(init=False)  # whether attributes score label pairs

    def __post_init__(self) -> None:
        if not len(self.pair_indptr):
            object.__setattr__(self, "pair_indptr", np.zeros_like(self.state_indptr))
        object.__setattr__(self, "ngrams", np.ascontiguousarray(self.ngrams, np.int32))
        sizes = self.edges.size, len(self.ngrams), len(self.pair_ids), len(self.state_labels)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "has_pairs", len(self.pair_ids) > 0)

    @property
    def order(self) -> int:
        """Number of previous labels that a weight may depend on."""
        return int(self.ngrams.shape[1]) - 1

    @property
    def n_attributes(self) -> int:
        return len(self.state_indptr) - 1

    @property
    def n_features(self) -> int:
        """F + G + the number of transitions."""
        return int(self.edges.sum()) + sum(self.sizes[1:])

    @cached_property
    def places(self) -> IntArray:
        """The place of each feature in a vector of weights, ascending [n_features]."""
        return np.flatnonzero(np.concatenate([self.edges.ravel(), np.ones(sum(self.sizes[1:]), np.bool_)]))

    def state_keys(self) -> IntArray:
        """Return ``attribute * L + label`` of every state feature, ascending [F]."""
        return _keys(self.state_indptr, self.state_labels, self.n_labels)

    def pair_keys(self) -> IntArray:
        """Return ``(attribute * L + previous label) * L + label`` of every pair feature, ascending [G]."""
        return _keys(self.pair_indptr, self.pair_ids, self.n_labels**2)

    @property
    def used(self) -> BoolArray:
        """Which attributes have features [A]."""
        used: BoolArray = (np.diff(self.state_indptr) > 0) | (np.diff(self.pair_indptr) > 0)
        return used

    def only(self, kept: BoolArray) -> FeatureIndex:
        """Return the index of some features, those with True in a vector of the order of ``sizes``."""
        L, A = self.n_labels, self.n_attributes
        edges, ngrams, pairs, states = np.split(kept, np.cumsum(self.sizes)[:-1])
        return FeatureIndex(
            L,
            *rows_of(self.state_keys()[states], L, A),
            self.edges & edges.reshape(L, L),
            self.ngrams[ngrams],
            *rows_of(self.pair_keys()[pairs], L * L, A),
        )

    def speaking_for(self, own: IdArray) -> FeatureIndex:
        """Return this index without the state features of attributes for other labels than their own.

        ``own`` [A] is the only label that an attribute may score; -1: any.
        """
        keys = self.state_keys()
        label = own[keys // self.n_labels]
        kept = keys[(label < 0) | (label == keys % self.n_labels)]
        indptr, labels = rows_of(kept, self.n_labels, self.n_attributes)
        return replace(self, state_indptr=indptr, state_labels=labels)

    def union(self, keys: IntArray, edges: Mask, ngrams: IdArray, pair_keys: IntArray) -> FeatureIndex:
        """Return this index with more state features (as ``state_keys``), transitions and pair features."""
        merged = np.union1d(self.state_keys(), keys)
        merged_pairs = np.union1d(self.pair_keys(), pair_keys)
        return FeatureIndex(
            self.n_labels,
            *rows_of(merged, self.n_labels, self.n_attributes),
            self.edges | edges,
            unique_ngrams(np.concatenate([self.ngrams, ngrams])),
            *rows_of(merged_pairs, self.n_labels**2, self.n_attributes),
        )


def _keys(indptr: IntArray, ids: IdArray, width: int) -> IntArray:
    attributes = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    return attributes * width + ids


def with_features(sequences: Sequences, index: FeatureIndex) -> tuple[Sequences, FeatureIndex]:
    """Return the attributes that have features alone, numbered anew in the same order."""
    used = index.used
    kept = sequences.only(used[sequences.indices])
    numbers = (np.cumsum(used) - 1).astype(np.int32)  # [A]
    rows = np.append(np.flatnonzero(used), len(used))
    small = replace(index, state_indptr=index.state_indptr[rows], pair_indptr=index.pair_indptr[rows])
    return Sequences(kept.offsets, kept.indptr, numbers[kept.indices], kept.values, int(used.sum())), small


def rows_of(keys: IntArray, width: int, n_attributes: int) -> tuple[IntArray, IdArray]:
    """Convert ascending keys ``attribute * width + id`` to indptr [A+1] and ids."""
    indptr = np.searchsorted(keys // width, np.arange(n_attributes + 1)).astype(np.int64)
    return indptr, (keys % width).astype(np.int32)


def unique_ngrams(rows: npt.NDArray[Any]) -> IdArray:
    """Return rows of labels [M, order + 1] ascending, each once."""
    return np.unique(rows, axis=0).astype(np.int32, copy=False) if len(rows) else rows.astype(np.int32)


def places_of(rows: IdArray, ngrams: IdArray) -> IntArray:
    """Return the place of each row of labels among n-grams, which ascend; -1: it is not among them."""
    if not len(rows) or not len(ngrams):
        return np.full(len(rows), -1, np.int64)
    found, number = np.unique(np.concatenate([ngrams, rows]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    place = np.full(len(found), -1, np.int64)
    place[number[: len(ngrams)]] = np.arange(len(ngrams))
    return place[number[len(ngrams) :]]


def renamed_ngrams(ngrams: IdArray, ids: IntArray) -> tuple[IdArray, IntArray]:
    """Return n-grams over the new labels ``ids`` of the old ones (-1: none), and their places before."""
    new = np.where(ngrams >= 0, ids[ngrams], -1)
    kept = np.flatnonzero(((new >= 0) | (ngrams < 0)).all(axis=1))
    return new[kept].astype(np.int32), kept


def spread(table: npt.NDArray[Any], ids: IntArray, n_labels: int) -> npt.NDArray[Any]:
    """Return a table over the old labels as one over the new labels, 0 elsewhere."""
    kept = np.flatnonzero(ids >= 0)
    out = np.zeros((n_labels,) * table.ndim, table.dtype)
    out[np.ix_(*(ids[kept],) * table.ndim)] = table[np.ix_(*(kept,) * table.ndim)]
    return out


def build_index(
    sequences: Sequences,
    labels: Labels,
    n_labels: int,
    *,
    order: int = 1,
    min_freq: float = 0,
    all_possible_states: bool = False,
    all_possible_transitions: bool = False,
    kinds: npt.NDArray[np.uint8] | None = None,  # [A]
    transitions: bool = True,
) -> FeatureIndex:
    """Return the features seen at least ``min_freq`` times in the data, or all possible ones.

    A feature is counted once for every position where its attribute is present, with any value. A
    position whose label is one of several counts for each of them; one whose label is missing counts for
    none. ``kinds`` is what each attribute scores (``features.edge_attributes``); None: labels. Pair
    features are counted where both labels are known. ``transitions=False`` leaves out label bigrams.
    """
    L = n_labels
    check_label_count(L)
    if all_possible_transitions and order > 1 and L ** (order + 1) > _MOST_POSSIBLE:
        raise InputError(
            f"all_possible_transitions with order={order} and {L:,} labels means {L ** (order + 1):,} "
            f"weights of label n-grams; at most {_MOST_POSSIBLE:,} are possible: take those that occur"
        )
    allowed = None if labels.allowed is None else labels.allowed.view(np.uint8)
    if all_possible_states:
        has = np.ones(sequences.n_attributes, np.int64) if kinds is None else np.minimum(kinds & STATE, 1)
        state_indptr = offsets_of(has * L)
        state_labels = np.tile(np.arange(L, dtype=np.int32), int(has.sum()))
    else:
        state_indptr, state_labels = _native.state_features(
            sequences.indptr,
            sequences.indices,
            labels.ids,
            allowed,
            sequences.n_attributes,
            L,
            _least(min_freq),
            None if kinds is None else (kinds & STATE).astype(np.uint8),
        )
    edges = np.zeros((L, L), np.bool_)
    if all_possible_transitions:
        edges[:] = transitions
        runs = [np.argwhere(np.ones((L,) * span, np.bool_)) for span in range(3, order + 2)]
    else:
        found = [run_counts(sequences.offsets, labels, L, span) for span in range(2, order + 2)]
        often = [rows[counts >= max(1, min_freq)] for rows, counts in found]
        edges[tuple(often[0].T)] = transitions
        runs = often[1:]
    ngrams = unique_ngrams(padded_runs(runs, order))
    pairs: tuple[()] | tuple[IntArray, IdArray] = ()
    if kinds is not None and (kinds & EDGE).any():
        pairs = _pair_features(sequences, labels, L, kinds, min_freq, all_possible_transitions)
    return FeatureIndex(L, state_indptr, state_labels, edges, ngrams, *pairs)


def _least(min_freq: float) -> int:
    """Return the least count of a feature; beyond 2⁶² there is no difference."""
    return max(1, int(np.ceil(min(min_freq, 2.0**62))))


def _pair_features(
    sequences: Sequences,
    labels: Labels,
    n_labels: int,
    kinds: npt.NDArray[np.uint8],
    min_freq: float,
    everything: bool,
) -> tuple[IntArray, IdArray]:
    """Return which label pairs each attribute scores: indptr [A+1] and pair ids [G]."""
    L = n_labels
    scoring = (kinds & EDGE) != 0
    if everything:
        indptr = offsets_of(scoring * L**2)
        return indptr, np.tile(np.arange(L**2, dtype=np.int32), int(scoring.sum()))
    ids = labels.ids
    pairs = np.full(len(ids), -1, np.int32)  # [ΣT]
    pairs[1:] = np.where((ids[:-1] >= 0) & (ids[1:] >= 0), ids[:-1] * L + ids[1:], -1)
    pairs[first_positions(sequences.offsets)] = -1
    return _native.state_features(
        sequences.indptr,
        sequences.indices,
        pairs,
        None,
        sequences.n_attributes,
        L**2,
        _least(min_freq),
        scoring.view(np.uint8),
    )


def run_counts(offsets: IntArray, labels: Labels, n_labels: int, span: int) -> tuple[IntArray, IntArray]:
    """Return the runs of ``span`` labels that occur [M, span], ascending, and how often each does [M].

    Runs with positions of which only a set of labels is known count for all labellings that they permit, as
    long as a table of all runs has at most 2²⁴ entries; otherwise they count for none.
    """
    if span > np.diff(offsets).max(initial=0):
        return np.zeros((0, span), np.int64), np.zeros(0, np.int64)
    if n_labels**span >= 2**63:
        raise InputError(
            f"runs of {span} of {n_labels:,} labels are too many to tell apart: use a lower order"
        )
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for first, last in whole_pieces(offsets):
        more, here = _counted_runs(offsets[first : last + 1], labels, n_labels, span)
        keys, places = np.unique(np.concatenate([keys, more]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([counts, here]), len(keys)).astype(np.int64)
    return np.stack(np.unravel_index(keys, (n_labels,) * span), axis=1).astype(np.int64), counts


def padded_runs(parts: Sequence[IntArray], order: int) -> IdArray:
    """Return runs of different lengths as rows [M, order + 1], one part after the other."""
    rows = [np.pad(part, ((0, 0), (order + 1 - part.shape[1], 0)), constant_values=-1) for part in parts]
    return np.concatenate([np.zeros((0, order + 1), np.int32), *rows]).astype(np.int32)


def _counted_runs(offsets: IntArray, labels: Labels, n_labels: int, span: int) -> tuple[IntArray, IntArray]:
    """Return which runs of ``span`` labels sequences with these offsets have, as numbers, and how often."""
    start, stop = int(offsets[0]), int(offsets[-1])
    ids = labels.ids[start:stop].astype(np.int64)
    begin = np.repeat(offsets[:-1], np.diff(offsets)) - start  # first position of its sequence
    last = np.arange(span - 1, len(ids))
    last = last[begin[last] <= last - span + 1]
    shape = (n_labels,) * span
    runs = np.stack([ids[last - span + 1 + k] for k in range(span)])  # [span, M]
    known = (runs >= 0).all(axis=0)
    keys, counts = np.unique(np.ravel_multi_index(tuple(runs[:, known]), shape), return_counts=True)
    if labels.allowed is not None and not known.all() and n_labels**span <= _MOST_OPEN_RUNS:
        table = _open_runs(labels.allowed[start:stop], last[~known], span).ravel()
        table[keys] += counts
        keys = np.flatnonzero(table)
        counts = table[keys]
    return keys, counts


def _open_runs(allowed: BoolArray, last: IntArray, span: int) -> IntArray:
    """Return how many runs permit each labelling, [L] * span; a run ends at each of the positions ``last``.

    Runs with a position of which nothing is known count for none. The counts are sums of outer products, so
    a matrix product gives them; blocks are small enough for whole numbers in single precision.
    """
    L = allowed.shape[1]
    counts = np.zeros((L ** (span - 1), L), np.int64)
    vague: BoolArray = np.logical_and.reduce(allowed, axis=1) & (L > 1)  # [ΣT]
    for k in range(span):
        last = last[~vague[last - k]]
    size = max(1, _BLOCK // L ** (span - 1))
    for begin in range(0, len(last), size):
        block = last[begin : begin + size]
        before = allowed[block - span + 1].astype(np.float32)  # [M, L], then [M, L²]
        for k in range(span - 2, 0, -1):
            before = (before[:, :, None] * allowed[block - k][:, None, :]).reshape(len(block), -1)
        counts += (before.T @ allowed[block].astype(np.float32)).astype(np.int64)
    return counts
