"""Training the weights of the measures by the conditional likelihood of gene structures.

    f(w) = Σ_i (log Z(x_i) - S(x_i, true structure)) + c2 · ‖w - w₀‖²

w₀ is the generative model. Measures of a training gene come from models estimated without it (cross-fitting):
otherwise a measure looks better than it will be on new genes, and gets too large a weight. The weights differ
in scale and are correlated, so the optimiser works in coordinates whitened by the empirical Fisher matrix at
w₀, Σ_i g_i g_iᵀ, where g_i is the gradient of gene i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.genes.bases import Codes
from crfkit.apps.genes.evidence import Evidence, Measured, estimate
from crfkit.apps.genes.gene_sites import gene_labelling
from crfkit.apps.genes.structure_scores import GeneBatch, GenePotential, ScoresTooLarge, WeightNames
from crfkit.apps.genes.transcripts import Span
from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.inference.site_segmentations import SITE_SEGMENTATIONS
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.problem import Evaluation, dot


def cross_fitted(
    codes: Sequence[Codes],
    genes: Sequence[Sequence[Span]],
    *,
    folds: int,
    longest_intron: int,
    donors: tuple[str, ...],
    n_gc_classes: int = 1,
    seed: int = 0,
) -> list[Measured]:
    """Return the measures of each window, by models estimated without its fold."""
    n = len(codes)
    part = np.random.default_rng(seed).permutation(n) % min(folds, n)
    measured: dict[int, Measured] = {}
    for fold in range(int(part.max()) + 1):
        others = np.flatnonzero(part != fold).tolist()
        evidence = estimate(
            [codes[i] for i in others],
            [genes[i] for i in others],
            longest_intron=longest_intron,
            donors=donors,
            n_gc_classes=n_gc_classes,
        )
        for i in np.flatnonzero(part == fold).tolist():
            measured[i] = evidence.measure(codes[i])
    return [measured[i] for i in range(n)]


class StructureLikelihood:
    """The objective f as a function of whitened weights x: w = w₀ + transform · x."""

    def __init__(
        self,
        measured: Sequence[Measured],
        genes: Sequence[Sequence[Span]],
        evidence: Evidence,
        names: WeightNames,
        *,
        c2: float,
        n_jobs: int | None,
        transform: FloatArray | None = None,
    ) -> None:
        batch = GeneBatch(measured)
        labels = Labels(gene_labelling(batch.sites, [m.codes for m in measured], genes), None)
        potential = GenePotential(evidence, names)
        self._likelihood = Likelihood(potential, batch, labels, structure=SITE_SEGMENTATIONS, n_jobs=n_jobs)
        self._c2, self.prior = c2, names.prior()
        self._transform = np.eye(len(names)) if transform is None else transform  # [P, P]

    def weights(self, x: FloatArray) -> FloatArray:
        return self.prior + self._transform @ x

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value and gradient at x; the diagonal of the Hessian is near 1 and not estimated."""
        w = self.weights(x)
        here = self.loss(w)
        away = w - self.prior
        gradient = self._transform.T @ (here.gradient + 2 * self._c2 * away)
        return Evaluation(here.value + self._c2 * dot(away, away), gradient)

    def loss(self, w: FloatArray) -> Evaluation:
        """Return Σ_i (log Z - S) and its gradient by the weights w; ∞ where scores are too large."""
        try:
            return self._likelihood(w)
        except ScoresTooLarge:
            return Evaluation(np.inf, np.zeros(len(w)))  # optimisers then try a smaller step


def whitening(
    measured: Sequence[Measured],
    genes: Sequence[Sequence[Span]],
    evidence: Evidence,
    names: WeightNames,
    c2: float,
) -> FloatArray:
    """Return T [P, P] with T Tᵀ = (Σ_i g_i g_iᵀ + 2 c2)⁻¹ at the prior."""
    gradients = np.stack(
        [
            StructureLikelihood([m], [g], evidence, names, c2=0.0, n_jobs=1).loss(names.prior()).gradient
            for m, g in zip(measured, genes, strict=True)
        ]
    )  # [N, P]
    values, vectors = np.linalg.eigh(gradients.T @ gradients)
    white: FloatArray = vectors / np.sqrt(np.maximum(values, 0.0) + 2 * c2 + 1e-6)
    return white
