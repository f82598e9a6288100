"""The likelihood of any parametric potential over any structure, and its gradient.

    f(w) = -Σ_i weight_i · log p(y_i | x_i; w)

    d f / d scores = expected - observed counts,    d f / d w = potential.backward(batch, d f / d scores)

If labels are partial, y stands for all labellings that agree with it, and the observed counts are their
expectation. Class weights are a softmax-margin: wrong labels at a position of class c gain log(weight_c).
Linear chains have a fused native form (``objectives/linear_likelihood.py``); a test compares the two.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.inference.chain import CHAIN
from crfkit.inference.structure import Structure
from crfkit.optim.problem import Evaluation
from crfkit.potentials.contract import Curved, Parametric

S = TypeVar("S")
D = TypeVar("D", bound=tuple[Any, ...])
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Residuals(Generic[D]):
    """The log-likelihood, and its derivatives with respect to the scores."""

    log_p: FloatArray  # [N] log p(y|x)
    d_scores: D  # expected - observed, times the weights: the gradient of -Σ weight · log p
    expected: D | None  # the expected counts alone, times the weights, if asked for
    observed: D  # the observed counts, times the weights


def expected_minus_observed(
    structure: Structure[S, D],
    scores: S,
    labels: Labels,
    *,
    weights: FloatArray | None = None,  # [N]
    observed: D | None = None,  # counts of the same labels from an earlier call, if there are any
    expected: bool = False,
    n_jobs: int | None = None,
) -> Residuals[D]:
    """Return log p(y|x) and the gradient of -Σ weight · log p(y|x) with respect to the scores."""
    log_z, counts = structure.expectations(scores, weights=weights, n_jobs=n_jobs)
    if labels.allowed is None:
        log_observed = structure.labelling_score(scores, labels.ids, n_jobs=n_jobs)
        if observed is None or list(map(np.shape, observed)) != list(map(np.shape, counts)):
            observed = structure.labelling_counts(scores, labels.ids, weights=weights)
    else:
        agreeing = structure.permit(scores, labels)
        log_observed, observed = structure.expectations(agreeing, weights=weights, n_jobs=n_jobs)
    kept = deepcopy(counts) if expected else None
    for count, of_labels in zip(counts, observed, strict=True):
        if count is not None:
            np.subtract(count, of_labels, out=count)
    return Residuals(log_observed - log_z, counts, kept, observed)


def log_likelihood(
    structure: Structure[S, D], scores: S, labels: Labels, n_jobs: int | None = None
) -> FloatArray:
    """Return log p(y|x) of each sequence [N]."""
    if labels.allowed is None:
        observed = structure.labelling_score(scores, labels.ids, n_jobs=n_jobs)
    else:
        observed = structure.log_partition(structure.permit(scores, labels), n_jobs=n_jobs)
    return observed - structure.log_partition(scores, n_jobs=n_jobs)


class Likelihood(Generic[Batch, S, D]):
    """-Σ weight · log p(y|x) as a smooth function of the potential's vector (for ``crfkit.optim``)."""

    def __init__(
        self,
        potential: Parametric[Batch, S, D],
        batch: Batch,
        labels: Labels,
        *,
        structure: Structure[S, D] = CHAIN,  # type: ignore[assignment]
        weights: FloatArray | None = None,  # [N]
        class_weights: FloatArray | None = None,  # [L]
        n_jobs: int | None = None,
    ) -> None:
        self.potential, self._batch, self._labels, self._structure = potential, batch, labels, structure
        self._weights, self._n_jobs = weights, n_jobs
        self._costs = None if class_weights is None else np.log(class_weights)  # [L]
        self._observed: D | None = None

    @property
    def n_parameters(self) -> int:
        return self.potential.n_parameters

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value and gradient at x and, if available, an estimate of the Hessian's diagonal."""
        curved = diagonal and isinstance(self.potential, Curved)
        found = self.residuals(x, expected=curved)
        value = -float(found.log_p.sum() if self._weights is None else found.log_p @ self._weights)
        gradient = self.potential.backward(self._batch, found.d_scores)
        estimate = None
        if curved and isinstance(self.potential, Curved) and found.expected is not None:
            estimate = self.potential.curvature(self._batch, found.expected)
        return Evaluation(value, gradient, estimate)

    def residuals(self, x: FloatArray, *, expected: bool = False) -> Residuals[D]:
        """Return log p(y|x) at x, and the gradient with respect to the scores."""
        scores = self.potential.scores(self._batch, x, n_jobs=self._n_jobs)
        if self._costs is not None:
            scores = self._structure.raise_wrong(scores, self._labels, self._costs)
        return self._residuals(scores, expected)

    def _residuals(self, scores: S, expected: bool) -> Residuals[D]:
        """Return the value and gradient at given scores; a subclass may have another one."""
        found = expected_minus_observed(
            self._structure,
            scores,
            self._labels,
            weights=self._weights,
            observed=self._observed,
            expected=expected,
            n_jobs=self._n_jobs,
        )
        self._observed = found.observed
        return found
