"""How often each feature of a part of the data occurs, so that the features of all parts can be found.

The parts need not know each other's attributes and labels: the counts of a part are renumbered when they are
added to those of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex, build_index, padded_runs, renamed_ngrams, rows_of, run_counts

_ENTRIES = 1 << 22  # counted at once


@dataclass(frozen=True)
class FeatureCounts:
    """Features that occur, each with the number of positions where it does."""

    n_labels: int  # L
    n_attributes: int  # A
    state_keys: IntArray  # [F] attribute * L + label, ascending
    state: IntArray  # [F]
    pair_keys: IntArray  # [G] (attribute * L + previous label) * L + label, ascending
    pairs: IntArray  # [G]
    edges: IntArray  # [L, L]
    ngrams: IdArray  # [M, order + 1] longer runs of labels, ascending
    runs: IntArray  # [M]

    @classmethod
    def of(
        cls,
        sequences: Sequences,
        labels: Labels,
        n_labels: int,
        *,
        order: int,
        kinds: npt.NDArray[np.uint8] | None,  # [A]
        exact: bool,  # False: a count of 1 says that a feature occurs
    ) -> FeatureCounts:
        """Count the features of a part of the data."""
        L = n_labels
        if L == 0:  # nothing is known of this part's labels
            none = np.zeros(0, np.int64)
            edges, ngrams = np.zeros((0, 0), np.int64), np.zeros((0, order + 1), np.int32)
            return cls(L, sequences.n_attributes, none, none, none, none, edges, ngrams, none)
        seen = build_index(sequences, labels, L, order=order, kinds=kinds)
        state_keys, pair_keys = seen.state_keys(), seen.pair_keys()
        state, pairs = np.ones(len(state_keys), np.int64), np.ones(len(pair_keys), np.int64)
        if exact:
            state = _count(sequences, labels, L, state_keys)
            pairs = _count_pairs(sequences, labels, L, pair_keys)
        (bigrams, n_bigrams), *longer = (
            run_counts(sequences.offsets, labels, L, span) for span in range(2, order + 2)
        )
        edges = np.zeros((L, L), np.int64)
        edges[tuple(bigrams.T)] = n_bigrams
        ngrams = padded_runs([rows for rows, _ in longer], order)
        runs = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in longer)])
        ngrams, runs = _added_rows([(ngrams, runs)])
        return cls(L, sequences.n_attributes, state_keys, state, pair_keys, pairs, edges, ngrams, runs)

    def renumbered(
        self, attributes: IdArray, labels: IdArray, n_attributes: int, n_labels: int
    ) -> FeatureCounts:
        """Return the counts under other numbers: those of ``attributes`` [A] and ``labels`` [L]."""
        L, width = max(1, self.n_labels), n_labels
        new = attributes.astype(np.int64)
        label = labels.astype(np.int64)
        state_keys = new[self.state_keys // L] * width + label[self.state_keys % L]
        pair = self.pair_keys % L**2
        pair_keys = (new[self.pair_keys // L**2] * width + label[pair // L]) * width + label[pair % L]
        by_state, by_pair = np.argsort(state_keys), np.argsort(pair_keys)
        return FeatureCounts(
            width,
            n_attributes,
            state_keys[by_state],
            self.state[by_state],
            pair_keys[by_pair],
            self.pairs[by_pair],
            _spread(self.edges, labels, width),
            *_added_rows([(renamed_ngrams(self.ngrams, label)[0], self.runs)]),
        )

    def frequent(self, min_freq: float, *, transitions: bool) -> FeatureIndex:
        """Return the features that occur at least ``min_freq`` times."""
        least, L = max(1, min_freq), self.n_labels
        edges = self.edges >= least
        return FeatureIndex(
            L,
            *rows_of(self.state_keys[self.state >= least], L, self.n_attributes),
            edges if transitions else np.zeros_like(edges),
            self.ngrams[self.runs >= least],
            *rows_of(self.pair_keys[self.pairs >= least], L**2, self.n_attributes),
        )


def added(parts: Iterable[FeatureCounts]) -> FeatureCounts:
    """Return the sums of counts with the same attributes and labels."""
    all_parts = list(parts)
    first = all_parts[0]
    state_keys, state = _added_keys([(part.state_keys, part.state) for part in all_parts])
    pair_keys, pairs = _added_keys([(part.pair_keys, part.pairs) for part in all_parts])
    ngrams = _added_rows([(part.ngrams, part.runs) for part in all_parts])
    edges = np.sum([part.edges for part in all_parts], axis=0)
    return FeatureCounts(
        first.n_labels, first.n_attributes, state_keys, state, pair_keys, pairs, edges, *ngrams
    )


def _added_keys(parts: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    keys, place = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, place, np.concatenate([counts for _, counts in parts]))
    return keys, counts


def _added_rows(parts: list[tuple[IdArray, IntArray]]) -> tuple[IdArray, IntArray]:
    """Return rows of labels ascending, each once, with the sums of their counts."""
    rows, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not len(rows):
        return rows, counts
    found, place = np.unique(rows, axis=0, return_inverse=True)
    return found, np.bincount(place.reshape(-1), counts, len(found)).astype(np.int64)


def _spread(counts: IntArray, labels: IdArray, n_labels: int) -> IntArray:
    out = np.zeros((n_labels,) * counts.ndim, np.int64)
    out[np.ix_(*(labels,) * counts.ndim)] = counts
    return out


def _count(sequences: Sequences, labels: Labels, n_labels: int, keys: IntArray) -> IntArray:
    """Return how often each attribute has each label; ``keys`` [F] are attribute * L + label."""
    counts = np.zeros(len(keys) + 1, np.int64)  # the last: keys of no feature
    partly = None
    if labels.allowed is not None:
        partly = labels.allowed & ~labels.allowed.all(axis=1, keepdims=True) & (labels.ids < 0)[:, None]
    for positions, entries in _pieces(sequences):
        attributes = sequences.indices[entries].astype(np.int64)
        ids = labels.ids[positions]
        known = ids >= 0
        _tally(counts, keys, attributes[known] * n_labels + ids[known])
        for label in range(n_labels if partly is not None else 0):
            here = partly[positions, label]  # type: ignore[index]
            _tally(counts, keys, attributes[here] * n_labels + label)
    return counts[:-1]


def _count_pairs(sequences: Sequences, labels: Labels, n_labels: int, keys: IntArray) -> IntArray:
    """Return how often each attribute has each pair of labels; both labels of a pair must be known."""
    counts = np.zeros(len(keys) + 1, np.int64)
    if not len(keys):
        return counts[:-1]
    ids, first = labels.ids, sequences.first
    for positions, entries in _pieces(sequences):
        before = np.where(first[positions], -1, ids[positions - 1])
        known = (before >= 0) & (ids[positions] >= 0)
        attributes = sequences.indices[entries].astype(np.int64)[known]
        pair = before[known].astype(np.int64) * n_labels + ids[positions][known]
        _tally(counts, keys, attributes * n_labels**2 + pair)
    return counts[:-1]


def _tally(counts: IntArray, keys: IntArray, found: IntArray) -> None:
    """Add the number of times that each key is found; others are counted at the end."""
    place = np.searchsorted(keys, found)
    inside = place < len(keys)
    inside[inside] = keys[place[inside]] == found[inside]
    counts += np.bincount(np.where(inside, place, len(keys)), minlength=len(counts))


def _pieces(sequences: Sequences) -> Iterable[tuple[IntArray, slice]]:
    """Yield the entries in pieces, with the position of each."""
    indptr = sequences.indptr
    cuts = np.searchsorted(indptr, np.arange(0, sequences.indices.size, _ENTRIES), side="left")
    bounds = np.unique([*cuts.tolist(), len(indptr) - 1])
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield np.repeat(np.arange(a, b), np.diff(indptr[a : b + 1])), slice(int(indptr[a]), int(indptr[b]))
