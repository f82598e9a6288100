"""The attributes of the spans of a batch: of stretches that may be segments.

The function or the gazetteers see X as the user gives it. In training, only attributes of segments of the
training data get weights; spans without any of these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.encode import encode
from crfkit.data.reading import frame_columns, is_frame, is_sparse
from crfkit.data.sequences import Encoded, Sequences, chosen_rows
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.span_features import Found, SpanFeatures
from crfkit.inference import LabelledSpans, Spans
from crfkit.objectives.linear_likelihood import check_values


def readable_twice(X: Any) -> Any:
    """Return X with lists in place of iterators."""
    if isinstance(X, Iterator):
        X = list(X)
    if isinstance(X, (list, tuple)) and any(isinstance(one, Iterator) for one in X):
        return [list(one) if isinstance(one, Iterator) else one for one in X]
    return X


def sequence_items(X: Any, offsets: IntArray, *, is_cut: bool) -> Sequence[Any]:
    """Return the items of each sequence of X, which has these offsets [N+1].

    They are as the user gives them, but rows of data frames are dicts. ``is_cut``: ``lengths`` cut X, which
    has the positions of all sequences.
    """
    if isinstance(X, Encoded):
        raise InputError(
            "segment_features and boundaries need X itself: they cannot be computed from attributes that are "
            "encoded already"
        )
    if isinstance(X, dict) or is_frame(X):
        X, is_cut = _rows(X), True
    if is_cut:
        X = X.tocsr() if is_sparse(X) else X
        return [X[a:b] for a, b in pairwise(offsets.tolist())]
    return [_rows(one) if is_frame(one) else one for one in X]


def _rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a data frame, or of a dict of columns."""
    columns = frame_columns(table, "X") if is_frame(table) else table
    lists = (column.to_list() if hasattr(column, "to_list") else column for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def attributes_of_segments(
    features: SpanFeatures, items: Sequence[Any], segments: LabelledSpans, vocabulary: Vocabulary
) -> Sequences:
    """Return the attributes of M segments, whose names are added to the vocabulary."""
    places = list(zip(*(part.tolist() for part in segments[:3]), strict=True))
    found = [_in_sequence(i, lambda i=i, a=a, b=b: features.at(items[i], a, b)) or [] for i, a, b in places]
    return _encoded(found, places, vocabulary, grow=True)


def spans_of(
    features: SpanFeatures, items: Sequence[Any], longest: int, vocabulary: Vocabulary
) -> tuple[Spans, Sequences]:
    """Return the spans that have an attribute of the vocabulary, and their attributes."""
    places: list[tuple[int, int, int]] = []
    attributes: list[Any] = []
    for i, one in enumerate(items):
        found: list[Found] = _in_sequence(i, lambda one=one: list(features.find(one, longest)))
        places.extend((i, begin, end) for begin, end, _ in found)
        attributes.extend(names for _, _, names in found)
    encoded = _encoded(attributes, places, vocabulary, grow=False)
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


def _encoded(
    attributes: list[Any], places: list[tuple[int, int, int]], vocabulary: Vocabulary, *, grow: bool
) -> Sequences:
    """Return the attributes of spans as one sequence, with a position per span."""
    try:
        found = encode([attributes], vocabulary, grow=grow)
        check_values(found)
    except InputError as error:
        place = re.match(r"sequence 0, position (\d+): ", str(error))
        if place is None:
            raise InputError(f"segment_features: {error}") from None
        i, begin, end = places[int(place[1])]
        raise InputError(
            f"sequence {i}: segment_features for the positions {begin} to {end - 1}: "
            f"{str(error)[place.end() :]}"
        ) from None
    return found


def _in_sequence(i: int, ask: Any) -> Any:
    try:
        return ask()
    except InputError as error:
        raise InputError(f"sequence {i}: {error}") from error
