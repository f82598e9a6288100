"""The gene finder: a semi-Markov CRF over whole gene structures.

Segments are exons (initial, internal, terminal, single), introns and intergenic regions. Every structure is
legal: it has start and stop codons and splice sites, keeps the reading frame across introns, and has no stop
codon inside, not even one split by an intron. Grammar: ``gene_sites``; scores: ``structure_scores``;
training: ``finder_training``; prediction: ``search``, in time linear in the sequence's length.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from crfkit.apps.genes.bases import Codes
from crfkit.apps.genes.evidence import estimate
from crfkit.apps.genes.finder_file import Parts, from_parts, to_parts
from crfkit.apps.genes.finder_training import StructureLikelihood, cross_fitted, whitening
from crfkit.apps.genes.left_out import likely_mistake
from crfkit.apps.genes.legality import fault_of
from crfkit.apps.genes.search import GeneSearch, Posterior, codes_of
from crfkit.apps.genes.structure_scores import MIN_INTRON, GenePotential, WeightNames
from crfkit.apps.genes.transcripts import Span, Transcript, introns
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.model_arrays import open_model
from crfkit.io.model_file import Source, write_model
from crfkit.models.training import interruption
from crfkit.optim.lbfgs import minimize_lbfgs

_FEWEST_GENES, _HANDFUL = 4, 20


class GeneFinder:
    """A gene finder: trains on annotated genes, finds genes in DNA.

    Parameters
    ----------
    c2
        Weight of the penalty on differences from the generative model.
    folds
        Parts of the training genes for cross-fitting.
    longest_intron
        Longest intron in bases; None: 1.5 times the longest in training, at least 1,000.
    gc_classes
        Number of classes of GC content, each with its own Markov chains, for genomes in which it varies.
    n_jobs
        Threads.

    Attributes
    ----------
    weights_ : dict
        The weight of each measure, by name.
    """

    def __init__(
        self,
        c2: float = 0.01,
        *,
        folds: int = 8,
        longest_intron: int | None = None,
        gc_classes: int = 1,
        max_iterations: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.c2 = c2
        self.folds = folds
        self.longest_intron = longest_intron
        self.gc_classes = gc_classes
        self.max_iterations = max_iterations
        self.n_jobs = n_jobs

    @property
    def weights_(self) -> dict[str, float]:
        return dict(zip(self._names.names, self._w.tolist(), strict=True))

    # ---- training

    def fit(
        self,
        sequences: Sequence[str | bytes | Codes],
        genes: Sequence[Sequence[Span]],
        names: Sequence[str] | None = None,
    ) -> GeneFinder:
        """Train on windows with one gene each, in reading direction, with DNA around it.

        Genes that violate the grammar are left out, with a warning.
        """
        if self.c2 < 0 or self.folds < 2 or self.gc_classes < 1:
            raise InputError(
                f"expected c2 >= 0, folds >= 2 and gc_classes >= 1; got {self.c2}, {self.folds} and "
                f"{self.gc_classes}"
            )
        names = [f"window {i}" for i in range(len(sequences))] if names is None else names
        codes = [codes_of(sequence, name) for sequence, name in zip(sequences, names, strict=True)]
        longest = self.longest_intron or _longest_intron(genes)
        faults = [
            fault_of(c, g, min_intron=MIN_INTRON, longest_intron=longest)
            for c, g in zip(codes, genes, strict=True)
        ]
        kept = [i for i, fault in enumerate(faults) if fault is None]
        why = ""
        if 2 * len(kept) < len(faults):
            bad = [(codes[i], genes[i]) for i, fault in enumerate(faults) if fault is not None]
            mistake = likely_mistake(bad, min_intron=MIN_INTRON, longest_intron=longest)
            why = "" if mistake is None else f"; {mistake}"
        _warn_of_faults(names, faults, why)
        if len(kept) < _FEWEST_GENES:
            raise InputError(
                f"a gene finder needs at least {_FEWEST_GENES} complete genes for training, got {len(kept)}"
                + why
            )
        codes, genes = [codes[i] for i in kept], [genes[i] for i in kept]
        _warn_of_little(genes)
        donors = ("GT", "GC") if _has_gc(codes, genes) else ("GT",)
        settings: dict[str, Any] = {
            "longest_intron": longest,
            "donors": donors,
            "n_gc_classes": self.gc_classes,
        }
        evidence = estimate(codes, genes, **settings)
        measured = cross_fitted(codes, genes, folds=self.folds, **settings)
        weight_names = WeightNames(len(evidence.tables))
        transform = whitening(measured, genes, evidence, weight_names, self.c2)
        objective = StructureLikelihood(
            measured,
            genes,
            evidence,
            weight_names,
            c2=self.c2,
            n_jobs=self.n_jobs,
            transform=transform,
        )
        result = minimize_lbfgs(
            objective, np.zeros(len(weight_names)), max_iterations=self.max_iterations, tol=1e-4
        )
        self.evidence_, self._names, self._w = evidence, weight_names, objective.weights(result.x)
        self.objective_, self.n_iter_, self.n_genes_ = result.value, result.iterations, len(kept)
        if result.interrupted:
            raise KeyboardInterrupt(interruption(result.iterations, "iterations"))
        return self

    # ---- prediction

    def predict(
        self,
        sequences: Sequence[str | bytes | Codes],
        *,
        both_strands: bool = False,
        partial: bool = False,
        names: Sequence[str] | None = None,
    ) -> list[list[Transcript]]:
        """Return the genes in the best structure of each sequence, with posterior scores.

        ``partial``: genes may be cut off by the ends of a sequence.
        """
        names = [f"sequence {i}" for i in range(len(sequences))] if names is None else names
        return self._search().genes(sequences, names, both=both_strands, partial=partial)

    def posterior(self, sequence: str | bytes | Codes, *, both_strands: bool = True) -> dict[str, Posterior]:
        """Return the probability of coding and intron at each base, for each strand, "+" and "-"."""
        return self._search().posterior(codes_of(sequence), both=both_strands)

    def _search(self) -> GeneSearch:
        potential = GenePotential(self.evidence_, self._names, self._w)
        return GeneSearch(self.evidence_, potential, self.n_jobs)

    # ---- files

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the model file."""
        parts = Parts(
            self.evidence_, self._names, self._w, float(self.c2), self.n_genes_, float(self.objective_)
        )
        write_model(path, *to_parts(parts))

    @classmethod
    def load(cls, source: Source, *, n_jobs: int | None = None, mmap: bool | None = None) -> GeneFinder:
        """Return the gene finder in a model file; ``mmap`` as in ``read_model``."""
        parts = from_parts(*open_model(source, mmap=mmap))
        finder = cls(c2=parts.c2, gc_classes=len(parts.evidence.gc_bounds) + 1, n_jobs=n_jobs)
        finder.evidence_, finder._names, finder._w = parts.evidence, parts.names, parts.weights
        finder.n_genes_, finder.objective_ = parts.n_genes, parts.objective
        return finder


def _longest_intron(genes: Sequence[Sequence[Span]]) -> int:
    longest = max((end - begin for exons in genes for begin, end in introns(exons)), default=0)
    return max(1000, longest + longest // 2)


def _has_gc(codes: Sequence[Codes], genes: Sequence[Sequence[Span]]) -> bool:
    return any(
        bases[begin + 1] == 1
        for bases, exons in zip(codes, genes, strict=True)
        for begin, _ in introns(exons)
    )


def _warn_of_faults(names: Sequence[str], faults: Sequence[str | None], why: str) -> None:
    bad = [(name, fault) for name, fault in zip(names, faults, strict=True) if fault is not None]
    if bad:
        some = "; ".join(f"{name}: {fault}" for name, fault in bad[:3])
        more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
        warnings.warn(
            f"{len(bad)} of {len(faults)} genes are left out of training ({some}{more}){why}",
            InputWarning,
            stacklevel=3,
        )


def _warn_of_little(genes: Sequence[Sequence[Span]]) -> None:
    """Warn of training genes that are few or have no introns."""
    if len(genes) < _HANDFUL:
        warnings.warn(
            f"there are only {len(genes)} genes for training: a reliable gene finder needs some hundred",
            InputWarning,
            stacklevel=3,
        )
    if not any(map(introns, genes)):
        warnings.warn(
            f"none of the {len(genes)} training genes has an intron: the model cannot learn splice sites",
            InputWarning,
            stacklevel=3,
        )
