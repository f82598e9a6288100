"""Held-out sequences with their labels: training stops when its scores no longer improve on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.labels import Labels, encode_labels
from crfkit.exceptions import InputError
from crfkit.inference import Lattice, force_where_possible, partial_log_likelihood
from crfkit.inference.expected_gain import decoded


@dataclass(frozen=True)
class DevSet:
    """The labels of held-out sequences, and how they are decoded."""

    right: BoolArray  # [ΣT, L] labels that count as right; none if training has never seen the label
    given: BoolArray  # [ΣT] whether there is a label
    decode: str = "viterbi"
    boundary_gain: float = 0.0
    forced: IdArray | None = None  # [ΣT] labels that the data itself makes certain, -1: any
    n_jobs: int | None = None

    @classmethod
    def of(cls, y: Sequence[Sequence[Any]], classes: list[Any], offsets: IntArray, **decoding: Any) -> DevSet:
        """Encode labels: None is not scored, any member of a set is right, unseen labels are wrong."""
        labels = encode_labels(y, classes, offsets, unknown="ignore")
        flat = [label for sequence in y for label in sequence]
        if not flat:
            raise InputError("the dev set has no positions")
        given = np.array([label is not None for label in flat], np.bool_)
        if not given.any():
            raise InputError("the dev set has no labels")
        seen, several = set(classes), (set, frozenset, list, tuple)
        known = [not seen.isdisjoint(label if isinstance(label, several) else [label]) for label in flat]
        return cls(labels.permitted(len(classes)) & np.array(known)[:, None], given, **decoding)

    @classmethod
    def of_labels(cls, labels: Labels, n_labels: int, **decoding: Any) -> DevSet:
        """Return the dev set for labels of training data, all of which are known."""
        right = labels.permitted(n_labels)
        given: BoolArray = np.logical_not(right.all(axis=1)) | (labels.allowed is None)
        return cls(right, given, **decoding)

    @property
    def n_given(self) -> int:
        return int(self.given.sum())

    def wrong(self, lattice: Lattice) -> BoolArray:
        """Return at which positions a label is given and not found [ΣT]."""
        found = self._found(lattice)
        missed: BoolArray = self.given & ~self.right[np.arange(len(found)), found]
        return missed

    def accuracy(self, lattice: Lattice) -> float:
        """Return the share of labels that are right; 0 if there are no labels."""
        return self.share_right(self._found(lattice))

    def share_right(self, found: IdArray) -> float:
        """Return the share of right labels among those that were found [ΣT]; 0 if there are no labels."""
        hits = self.right[np.arange(len(found)), found][self.given]
        return float(hits.mean()) if len(hits) else 0.0

    def _found(self, lattice: Lattice) -> IdArray:
        if self.forced is not None:
            lattice = force_where_possible(lattice, self.forced, n_jobs=self.n_jobs)
        return decoded(lattice, self.decode, self.n_jobs, boundary_gain=self.boundary_gain)

    def log_likelihood(self, lattice: Lattice) -> float:
        """Return log p(y|x) per position whose label training knows; the other labels are left open."""
        known: BoolArray = np.logical_or.reduce(self.right, axis=1)  # [ΣT]
        allowed = self.right | ~known[:, None]
        total = float(partial_log_likelihood(lattice, allowed, n_jobs=self.n_jobs).sum())
        return total / max(1, int(known.sum()))
