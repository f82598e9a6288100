"""Scores of gene structures from measures and weights, and their gradient.

The potential of the gene finder: a structure's score is linear in a few dozen weights,

    content(t, k) = Σ_d measure_d(t, k) · w_d + bias,   site(t) = Σ_d measure_d(t) · w_d + bias,
    length(n)     = log density(n) · w + bias

with one set of weights for coding bases, one for introns, one for each kind of site and of exon. Structures
are segments between sites (``gene_sites``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from crfkit import _native
from crfkit.apps.genes.evidence import MEASURES, ORDERS, Evidence, Measured
from crfkit.apps.genes.gene_sites import CUT, SPLIT_STOP, TABLES, GeneSites, gene_sites
from crfkit.apps.genes.lengths import EXON_KINDS
from crfkit.apps.genes.signals import SITES
from crfkit.arrays import FloatArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import LARGEST_SCORE
from crfkit.inference.site_lattice import SiteLattice
from crfkit.inference.site_segmentations import SiteGradient

MIN_INTRON = 20
_SPLIT_STOP = -3.0  # score: a stop codon that an intron cuts in two is rare


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

    @property
    def content_chains(self) -> IntArray:
        """The places [D, 4] of the weights of each chain, by track: three are coding."""
        coding, intron = (np.arange(self.n_chains) + self.chains(part).start for part in ("coding", "intron"))
        return np.stack([coding, coding, coding, intron], axis=1)

    @property
    def content_biases(self) -> IntArray:
        """The places [4] of the biases of each track."""
        return np.array([self.at("coding bias")] * 3 + [self.at("intron bias")])

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


class ScoresTooLarge(InputError):
    """Scores of a gene finder that are too large for exact sums."""


class Strand:
    """The measures of one strand of several sequences, end to end; ``turned``: that of the other strand.

    Content is in the direction of the first strand, sites are in that of their own.
    """

    def __init__(self, measured: Sequence[Measured], turned: bool) -> None:
        self.measured = [(m.codes, m.places) for m in measured]
        step = -1 if turned else 1
        frames = [_by_frame(m.content)[:, ::step] for m in measured]
        self.content = np.concatenate(frames, axis=1)  # [D, ΣT, 4]
        self.sites = {site: np.concatenate([m.sites[site] for m in measured]) for site in SITES}  # [M, d]

    def scores(self, names: WeightNames, w: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Return the scores of all bases, by track [ΣT, 4], and those of all sites, by kind."""
        content = np.full(self.content.shape[1:], w[names.content_biases])
        for chain, weights in zip(self.content, w[names.content_chains], strict=True):
            content += chain * weights
        sites = [self.sites[s] @ w[names.measures(s)] + w[names.at(f"{s} bias")] for s in SITES]
        return content, sites

    def backward(
        self, names: WeightNames, content: FloatArray, sites: FloatArray, gradient: FloatArray
    ) -> None:
        """Add the gradient by the weights, given that by the scores of bases [ΣT, 4] and of all sites."""
        for chain, at in zip(self.content, names.content_chains, strict=True):
            np.add.at(gradient, at, np.einsum("tc,tc->c", content, chain))
        np.add.at(gradient, names.content_biases, content.sum(axis=0))
        for site, at in zip(SITES, np.split(sites, np.cumsum(self.n_sites)[:-1]), strict=True):
            gradient[names.measures(site)] += np.einsum("m,md->d", at, self.sites[site])
            gradient[names.at(f"{site} bias")] += at.sum()

    @property
    def n_sites(self) -> list[int]:
        """The number of sites of each kind."""
        return [len(self.sites[site]) for site in SITES]


def _by_frame(content: FloatArray) -> FloatArray:
    """Return the measures of coding bases 0, 1, 2 of a codon as those of the frames 0, 1, 2 [D, T, 4]."""
    frames = np.empty_like(content)
    for residue in range(3):
        frames[:, residue::3, :3] = content[:, residue::3, [(residue - f) % 3 for f in range(3)]]
    frames[:, :, 3] = content[:, :, 3]
    return frames


class GeneBatch:
    """The measures of N sequences, on one strand or on both."""

    def __init__(self, *strands: Sequence[Measured]) -> None:
        self.strands = [Strand(measured, k == 1) for k, measured in enumerate(strands)]

    @cached_property
    def sites(self) -> GeneSites:
        return gene_sites([strand.measured for strand in self.strands])

    @cached_property
    def sites_with_cut_genes(self) -> GeneSites:
        return gene_sites([strand.measured for strand in self.strands], partial=True)


class GenePotential:
    """A ``Parametric`` potential over segments between sites.

    ``cut``: the score of a gene that an end of its sequence cuts off; -inf: there are none.
    """

    def __init__(self, evidence: Evidence, names: WeightNames, w: FloatArray | None = None) -> None:
        self._evidence, self._names = evidence, names
        self._own = names.prior() if w is None else w

    @property
    def n_parameters(self) -> int:
        return len(self._names)

    def scores(
        self,
        batch: GeneBatch,
        w: FloatArray | None = None,
        *,
        cut: float = -np.inf,
        n_jobs: int | None = None,
    ) -> SiteLattice:
        w = self._own if w is None else w
        where = batch.sites if cut == -np.inf else batch.sites_with_cut_genes
        found = [strand.scores(self._names, w) for strand in batch.strands]
        content = np.concatenate([content for content, _ in found], axis=1)
        sites = np.concatenate([site for _, all_sites in found for site in all_sites])
        _require("base", content)
        _require("site", sites)
        source = np.concatenate([np.zeros(where.n_sources - len(sites)), sites])
        source[[SPLIT_STOP, CUT]] = _SPLIT_STOP, cut
        return SiteLattice(
            where.sites,
            source[where.open_source],
            source[where.close_source],
            content,
            *self._lengths(w, int(np.diff(where.sites.offsets).max(initial=1))),
        )

    def backward(self, batch: GeneBatch, d_scores: SiteGradient) -> FloatArray:
        gradient = np.zeros(self.n_parameters)
        sources = batch.sites.counts(d_scores.open, d_scores.close)
        at = len(sources) - sum(sum(strand.n_sites) for strand in batch.strands)
        for k, strand in enumerate(batch.strands):
            content = d_scores.content[:, 4 * k : 4 * k + 4]
            sites = sources[at : at + sum(strand.n_sites)]
            strand.backward(self._names, content, sites, gradient)
            at += len(sites)
        evidence, names, d = self._evidence, self._names, d_scores.lengths
        exon, intron = evidence.exon[:, 1 : d.shape[1] + 1], evidence.intron[1 : d.shape[1] + 1]
        of_exons = d[:4, : exon.shape[1]].copy()
        of_exons[:, -1] += d[:4, exon.shape[1] :].sum(axis=1)
        of_exons[EXON_KINDS.index("terminal"), :2] += d[TABLES.index("split stop"), :2]
        gradient[names.kinds("length")] += np.einsum("kn,kn->k", of_exons, exon)
        gradient[names.kinds("bias")] += of_exons.sum(axis=1)
        of_introns = d[TABLES.index("intron"), : len(intron)]
        gradient[names.at("intron length")] += float(np.einsum("n,n", of_introns, intron))
        return gradient

    def _lengths(self, w: FloatArray, longest: int) -> tuple[FloatArray, FloatArray]:
        """Return the scores of lengths in sequences of up to ``longest`` bases."""
        names, n = self._names, longest + 1
        exon = self._evidence.exon[:, :n] * w[names.kinds("length"), None] + w[names.kinds("bias"), None]
        intron = self._evidence.intron[:n] * w[names.at("intron length")]
        _require("exon length", exon)
        _require("intron length", intron)
        return length_scores(exon, intron, MIN_INTRON)


def length_scores(exon: FloatArray, intron: FloatArray, min_intron: int) -> tuple[FloatArray, FloatArray]:
    """Return the scores of lengths [len(TABLES), K] and of each base beyond them.

    ``exon`` [4, n] and ``intron`` [n] have the scores of the lengths 0, 1, …; longer exons have the last one,
    and introns are not longer.
    """
    n_exon, n_intron = exon.shape[1] - 1, len(intron) - 1
    K = max(n_exon, n_intron)
    scores = np.full((len(TABLES), K), -np.inf)
    scores[:4, :n_exon], scores[:4, n_exon:] = exon[:, 1:], exon[:, -1:]
    scores[TABLES.index("split stop"), :2] = exon[EXON_KINDS.index("terminal"), 1:3]
    scores[TABLES.index("intron"), min_intron - 1 : n_intron] = intron[min_intron:]
    scores[TABLES.index("cut intron"), :n_intron] = 0.0
    for name in ("cut exon", "cut exon at the end", "outside"):
        scores[TABLES.index(name)] = 0.0
    for name in (*EXON_KINDS, "cut exon"):
        scores[TABLES.index(name), :2] = -np.inf  # an exon has at least 3 bases
    endless = [name not in ("split stop", "intron", "cut intron") for name in TABLES]
    return scores, np.where(endless, 0.0, -np.inf)


def _require(what: str, scores: FloatArray) -> None:
    if _native.scores_fit(scores.reshape(-1), LARGEST_SCORE):
        return
    wrong = np.argwhere(~((np.abs(scores) <= LARGEST_SCORE) | (scores == -np.inf)))
    value = scores[tuple(wrong[0])]
    raise ScoresTooLarge(
        f"{what} scores of a gene finder must be at most {LARGEST_SCORE:g} in size, or -inf to forbid; got "
        f"{value:g} at row {wrong[0][-2] if wrong.shape[1] > 1 else wrong[0][0]}: sums over structures would "
        "be wrong. Its weights are damaged, or it was trained with too small a penalty c2"
    )
