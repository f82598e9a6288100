"""Scores of predicted genes: sensitivity and specificity by nucleotide, exon, transcript and gene.

    Sn = TP / (TP + FN)        Sp = TP / (TP + FP)

as defined by Burset and Guigó (Genomics 34, 1996); Sp is elsewhere called precision. Only coding sequence is
compared. Coding bases are compared by contig, strand and position. An exon is right if both ends are right, a
transcript if all its exons are. A true gene is found, and a predicted gene right, if one of its transcripts
is. Missed exons overlap no predicted exon of their strand; wrong exons overlap no true exon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.apps.genes.transcripts import Span, Transcript
from crfkit.io.shown_table import ShownTable, TabularRecords

LEVELS = ("nucleotide", "exon", "transcript", "gene")


@dataclass(frozen=True)
class LevelScore:
    """Counts at one level, and their rates."""

    true: int  # in the annotation
    predicted: int
    found: int  # number of true ones that were found
    right: int  # number of right predictions; differs from ``found`` only at gene level

    @property
    def sensitivity(self) -> float:
        """Return Sn, the share of true ones that were found; NaN if there are none."""
        return self.found / self.true if self.true else float("nan")

    @property
    def specificity(self) -> float:
        """Return Sp, the share of predictions that are right; NaN if there are none."""
        return self.right / self.predicted if self.predicted else float("nan")


@dataclass(frozen=True, repr=False)
class GeneScores(TabularRecords):
    """Scores at all levels."""

    nucleotide: LevelScore
    exon: LevelScore
    transcript: LevelScore
    gene: LevelScore
    missed_exons: int
    wrong_exons: int

    @property
    def missed_exon_rate(self) -> float:
        """Return the share of true exons that overlap no predicted exon."""
        return self.missed_exons / self.exon.true if self.exon.true else float("nan")

    @property
    def wrong_exon_rate(self) -> float:
        """Return the share of predicted exons that overlap no true exon."""
        return self.wrong_exons / self.exon.predicted if self.exon.predicted else float("nan")

    def _shown(self) -> ShownTable:
        rows = [
            [name, f"{100 * sn:.2f}", f"{100 * sp:.2f}", f"{true:,}", f"{predicted:,}"]
            for name, sn, sp, true, predicted in self.as_rows()
        ]
        exons = f"exons: {self.missed_exons:,} missed, {self.wrong_exons:,} wrong"
        return ShownTable(["level", "sensitivity", "specificity", "true", "predicted"], [rows], [exons])

    def _records(self) -> Iterator[dict[str, Any]]:
        names = ("level", "sensitivity", "specificity", "true", "predicted")
        return (dict(zip(names, row, strict=True)) for row in self.as_rows())

    def as_rows(self) -> list[tuple[str, float, float, int, int]]:
        """Return (level, Sn, Sp, true, predicted) for each level."""
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
    """Return the transcripts of each gene; a transcript without a gene id is a gene by itself."""
    genes: dict[object, set[_Chain]] = defaultdict(set)
    for transcript in transcripts:
        key = (*_strand(transcript), transcript.gene) if transcript.gene else _chain(transcript)
        genes[key].add(_chain(transcript))
    return list(genes.values())


def _overlap(true: set[_Exon] | set[_Chain], predicted: set[_Exon] | set[_Chain]) -> LevelScore:
    both = len(true & predicted)
    return LevelScore(len(true), len(predicted), both, both)


def _by_strand(exons: set[_Exon]) -> dict[_Strand, list[Span]]:
    """Return the exons of each contig and strand in order, with overlapping and touching ones merged."""
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
    """Count the exons that overlap none of the others."""
    joined = _by_strand(others)
    count = 0
    for strand, (start, end) in exons:
        intervals = np.array(joined.get(strand, []), np.int64).reshape(-1, 2)
        i = int(np.searchsorted(intervals[:, 1], start, side="right"))  # the first that ends after start
        count += not (i < len(intervals) and intervals[i, 0] < end)
    return count
