"""A small problem of segments: two labels, attributes of positions and of spans, a pair that is forbidden."""

import numpy as np

from crfkit.data.sequences import Sequences
from crfkit.inference import Spans
from crfkit.potentials.segments import Rows, SegmentFeatures, SegmentInput, SegmentPotential

L, LENGTHS = 2, [4, 1, 0, 3]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
IDS = np.array([0, 2, 1, 3, 1, 0, 1, 3], np.int32)  # 2 and 3: labels 0 and 1 go on


def all_labels(n_attributes, n_labels):
    """Return rows in which every attribute scores every label."""
    return Rows(
        np.arange(n_attributes + 1, dtype=np.int64) * n_labels,
        np.tile(np.arange(n_labels, dtype=np.int32), n_attributes),
    )


def attributes(rng, n_rows, n_attributes, offsets):
    """Return random attributes, encoded and as an array."""
    values = rng.normal(size=(n_rows, n_attributes))
    ids = np.tile(np.arange(n_attributes, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * n_attributes
    return Sequences(offsets, indptr, ids, values.ravel(), n_attributes), values


def segment_problem(rng):
    """Return a potential with every kind of weight, its input, and the values of attributes."""
    x, values = attributes(rng, 8, 3, OFFSETS)
    spans = Spans(*np.array([[0, 0, 2], [0, 2, 3], [3, 0, 1], [3, 1, 3]]).T)
    of_spans, span_values = attributes(rng, 4, 2, np.array([0, 4]))
    features = SegmentFeatures(
        np.array([[True, True], [True, False]]),
        np.array([3, 2]),
        all_labels(3, 2 * L),
        all_labels(3, L),
        all_labels(2, L),
        np.array([True, False]),
    )
    return SegmentPotential(features), SegmentInput(x, spans, of_spans), values, span_values
