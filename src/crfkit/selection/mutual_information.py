"""A filter: features by their mutual information with the labels, without a model.

The relevance S of a state feature (attribute a, label l) is the mutual information, over positions, of "a is
present" and "the label is l", times the number of positions; for a transition, of "the previous label is j"
and "the label is l". With ``redundancy`` features are chosen one by one, by

    S(α) - max_β R(α, β),     R(α, β) = |α ∩ β| / |α ∪ β| · min(S(α), S(β))

where β was chosen before for the same label, and |α| are the positions of α's attribute (Cheng, Yan, Han and
Hsu, "Discriminative frequent pattern analysis for effective classification", ICDE 2007).
"""

from __future__ import annotations

import heapq
from typing import Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.data.sequences import inner_positions
from crfkit.selection.forward import ForwardSelector, Scorer
from crfkit.selection.pool import Pool
from crfkit.selection.search import Search


def information(both: FloatArray, first: FloatArray, second: FloatArray, n: float) -> FloatArray:
    """Return n times the mutual information, in nats, of events seen ``first`` and ``second`` times in n."""
    total = np.zeros(np.broadcast_shapes(np.shape(both), np.shape(first), np.shape(second)))
    for count, row, column in (
        (both, first, second),
        (first - both, first, n - second),
        (second - both, n - first, second),
        (n - first - second + both, n - first, n - second),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            part = count * np.log(count * n / (row * column))
        total += np.where(count > 0, part, 0.0)
    return np.maximum(total, 0.0)


def relevance(pool: Pool) -> FloatArray:
    """Return the relevance S of every candidate [K]. Positions without a known label do not count."""
    ids, L = pool.labels.ids.astype(np.int64), pool.index.n_labels
    sequences = pool.sequences
    inner = inner_positions(sequences.offsets)  # [ΣT]
    before = np.concatenate((ids[:1], ids[:-1]))
    after_known = inner & (before >= 0) & (ids >= 0)
    pair = np.where(after_known, before * L + ids, -1)  # [ΣT]

    n_pairs = float(after_known.sum())
    table = np.bincount(pair[after_known], minlength=L * L).reshape(L, L).astype(float)
    scores = [information(table, table.sum(1)[:, None], table.sum(0), n_pairs)[pool.index.edges]]
    if pool.index.order == 2:
        early = np.concatenate((pair[:1], pair[:-1]))  # the pair that ends one position before
        known = after_known & (early >= 0) & np.concatenate(([False], inner[:-1]))
        runs = np.bincount(early[known] * L + ids[known], minlength=L**3).reshape(L * L, L).astype(float)
        found = information(runs, runs.sum(1)[:, None], runs.sum(0), float(known.sum()))
        scores.append(found.reshape(L, L, L)[tuple(pool.index.ngrams.T)])
    if pool.index.pair_ids is not None:
        scores.append(_with_attributes(pool, pair, L * L, pool.index.pair_keys()))
    scores.append(_with_attributes(pool, ids, L, pool.index.state_keys()))
    return np.concatenate(scores)


def _with_attributes(pool: Pool, events: IntArray, width: int, keys: IntArray) -> FloatArray:
    """Return the information of attributes and events (0 … width-1, or -1, per position), by keys of both."""
    sequences = pool.sequences
    known = events >= 0
    at = np.repeat(events, np.diff(sequences.indptr))  # [nnz]
    seen = sequences.indices[at >= 0].astype(np.int64)
    pairs, counts = np.unique(seen * width + at[at >= 0], return_counts=True)
    both = np.zeros(len(keys))
    if len(pairs):
        places = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
        both = np.where(pairs[places] == keys, counts[places], 0).astype(float)
    attribute = np.bincount(seen, minlength=sequences.n_attributes)[keys // width].astype(float)
    event = np.bincount(events[known], minlength=width)[keys % width].astype(float)
    return information(both, attribute, event, float(known.sum()))


def without_redundancy(search: Search, scores: FloatArray, open_ones: IntArray, n: int) -> FloatArray:
    """Return the gains of the first n features when they are chosen one by one [K], -inf for the others.

    Gains only fall as features are chosen. So they are kept in a heap, and only the gain of its best
    candidate is updated, until it stays the best.
    """
    pool = search.local
    L, first = pool.index.n_labels, pool.first_state
    keys = pool.index.state_keys()
    indptr, indices = pool.sequences.indptr, pool.sequences.indices
    counts = search.occurrences.counts
    lost = np.zeros(len(scores))
    heap = [(-float(scores[k]), int(k)) for k in open_ones]
    heapq.heapify(heap)
    gains = np.full(len(scores), -np.inf)
    for _ in range(n):
        while True:
            value, k = heapq.heappop(heap)
            gain = float(scores[k] - lost[k])
            if -value <= gain:
                break
            heapq.heappush(heap, (-gain, k))
        gains[k] = gain
        if k < first:
            continue  # transitions do not overlap with other features
        attribute, label = divmod(int(keys[k - first]), L)
        positions, _ = search.occurrences.of(attribute)
        lengths = indptr[positions + 1] - indptr[positions]
        shift = np.repeat(indptr[positions] - np.cumsum(lengths) + lengths, lengths)
        others, both = np.unique(indices[np.arange(lengths.sum()) + shift], return_counts=True)
        wanted = others.astype(np.int64) * L + label
        places = np.searchsorted(keys, wanted)
        found = (places < len(keys)) & (keys[np.minimum(places, len(keys) - 1)] == wanted)
        rivals, both = places[found] + first, both[found]
        overlap = both / (counts[others[found]] + len(positions) - both)
        lost[rivals] = np.maximum(lost[rivals], overlap * np.minimum(scores[rivals], scores[k]))
    return gains


class MutualInformationSelector(ForwardSelector):
    """A selector of features by mutual information with the labels: a filter, which uses no model.

    Parameters are those of :class:`crfkit.selection.GradientSelector` (without ``conjunctions``), and

    redundancy
        Whether to reduce the score of a feature that is redundant with those chosen before.

    A model is trained on the chosen features after every ``batch`` of them, for ``path_`` and for ``tol``.
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {**ForwardSelector._rules, "redundancy": rule.flag()}

    def __init__(self, n_features: int | None = None, *, redundancy: bool = True, **shared: Any) -> None:
        super().__init__(n_features, **shared)
        self.redundancy = redundancy

    def _scorer(self, search: Search) -> Scorer:
        scores = relevance(search.local)
        open_ones = np.setdiff1d(np.arange(len(scores)), search.chosen)
        if self.redundancy:
            scores = without_redundancy(search, scores, open_ones, search.room)

        def score(search: Search) -> tuple[FloatArray, FloatArray | None]:
            return scores.copy(), None

        return score
