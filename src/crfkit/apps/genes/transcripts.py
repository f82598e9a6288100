"""The coding exons of a transcript on a contig, as annotated or predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from crfkit.exceptions import InputError

Span = tuple[int, int]  # 0-based, half-open


@dataclass(frozen=True)
class Transcript:
    """The coding part of one transcript, on either strand."""

    contig: str
    strand: str  # "+" or "-"
    exons: tuple[Span, ...]  # coding exons by position on the contig; half-open, 0-based
    id: str = ""
    gene: str = ""  # id of its gene; transcripts of one gene share it
    phase: int = 0  # bases of the first exon (in reading direction) before its first whole codon
    score: float | None = None  # probability that the whole structure is right
    exon_scores: tuple[float, ...] = ()  # the same for each exon
    complete: tuple[bool, bool] = (True, True)  # has its start codon, has its stop codon

    def __post_init__(self) -> None:
        if self.strand not in ("+", "-"):
            raise InputError(f"transcript {self.id!r}: strand must be '+' or '-', got {self.strand!r}")
        if not self.exons:
            raise InputError(f"transcript {self.id!r} has no coding exons")
        last = -1
        for start, end in self.exons:
            if start < 0 or end <= start:
                raise InputError(f"transcript {self.id!r}: exon {start}..{end} is empty or out of range")
            if start < last:
                raise InputError(f"transcript {self.id!r}: exons overlap or are not in order at {start}")
            last = end
        if self.phase not in (0, 1, 2):
            raise InputError(f"transcript {self.id!r}: phase must be 0, 1 or 2, got {self.phase!r}")

    @property
    def start(self) -> int:
        """Return the position of the first coding base on the contig."""
        return self.exons[0][0]

    @property
    def end(self) -> int:
        """Return the position after the last coding base."""
        return self.exons[-1][1]

    @property
    def coding_length(self) -> int:
        """Return the number of bases in all exons."""
        return sum(end - start for start, end in self.exons)

    def moved(self, by: int) -> Transcript:
        """Return the transcript shifted by so many bases."""
        return replace(self, exons=tuple((begin + by, end + by) for begin, end in self.exons))

    def phases(self) -> tuple[int, ...]:
        """Return the GFF3 phase of each exon, in their order: bases to skip to the next complete codon."""
        phases = []
        phase = self.phase
        for start, end in self.exons if self.strand == "+" else self.exons[::-1]:
            phases.append(phase)
            phase = (phase - (end - start)) % 3
        return tuple(phases if self.strand == "+" else phases[::-1])


def introns(exons: Sequence[Span]) -> list[Span]:
    """Return the introns between neighbouring exons."""
    return [(left[1], right[0]) for left, right in pairwise(exons)]
