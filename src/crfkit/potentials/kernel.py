"""The kernel potential: f_c(x, y_c) = Σ_j α_j(y_c) K(x_j, x_c), coefficients for labellings of cliques.

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004).
Vertex cliques score labels, K(x_v, x_v') δ(y, y'); edge cliques score pairs of labels,
K(x_v, x_v') δ(y_1, y_1') δ(y_2, y_2'), where v is the edge's *second* vertex. Nothing here knows that the
graph is a chain: vertices are rows, edges are pairs of their numbers. ``scores`` is the chain's own case, in
which position t's edge is (t-1, t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Positions, Rows, n_rows
from crfkit.exceptions import InputError
from crfkit.inference import Lattice
from crfkit.kernels.mercer import MercerKernel


@dataclass(frozen=True)
class KernelTerm:
    """Coefficients on the selected cliques of one kind under one kernel."""

    kernel: MercerKernel
    support: Any  # m positions, as the kernel takes them
    vertex: FloatArray | None = None  # [m, L]
    edge: FloatArray | None = None  # [m, L, L]


@dataclass(frozen=True)
class CliqueScores:
    """Scores of the cliques of a graph."""

    vertices: FloatArray  # [V, L]
    edges: FloatArray  # [L, L], where all edges have the same, or [E, L, L]


def chain_edges(offsets: IntArray) -> IntArray:
    """The edges of chains laid end to end: [ΣT - N, 2] pairs of neighbouring positions."""
    inner = np.ones(int(offsets[-1]), np.bool_)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    second = np.flatnonzero(inner)
    return np.column_stack([second - 1, second]).astype(np.int64)


class KernelPotential:
    """A sum of kernel terms, with weights that do not depend on the position."""

    def __init__(
        self,
        n_labels: int,
        terms: Sequence[KernelTerm],
        transitions: FloatArray | None = None,
        bias: FloatArray | None = None,
    ) -> None:
        self.n_labels = n_labels
        self.terms = list(terms)
        self.transitions = np.zeros((n_labels, n_labels)) if transitions is None else transitions  # [L, L]
        self.bias = np.zeros(n_labels) if bias is None else bias  # [L]

    @property
    def has_edge_cliques(self) -> bool:
        """Whether edges have scores of their own."""
        return any(term.edge is not None for term in self.terms)

    @property
    def scores_per_position(self) -> int:
        """How many numbers are computed for each position: scores and kernel values."""
        widest = max((self._n_support(term) for term in self.terms), default=0)
        L = self.n_labels
        return L + (L * L if self.has_edge_cliques else 0) + widest

    @staticmethod
    def _n_support(term: KernelTerm) -> int:
        table = term.vertex if term.vertex is not None else term.edge
        return 0 if table is None else len(table)

    def clique_scores(self, rows: Rows, edges: IntArray) -> CliqueScores:
        """Scores of V vertices, given as rows, and of E edges, given as pairs [E, 2] of vertex numbers."""
        edges = np.asarray(edges, np.int64)
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise InputError(f"edges must be pairs of vertex numbers [E, 2], got shape {edges.shape}")
        n = n_rows(rows)
        if edges.size and not (edges.min() >= 0 and edges.max() < n):
            raise InputError(f"edges must name vertices 0..{n - 1}, got {edges.min()}..{edges.max()}")
        node, pair = self._score(rows, edges[:, 1])
        return CliqueScores(node, self.transitions if pair is None else pair + self.transitions)

    def _score(self, rows: Rows, seconds: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """Vertex scores [V, L] and, where there are edge cliques, edge scores [E, L, L]."""
        L = self.n_labels
        node = np.tile(self.bias, (n_rows(rows), 1))
        pair = np.zeros((len(seconds), L * L)) if self.has_edge_cliques else None
        represented: dict[int, Rows] = {}
        for term in self.terms:
            key = id(term.kernel)
            if key not in represented:
                represented[key] = term.kernel.represent(rows)
            values = term.kernel.between(represented[key], term.support)  # [V, m]
            if term.vertex is not None:
                node += values @ term.vertex
            if term.edge is not None and pair is not None:
                pair += values[seconds] @ term.edge.reshape(-1, L * L)
        return node, None if pair is None else pair.reshape(-1, L, L)

    def scores(self, batch: Positions, *, n_jobs: int | None = None) -> Lattice:
        """The lattice of a batch of chains; the edge of position t is the one between t-1 and t."""
        # Every position gets an edge, first ones too: the lattice passes over those.
        node, pair = self._score(batch.rows, np.arange(batch.n_positions))
        return Lattice(node, self.transitions if pair is None else pair + self.transitions, batch.offsets)

    def backward(self, batch: Positions, d_node: FloatArray, *d_edges: FloatArray) -> list[KernelTerm]:
        """The derivative by every coefficient: of a term, K(support, x) d, in the term's own form.

        d_node is [ΣT, L] and, with edge cliques, d_edges[0] [ΣT, L, L], which does not count at first
        positions. For a candidate that is not in the model yet this is its functional derivative, but for
        the penalty.
        """
        L = self.n_labels
        seconds = chain_edges(batch.offsets)[:, 1]
        found = []
        for term in self.terms:
            values = term.kernel.between(term.kernel.represent(batch.rows), term.support)  # [ΣT, m]
            vertex = None if term.vertex is None else values.T @ d_node
            edge = None
            if term.edge is not None:
                edge = (values[seconds].T @ d_edges[0][seconds].reshape(-1, L * L)).reshape(-1, L, L)
            found.append(KernelTerm(term.kernel, term.support, vertex, edge))
        return found
