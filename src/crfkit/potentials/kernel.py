"""The kernel potential: f_c(x, y_c) = Σ_j α_j(y_c) K(x_j, x_c), coefficients for labellings of cliques.

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004).
Vertex cliques score labels, K(x_v, x_v') δ(y, y'); edge cliques score pairs of labels,
K(x_v, x_v') δ(y_1, y_1') δ(y_2, y_2'), where v is the edge's *second* vertex. The graph need not be a chain:
vertices are rows, edges are pairs of their numbers. ``scores`` is the special case of a chain, in which the
edge of position t is (t-1, t). In training f has another form with the same scores: see
``kernel_expansion.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Positions, Rows, n_rows
from crfkit.exceptions import InputError
from crfkit.inference import Lattice
from crfkit.kernels.mercer import MercerKernel


class Summand(NamedTuple):
    """A term of the scores: functions of positions times coefficients for some labellings."""

    edge: bool  # on edges or on vertices
    labelings: IntArray | slice  # [k] labels, or pairs y_1 · L + y_2
    values: FloatArray  # [n, m] the functions at the vertices; for edges, at their second vertices
    coefficients: FloatArray  # [m, k]


class CliqueScores(NamedTuple):
    """Scores of the cliques of a graph."""

    vertices: FloatArray  # [V, L]
    edges: FloatArray  # [L, L] if all edges have the same scores, or [E, L, L]


def clique_scores(
    summands: Iterable[Summand],
    transitions: FloatArray,  # [L, L]
    bias: FloatArray,  # [L]
    n_vertices: int,
    n_edges: int | None,
) -> CliqueScores:
    """Return the sum of bias, transitions and summands; if ``n_edges`` is None, none are on edges."""
    L = len(bias)
    node = np.tile(bias, (n_vertices, 1))
    pair = np.tile(transitions.ravel(), (n_edges or 0, 1))  # [E, L²]
    for edge, labelings, values, coefficients in summands:
        (pair if edge else node)[:, labelings] += values @ coefficients
    return CliqueScores(node, transitions if n_edges is None else pair.reshape(-1, L, L))


@dataclass(frozen=True)
class KernelTerm:
    """Coefficients on the selected cliques of one kind under one kernel."""

    kernel: MercerKernel
    support: Any  # m positions, in the form of the kernel's second argument
    vertex: FloatArray | None = None  # [m, L]
    edge: FloatArray | None = None  # [m, L, L]


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
        """Whether edge scores depend on the position."""
        return any(term.edge is not None for term in self.terms)

    @property
    def scores_per_position(self) -> int:
        """Number of scores and kernel values computed per position."""
        tables = [term.edge if term.vertex is None else term.vertex for term in self.terms]
        widest = max((len(table) for table in tables if table is not None), default=0)
        L = self.n_labels
        return L + (L * L if self.has_edge_cliques else 0) + widest

    def clique_scores(self, rows: Rows, edges: IntArray) -> CliqueScores:
        """Return scores of V vertices, given as rows, and of E edges, given as pairs [E, 2] of vertices."""
        edges = np.asarray(edges, np.int64)
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise InputError(f"edges must be pairs of vertex numbers [E, 2], got shape {edges.shape}")
        n = n_rows(rows)
        if edges.size and not (edges.min() >= 0 and edges.max() < n):
            raise InputError(f"edges must name vertices 0..{n - 1}, got {edges.min()}..{edges.max()}")
        return self._scores(rows, edges[:, 1])

    def scores(self, batch: Positions, *, n_jobs: int | None = None) -> Lattice:
        """Return the lattice of a batch of chains; the edge of position t is the one between t-1 and t."""
        # Every position gets an edge; the lattice ignores those of first positions.
        node, edge = self._scores(batch.rows, np.arange(batch.n_positions))
        return Lattice(node, edge, batch.offsets)

    def _scores(self, rows: Rows, seconds: IntArray) -> CliqueScores:
        n_edges = len(seconds) if self.has_edge_cliques else None
        summands = self._summands(rows, seconds)
        return clique_scores(summands, self.transitions, self.bias, n_rows(rows), n_edges)

    def _summands(self, rows: Rows, seconds: IntArray) -> Iterator[Summand]:
        """Yield the terms at vertices and at the second vertices [E] of edges."""
        represented: dict[int, Rows] = {}
        for term in self.terms:
            key = id(term.kernel)
            if key not in represented:
                represented[key] = term.kernel.represent(rows)
            values = term.kernel.between(represented[key], term.support)  # [V, m]
            if term.vertex is not None:
                yield Summand(False, slice(None), values, term.vertex)
            if term.edge is not None:
                table = term.edge.reshape(-1, self.n_labels**2)
                yield Summand(True, slice(None), values[seconds], table)
