"""The reasons of a model of graphs for a label and against its rival (``models/explanation.py``).

If the label l of node v is replaced by its rival r, the score of the labelling falls by

    node_v(l) - node_v(r) + Σ_e edge_e(l, y_u) - edge_e(r, y_u)         over the edges to its neighbours u

and the first difference is a sum over the attributes of the node, if the model is linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.inference.graph_scores import GraphScores
from crfkit.models.explanation import Reason, Reasons
from crfkit.models.graphs.tagger import GraphTagger


def graph_reasons(tagger: GraphTagger, batch: Any) -> Reasons:
    """Return the reasons of a model at the nodes of a batch."""
    edges = batch.layout.edges
    ends = np.concatenate([edges[:, 0], edges[:, 1]])  # [2E]
    order = np.argsort(ends, kind="stable")
    bounds = np.searchsorted(ends[order], np.arange(batch.n_positions + 1))
    scores = tagger.part.scores(batch, n_jobs=tagger.n_jobs)
    return partial(_reasons, tagger, batch, scores, order, bounds)


def _reasons(
    tagger: GraphTagger,
    batch: Any,
    scores: GraphScores,
    order: IntArray,
    bounds: IntArray,
    labels: IntArray,
    start: int,
    stop: int,
    v: int,
    rival: int,
) -> Iterator[Reason]:
    """Yield the nonzero terms of the log odds at node v of the graph start .. stop-1."""
    label, E, layout = int(labels[v]), batch.layout.n_edges, batch.layout
    yield from tagger.part.node_reasons(batch, scores, v, label, rival)
    for place in order[bounds[v] : bounds[v + 1]].tolist():
        e, second = place % E, place >= E
        table = scores.edge[scores.topology.tables[e]]
        table = table.T if second else table
        other = int(layout.edges[e, 0 if second else 1])
        difference = float(table[label, labels[other]] - table[rival, labels[other]])
        if difference:
            name = tagger.part.names.types[layout.types[e]]
            there = f"{'←' if second else '→'} {other - start} ({tagger.classes[int(labels[other])]})"
            yield Reason(f"{name} {there}".lstrip(), difference)
