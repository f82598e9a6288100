"""Probabilities of segments: chunks, entities, runs of a label.

A segment's probability is that of all labellings that have exactly this segment: from ``start`` to ``stop``,
with this type, starting and ending there. It is exact, from one forward-backward pass and a walk along the
segment (``native/chain/segment_probability.h``); neither the product nor the minimum of the probabilities of
its labels is.
"""

from __future__ import annotations

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice, native_batch, require_paths
from crfkit.metrics.segment_rules import SegmentRules, Segments


def segment_probabilities(
    lattice: Lattice, rules: SegmentRules, segments: Segments, *, n_jobs: int | None = None
) -> FloatArray:
    """Return the probability [M] that a labelling has each segment, exactly from its start to its stop.

    The segments may come from any labelling, overlap, or be candidates that no labelling has shown yet; they
    must be in order of their sequences. It costs one forward-backward pass over the sequences that have
    segments, and then the lengths of the segments.
    """
    if len(rules.kinds) != lattice.n_labels:
        raise InputError(f"the rules are for {len(rules.kinds)} labels, the lattice has {lattice.n_labels}")
    sequence, start, stop = (np.ascontiguousarray(part, np.int64) for part in segments[:3])
    kind = np.ascontiguousarray(segments.kind, np.int32)
    if not (sequence.ndim == 1 and sequence.shape == start.shape == stop.shape == kind.shape):
        raise InputError("segments need one sequence, start, stop and kind each, as vectors of one length")
    if len(sequence) and not (
        np.all(np.diff(sequence) >= 0) and sequence[0] >= 0 and sequence[-1] < lattice.n_sequences
    ):
        raise InputError(
            f"segments must be in order of their sequences, which are 0..{lattice.n_sequences - 1}"
        )
    lengths = np.diff(lattice.offsets)
    bad = np.flatnonzero((start < 0) | (start >= stop) | (stop > lengths[sequence]))
    if len(bad):
        k = bad[0]
        raise InputError(
            f"segment {k} runs from {start[k]} to {stop[k]}, but sequence {sequence[k]} has "
            f"{lengths[sequence[k]]} positions; a segment has one or more of them"
        )
    bounds = np.searchsorted(sequence, np.arange(lattice.n_sequences + 1)).astype(np.int64)  # [N+1]
    probability = np.zeros(len(sequence))
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    batch, threads = native_batch(lattice, n_jobs)
    opens, joins, closes = (
        np.ascontiguousarray(mask).view(np.uint8) for mask in (rules.opens, rules.joins, rules.closes)
    )
    _native.lattice_segments(
        batch, rules.kinds, opens, joins, closes, start, stop, kind, bounds, probability, dead, threads
    )
    require_paths(lattice, dead)
    return probability
