"""The features that CRFsuite would generate from the data.

Unlike ``crfkit.CRF``, CRFsuite generates a feature for an attribute with the value 0 (or False). If the
attribute has another value elsewhere, the feature counts against the label there. Two behaviours are not
copied: CRFsuite drops attribute-label pairs whose values sum to less than 0, and its feature.minfreq removes
features that feature.possible_states and feature.possible_transitions ask for.
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
    """Return the features of the data whose absolute values sum to ``min_freq`` or more, zeros included."""
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
