"""The attributes of the spans of a batch: of stretches that may be segments.

The function or the gazetteers see X as the user gives it. In training, only attributes of segments of the
training data get weights; spans without any of these are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.encode import encode
from crfkit.data.reading import frame_columns, is_frame
from crfkit.data.sequences import Encoded, Sequences, chosen_rows
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.span_features import Found, SpanFeatures
from crfkit.inference import LabelledSpans, Spans


def sequence_items(X: Any, offsets: IntArray) -> Sequence[Any]:
    """Return the items of each sequence of X, which has these offsets [N+1], as the user gives them."""
    if isinstance(X, Encoded):
        raise InputError(
            "segment_features need X itself: they cannot be computed from attributes that are encoded already"
        )
    if isinstance(X, dict) or is_frame(X):
        columns = frame_columns(X, "X") if is_frame(X) else X
        rows = [
            dict(zip(columns, row, strict=True))
            for row in zip(*(_listed(column) for column in columns.values()), strict=True)
        ]
        return [rows[a:b] for a, b in pairwise(offsets.tolist())]
    n = len(offsets) - 1
    if len(X) == n and all(len(X[i]) == size for i, size in enumerate(np.diff(offsets).tolist())):
        found: Sequence[Any] = X
        return found
    return [X[a:b] for a, b in pairwise(offsets.tolist())]  # one array with the rows of all


def _listed(column: Any) -> list[Any]:
    return column.to_list() if hasattr(column, "to_list") else list(column)


def attributes_of_segments(
    features: SpanFeatures, items: Sequence[Any], segments: LabelledSpans, vocabulary: Vocabulary
) -> Sequences:
    """Return the attributes of M segments, whose names are added to the vocabulary."""
    found = (
        _in_sequence(i, lambda i=i, a=a, b=b: features.at(items[i], a, b)) or []
        for i, a, b in zip(*(part.tolist() for part in segments[:3]), strict=True)
    )
    return _encoded(found, vocabulary, grow=True)


def spans_of(
    features: SpanFeatures, items: Sequence[Any], longest: int, vocabulary: Vocabulary
) -> tuple[Spans, Sequences]:
    """Return the spans that have an attribute of the vocabulary, and their attributes."""
    places: list[tuple[int, int, int]] = []

    def attributes() -> Iterator[Any]:
        for i, one in enumerate(items):
            found: list[Found] = _in_sequence(i, lambda one=one: list(features.find(one, longest)))
            places.extend((i, begin, end) for begin, end, _ in found)
            yield from (names for _, _, names in found)

    encoded = _encoded(attributes(), vocabulary, grow=False)
    known = np.flatnonzero(np.diff(encoded.indptr))
    table = np.array(places, np.int64).reshape(-1, 3)[known]
    order = np.lexsort((table[:, 2], table[:, 1], table[:, 0]))
    spans = Spans(*np.ascontiguousarray(table[order].T))
    return spans, chosen_rows(encoded, known[order])


def subset(spans: Spans, of_spans: Sequences, start: int, stop: int) -> tuple[Spans, Sequences]:
    """Return the spans of the sequences start..stop-1, numbered from 0."""
    a, b = np.searchsorted(spans.sequence, [start, stop])
    mine = Spans(spans.sequence[a:b] - start, spans.begin[a:b], spans.end[a:b])
    return mine, chosen_rows(of_spans, np.arange(a, b))


def _encoded(attributes: Iterator[Any], vocabulary: Vocabulary, *, grow: bool) -> Sequences:
    """Return the attributes of spans as one sequence, with a position per span."""
    rows = list(attributes)
    try:
        return encode([rows], vocabulary, grow=grow)
    except InputError as error:
        raise InputError(f"segment_features: {error} (positions are the stretches asked for)") from None


def _in_sequence(i: int, ask: Any) -> Any:
    try:
        return ask()
    except InputError as error:
        raise InputError(f"sequence {i}: {error}") from error
