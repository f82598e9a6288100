"""Which attributes of nodes and edges get weights in a linear model of graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences, gather
from crfkit.exceptions import InputError
from crfkit.features.index import build_index
from crfkit.potentials.graph_input import GraphInput
from crfkit.potentials.graphs import GraphFeatures
from crfkit.potentials.segments import Rows

_MOST_WEIGHTS = 1 << 28  # 2 GiB


def graph_features(
    batch: GraphInput, labels: Labels, n_labels: int, *, min_freq: float, everything: tuple[bool, bool]
) -> GraphFeatures:
    """Return the features that occur at least ``min_freq`` times in training.

    ``everything``: whether all labels of an attribute of nodes, and all pairs of labels of an attribute of
    edges, get a weight, also those that it does not occur with.
    """
    L, pairs = n_labels, None
    states = _rows(batch.nodes, labels, L, min_freq, everything[0], "an attribute of nodes")
    if batch.n_edge_attributes:
        kinds, (first, second) = batch.kinds, labels.ids[batch.layout.edges.T]
        known = (first >= 0) & (second >= 0)
        ids = np.where(known, first * L + second, -1).astype(np.int32)
        rows = _at(kinds.attributes, kinds.topology.tables.astype(np.int64))
        pairs = _rows(rows, Labels(ids, None), L * L, min_freq, everything[1], "an attribute of edges")
    return GraphFeatures(L, batch.layout.n_types, states, pairs)


def _rows(
    sequences: Sequences, labels: Labels, width: int, min_freq: float, everything: bool, what: str
) -> Rows:
    if everything and sequences.n_attributes * width > _MOST_WEIGHTS:
        raise InputError(
            f"{sequences.n_attributes:,} × {width:,} weights, one for {what} with every label, are too many: "
            "all_possible_features=False gives weights to those that occur"
        )
    index = build_index(
        sequences, labels, width, min_freq=min_freq, all_possible_states=everything, transitions=False
    )
    return Rows(index.state_indptr, index.state_labels)


def _at(rows: Sequences, places: IntArray) -> Sequences:
    """Return the rows at the given places, as one sequence."""
    indptr, entries = gather(rows.indptr, places)
    values = None if rows.values is None else rows.values[entries]
    offsets = np.array([0, len(places)], np.int64)
    return replace(rows, offsets=offsets, indptr=indptr, indices=rows.indices[entries], values=values)
