"""Potentials that are sums of regression trees (TreeCRF).

Dietterich, Ashenfelter and Bulatov (ICML 2004): p(y|x) ∝ exp Σ_t F^{y_t}(y_{t-1}, w_t(x)), with one function
F^k per label k, each a sum of trees over the previous label and a window w_t of the input. This is the joint
form:

    edge_t(u, v) = F^v(u, w_t),    and at a sequence's first position node_t(v) = F^v(start, w_t).

The factored form, for many labels: node_t(v) = F^v(w_t), and tables of scores for label pairs, first and last
labels (in order 2, also for label triples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.sequences import inner_positions
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice
from crfkit.potentials.forest import Forest
from crfkit.potentials.transitions import TransitionTables

_MOST_PAIR_SCORES = 1 << 28  # in one batch: 2 GiB


@dataclass(frozen=True, eq=False)
class GrowingScores:
    """The scores that trees give to a table; more trees can be added at any time."""

    table: Table
    window: tuple[int, int]  # positions before and after
    node: FloatArray  # [ΣT, L]
    edge: FloatArray | None  # [ΣT, L, L] in the joint form

    @classmethod
    def zeros(cls, table: Table, window: tuple[int, int], n_labels: int, *, joint: bool) -> GrowingScores:
        """Return the scores without any trees."""
        L, n = n_labels, len(table.values)
        if joint and n * L * L > _MOST_PAIR_SCORES:
            raise InputError(
                f"{n:,} positions with {L:,} labels have too many scores of label pairs to hold at once: use "
                "potentials='factored', or cut the sequences into shorter ones"
            )
        return cls(table, window, np.zeros((n, L)), np.zeros((n, L, L)) if joint else None)

    def add(
        self, forest: Forest, *, first: int = 0, last: int | None = None, n_jobs: int | None = None
    ) -> None:
        """Add the trees first..last-1 of a forest."""
        forest.add_scores(
            self.table, self.window, self.node, self.edge, first=first, last=last, n_jobs=n_jobs
        )

    def moved(self, step: float, direction: GrowingScores) -> GrowingScores:
        """Return the sum of these scores and ``step`` times others of the same table."""
        edge = None
        if self.edge is not None and direction.edge is not None:
            edge = self.edge + step * direction.edge
        return GrowingScores(self.table, self.window, self.node + step * direction.node, edge)

    def lattice(self, tables: TransitionTables | None) -> Lattice:
        """Return the lattice of the trees so far and, in the factored form, of the tables."""
        if self.edge is not None:
            return Lattice(self.node, self.edge, self.table.offsets)
        if tables is None:
            raise InputError("trees of the factored form need tables of transitions, got None")
        return tables.lattice(self.node, self.table.offsets)


@dataclass(frozen=True)
class TreePotential:
    """Trees, the window they see, and in the factored form tables of transitions (a ``Scorer``)."""

    forest: Forest
    window: tuple[int, int]  # positions before and after
    tables: TransitionTables | None  # None: the joint form

    @classmethod
    def mean(cls, potentials: Sequence[TreePotential]) -> TreePotential:
        """Return the potential whose scores are the mean of the scores of potentials of the same form."""
        if len(potentials) == 1:
            return potentials[0]
        share = 1 / len(potentials)
        forest = Forest.end_to_end([potential.forest.scaled(share) for potential in potentials])
        all_tables = [potential.tables for potential in potentials if potential.tables is not None]
        tables = None
        if all_tables:
            tables = all_tables[0].at(np.mean([tables.vector for tables in all_tables], axis=0))
        return cls(forest, potentials[0].window, tables)

    @property
    def scores_per_position(self) -> int:
        """Number of scores per position."""
        L = self.forest.n_labels
        return L if self.tables is not None else L + L * L

    def scores(self, batch: Table, *, n_jobs: int | None = None) -> Lattice:
        return self.growing(batch, n_jobs=n_jobs).lattice(self.tables)

    def growing(self, batch: Table, *, n_jobs: int | None = None) -> GrowingScores:
        """Return the scores of the trees, to which more trees can be added."""
        growing = self.without_trees(batch)
        growing.add(self.forest, n_jobs=n_jobs)
        return growing

    def without_trees(self, batch: Table) -> GrowingScores:
        """Return scores of 0 that the trees can be added to."""
        joint = self.tables is None
        return GrowingScores.zeros(batch, self.window, self.forest.n_labels, joint=joint)

    def targets(self, batch: Table, d_node: FloatArray, d_edge: FloatArray | None = None) -> FloatArray:
        """Return the targets of the next trees: derivatives of the scores, one row [L] per training row.

        In the joint form rows are pairs of a previous label and a position: first the rows of first
        positions, then those of the others, position by position.
        """
        if d_edge is None:
            return d_node
        inner = inner_positions(batch.offsets)
        return np.concatenate([d_node[~inner], d_edge[inner].reshape(-1, self.forest.n_labels)])
