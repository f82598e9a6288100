"""The regularised risk of a kernel CRF: log-loss + ½λ‖f‖²_K, over functions spanned by selected cliques.

    R(f) = Σ_i weight_i [ log Z(x_i) - log Z(x_i; labels that y_i permits) ] + ½λ ‖f‖²_K + ½λ' ‖w‖²

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004). f
has vertex parts f(x_t, y_t) and edge parts f(x_t, y_{t-1}, y_t); w are the position-independent transition
weights (and, if wanted, label biases) of the semiparametric model. f is held in orthonormal bases (see
kernels/basis.py), a basis for all labellings or one for each, so that ‖f‖² is a sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference import Lattice, constrain, marginals, permitted_labels
from crfkit.kernels.basis import Basis
from crfkit.optim.problem import Evaluation, Vector


@dataclass
class Block:
    """Functions of one basis for some labellings."""

    kernel: int  # which of the kernels
    edge: bool  # on edges (y_{t-1}, y_t) or on vertices (y_t)
    labelings: IntArray  # [k] labels, or pairs y_{t-1} · L + y_t
    basis: Basis
    beta: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # [m, k]

    def grow(self) -> None:
        """Room for the coefficients of what the basis has got since; they are 0."""
        more = np.zeros((len(self.basis), len(self.labelings)))
        more[: len(self.beta)] = self.beta.reshape(-1, len(self.labelings))
        self.beta = more


@dataclass
class Parameters:
    """The parametric part."""

    transitions: FloatArray | None  # [L, L]
    bias: FloatArray | None  # [L]


@dataclass(frozen=True)
class Scores:
    """f at positions, without the parametric part."""

    node: FloatArray  # [n, L]
    edge: FloatArray | None  # [n, L²]


@dataclass(frozen=True)
class Residuals:
    """Derivatives of the loss by the scores: expected minus observed, times the weights of the sequences."""

    loss: float
    node: FloatArray  # [n, L]
    edge: FloatArray | None  # [n, L²]; 0 at first positions
    transitions: FloatArray  # [L, L]


class KernelRisk:
    """The risk on training data as a function of all coefficients (for ``crfkit.optim``)."""

    def __init__(
        self,
        offsets: IntArray,
        labels: Labels,
        n_labels: int,
        *,
        reg: float,
        parametric_reg: float,
        transitions: bool,
        bias: bool,
        weights: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.offsets, self.n_labels = offsets, n_labels
        self.reg, self.parametric_reg = reg, parametric_reg
        self.blocks: list[Block] = []
        L = n_labels
        self.parameters = Parameters(np.zeros((L, L)) if transitions else None, np.zeros(L) if bias else None)
        self.n_positions = int(offsets[-1])
        self._labels, self._n_jobs = labels, n_jobs
        lengths = np.diff(offsets)
        self._weights = np.ones(len(lengths)) if weights is None else weights  # [N]
        self._at = np.repeat(self._weights, lengths)[:, None]  # [n, 1]
        self._inner = np.ones(self.n_positions, np.bool_)  # [n] positions with one before them
        self._inner[offsets[:-1][lengths > 0]] = False
        if labels.allowed is None:
            self._observed = np.zeros((self.n_positions, L))  # [n, L] where all labels are known
            self._observed[np.arange(self.n_positions), labels.ids] = 1.0
            self._pairs = np.zeros(self.n_positions, np.int64)  # [n] y_{t-1} · L + y_t
            self._pairs[1:] = labels.ids[:-1].astype(np.int64) * L + labels.ids[1:]
            self._pairs[~self._inner] = 0

    # ---- the function and its pieces

    @property
    def has_edges(self) -> bool:
        """Whether there are edge cliques in it."""
        return any(block.edge and len(block.basis) for block in self.blocks)

    def scores(self, first: int = 0, last: int | None = None) -> Scores:
        """f at the positions first .. last of the bases' rows (by default those of training)."""
        last = self.n_positions if last is None else last
        L = self.n_labels
        node = np.zeros((last - first, L))
        edge = np.zeros((last - first, L * L)) if self.has_edges else None
        for block in self.blocks:
            if len(block.basis) == 0:
                continue
            found = block.basis.columns[first:last] @ block.beta  # [n, k]
            if not block.edge:
                node[:, block.labelings] += found
            elif edge is not None:
                edge[:, block.labelings] += found
        return Scores(node, edge)

    def lattice(self, scores: Scores, offsets: IntArray) -> Lattice:
        """The chain with these scores and the parametric part."""
        L = self.n_labels
        bias, transitions = self.parameters.bias, self.parameters.transitions
        node = scores.node if bias is None else scores.node + bias
        edge = np.zeros((L, L)) if transitions is None else transitions
        if scores.edge is not None:
            edge = scores.edge.reshape(-1, L, L) + edge
        return Lattice(node, edge, offsets)

    def residuals(self, scores: Scores, *, edges: bool) -> Residuals:
        """The loss, and its derivatives by node and (if ``edges``) edge scores at every position."""
        L = self.n_labels
        lattice = self.lattice(scores, self.offsets)
        pairs = edges or self.parameters.transitions is not None
        model = marginals(lattice, edge=pairs, n_jobs=self._n_jobs)
        node, log_z = model.node, model.log_z
        edge = None if model.edge is None else model.edge.reshape(-1, L * L)
        allowed = self._labels.allowed
        if allowed is None:
            rows = np.arange(self.n_positions)
            chosen = lattice.node[rows, self._labels.ids].copy()  # [n]
            table = lattice.edge.reshape(-1, L * L)
            inner = np.flatnonzero(self._inner)
            chosen[inner] += table[inner if len(table) > 1 else 0, self._pairs[inner]]
            loss = float(self._weights @ log_z - self._at[:, 0] @ chosen)
            node -= self._observed
            if edge is not None:
                edge[inner, self._pairs[inner]] -= 1.0
        else:
            known = marginals(constrain(lattice, permitted_labels(allowed)), edge=pairs, n_jobs=self._n_jobs)
            loss = float(self._weights @ (log_z - known.log_z))
            node -= known.node
            if edge is not None and known.edge is not None:
                edge -= known.edge.reshape(-1, L * L)
        node *= self._at
        if edge is None:
            return Residuals(loss, node, None, np.zeros((L, L)))
        edge *= self._at
        edge[~self._inner] = 0.0
        return Residuals(loss, node, edge if edges else None, edge.sum(axis=0).reshape(L, L))

    def penalty(self) -> float:
        """½λ‖f‖² + ½λ'‖w‖²."""
        squares = sum(float(np.vdot(block.beta, block.beta)) for block in self.blocks)
        parts = (self.parameters.transitions, self.parameters.bias)
        own = sum(float(np.vdot(part, part)) for part in parts if part is not None)
        return 0.5 * (self.reg * squares + self.parametric_reg * own)

    def sizes(self) -> list[int]:
        """How many basis functions each block has."""
        return [len(block.basis) for block in self.blocks]

    def restore(self, sizes: list[int], x: Vector) -> None:
        """Go back to when the blocks had these sizes, and their coefficients were x."""
        self.blocks = self.blocks[: len(sizes)]
        for block, size in zip(self.blocks, sizes, strict=True):
            block.basis.shorten(size)
            block.beta = np.zeros((size, len(block.labelings)))
        self.set(x.copy())

    # ---- for optimisers

    def vector(self) -> Vector:
        """All coefficients in one vector."""
        parts = [part for part in (self.parameters.transitions, self.parameters.bias) if part is not None]
        return np.concatenate(
            [np.zeros(0), *(part.ravel() for part in parts), *(b.beta.ravel() for b in self.blocks)]
        )

    def set(self, x: Vector) -> None:
        """Take the coefficients from a vector."""
        place = 0

        def take(shape: tuple[int, ...]) -> FloatArray:
            nonlocal place
            size = int(np.prod(shape))
            place += size
            return x[place - size : place].reshape(shape)

        if self.parameters.transitions is not None:
            self.parameters.transitions = take(self.parameters.transitions.shape)
        if self.parameters.bias is not None:
            self.parameters.bias = take(self.parameters.bias.shape)
        for block in self.blocks:
            block.beta = take(block.beta.shape)

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """Risk and gradient at x."""
        self.set(x.copy())
        found = self.residuals(self.scores(), edges=self.has_edges)
        parts: list[FloatArray] = []
        if self.parameters.transitions is not None:
            parts.append(found.transitions + self.parametric_reg * self.parameters.transitions)
        if self.parameters.bias is not None:
            parts.append(found.node.sum(axis=0) + self.parametric_reg * self.parameters.bias)
        for block in self.blocks:
            table = found.edge if block.edge else found.node
            if table is None or len(block.basis) == 0:
                parts.append(self.reg * block.beta)
                continue
            features = block.basis.columns[: self.n_positions]  # [n, m]
            parts.append(features.T @ table[:, block.labelings] + self.reg * block.beta)
        gradient = np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
        return Evaluation(found.loss + self.penalty(), gradient)
