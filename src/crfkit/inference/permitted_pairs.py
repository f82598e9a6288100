"""Permitted label pairs per position, stored compactly.

A grammar whose rules depend on the observations (a gene begins at ATG, an intron at GT) permits different
label pairs at different positions, but has few distinct tables of permissions. They are stored once, and each
position has the number of its table. Training under them (``CRF.fit(permitted=…)``) sums Z over the permitted
paths; ``Constraints(transitions=permitted.dense())`` decodes under them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import checked_ids, gather
from crfkit.exceptions import InputError
from crfkit.inference.constraints import Constraints


@dataclass(frozen=True)
class PermittedPairs:
    """``tables[kinds[t], k, l]``: label l at position t may follow label k at position t-1."""

    kinds: IdArray  # [ΣT]; ignored at the first position of a sequence
    tables: BoolArray  # [M, L, L]

    def __post_init__(self) -> None:
        kinds, tables = np.asarray(self.kinds), np.asarray(self.tables)
        if kinds.ndim != 1 or not np.issubdtype(kinds.dtype, np.integer):
            raise InputError(
                f"kinds must be a vector of integers; got shape {kinds.shape}, type {kinds.dtype}"
            )
        square = tables.ndim == 3 and tables.shape[1] == tables.shape[2] and tables.shape[0] > 0
        if not square or tables.dtype != np.bool_:
            raise InputError(
                f"tables must be booleans [M, L, L]; got shape {tables.shape}, type {tables.dtype}"
            )
        if kinds.size and not (kinds.min() >= 0 and kinds.max() < len(tables)):
            raise InputError(f"kinds must be in 0..{len(tables) - 1}; got {kinds.min()}..{kinds.max()}")
        object.__setattr__(self, "kinds", np.ascontiguousarray(kinds, np.int32))
        object.__setattr__(self, "tables", np.ascontiguousarray(tables))

    @property
    def n_labels(self) -> int:
        return int(self.tables.shape[1])

    def dense(self) -> BoolArray:
        """Return the permitted pairs as one mask [ΣT, L, L]."""
        return self.tables[self.kinds]

    def constraints(self) -> Constraints:
        """Return the permitted pairs as constraints for decoding."""
        return Constraints(transitions=self.dense())

    def subset(self, sequence_ids: npt.NDArray[np.integer] | list[int], offsets: IntArray) -> PermittedPairs:
        """Return the pairs for the given sequences, in this order; offsets [N+1] are of the whole batch."""
        _, positions = gather(offsets, checked_ids(sequence_ids, len(offsets) - 1))
        return PermittedPairs(self.kinds[positions], self.tables)

    def require(self, labels: Labels, offsets: IntArray, n_labels: int) -> None:
        """Raise if the permitted pairs have another size than the data, or forbid a label pair in it."""
        if len(self.kinds) != int(offsets[-1]) or self.n_labels != n_labels:
            raise InputError(
                f"permitted pairs must be for {int(offsets[-1])} positions and {n_labels} labels, like the "
                f"data; got {len(self.kinds)} and {self.n_labels}"
            )
        ids = labels.ids
        later = np.ones(len(ids), np.bool_)  # [ΣT] has a label before it
        later[offsets[:-1][np.diff(offsets) > 0]] = False
        at = np.flatnonzero(later)
        known = at[(ids[at] >= 0) & (ids[at - 1] >= 0)]
        bad = known[~self.tables[self.kinds[known], ids[known - 1], ids[known]]]
        if len(bad):
            sequence = int(np.searchsorted(offsets, bad[0], side="right")) - 1
            raise InputError(
                f"sequence {sequence}, position {bad[0] - offsets[sequence]}: y has label {ids[bad[0]]} "
                f"after {ids[bad[0] - 1]} (as places in the label list), which the permitted pairs forbid "
                "there; leave the sequence out, or permit the pair"
            )
