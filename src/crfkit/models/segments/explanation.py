"""The reasons of a model of segments for a label and against its rival (``models/explanation.py``).

A label cannot be replaced alone: the segments around it change with it. So the predicted segmentation is
compared with the best one that has the rival at this position, and the reasons are the terms in which their
scores differ: attributes of positions, of last positions and of whole segments, lengths and pairs of labels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.inference import SEGMENTATIONS, SegmentLattice, Spans
from crfkit.inference.lattice import ScoredSequences
from crfkit.inference.segment_answers import segments_of
from crfkit.models.explanation import Reason
from crfkit.models.segments.tagger import SegmentTagger
from crfkit.potentials.segments import Rows, SegmentInput


class SegmentReasons:
    """The reasons at the positions of a batch, whose scores may have constraints applied."""

    def __init__(self, tagger: SegmentTagger, batch: SegmentInput, lattice: ScoredSequences) -> None:
        if not isinstance(lattice, SegmentLattice):
            raise InputError(f"expected the scores of segments, got {type(lattice).__name__}")
        self._tagger, self._batch, self._lattice = tagger, batch, lattice

    def __call__(self, labels: IntArray, start: int, stop: int, t: int, rival: int) -> Iterator[Reason]:
        """Yield the terms in which the two segmentations differ; the sequence is start..stop-1."""
        codec = self._tagger.codec
        own = codec.encode(labels[start:stop].astype(np.int32), np.array([0, stop - start]))
        i = int(np.searchsorted(self._lattice.offsets, start, side="right")) - 1
        scores = _sequence(self._lattice, i)
        node = scores.node.copy()
        node[t - start, codec.class_of != rival] = -np.inf
        other = SEGMENTATIONS.best(scores.changed(node=node), n_jobs=1)
        terms: dict[str, float] = {}
        for sign, ids in ((1.0, own), (-1.0, other)):
            for what, weight in self._terms(ids, i, start):
                terms[what] = terms.get(what, 0.0) + sign * weight
        for what, weight in terms.items():
            if abs(weight) > 1e-12:
                yield Reason(what, weight)

    def _terms(self, ids: IdArray, i: int, start: int) -> Iterator[tuple[str, float]]:
        """Yield the terms of the score of a segmentation of sequence i, which begins at ``start``."""
        tagger, x = self._tagger, self._batch.sequences
        features, weights, types = tagger.potential.features, tagger.weights, tagger.codec.types
        names = tagger.vocabulary
        for t, k in enumerate(ids.tolist()):
            yield from _attributes(x, start + t, names, features.states, weights.state, k, "")
        found, _ = segments_of(ids, np.array([0, len(ids)]), len(types))
        spans, of_spans = self._batch.spans, self._batch.of_spans
        before = None
        for a, b, y in zip(found.begin.tolist(), found.end.tolist(), found.label.tolist(), strict=True):
            K = weights.lengths.shape[1]
            beyond = max(0, b - a - K)
            length = float(weights.lengths[y, b - a - beyond - 1])
            tail = beyond * float(weights.tail[y]) if beyond else 0.0
            yield f"{types[y]} of length {b - a}", length + tail
            if before is not None:
                yield f"{types[before]} → {types[y]}", float(weights.edge[before, y])
            if features.last is not None:
                yield from _attributes(x, start + b - 1, names, features.last, weights.last, y, "last ")
            if spans is not None and of_spans is not None and features.spans is not None:
                for s in _span_at(spans, i, a, b):
                    yield from _attributes(
                        of_spans, s, tagger.span_names, features.spans, weights.span, y, "segment "
                    )
            before = y


def _attributes(
    x: Sequences, t: int, names: Vocabulary, rows: Rows, weights: FloatArray, k: int, prefix: str
) -> Iterator[tuple[str, float]]:
    """Yield the terms of the attributes at position t with label k."""
    for e in range(int(x.indptr[t]), int(x.indptr[t + 1])):
        a = int(x.indices[e])
        row = slice(int(rows.indptr[a]), int(rows.indptr[a + 1]))
        at = np.flatnonzero(rows.ids[row] == k)
        if len(at):
            value = 1.0 if x.values is None else float(x.values[e])
            yield prefix + names.strings(a, a + 1)[0], value * float(weights[row][at[0]])


def _span_at(spans: Spans, i: int, begin: int, end: int) -> list[int]:
    low, high = np.searchsorted(spans.sequence, [i, i + 1])
    here = slice(int(low), int(high))
    found = np.flatnonzero((spans.begin[here] == begin) & (spans.end[here] == end))
    return (found + int(low)).tolist()


def _sequence(scores: SegmentLattice, i: int) -> SegmentLattice:
    """Return the scores of sequence i alone."""
    here = slice(int(scores.offsets[i]), int(scores.offsets[i + 1]))
    given: dict[str, object] = {"node": scores.node[here], "offsets": np.array([0, here.stop - here.start])}
    if scores.last is not None:
        given["last"] = scores.last[here]
    if scores.spans is not None and scores.span is not None:
        low, high = np.searchsorted(scores.spans.sequence, [i, i + 1]).tolist()
        _, begin, end = scores.spans
        given["spans"] = Spans(np.zeros(high - low, np.int64), begin[low:high], end[low:high])
        given["span"] = scores.span[low:high]
    return scores.changed(**given)
