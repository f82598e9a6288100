"""Accuracy on held-out sequences: when to stop is their say, not the training data's."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.data.labels import encode_labels
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.inference import force_where_possible, viterbi
from crfkit.potentials.linear import LinearPotential, LinearWeights


class DevSet:
    """Held-out sequences, encoded once."""

    def __init__(
        self, X: Encoded, y: Any, classes: list[Any], index: FeatureIndex, n_jobs: int | None
    ) -> None:
        sequences = X.sequences
        if sequences.n_positions == 0:
            raise InputError("the dev set has no positions")
        self._sequences, self._index, self._n_jobs = sequences, index, n_jobs
        self._forced = None if X.hints is None else X.hints.forced_among(classes)  # [ΣT]
        y = list(y)
        labels = encode_labels(y, classes, sequences.offsets, unknown="ignore")
        self._right = labels.ids[:, None] == np.arange(len(classes))  # [ΣT, L]
        if labels.allowed is not None:  # one of several: any of them; never seen in training: none
            several = (labels.ids < 0) & ~labels.allowed.all(axis=1)
            self._right[several] = labels.allowed[several]
        self._given = np.array([label is not None for found in y for label in found])  # [ΣT]
        if not self._given.any():
            raise InputError("the dev set has no labels")

    def accuracy(self, weights: LinearWeights) -> float:
        """Share of the labelled positions that the weights get right."""
        lattice = LinearPotential(self._index, weights).scores(self._sequences, n_jobs=self._n_jobs)
        if self._forced is not None:
            lattice = force_where_possible(lattice, self._forced, n_jobs=self._n_jobs)
        found = viterbi(lattice, n_jobs=self._n_jobs).labels
        right = self._right[np.arange(len(found)), found]
        return float(right[self._given].mean())
