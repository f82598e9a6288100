"""How well genes were found: sensitivity and specificity by nucleotide, exon, transcript and gene.

    Sn = TP / (TP + FN)        Sp = TP / (TP + FP)

as the field defines them (Burset and Guigó, Genomics 34, 1996; Sp is what others call precision). Coding
sequence alone is compared. A coding base counts by contig, strand and position; an exon is right where both
ends are; a transcript where all its exons are; a gene is found where one of its transcripts is, and a
predicted gene right where one of its transcripts is. Missed exons overlap no predicted exon of their strand,
wrong exons no true one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from crfkit.apps.genes.transcripts import Span, Transcript

LEVELS = ("nucleotide", "exon", "transcript", "gene")


@dataclass(frozen=True)
class LevelScore:
    """Counts at one level, and what follows from them."""

    true: int  # in the annotation
    predicted: int
    found: int  # of the true ones
    right: int  # of the predicted ones; differs from ``found`` at gene level alone

    @property
    def sensitivity(self) -> float:
        """Sn: the share of what is true that was found; NaN where nothing is true."""
        return self.found / self.true if self.true else float("nan")

    @property
    def specificity(self) -> float:
        """Sp: the share of what was predicted that is right; NaN where nothing was predicted."""
        return self.right / self.predicted if self.predicted else float("nan")


@dataclass(frozen=True)
class GeneScores:
    """Scores at all levels."""

    nucleotide: LevelScore
    exon: LevelScore
    transcript: LevelScore
    gene: LevelScore
    missed_exons: int
    wrong_exons: int

    @property
    def missed_exon_rate(self) -> float:
        """The share of true exons that no predicted exon touches."""
        return self.missed_exons / self.exon.true if self.exon.true else float("nan")

    @property
    def wrong_exon_rate(self) -> float:
        """The share of predicted exons that touch no true exon."""
        return self.wrong_exons / self.exon.predicted if self.exon.predicted else float("nan")

    def as_rows(self) -> list[tuple[str, float, float, int, int]]:
        """(level, Sn, Sp, true, predicted) a level."""
        levels = ((name, getattr(self, name)) for name in LEVELS)
        return [(name, s.sensitivity, s.specificity, s.true, s.predicted) for name, s in levels]


def gene_scores(true: Iterable[Transcript], predicted: Iterable[Transcript]) -> GeneScores:
    """Compare predicted transcripts with the annotated ones."""
    true, predicted = list(true), list(predicted)
    true_exons, predicted_exons = _exons(true), _exons(predicted)
    true_chains = {_chain(t) for t in true}
    predicted_chains = {_chain(t) for t in predicted}
    true_genes, predicted_genes = _genes(true), _genes(predicted)
    return GeneScores(
        nucleotide=_nucleotides(true_exons, predicted_exons),
        exon=_overlap(true_exons, predicted_exons),
        transcript=_overlap(true_chains, predicted_chains),
        gene=LevelScore(
            true=len(true_genes),
            predicted=len(predicted_genes),
            found=sum(not chains.isdisjoint(predicted_chains) for chains in true_genes),
            right=sum(not chains.isdisjoint(true_chains) for chains in predicted_genes),
        ),
        missed_exons=_untouched(true_exons, predicted_exons),
        wrong_exons=_untouched(predicted_exons, true_exons),
    )


_Strand = tuple[str, str]  # contig and strand
_Exon = tuple[_Strand, Span]
_Chain = tuple[_Strand, tuple[Span, ...]]


def _strand(transcript: Transcript) -> _Strand:
    return transcript.contig, transcript.strand


def _exons(transcripts: list[Transcript]) -> set[_Exon]:
    return {(_strand(t), exon) for t in transcripts for exon in t.exons}


def _chain(transcript: Transcript) -> _Chain:
    return _strand(transcript), transcript.exons


def _genes(transcripts: list[Transcript]) -> list[set[_Chain]]:
    """The transcripts of each gene; one without a gene is a gene of its own."""
    genes: dict[object, set[_Chain]] = defaultdict(set)
    for transcript in transcripts:
        key = (*_strand(transcript), transcript.gene) if transcript.gene else _chain(transcript)
        genes[key].add(_chain(transcript))
    return list(genes.values())


def _overlap(true: set[_Exon] | set[_Chain], predicted: set[_Exon] | set[_Chain]) -> LevelScore:
    both = len(true & predicted)
    return LevelScore(len(true), len(predicted), both, both)


def _by_strand(exons: set[_Exon]) -> dict[_Strand, list[Span]]:
    """The exons of each contig and strand, overlapping and touching ones joined, in order."""
    strands: dict[_Strand, list[Span]] = defaultdict(list)
    for strand, exon in sorted(exons):
        joined = strands[strand]
        if joined and exon[0] <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], exon[1]))
        else:
            joined.append(exon)
    return strands


def _nucleotides(true: set[_Exon], predicted: set[_Exon]) -> LevelScore:
    yours, mine = _by_strand(true), _by_strand(predicted)
    both = 0
    for strand, intervals in yours.items():
        others = mine.get(strand, [])
        i = j = 0
        while i < len(intervals) and j < len(others):
            start, end = max(intervals[i][0], others[j][0]), min(intervals[i][1], others[j][1])
            both += max(0, end - start)
            if intervals[i][1] < others[j][1]:
                i += 1
            else:
                j += 1
    n_true, n_predicted = (
        sum(end - start for intervals in strands.values() for start, end in intervals)
        for strands in (yours, mine)
    )
    return LevelScore(n_true, n_predicted, both, both)


def _untouched(exons: set[_Exon], others: set[_Exon]) -> int:
    """How many of the exons overlap none of the others."""
    joined = _by_strand(others)
    count = 0
    for strand, (start, end) in exons:
        intervals = np.array(joined.get(strand, []), np.int64).reshape(-1, 2)
        i = int(np.searchsorted(intervals[:, 1], start, side="right"))  # the first that ends after our start
        count += not (i < len(intervals) and intervals[i, 0] < end)
    return count
