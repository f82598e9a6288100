"""The likelihood over segmentations as a sum over sequences, with stochastic steps.

A step takes a few sequences at once: their attributes, and the features of these, become a small potential
with its own vector, whose gradient moves the weights it was cut from. So a step costs what its sequences
cost, however many features the model has. The L2 penalty shrinks all weights by one common factor (Bottou,
"Large-scale machine learning with stochastic gradient descent", COMPSTAT 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.exceptions import InputError
from crfkit.inference.segment_lattice import SegmentLattice
from crfkit.inference.segmentations import SEGMENTATIONS, SegmentGradient
from crfkit.objectives.likelihood import Likelihood
from crfkit.potentials.segments import SegmentInput, SegmentPotential

_TOGETHER = 16  # sequences per step: cutting out a part costs as much as the sums over a few
_SMALLEST_FACTOR = 1e-3


class SegmentLikelihood(Likelihood[SegmentInput, SegmentLattice, SegmentGradient]):
    """-Σ weight · log p(y|x) over segmentations: a ``SumOverExamples``."""

    def __init__(
        self,
        potential: SegmentPotential,
        batch: SegmentInput,
        labels: Labels,
        *,
        weights: FloatArray | None = None,  # [N]
        class_weights: FloatArray | None = None,  # [2L]
        n_jobs: int | None = None,
    ) -> None:
        settings: dict[str, Any] = {"structure": SEGMENTATIONS, "class_weights": class_weights}
        super().__init__(potential, batch, labels, weights=weights, n_jobs=n_jobs, **settings)
        self._settings, self._cut = settings, potential.part
        self.n_examples = batch.sequences.n_sequences
        self._x = np.zeros(0)  # [P] the weights are factor · x
        self._factor = 1.0

    def order(self, random: np.random.Generator) -> IdArray:
        return random.permutation(self.n_examples).astype(np.int32)

    def begin(self, x: FloatArray) -> None:
        self._x, self._factor = x.copy(), 1.0

    def steps(self, examples: IdArray, step: float, t: float, l2: float) -> float:
        """Take steps on a few sequences at a time; return the sum of their losses, inf if steps are too long.

        The gradients of sequences that are taken together are those before their step.
        """
        decay, loss = 2 * l2 / self.n_examples, 0.0
        for first in range(0, len(examples), _TOGETHER):
            chosen = np.sort(examples[first : first + _TOGETHER]).astype(np.int64)
            size = step / (1 + step * decay * (t + first))
            function, places = self._part(chosen)
            try:
                here = function(self._x[places] * self._factor)
            except InputError:  # scores that no lattice takes
                return np.inf
            self._factor *= (1 - size * decay) ** len(chosen)
            self._x[places] -= size / self._factor * here.gradient
            loss += here.value
            if self._factor < _SMALLEST_FACTOR:
                self.begin(self.end())
        return loss

    def end(self) -> FloatArray:
        return self._x * self._factor

    def _part(
        self, chosen: IntArray
    ) -> tuple[Likelihood[SegmentInput, SegmentLattice, SegmentGradient], IntArray]:
        """Return the likelihood of some sequences, and the places of its variables."""
        potential, batch, places = self._cut(self._batch, chosen)
        labels = self._labels.subset(chosen, self._batch.sequences.offsets)
        weights = None if self._weights is None else self._weights[chosen]
        return Likelihood(potential, batch, labels, weights=weights, n_jobs=1, **self._settings), places
