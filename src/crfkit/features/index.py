"""Which features a linear CRF has: attribute-label pairs and transitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences

IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FeatureIndex:
    """State features by attribute, and the transitions that have a weight.

    Attribute a has the state features ``state_indptr[a] .. state_indptr[a+1]-1``; feature f is for the label
    ``state_labels[f]``, ascending within an attribute.
    """

    n_labels: int  # L
    state_indptr: IntArray  # [A+1]
    state_labels: npt.NDArray[np.int32]  # [F]
    edges: Mask  # [L, L] label bigrams with a weight
    edges2: Mask | None = None  # [L, L, L] label trigrams with a weight; None in a first-order model
    pair_indptr: IntArray | None = None  # [A+1] features of an attribute with label bigrams; None: none
    pair_ids: npt.NDArray[np.int32] | None = None  # [G] previous label * L + label, ascending in an attribute

    @property
    def order(self) -> int:
        """1, or 2 where label trigrams have weights."""
        return 1 if self.edges2 is None else 2

    @property
    def n_attributes(self) -> int:
        """A."""
        return len(self.state_indptr) - 1

    @property
    def n_features(self) -> int:
        """F, state features and transitions together."""
        n = len(self.state_labels) + int(self.edges.sum())
        return n if self.edges2 is None else n + int(self.edges2.sum())

    def state_keys(self) -> IntArray:
        """``attribute * L + label`` of every state feature, ascending [F]."""
        attributes = np.repeat(np.arange(self.n_attributes, dtype=np.int64), np.diff(self.state_indptr))
        return attributes * self.n_labels + self.state_labels

    def union(self, keys: IntArray, edges: Mask, edges2: Mask | None) -> FeatureIndex:
        """This index with more state features (as ``state_keys``) and transitions in it."""
        merged = np.union1d(self.state_keys(), keys)
        attributes = merged // self.n_labels
        return FeatureIndex(
            self.n_labels,
            np.searchsorted(attributes, np.arange(self.n_attributes + 1)).astype(np.int64),
            (merged % self.n_labels).astype(np.int32),
            self.edges | edges,
            self.edges2 if self.edges2 is None or edges2 is None else self.edges2 | edges2,
        )


def build_index(
    sequences: Sequences,
    labels: Labels,
    n_labels: int,
    *,
    order: int = 1,
    min_freq: float = 0,
    all_possible_states: bool = False,
    all_possible_transitions: bool = False,
) -> FeatureIndex:
    """The features seen at least ``min_freq`` times in the data, or all possible ones.

    A feature is counted once for every position where its attribute is present, whatever its value. A
    position whose label is one of several counts for each of them; one whose label is missing counts for
    none.
    """
    L = n_labels
    if all_possible_states:
        state_indptr = np.arange(sequences.n_attributes + 1, dtype=np.int64) * L
        state_labels = np.tile(np.arange(L, dtype=np.int32), sequences.n_attributes)
    else:
        allowed = None if labels.allowed is None else labels.allowed.view(np.uint8)
        state_indptr, state_labels = _native.state_features(
            sequences.indptr,
            sequences.indices,
            labels.ids,
            allowed,
            sequences.n_attributes,
            L,
            max(1, int(np.ceil(min_freq))),
        )
    edges = [_transitions(sequences.offsets, labels, L, span, min_freq) for span in range(2, order + 2)]
    if all_possible_transitions:
        edges = [np.ones_like(mask) for mask in edges]
    return FeatureIndex(L, state_indptr, state_labels, edges[0], edges[1] if order == 2 else None)


def _transitions(offsets: IntArray, labels: Labels, n_labels: int, span: int, min_freq: float) -> Mask:
    """Which runs of ``span`` labels occur at least min_freq times, [L] * span."""
    ids = labels.ids.astype(np.int64)
    n = len(ids)
    shape = (n_labels,) * span
    if n < span:
        return np.zeros(shape, np.bool_)
    last = np.arange(span - 1, n)
    begin = np.repeat(offsets[:-1], np.diff(offsets))  # [ΣT] first position of its sequence
    last = last[begin[last] <= last - span + 1]
    runs = np.stack([ids[last - span + 1 + k] for k in range(span)])  # [span, M]
    known = (runs >= 0).all(axis=0)
    counts = np.bincount(np.ravel_multi_index(tuple(runs[:, known]), shape), minlength=n_labels**span)
    if labels.allowed is not None:
        kinds, kind = np.unique(labels.allowed, axis=0, return_inverse=True)  # [K, L], [ΣT]
        open_runs = np.stack([kind.ravel()[last[~known] - span + 1 + k] for k in range(span)])  # [span, M]
        distinct, n_runs = np.unique(open_runs, axis=1, return_counts=True)
        for run, n_times in zip(distinct.T, n_runs, strict=True):
            rows = [kinds[k] for k in run]
            if not any(row.all() and n_labels > 1 for row in rows):
                counts.reshape(shape)[np.ix_(*(np.flatnonzero(row) for row in rows))] += n_times
    return (counts >= max(1, min_freq)).reshape(shape)
