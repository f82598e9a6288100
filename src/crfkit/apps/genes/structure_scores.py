"""Scores of gene structures from measures and weights, and their gradient.

The potential of the gene finder: a structure's score is linear in a few dozen weights,

    content(t, k) = Σ_d measure_d(t, k) · w_d + bias,   site(t) = Σ_d measure_d(t) · w_d + bias,
    length(n)     = log density(n) · w + bias

with one set of weights for coding bases, one for introns, one for each kind of site and of exon. Forward and
backward sums over all structures are native (native/genes/gene_graph.h, gene_paths.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit import _native
from crfkit.apps.genes.evidence import MEASURES, ORDERS, Evidence, Measured
from crfkit.apps.genes.lengths import EXON_KINDS
from crfkit.apps.genes.signals import SITES
from crfkit.arrays import FloatArray
from crfkit.data.sequences import offsets_of
from crfkit.exceptions import InputError
from crfkit.inference.lattice import LARGEST_SCORE

MIN_INTRON = 20
SPLIT_STOP = -3.0  # a stop codon that an intron cuts in two is rare


class WeightNames:
    """The names of the weights, in the order of the vector [P]."""

    def __init__(self, n_chains: int) -> None:
        chains = [_chain_name(d) for d in range(n_chains)]
        names = [f"{part} {chain}" for part in ("coding", "intron") for chain in chains]
        names += ["coding bias", "intron bias"]
        for site in SITES:
            names += [f"{site} {measure}" for measure in MEASURES[site]] + [f"{site} bias"]
        names += [f"{kind} length" for kind in EXON_KINDS] + [f"{kind} bias" for kind in EXON_KINDS]
        names += ["intron length"]
        self.names = names
        self.n_chains = n_chains
        self._at = {name: i for i, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.names)

    def at(self, name: str) -> int:
        return self._at[name]

    def chains(self, part: str) -> slice:
        """Return the slice of the weights of a part's chains."""
        first = self.at(f"{part} {_chain_name(0)}")
        return slice(first, first + self.n_chains)

    def measures(self, site: str) -> slice:
        """Return the slice of the weights of a site's measures."""
        first = self.at(f"{site} {MEASURES[site][0]}")
        return slice(first, first + len(MEASURES[site]))

    def kinds(self, what: str) -> slice:
        """Return the slice of the weights of the four kinds of exons: "length" or "bias"."""
        first = self.at(f"{EXON_KINDS[0]} {what}")
        return slice(first, first + len(EXON_KINDS))

    def prior(self) -> FloatArray:
        """Return the weights of the generative model: 1 for measures, 0 for biases."""
        w = np.ones(len(self))
        w[[name.endswith("bias") for name in self.names]] = 0.0
        for part in ("coding", "intron"):
            w[self.chains(part)] = 1.0 / self.n_chains
        return w


def _chain_name(d: int) -> str:
    """Return the name of a Markov chain by the words that it counts, such as hexamers."""
    return f"words of {ORDERS[d] + 1} bases" if d < len(ORDERS) else f"chain {d}"


@dataclass(frozen=True)
class Tracks:
    """Scores, posteriors or counts for one strand of a batch."""

    content: FloatArray  # [ΣT, 4]
    sites: FloatArray  # [ΣT + N, 4]


@dataclass(frozen=True)
class Segments:
    """Scores, posteriors or counts for lengths."""

    exon: FloatArray  # [4, n]
    intron: FloatArray  # [n]


class StrandBatch:
    """The measures of several sequences, end to end."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self.n_sequences = len(measured)
        self.offsets = offsets_of([len(m.codes) for m in measured])  # [N+1]
        self.codes = np.concatenate([m.codes for m in measured])  # [ΣT]
        self.content = np.concatenate([m.content for m in measured])  # [ΣT, 4, D]
        self.places = {  # [M] rows of the sites' table
            site: np.concatenate([m.places[site] + int(self.offsets[i]) + i for i, m in enumerate(measured)])
            for site in SITES
        }
        self.sites = {site: np.concatenate([m.sites[site] for m in measured]) for site in SITES}  # [M, d]

    def scores(self, names: WeightNames, w: FloatArray) -> Tracks:
        """Return the scores of all bases and sites."""
        content = np.empty(self.content.shape[:2])
        content[:, :3] = self.content[:, :3] @ w[names.chains("coding")] + w[names.at("coding bias")]
        content[:, 3] = self.content[:, 3] @ w[names.chains("intron")] + w[names.at("intron bias")]
        sites = np.full((len(content) + self.n_sequences, len(SITES)), -np.inf)
        for j, site in enumerate(SITES):
            score = self.sites[site] @ w[names.measures(site)] + w[names.at(f"{site} bias")]
            sites[self.places[site], j] = score
        return Tracks(content, sites)

    def backward(self, names: WeightNames, d: Tracks, gradient: FloatArray) -> None:
        """Add the gradient by the weights, given the gradient by the scores."""
        gradient[names.chains("coding")] += np.einsum("tp,tpd->d", d.content[:, :3], self.content[:, :3])
        gradient[names.chains("intron")] += np.einsum("t,td->d", d.content[:, 3], self.content[:, 3])
        gradient[names.at("coding bias")] += d.content[:, :3].sum()
        gradient[names.at("intron bias")] += d.content[:, 3].sum()
        for j, site in enumerate(SITES):
            at = d.sites[self.places[site], j]
            gradient[names.measures(site)] += np.einsum("m,md->d", at, self.sites[site])
            gradient[names.at(f"{site} bias")] += at.sum()


def segment_scores(evidence: Evidence, names: WeightNames, w: FloatArray) -> Segments:
    """Return the scores of the lengths of exons and introns."""
    exon = evidence.exon * w[names.kinds("length"), None] + w[names.kinds("bias"), None]
    return Segments(exon, evidence.intron * w[names.at("intron length")])


def segments_backward(evidence: Evidence, names: WeightNames, d: Segments, gradient: FloatArray) -> None:
    """Add the gradient by the weights of lengths."""
    gradient[names.kinds("length")] += np.einsum("kn,kn->k", d.exon, evidence.exon)
    gradient[names.kinds("bias")] += d.exon.sum(axis=1)
    gradient[names.at("intron length")] += float(np.einsum("n,n", d.intron, evidence.intron))


def scores_fit(there: Tracks, lengths: Segments) -> bool:
    """Return whether all scores are -inf or at most ``LARGEST_SCORE`` in size."""
    tables = (there.content, there.sites, lengths.exon, lengths.intron)
    return all(_native.scores_fit(table.reshape(-1), LARGEST_SCORE) for table in tables)


def _require(what: str, scores: FloatArray) -> None:
    if _native.scores_fit(scores.reshape(-1), LARGEST_SCORE):
        return
    wrong = np.argwhere(~((np.abs(scores) <= LARGEST_SCORE) | (scores == -np.inf)))
    value = scores[tuple(wrong[0])]
    raise InputError(
        f"{what} scores of a gene finder must be at most {LARGEST_SCORE:g} in size, or -inf to forbid; got "
        f"{value:g} at row {wrong[0][-2] if wrong.shape[1] > 1 else wrong[0][0]}: sums over structures would "
        "be wrong. Its weights are damaged, or it was trained with too small a penalty c2"
    )


def native_batch(
    forward: StrandBatch,
    there: Tracks,
    back: tuple[StrandBatch, Tracks] | None,
    lengths: Segments,
    partial: float,
) -> _native.GeneBatch:
    """Return the scores in the form that the C++ core takes; raise if any is too large for exact sums."""
    _require("base", there.content)
    _require("site", there.sites)
    if back is not None:
        _require("base", back[1].content)
        _require("site", back[1].sites)
    _require("exon length", lengths.exon)
    _require("intron length", lengths.intron)
    return _native.GeneBatch(
        forward.offsets,
        forward.codes,
        there.content,
        there.sites,
        None if back is None else back[0].codes,
        None if back is None else back[1].content,
        None if back is None else back[1].sites,
        lengths.exon,
        lengths.intron,
        MIN_INTRON,
        SPLIT_STOP,
        partial,
    )
