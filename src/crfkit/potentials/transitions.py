"""Tables of scores for label pairs, first and last labels, combined with given scores of single labels.

As a function of the tables it is a ``Parametric`` potential: the gradient with respect to a table is that
with respect to the scores of the same name, and the expected counts approximate the Hessian's diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.training_data import check_label_count
from crfkit.inference.chain import ScoreGradient
from crfkit.inference.lattice import Lattice
from crfkit.io.model_arrays import ModelArrays


@dataclass(frozen=True, eq=False)
class TransitionTables:
    """Scores of transitions that all positions share, in one vector; the tables are views of it."""

    vector: FloatArray  # [P]
    n_labels: int
    order: int
    start: FloatArray = field(init=False)  # [L]
    end: FloatArray = field(init=False)  # [L]
    edge: FloatArray = field(init=False)  # [L, L]
    edge2: FloatArray | None = field(init=False)  # [L, L, L] in order 2

    def __post_init__(self) -> None:
        L, x, put = self.n_labels, self.vector, object.__setattr__
        pairs = 2 * L + L * L
        put(self, "start", x[:L])
        put(self, "end", x[L : 2 * L])
        put(self, "edge", x[2 * L : pairs].reshape(L, L))
        put(self, "edge2", x[pairs:].reshape(L, L, L) if self.order == 2 else None)

    @classmethod
    def zeros(cls, n_labels: int, order: int) -> TransitionTables:
        """Return tables of zeros."""
        L = n_labels
        check_label_count(L, order)
        return cls(np.zeros(2 * L + L * L + (L**3 if order == 2 else 0)), n_labels, order)

    def at(self, vector: FloatArray) -> TransitionTables:
        """Return tables of the same shapes with other scores [P]."""
        return TransitionTables(vector, self.n_labels, self.order)

    def lattice(self, node: FloatArray, offsets: IntArray) -> Lattice:
        """Return the lattice of the label scores [ΣT, L] and these transition scores."""
        return Lattice(node, self.edge, offsets, self.start, self.end, self.edge2)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the tables in the form of a model file."""
        tables = {"start": self.start, "end": self.end, "edge": self.edge}
        if self.edge2 is not None:
            tables["edge2"] = self.edge2
        return {f"transitions.{name}": table for name, table in tables.items()}

    @classmethod
    def from_arrays(cls, arrays: ModelArrays, n_labels: int) -> TransitionTables | None:
        """Return the tables in a model file; None if it has none."""
        if "transitions.edge" not in arrays:
            return None
        order = 2 if "transitions.edge2" in arrays else 1
        ranks = {"start": 1, "end": 1, "edge": 2} | ({"edge2": 3} if order == 2 else {})
        tables = [
            arrays.take(f"transitions.{key}", np.float64, (n_labels,) * rank, infinite=True)
            for key, rank in ranks.items()
        ]
        return cls(np.concatenate([table.reshape(-1) for table in tables]), n_labels, order)


class NodeScores(NamedTuple):
    """Sequences with given label scores."""

    node: FloatArray  # [ΣT, L]
    offsets: IntArray  # [N+1]


@dataclass(frozen=True)
class TransitionPotential:
    """Tables of transitions over given label scores (a ``Parametric`` and ``Curved`` potential)."""

    tables: TransitionTables

    @property
    def n_parameters(self) -> int:
        return len(self.tables.vector)

    def scores(self, batch: NodeScores, w: FloatArray | None = None, *, n_jobs: int | None = None) -> Lattice:
        tables = self.tables if w is None else self.tables.at(w)
        return tables.lattice(batch.node, batch.offsets)

    def backward(self, batch: NodeScores, d_scores: ScoreGradient) -> FloatArray:
        return _in_a_row(d_scores)

    def curvature(self, batch: NodeScores, expected: ScoreGradient) -> FloatArray:
        return _in_a_row(expected)


def _in_a_row(numbers: ScoreGradient) -> FloatArray:
    """Return the entries of the tables in the order of ``TransitionTables.vector``."""
    parts = (numbers.start, numbers.end, numbers.edge, numbers.edge2)
    return np.concatenate([part.reshape(-1) for part in parts if part is not None])
