"""Potentials that are sums of regression trees (TreeCRF).

Dietterich, Ashenfelter and Bulatov (ICML 2004): p(y|x) ∝ exp Σ_t F^{y_t}(y_{t-1}, w_t(x)), one function F^k a
label k, each a sum of trees over the label before and a window w_t of the input. That is the joint form:

    edge_t(u, v) = F^v(u, w_t),    and at a sequence's first position node_t(v) = F^v(start, w_t).

The factored form, for many labels: node_t(v) = F^v(w_t), and tables of scores for label pairs, first and last
labels (in order 2: of three labels in a row, too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.inference import Lattice
from crfkit.io.model_arrays import ModelArrays
from crfkit.potentials.forest import Forest

_MOST_PAIR_SCORES = 1 << 28  # in one batch: 2 GiB


@dataclass(frozen=True)
class TransitionTables:
    """Scores of labels in a row that all positions share."""

    start: FloatArray  # [L]
    end: FloatArray  # [L]
    edge: FloatArray  # [L, L]
    edge2: FloatArray | None = None  # [L, L, L]

    @classmethod
    def zeros(cls, n_labels: int, order: int) -> TransitionTables:
        """Nothing learned yet."""
        L = n_labels
        return cls(np.zeros(L), np.zeros(L), np.zeros((L, L)), np.zeros((L, L, L)) if order == 2 else None)

    def to_vector(self) -> FloatArray:
        """All of them in a row."""
        parts = [self.start, self.end, self.edge.reshape(-1)]
        return np.concatenate(parts if self.edge2 is None else [*parts, self.edge2.reshape(-1)])

    @classmethod
    def from_vector(cls, x: FloatArray, n_labels: int, order: int) -> TransitionTables:
        """What ``to_vector`` put in a row."""
        L = n_labels
        start, end, edge, edge2 = np.split(x, [L, 2 * L, 2 * L + L * L])
        return cls(start, end, edge.reshape(L, L), edge2.reshape(L, L, L) if order == 2 else None)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """As a model file has them."""
        tables = {"start": self.start, "end": self.end, "edge": self.edge}
        if self.edge2 is not None:
            tables["edge2"] = self.edge2
        return {f"transitions.{name}": table for name, table in tables.items()}

    @classmethod
    def from_arrays(cls, arrays: ModelArrays, n_labels: int) -> TransitionTables | None:
        """The tables in a model file; None where it has none."""
        if "transitions.edge" not in arrays:
            return None
        ranks = {"start": 1, "end": 1, "edge": 2, "edge2": 3}
        return cls(
            *(
                arrays.take(f"transitions.{key}", np.float64, (n_labels,) * rank, infinite=True)
                for key, rank in ranks.items()
                if key != "edge2" or "transitions.edge2" in arrays
            )
        )


@dataclass(frozen=True)
class TreePotential:
    """Trees, the window they see, and in the factored form the tables beside them."""

    forest: Forest
    window: tuple[int, int]  # positions before and behind
    tables: TransitionTables | None  # None: the joint form

    @classmethod
    def mean(cls, potentials: Sequence[TreePotential]) -> TreePotential:
        """The potential whose scores are the mean of those of others of the same form."""
        share = 1 / len(potentials)
        forest = Forest.end_to_end([potential.forest.scaled(share) for potential in potentials])
        first = potentials[0]
        if first.tables is None:
            return cls(forest, first.window, None)
        order = 1 if first.tables.edge2 is None else 2
        vectors = [potential.tables.to_vector() for potential in potentials if potential.tables is not None]
        tables = TransitionTables.from_vector(np.mean(vectors, axis=0), forest.n_labels, order)
        return cls(forest, first.window, tables)

    @property
    def scores_per_position(self) -> int:
        """How many numbers ``scores`` gives for each position."""
        L = self.forest.n_labels
        return L if self.tables is not None else L + L * L

    def scores(self, batch: Table, *, n_jobs: int | None = None) -> Lattice:
        """The lattice of a table."""
        node, edge = self.blank(batch)
        self.forest.add_scores(batch, self.window, node, edge, n_jobs=n_jobs)
        return self.lattice(batch, node, edge)

    def blank(self, batch: Table) -> tuple[FloatArray, FloatArray | None]:
        """Scores of 0: of nodes [ΣT, L] and, in the joint form, of edges [ΣT, L, L]."""
        L, n = self.forest.n_labels, batch.n_positions
        if self.tables is None and n * L * L > _MOST_PAIR_SCORES:
            raise InputError(
                f"{n:,} positions with {L:,} labels have too many scores of label pairs to hold at once: use "
                "potentials='factored', or cut the sequences into shorter ones"
            )
        return np.zeros((n, L)), np.zeros((n, L, L)) if self.tables is None else None

    def lattice(self, batch: Table, node: FloatArray, edge: FloatArray | None) -> Lattice:
        """The scores of trees and tables together."""
        if edge is not None:
            return Lattice(node, edge, batch.offsets)
        tables = self.tables
        if tables is None:
            raise InputError("edge scores are missing: the trees are of the joint form")
        return Lattice(node, tables.edge, batch.offsets, tables.start, tables.end, tables.edge2)

    def backward(self, batch: Table, d_node: FloatArray, *d_edges: FloatArray) -> FloatArray:
        """The targets of the next round, one row of [L] for each training row, from derivatives by scores.

        In the joint form rows are pairs of a label before and a position: those of first positions first,
        then those of the others, position by position.
        """
        if self.tables is not None:
            return d_node
        first = batch.first
        return np.concatenate([d_node[first], d_edges[0][~first].reshape(-1, self.forest.n_labels)])
