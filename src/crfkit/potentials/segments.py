"""The linear potential of segments: weights on attributes of positions, of whole segments, and on lengths.

    first_t(y) = Σ_a value_a · w[a, y]          rest_t(y) = Σ_a value_a · w[a, L + y]
    last_t(y)  = Σ_a value_a · w_last[a, y]     span_s(y) = Σ_b value_b · w_span[b, y]
    edge(k, y) = w[k, y],  lengths(y, d) = w[y, d],  and for each position beyond d = K: tail(y) = w[y]

Attributes b are those of a span: of a stretch that may be a segment, such as being in a gazetteer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.sequences import Sequences, chosen_rows, gather
from crfkit.inference.segment_answers import bounds_of
from crfkit.inference.segment_lattice import SegmentLattice, Spans
from crfkit.inference.segmentations import SegmentGradient
from crfkit.threads import thread_count


class Boundaries(NamedTuple):
    """Where segments may begin, go on and end."""

    node: BoolArray  # [ΣT, 2L] begin, go on from the position before
    last: BoolArray  # [ΣT, L] end after it


class SegmentInput(NamedTuple):
    """Sequences with the attributes of their positions and of some of their spans."""

    sequences: Sequences
    spans: Spans | None = None  # [S]
    of_spans: Sequences | None = None  # the attributes of span s are at position s
    boundaries: Boundaries | None = None  # None: everywhere


class Rows(NamedTuple):
    """Which labels each attribute scores: attribute a those of ``ids[indptr[a] : indptr[a+1]]``."""

    indptr: IntArray  # [A+1]
    ids: IdArray  # [F]

    def only(self, attributes: IntArray) -> tuple[Rows, IntArray]:
        """Return the rows of some attributes, and the old places of their features."""
        indptr, places = gather(self.indptr, attributes)
        return Rows(indptr, self.ids[places]), places


@dataclass(frozen=True, eq=False)
class SegmentFeatures:
    """What has a weight. A vector of weights has the parts in the order of ``sizes``."""

    permitted: BoolArray  # [L, L] pairs of labels of consecutive segments; the others are forbidden
    longest: IntArray  # [L] longest permitted length of each label's segments
    states: Rows  # over 2L ids
    last: Rows | None = None  # over L labels
    spans: Rows | None = None  # over L labels
    tails: BoolArray | None = None  # [L] which labels' segments may be longer than K; None: no tail
    sizes: tuple[int, ...] = field(init=False)  # L², L·K, L or 0, F, G, H

    def __post_init__(self) -> None:
        L, K = len(self.longest), int(self.longest.max())
        rows = (0 if part is None else len(part.ids) for part in (self.states, self.last, self.spans))
        object.__setattr__(self, "sizes", (L * L, L * K, 0 if self.tails is None else L, *rows))

    @property
    def n_labels(self) -> int:
        return len(self.longest)

    @property
    def possible_lengths(self) -> BoolArray:
        """[L, K]."""
        possible: BoolArray = np.arange(1, int(self.longest.max()) + 1) <= self.longest[:, None]
        return possible

    @property
    def n_features(self) -> int:
        tails = 0 if self.tails is None else int(self.tails.sum())
        return int(self.permitted.sum() + self.possible_lengths.sum()) + tails + sum(self.sizes[3:])


class SegmentWeights(NamedTuple):
    """A vector of weights, in parts: views of it."""

    edge: FloatArray  # [L, L]
    lengths: FloatArray  # [L, K]
    tail: FloatArray  # [L] or [0]
    state: FloatArray  # [F]
    last: FloatArray  # [G]
    span: FloatArray  # [H]

    @classmethod
    def of(cls, features: SegmentFeatures, w: FloatArray) -> SegmentWeights:
        """Cut a vector into its parts."""
        L = features.n_labels
        edge, lengths, *rows = np.split(w, np.cumsum(features.sizes)[:-1])
        return cls(edge.reshape(L, L), lengths.reshape(L, -1), *rows)


class SegmentPotential:
    """A ``Parametric`` potential over segmentations."""

    def __init__(self, features: SegmentFeatures, weights: FloatArray | None = None) -> None:
        self.features = features
        self.vector = np.zeros(sum(features.sizes)) if weights is None else weights  # [P]
        L = features.n_labels
        self._states = _native.LinearScorer(*features.states, 2 * L)
        self._last = None if features.last is None else _native.LinearScorer(*features.last, L)
        self._spans = None if features.spans is None else _native.LinearScorer(*features.spans, L)
        self._forbidden = np.where(features.permitted, 0.0, -np.inf)  # [L, L]
        self._too_long = np.where(features.possible_lengths, 0.0, -np.inf)  # [L, K]
        self.scores_per_position = L * (2 if self._last is None else 3)

    def __reduce__(self) -> tuple[type[SegmentPotential], tuple[SegmentFeatures, FloatArray]]:
        return SegmentPotential, (self.features, self.vector)

    @property
    def n_parameters(self) -> int:
        return len(self.vector)

    @property
    def weights(self) -> SegmentWeights:
        return SegmentWeights.of(self.features, self.vector)

    def scores(
        self, batch: SegmentInput, w: FloatArray | None = None, *, n_jobs: int | None = None
    ) -> SegmentLattice:
        parts = SegmentWeights.of(self.features, self.vector if w is None else w)
        threads, L = thread_count(n_jobs), self.features.n_labels

        def scored(scorer: _native.LinearScorer, x: Sequences, weights: FloatArray, width: int) -> FloatArray:
            out = np.empty((len(x.indptr) - 1, width))
            scorer.scores(x.indptr, x.indices, x.values, np.ascontiguousarray(weights), out, threads)
            return out

        x, spans, bounds = batch.sequences, batch.of_spans, batch.boundaries
        node = scored(self._states, x, parts.state, 2 * L)
        last = None if self._last is None else scored(self._last, x, parts.last, L)
        if bounds is not None:
            node = np.where(bounds.node, node, -np.inf)
            last = np.where(bounds.last, 0.0 if last is None else last, -np.inf)
        return SegmentLattice(
            node,
            parts.edge + self._forbidden,
            parts.lengths + self._too_long,
            x.offsets,
            last=last,
            tail=None if self.features.tails is None else np.where(self.features.tails, parts.tail, -np.inf),
            spans=None if self._spans is None else batch.spans,
            span=None if self._spans is None or spans is None else scored(self._spans, spans, parts.span, L),
        )

    def backward(self, batch: SegmentInput, d_scores: SegmentGradient) -> FloatArray:
        gradient = np.zeros(self.n_parameters)
        parts = SegmentWeights.of(self.features, gradient)
        np.copyto(parts.edge, d_scores.edge, where=self.features.permitted)
        np.copyto(parts.lengths, d_scores.lengths, where=self.features.possible_lengths)
        if self.features.tails is not None and d_scores.tail is not None:
            np.copyto(parts.tail, d_scores.tail, where=self.features.tails)
        x, spans = batch.sequences, batch.of_spans
        self._states.backward(x.indptr, x.indices, x.values, d_scores.node, parts.state)
        if self._last is not None and d_scores.last is not None:
            self._last.backward(x.indptr, x.indices, x.values, d_scores.last, parts.last)
        if self._spans is not None and spans is not None and d_scores.span is not None:
            self._spans.backward(spans.indptr, spans.indices, spans.values, d_scores.span, parts.span)
        return gradient

    def curvature(self, batch: SegmentInput, expected: SegmentGradient) -> FloatArray:
        """Estimate the Hessian's diagonal, as if positions and segments were independent: Σ value² p (1 - p).

        Σ p (1 - p) of the beginnings of a label is shared by its lengths and by the pairs that it ends.
        """
        L = self.features.n_labels
        spread = {
            name: p * (1 - p / max(1.0, p.max(initial=0)))  # above 1: with weights of sequences
            for name in ("node", "last", "span")
            if (p := getattr(expected, name)) is not None
        }
        unsure = spread["node"][:, :L].sum(axis=0) / np.maximum(
            expected.node[:, :L].sum(axis=0), 1e-12
        )  # [L]
        shared = {"edge": expected.edge * unsure, "lengths": expected.lengths * unsure[:, None]}
        if expected.tail is not None:
            shared["tail"] = expected.tail * unsure
        x, spans = batch.sequences, batch.of_spans
        alike = batch._replace(sequences=_squared(x), of_spans=None if spans is None else _squared(spans))
        return self.backward(alike, expected._replace(**spread, **shared))

    def part(self, batch: SegmentInput, chosen: IntArray) -> tuple[SegmentPotential, SegmentInput, IntArray]:
        """Return some sequences, a potential of their features alone, and the places of its weights [p]."""
        features, spans, bounds = self.features, batch.spans, batch.boundaries
        sequences, own = _renumbered(batch.sequences.subset(chosen))
        of_spans, own_of_spans = batch.of_spans, np.zeros(0, np.int64)
        if spans is not None and of_spans is not None:
            stops, which = gather(bounds_of(spans.sequence, batch.sequences.n_sequences), chosen)
            numbers = np.repeat(np.arange(len(chosen)), np.diff(stops))
            spans = Spans(numbers, spans.begin[which], spans.end[which])
            of_spans, own_of_spans = _renumbered(chosen_rows(of_spans, which))
        if bounds is not None:
            _, positions = gather(batch.sequences.offsets, chosen)
            bounds = Boundaries(bounds.node[positions], bounds.last[positions])
        first = np.cumsum((0, *features.sizes))
        states, at = features.states.only(own)
        places = [np.arange(first[3]), first[3] + at]
        last = rows_of_spans = None
        if features.last is not None:
            last, at = features.last.only(own)
            places.append(first[4] + at)
        if features.spans is not None:
            rows_of_spans, at = features.spans.only(own_of_spans)
            places.append(first[5] + at)
        fewer = replace(features, states=states, last=last, spans=rows_of_spans)
        where = np.concatenate(places)
        part = SegmentInput(sequences, spans, of_spans, bounds)
        return SegmentPotential(fewer, self.vector[where]), part, where


def _renumbered(x: Sequences) -> tuple[Sequences, IntArray]:
    """Return sequences with numbers for their own attributes only, and the old numbers of these [A]."""
    own, indices = np.unique(x.indices, return_inverse=True)
    return replace(x, indices=indices.astype(np.int32), n_attributes=len(own)), own.astype(np.int64)


def _squared(x: Sequences) -> Sequences:
    return x if x.values is None else replace(x, values=x.values**2)
