"""One sequence with its scores, for models that only Python can use: the native ``Analysis`` in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import decode_labels
from crfkit.exceptions import InputError
from crfkit.models.fitted_model import FittedModel


class SequenceAnalysis:
    """The scores of one sequence, with the methods of ``crfkit.tagger.Analysis``."""

    def __init__(self, model: FittedModel, items: Any) -> None:
        self._model, self._lattice = model, model.scored_under([items]).lattice

    def __len__(self) -> int:
        return int(self._lattice.offsets[-1])

    def labels(self) -> list[Any]:
        """Return the labels, by the model's decoding."""
        return decode_labels(self._ids(None), self._lattice.offsets, self._model.classes)[0]

    def score(self, labels: Sequence[Any] | None = None) -> float:
        """Return the score of a labelling, by default of the best: the logarithm of its weight."""
        return float(self._model.answers.score(self._lattice, self._ids(labels), n_jobs=1)[0])

    def probability(self, labels: Sequence[Any] | None = None, *, log: bool = False) -> float:
        """Return the probability of a labelling, by default of the best, or its logarithm."""
        value = float(self._model.log_probability(self._lattice, self._ids(labels))[0])
        return value if log else math.exp(value)

    def marginal(self, label: Any, position: int) -> float:
        """Return the probability of a label at a position."""
        if not 0 <= position < len(self):
            raise InputError(f"the sequence has the positions 0..{len(self) - 1}, not {position}")
        return float(self._node()[position, self._id(label)])

    def marginals(self) -> list[dict[Any, float]]:
        """Return one dict {label: probability} per position."""
        return [dict(zip(self._model.classes, row, strict=True)) for row in self._node().tolist()]

    def segments(self) -> list[tuple[int, int, Any, float]]:
        """Return the segments of the labels: (start, stop, type, probability)."""
        (found,) = self._model.segment_lists(self._lattice, self._ids(None))
        return [tuple(segment) for segment in found]

    def nbest(self, k: int, *, log: bool = False) -> list[tuple[list[Any], float]]:
        """Return the k most probable labellings with (log) probabilities, best first."""
        if k < 1:
            raise InputError(f"k must be a whole number of labellings, at least 1; got {k}")
        (paths,) = self._model.decode_several(self._lattice, k)
        classes = self._model.classes
        return [([classes[i] for i in path], value if log else math.exp(value)) for path, value in paths]

    def _node(self) -> FloatArray:
        return self._model.marginals(self._lattice)  # [T, L]

    def _ids(self, labels: Sequence[Any] | None) -> IdArray:
        if labels is None:
            return self._model.decode(self._lattice).labels
        if len(labels) != len(self):
            raise InputError(f"the sequence has {len(self)} positions, but there are {len(labels)} labels")
        return np.array([self._id(label) for label in labels], dtype=np.int32)

    def _id(self, label: Any) -> int:
        if label not in self._model.classes:
            raise InputError(f"the model has no label {label!r:.60}")
        return self._model.classes.index(label)
