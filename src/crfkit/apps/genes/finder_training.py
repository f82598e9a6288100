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
from crfkit.apps.genes.labels import INTRON, label_ids
from crfkit.apps.genes.lengths import EXON_KINDS, exon_kind
from crfkit.apps.genes.signals import SITES, site_places
from crfkit.apps.genes.structure_scores import (
    Segments,
    StrandBatch,
    Tracks,
    WeightNames,
    native_batch,
    scores_fit,
    segment_scores,
    segments_backward,
)
from crfkit.apps.genes.transcripts import Span, introns
from crfkit.arrays import FloatArray
from crfkit.data.sequences import offsets_of
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


def true_counts(
    codes: Sequence[Codes], genes: Sequence[Sequence[Span]], evidence: Evidence
) -> tuple[Tracks, Segments]:
    """Return the counts of bases, sites and lengths in the true structures."""
    offsets = offsets_of([len(bases) for bases in codes])
    content = np.zeros((int(offsets[-1]), 4))
    sites = np.zeros((int(offsets[-1]) + len(codes), len(SITES)))
    lengths = Segments(np.zeros_like(evidence.exon), np.zeros_like(evidence.intron))
    for i, (bases, exons) in enumerate(zip(codes, genes, strict=True)):
        ids = label_ids(exons, len(bases))
        column = np.where(ids >= INTRON[0], 3, ids)  # N, which has the number 3, is left out below
        inside = np.isin(ids, (0, 1, 2, *INTRON))
        content[offsets[i] + np.flatnonzero(inside), column[inside]] = 1.0
        for j, site in enumerate(SITES):
            sites[offsets[i] + i + np.array(site_places(exons)[site], np.int64), j] += 1.0
        for k, (begin, end) in enumerate(exons):
            kind = EXON_KINDS.index(exon_kind(k, len(exons)))
            lengths.exon[kind, min(end - begin, evidence.exon.shape[1] - 1)] += 1.0
        for begin, end in introns(exons):
            lengths.intron[end - begin] += 1.0
    return Tracks(content, sites), lengths


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
        n_threads: int,
        transform: FloatArray | None = None,
    ) -> None:
        self._batch = StrandBatch(measured)
        self._evidence, self._names, self._c2, self._n_threads = evidence, names, c2, n_threads
        codes = [m.codes for m in measured]
        self._true, self._true_lengths = true_counts(codes, genes, evidence)
        self.prior = names.prior()
        self._transform = np.eye(len(names)) if transform is None else transform  # [P, P]

    def weights(self, x: FloatArray) -> FloatArray:
        return self.prior + self._transform @ x

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value and gradient at x; the diagonal of the Hessian is near 1 and not estimated."""
        w = self.weights(x)
        loss, gradient = self.loss(w)
        away = w - self.prior
        gradient = self._transform.T @ (gradient + 2 * self._c2 * away)
        return Evaluation(loss + self._c2 * dot(away, away), gradient)

    def loss(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return Σ_i (log Z - S) and its gradient by the weights w; ∞ where scores are too large."""
        batch, names, evidence = self._batch, self._names, self._evidence
        there, lengths = batch.scores(names, w), segment_scores(evidence, names, w)
        if not scores_fit(there, lengths):
            return np.inf, np.zeros(len(names))  # optimisers then try a smaller step
        log_z = np.empty(batch.n_sequences)
        d = Tracks(np.zeros_like(there.content), np.zeros_like(there.sites))
        d_lengths = Segments(np.zeros_like(lengths.exon), np.zeros_like(lengths.intron))
        native_batch(batch, there, None, lengths, -np.inf).posteriors(
            log_z, d.content, d.sites, None, None, d_lengths.exon, d_lengths.intron, self._n_threads
        )
        used = self._true.sites > 0
        true = (
            float(np.einsum("tk,tk", there.content, self._true.content))
            + float(there.sites[used].sum())
            + float(np.einsum("kn,kn", lengths.exon, self._true_lengths.exon))
            + float(np.einsum("n,n", lengths.intron, self._true_lengths.intron))
        )
        np.subtract(d.content, self._true.content, out=d.content)
        np.subtract(d.sites, self._true.sites, out=d.sites)
        np.subtract(d_lengths.exon, self._true_lengths.exon, out=d_lengths.exon)
        np.subtract(d_lengths.intron, self._true_lengths.intron, out=d_lengths.intron)
        gradient = np.zeros(len(names))
        batch.backward(names, d, gradient)
        segments_backward(evidence, names, d_lengths, gradient)
        return float(log_z.sum()) - true, gradient


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
            StructureLikelihood([m], [g], evidence, names, c2=0.0, n_threads=1).loss(names.prior())[1]
            for m, g in zip(measured, genes, strict=True)
        ]
    )  # [N, P]
    values, vectors = np.linalg.eigh(gradients.T @ gradients)
    white: FloatArray = vectors / np.sqrt(np.maximum(values, 0.0) + 2 * c2 + 1e-6)
    return white
