"""Conjunctions: attributes that are present where several others all are (McCallum, UAI 2003).

The conjunction of ``a`` and ``b`` is called ``a & b``; its value is the product of their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.sequences import Encoded, Sequences, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import ModelFileError

_JOINT = " & "


def conjunction_name(atoms: Sequence[str]) -> str:
    """Return the name of the conjunction of these attributes."""
    return _JOINT.join(atoms)


class Occurrences:
    """The positions of each attribute: the transpose of the sequences."""

    def __init__(self, sequences: Sequences) -> None:
        order = np.argsort(sequences.indices, kind="stable")
        rows = np.repeat(np.arange(sequences.n_positions), np.diff(sequences.indptr))  # [nnz]
        self.positions: IntArray = rows[order]  # [nnz] ascending within an attribute
        self.values: FloatArray | None = None if sequences.values is None else sequences.values[order]
        counts = np.bincount(sequences.indices, minlength=sequences.n_attributes)  # [A]
        self.indptr: IntArray = offsets_of(counts)  # [A+1]

    @property
    def counts(self) -> IntArray:
        """At how many positions each attribute occurs [A]."""
        return np.diff(self.indptr)

    def of(self, attribute: int) -> tuple[IntArray, FloatArray]:
        """Return the positions and values of an attribute."""
        part = slice(self.indptr[attribute], self.indptr[attribute + 1])
        positions = self.positions[part]
        return positions, np.ones(len(positions)) if self.values is None else self.values[part]

    def of_all(self, attributes: Sequence[int]) -> tuple[IntArray, FloatArray]:
        """Return the positions where all of these attributes occur, and the products of their values."""
        positions, values = self.of(attributes[0])
        for other in attributes[1:]:
            there, factors = self.of(other)
            positions, left, right = np.intersect1d(positions, there, assume_unique=True, return_indices=True)
            values = values[left] * factors[right]
        return positions, values


Column = tuple[IntArray, FloatArray]  # positions and values of an attribute


def with_columns(sequences: Sequences, ids: IntArray, columns: Sequence[Column]) -> Sequences:
    """Return the sequences with additional entries: those of attribute ids[i] are in columns[i]."""
    if not sum(len(positions) for positions, _ in columns):
        return sequences
    rows = np.repeat(np.arange(sequences.n_positions), np.diff(sequences.indptr))
    rows = np.concatenate((rows, *(positions for positions, _ in columns)))
    new = np.repeat(ids, [len(positions) for positions, _ in columns])
    indices = np.concatenate((sequences.indices, new.astype(np.int32)))
    added = np.concatenate([values for _, values in columns])
    values: FloatArray | None = None
    if sequences.values is not None or not (added == 1).all():
        old = np.ones(len(sequences.indices)) if sequences.values is None else sequences.values
        values = np.concatenate((old, added))
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=sequences.n_positions)
    return replace(
        sequences,
        indptr=offsets_of(counts),
        indices=indices[order],
        values=None if values is None else values[order],
    )


class Conjunctions:
    """Conjunctions over the ids of a vocabulary, which holds their names and those of their atoms."""

    def __init__(self, vocabulary: Vocabulary, atoms: Mapping[str, Sequence[str]]) -> None:
        self.atoms = {name: tuple(parts) for name, parts in atoms.items()}
        self._ids = vocabulary.lookup(self.atoms).astype(np.int64) if self.atoms else None  # of each one
        self._parts = [vocabulary.lookup(parts).tolist() for parts in self.atoms.values()]

    @classmethod
    def from_record(cls, vocabulary: Vocabulary, record: Any) -> Conjunctions:
        """Return the conjunctions in the header of a file, as ``to_record`` makes it; None: none."""
        try:
            found = {made: list(atoms) for made, atoms in record or ()}
        except (TypeError, ValueError) as error:
            raise ModelFileError("its conjunctions are malformed") from error
        names = [name for made, atoms in found.items() for name in (made, *atoms)]
        if not all(isinstance(name, str) for name in names) or not all(found.values()):
            raise ModelFileError("its conjunctions are malformed")
        return cls(vocabulary, found)

    def to_record(self) -> list[list[Any]]:
        """Return names and atoms, as JSON values for the header of a file."""
        return [[name, list(atoms)] for name, atoms in self.atoms.items()]

    def fill(self, sequences: Sequences) -> Sequences:
        """Return the sequences with the conjunctions that hold at each position."""
        if self._ids is None:
            return sequences
        occurrences = Occurrences(sequences)
        nowhere = (np.zeros(0, np.int64), np.zeros(0))
        columns = [nowhere if min(parts) < 0 else occurrences.of_all(parts) for parts in self._parts]
        return with_columns(sequences, self._ids, columns)


NO_CONJUNCTIONS: Conjunctions = Conjunctions(Vocabulary(), {})


def expand(X: Encoded, atoms: Mapping[str, Sequence[str]]) -> Encoded:
    """Return a copy of X with these conjunctions in it and in its vocabulary."""
    if not atoms:
        return X
    vocabulary = Vocabulary([*X.vocabulary.strings(), *atoms])
    sequences = replace(X.sequences, n_attributes=len(vocabulary))
    return Encoded(Conjunctions(vocabulary, atoms).fill(sequences), vocabulary)
