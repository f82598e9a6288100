"""Which nodes of a batch of graphs are linked, checked once: shared by all scores of the same graphs.

An edge links two different nodes of one graph, and a pair of nodes has at most one edge: two edges between
the same nodes would be a cycle for message passing. Add up their scores instead. The order of the two ends
matters only to the scores: the rows of an edge's table are the labels of the first end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import Batch, place_of
from crfkit.exceptions import InputError
from crfkit.threads import thread_count

_MOST_NODES = 2**31 - 1
_SHAPES = {1: "[E]", 2: "[E, 2]"}


@dataclass(frozen=True, eq=False, init=False)
class Topology(Batch):
    """N graphs with ΣV nodes and ΣE edges, one graph after the other. Graphs may have no edges or no nodes.

    Parameters
    ----------
    edges
        [ΣE, 2]: the two ends of each edge, as places of nodes in the batch.
    offsets
        [N+1] graph i has the nodes ``offsets[i] .. offsets[i+1]-1``.
    edge_offsets
        [N+1] and the edges ``edge_offsets[i] .. edge_offsets[i+1]-1``.
    kinds
        [ΣE] which table of scores an edge uses, 0..K-1. None: each edge has a table of its own.
    """

    edges: IdArray  # [ΣE, 2]
    offsets: IntArray  # [N+1]
    edge_offsets: IntArray  # [N+1]
    kinds: IdArray | None  # [ΣE]

    def __init__(
        self,
        edges: npt.ArrayLike,
        offsets: npt.ArrayLike,
        edge_offsets: npt.ArrayLike,
        kinds: npt.ArrayLike | None = None,
    ) -> None:
        pairs = _integers("edges", edges, 2)
        if pairs.shape[1] != 2:
            raise InputError(f"edges must have shape [E, 2], two nodes per edge; got {pairs.shape}")
        nodes, bounds = _rising("offsets", offsets), _rising("edge_offsets", edge_offsets)
        if len(nodes) != len(bounds) or bounds[-1] != len(pairs):
            raise InputError(
                f"edge_offsets must have {len(nodes)} entries, as offsets, and end with the number of "
                f"edges, {len(pairs)}; got {len(bounds)} entries that end with {bounds[-1]}"
            )
        if nodes[-1] > _MOST_NODES:
            raise InputError(f"a batch has at most {_MOST_NODES} nodes; got {nodes[-1]}")
        _check_edges(pairs, nodes, bounds)
        put = object.__setattr__
        put(self, "edges", np.ascontiguousarray(pairs, np.int32))
        put(self, "offsets", nodes)
        put(self, "edge_offsets", bounds)
        put(self, "kinds", None if kinds is None else _checked_kinds(kinds, bounds))

    @classmethod
    def of_graphs(
        cls,
        n_nodes: Sequence[int],
        edges: Sequence[npt.ArrayLike],
        kinds: Sequence[npt.ArrayLike] | None = None,
    ) -> Topology:
        """Return the batch of graphs with edges [E, 2] between their own nodes 0..V-1, and kinds [E]."""
        offsets = np.concatenate([[0], np.cumsum(n_nodes, dtype=np.int64)])
        own = [_integers(f"edges of graph {i}", part, 2) for i, part in enumerate(edges)]
        for i, part in enumerate(own):
            if len(part) and part.shape[1] != 2:
                raise InputError(f"edges of graph {i} must have shape [E, 2]; got {part.shape}")
        own = [part.reshape(-1, 2) for part in own]
        bounds = np.concatenate([[0], np.cumsum([len(part) for part in own], dtype=np.int64)])
        local = np.concatenate([np.empty((0, 2), np.int64), *own])
        base = np.repeat(offsets[:-1], np.diff(bounds))[:, None]
        limit = np.repeat(np.diff(offsets), np.diff(bounds))[:, None]
        outside = np.flatnonzero(((local < 0) | (local >= limit)).any(axis=1))
        if len(outside):
            _refuse_outside(local, int(outside[0]), offsets, bounds)
        given = None
        if kinds is not None:
            own = [_integers(f"kinds of graph {i}", part, 1) for i, part in enumerate(kinds)]
            given = np.concatenate([np.empty(0, np.int64), *own])
        return cls(local + base, offsets, bounds, given)

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @property
    def tables(self) -> IdArray:
        """The table of scores of each edge [ΣE]."""
        return np.arange(self.n_edges, dtype=np.int32) if self.kinds is None else self.kinds

    @property
    def n_kinds(self) -> int:
        """The least number of tables that the edges need: K."""
        if self.kinds is None:
            return self.n_edges
        return int(self.kinds.max(initial=-1)) + 1

    @cached_property
    def plan(self) -> _native.GraphPlan:
        """What inference prepares for these graphs, whatever their scores."""
        return _native.GraphPlan(self.edges, self.offsets, self.edge_offsets)

    @cached_property
    def tree_shares(self) -> FloatArray:
        """The share of spanning trees that have each edge [ΣE]."""
        return self.plan.tree_shares(thread_count(None))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "plan"}

    def __repr__(self) -> str:
        return f"Topology({self.n_sequences} graphs, {self.n_positions} nodes, {self.n_edges} edges)"


def _integers(name: str, values: npt.ArrayLike, rank: int) -> IntArray:
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{name} must be integers of shape {_SHAPES[rank]}: {error}") from error
    if array.size == 0 and array.ndim != rank:
        array = np.empty((0, 2)[:rank], np.int64)
    if array.ndim != rank or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise InputError(
            f"{name} must be integers of shape {_SHAPES[rank]}; got {array.shape}, type {array.dtype}"
        )
    return array.astype(np.int64, copy=False)


def _rising(name: str, values: npt.ArrayLike) -> IntArray:
    array = _integers(name, values, 1)
    if len(array) == 0 or array[0] != 0 or np.any(np.diff(array) < 0):
        raise InputError(f"{name} must be N+1 integers that begin with 0 and do not fall")
    return np.ascontiguousarray(array)


def _checked_kinds(values: npt.ArrayLike, edge_offsets: IntArray) -> IdArray:
    kinds = _integers("kinds", values, 1)
    if len(kinds) != edge_offsets[-1]:
        raise InputError(f"kinds must have one entry per edge, {edge_offsets[-1]}; got {len(kinds)}")
    bad = np.flatnonzero((kinds < 0) | (kinds > _MOST_NODES))
    if len(bad):
        graph, edge = place_of(edge_offsets, bad[0])
        raise InputError(f"kinds must be 0, 1, …; edge {edge} of graph {graph} has {kinds[bad[0]]}")
    return np.ascontiguousarray(kinds, np.int32)


def _refuse_outside(local: IntArray, e: int, offsets: IntArray, edge_offsets: IntArray) -> None:
    graph, edge = place_of(edge_offsets, e)
    size = int(offsets[graph + 1] - offsets[graph])
    has = f"its nodes are 0..{size - 1}" if size else "it has no nodes"
    raise InputError(f"edge {edge} of graph {graph} links nodes {local[e, 0]} and {local[e, 1]}, but {has}")


def _check_edges(pairs: IntArray, offsets: IntArray, edge_offsets: IntArray) -> None:
    """Raise if an edge leaves its graph, links a node with itself, or is there twice."""
    counts = np.diff(edge_offsets)
    first = np.repeat(offsets[:-1], counts)
    outside = (pairs < first[:, None]) | (pairs >= np.repeat(offsets[1:], counts)[:, None])
    if outside.any():
        e = int(np.flatnonzero(outside.any(axis=1))[0])
        _refuse_outside(pairs - first[:, None], e, offsets, edge_offsets)
    own = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(own):
        graph, edge = place_of(edge_offsets, own[0])
        node = pairs[own[0], 0] - offsets[graph]
        raise InputError(
            f"edge {edge} of graph {graph} links node {node} with itself: an edge needs two different nodes; "
            "add its scores to those of the node"
        )
    keys = pairs.min(axis=1) * (offsets[-1] + 1) + pairs.max(axis=1)
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(same):
        e, again = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        graph, edge = place_of(edge_offsets, e)
        a, b = pairs[e] - offsets[graph]
        raise InputError(
            f"edges {edge} and {place_of(edge_offsets, again)[1]} of graph {graph} both link nodes {a} and "
            f"{b}: give a pair of nodes one edge, in one direction"
        )
