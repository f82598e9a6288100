"""The kernel potential during training: f in orthonormal bases of the span of the selected positions.

    f(x_t, y) = Σ_j β_j(y) φ_j(x_t),    ‖f‖²_K = Σ β²       (see kernels/basis.py)

f has vertex parts f(x_t, y_t) and edge parts f(x_t, y_{t-1}, y_t), with one basis for all labellings or one
per labelling. There are also weights of transitions and, optionally, of labels, which do not depend on the
position: the semiparametric model of Lafferty, Zhu and Liu (ICML 2004). All coefficients are one vector

    w = transitions [L²], bias [L], and β [m, k] of each block in order

which grows with the bases. ``fitted`` turns β into the coefficients α of a ``KernelPotential``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.sequences import inner_positions
from crfkit.inference import Lattice
from crfkit.inference.chain import ScoreGradient
from crfkit.kernels.basis import Basis
from crfkit.kernels.matrix import KernelMatrix
from crfkit.potentials.kernel import KernelPotential, KernelTerm, Summand, clique_scores

S = TypeVar("S", covariant=True)  # the scores of a structure
D = TypeVar("D", contravariant=True)  # derivatives with respect to them


@dataclass(frozen=True)
class BasisBlock:
    """The functions of one basis, for some labellings."""

    kernel: int  # which of the kernels
    edge: bool  # on edges (y_{t-1}, y_t) or on vertices (y_t)
    labelings: IntArray  # [k] labels, or pairs y_{t-1} · L + y_t
    basis: Basis


class CliqueTables(NamedTuple):
    """A gradient with respect to scores, as tables of cliques."""

    vertex: FloatArray  # [n, L]
    edge: FloatArray  # [m, L²]; [1, L²] if it is summed over the edges
    transitions: FloatArray  # [R · L²]


class Family(NamedTuple):
    """Candidates of one kernel on one kind of clique."""

    kernel: int
    edge: bool
    free: BoolArray  # [c] which candidates are cliques of this kind


class CliqueBatch(Protocol[S, D]):
    """Sequences or graphs whose vertices and edges are rows of the kernel matrices."""

    def rows(self, edge: bool) -> slice:
        """Return the rows of vertices, or of edges."""

    def scores(
        self, summands: Sequence[Summand], transitions: FloatArray, bias: FloatArray, edge_cliques: bool
    ) -> S:
        """Return the scores of the cliques; transitions [R, L, L]."""

    def tables(self, d_scores: D) -> CliqueTables:
        """Return a gradient with respect to the scores as tables of cliques."""

    def families(self, matrices: Sequence[KernelMatrix], edge_cliques: bool) -> list[Family]:
        """Return the candidates, ordered by kernel; within a kernel, vertices come before edges."""


class Stretch(NamedTuple):
    """Sequences whose positions are neighbouring rows of the kernel matrices: a chain's cliques."""

    first: int  # row
    offsets: IntArray  # [N+1], from 0 on

    def rows(self, edge: bool) -> slice:
        return slice(self.first, self.first + int(self.offsets[-1]))

    def scores(
        self, summands: Sequence[Summand], transitions: FloatArray, bias: FloatArray, edge_cliques: bool
    ) -> Lattice:
        n = int(self.offsets[-1])
        table = transitions[0] if len(transitions) else np.zeros((len(bias), len(bias)))
        node, edge = clique_scores(summands, table, bias, n, n if edge_cliques else None)
        return Lattice(node, edge, self.offsets)

    def tables(self, d_scores: ScoreGradient) -> CliqueTables:
        pairs = d_scores.edge.reshape(-1, d_scores.node.shape[1] ** 2)
        return CliqueTables(d_scores.node, pairs, pairs.sum(axis=0))

    def families(self, matrices: Sequence[KernelMatrix], edge_cliques: bool) -> list[Family]:
        inner = inner_positions(self.offsets) if edge_cliques else None  # edges end at these
        found = []
        for s, matrix in enumerate(matrices):
            found.append(Family(s, False, np.ones(len(matrix.candidates), np.bool_)))
            if inner is not None:
                found.append(Family(s, True, inner[matrix.candidates]))
        return found


class Snapshot(NamedTuple):
    """A saved state of an expansion."""

    sizes: list[int]  # functions of each block
    w: FloatArray  # [P]


class KernelExpansion:
    """A ``Parametric`` potential on the vertices and edges of its bases.

    ``transitions`` is the number of tables of label pairs: one or none for chains, one per type of edge for
    graphs.
    """

    def __init__(self, n_labels: int, *, edge_cliques: bool, transitions: int, bias: bool) -> None:
        self.n_labels = n_labels
        self.blocks: list[BasisBlock] = []
        self._sizes: list[int] = []  # number of functions per block that have coefficients in w
        self._edge_cliques, self._transitions, self._bias = edge_cliques, int(transitions), bias
        # Number of parameters that do not depend on the position; they come first in w.
        self.n_parametric = self._transitions * n_labels**2 + bias * n_labels
        self.w = np.zeros(self.n_parametric)

    @property
    def n_parameters(self) -> int:
        return len(self.w)

    # ---- scores and their gradient

    def scores(
        self, batch: CliqueBatch[S, D], w: FloatArray | None = None, *, n_jobs: int | None = None
    ) -> S:
        transitions, bias, betas = self._split(self.w if w is None else w)
        summands = [
            Summand(block.edge, block.labelings, self._values(block, len(beta), batch.rows(block.edge)), beta)
            for block, beta in zip(self.blocks, betas, strict=True)
            if len(beta)
        ]
        return batch.scores(summands, transitions, bias, self._edge_cliques)

    def backward(self, batch: CliqueBatch[S, D], d_scores: D) -> FloatArray:
        tables = batch.tables(d_scores)
        parts = [np.zeros(0)]
        if self._transitions:
            parts.append(tables.transitions)
        if self._bias:
            parts.append(tables.vertex.sum(axis=0))
        for block, m in zip(self.blocks, self._sizes, strict=True):
            if m:
                table = tables.edge if block.edge else tables.vertex
                values = self._values(block, m, batch.rows(block.edge))
                parts.append((values.T @ table[:, block.labelings]).ravel())
        return np.concatenate(parts)

    def function(self, kernel: int, edge: bool, rows: IntArray) -> FloatArray:
        """Return the part of f under one kernel on one kind of clique, at some rows [n, L or L²]."""
        found = np.zeros((len(rows), self.n_labels ** (1 + edge)))
        for block, beta in zip(self.blocks, self._split(self.w)[2], strict=True):
            if block.kernel == kernel and block.edge == edge:
                found[:, block.labelings] += self._values(block, len(beta), rows) @ beta
        return found

    @staticmethod
    def _values(block: BasisBlock, m: int, rows: IntArray | slice) -> FloatArray:
        """Return the first m functions of a block at some rows [n, m]."""
        values: FloatArray = block.basis.columns[:, :m][rows]
        return values

    def _split(self, w: FloatArray) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return the transitions [R, L, L], the bias [L], and β [m, k] of each block."""
        L, R, place = self.n_labels, self._transitions, self.n_parametric
        transitions = w[: R * L * L].reshape(R, L, L)
        bias = w[place - L : place] if self._bias else np.zeros(L)
        betas = []
        for block, m in zip(self.blocks, self._sizes, strict=True):
            k = len(block.labelings)
            betas.append(w[place : place + m * k].reshape(m, k))
            place += m * k
        return transitions, bias, betas

    # ---- growing

    def add(self, block: BasisBlock) -> None:
        """Add a block. Its functions are used once ``grow`` has given them coefficients."""
        self.blocks.append(block)
        self._sizes.append(0)

    def grow(self) -> None:
        """Give a coefficient of 0 to every function added to the bases since the last call."""
        parts = [self.w[: self.n_parametric]]
        for block, beta in zip(self.blocks, self._split(self.w)[2], strict=True):
            wider = np.zeros((len(block.basis.places), len(block.labelings)))
            wider[: len(beta)] = beta
            parts.append(wider.ravel())
        self._sizes = [len(block.basis.places) for block in self.blocks]
        self.w = np.concatenate(parts)

    def forget_new(self) -> None:
        """Remove all functions without coefficients."""
        self.restore(Snapshot([size for size in self._sizes if size], self.w))

    def snapshot(self) -> Snapshot:
        return Snapshot(list(self._sizes), self.w.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a saved state, and remove all functions added since."""
        del self.blocks[len(snapshot.sizes) :]
        for block, size in zip(self.blocks, snapshot.sizes, strict=True):
            block.basis.shorten(size)
        self._sizes, self.w = list(snapshot.sizes), snapshot.w.copy()

    # ---- checkpoints

    def saved(self) -> dict[str, Any]:
        """Return the functions and coefficients for a checkpoint."""
        return {
            "blocks": [
                (block.kernel, block.edge, block.labelings, block.basis.places, block.basis.columns)
                for block in self.blocks
            ],
            "w": self.w,
        }

    def resume(self, saved: Mapping[str, Any], matrices: Sequence[KernelMatrix]) -> None:
        """Continue from a checkpoint."""
        for kernel, edge, labelings, places, columns in saved["blocks"]:
            basis = Basis(matrices[kernel])
            basis.resume(places, columns)
            self.add(BasisBlock(kernel, edge, labelings, basis))
        self.grow()
        self.w = saved["w"].copy()

    # ---- the outcome

    def parametric(self) -> tuple[FloatArray, FloatArray]:
        """Return the parts that do not depend on the position: transitions [R, L, L] and bias [L]."""
        transitions, bias, _ = self._split(self.w.copy())
        return transitions, bias

    def fitted(self, matrices: Sequence[KernelMatrix]) -> tuple[KernelPotential, dict[int, IntArray]]:
        """Return f on chains with coefficients α on the selected positions, and the places of these.

        There is one term, and one array of places [m], for every kernel with selected positions.
        """
        terms, found = self.terms(matrices)
        transitions, bias = self.parametric()
        return KernelPotential(
            self.n_labels, terms, transitions[0] if len(transitions) else None, bias
        ), found

    def terms(self, matrices: Sequence[KernelMatrix]) -> tuple[list[KernelTerm], dict[int, IntArray]]:
        """Return a term for every kernel with selected positions, and the places of these [m] by kernel."""
        L = self.n_labels
        _, _, betas = self._split(self.w.copy())
        terms: list[KernelTerm] = []
        found: dict[int, IntArray] = {}
        for s, matrix in enumerate(matrices):
            pairs = zip(self.blocks, betas, strict=True)
            chosen = [(block, beta) for block, beta in pairs if block.kernel == s and len(beta)]
            if not chosen:
                continue
            places = np.unique(np.concatenate([block.basis.places for block, _ in chosen])).astype(np.int64)
            tables: dict[bool, FloatArray] = {}
            for block, beta in chosen:
                table = tables.setdefault(block.edge, np.zeros((len(places), L ** (1 + block.edge))))
                rows = np.searchsorted(places, block.basis.places)
                table[np.ix_(rows, block.labelings)] += block.basis.coefficients(beta)
            edge = None if True not in tables else tables[True].reshape(-1, L, L)
            terms.append(KernelTerm(matrix.kernel, matrix.support(places), tables.get(False), edge))
            found[s] = places
        return terms, found
