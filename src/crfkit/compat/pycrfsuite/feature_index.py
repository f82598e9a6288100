"""Which features CRFsuite would make of the data.

Unlike ``crfkit.CRF``, CRFsuite makes a feature of an attribute that was given with the value 0 (or False):
where the attribute is there with another value, the feature then speaks against the label. Two of its habits
are not followed: dropping attribute-label pairs whose values add up to less than 0, and letting
feature.minfreq take away what feature.possible_states and feature.possible_transitions ask for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.compat.pycrfsuite.instances import Part
from crfkit.data.labels import Labels
from crfkit.features.index import FeatureIndex, build_index


def crfsuite_index(
    part: Part, n_labels: int, *, min_freq: float, possible_states: bool, possible_transitions: bool
) -> FeatureIndex:
    """The features of the data, values of 0 included: those whose absolute values add up to min_freq."""
    sequences = part.sequences
    index = build_index(
        sequences,
        Labels(part.ids, None),
        n_labels,
        min_freq=min_freq,
        all_possible_states=possible_states,
        all_possible_transitions=possible_transitions,
    )
    if min_freq <= 0 or sequences.values is None or possible_states:
        return index  # every mention counts 1, or all pairs are in
    labels = np.repeat(part.ids, np.diff(sequences.indptr))  # [nnz]
    pairs, place = np.unique(sequences.indices * np.int64(n_labels) + labels, return_inverse=True)
    frequent = pairs[np.bincount(place.ravel(), np.abs(sequences.values), len(pairs)) >= min_freq]
    bounds = np.arange(sequences.n_attributes + 1, dtype=np.int64) * n_labels  # [A+1]
    return replace(
        index,
        state_indptr=np.searchsorted(frequent, bounds).astype(np.int64),
        state_labels=(frequent % n_labels).astype(np.int32),
    )
