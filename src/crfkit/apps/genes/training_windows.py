"""Training windows from a genome and its annotation: one gene each, in reading direction.

Of a gene's transcripts, the one with the longest coding sequence is used (the first of equals). A window has
up to ``flank`` bases on either side, but ends where the coding sequence of a neighbour begins. Genes whose
coding range overlaps that of another gene are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crfkit.apps.genes.bases import Codes, encode_bases, reverse_complement
from crfkit.apps.genes.left_out import similar_contig
from crfkit.apps.genes.transcripts import Span, Transcript
from crfkit.exceptions import InputError

FLANK = 500


@dataclass(frozen=True)
class TrainingWindow:
    """A gene and the DNA around it."""

    name: str
    codes: Codes  # [T] in reading direction
    exons: tuple[Span, ...]


@dataclass(frozen=True)
class TrainingWindows:
    """All training windows, and the genes that were left out."""

    windows: list[TrainingWindow]
    overlapping: list[tuple[str, str]]  # genes left out, each with one that it overlaps
    unknown: list[str]  # transcripts left out: the genome does not have their contigs


def longest_transcripts(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """Return one transcript per gene, the longest."""
    best: dict[tuple[str, str, str], Transcript] = {}
    for transcript in transcripts:
        key = (transcript.contig, transcript.strand, transcript.gene or transcript.id)
        if key not in best or transcript.coding_length > best[key].coding_length:
            best[key] = transcript
    return list(best.values())


def check_places(transcripts: Sequence[Transcript], lengths: Mapping[str, int]) -> None:
    """Raise an error if a transcript lies on an unknown contig or beyond its end."""
    for transcript in transcripts:
        if transcript.contig not in lengths:
            known = ", ".join(list(lengths)[:3])
            meant = similar_contig(transcript.contig, lengths)
            raise InputError(
                f"transcript {transcript.id!r} is on {transcript.contig!r}, but the genome has no such "
                f"contig (it has {known}{', …' if len(lengths) > 3 else ''}): "
                + (f"rename it to {meant!r}?" if meant is not None else "are both of one assembly?")
            )
        if transcript.end > lengths[transcript.contig]:
            raise InputError(
                f"transcript {transcript.id!r} ends at {transcript.end}, beyond the "
                f"{lengths[transcript.contig]} bases of {transcript.contig!r}"
            )


def training_windows(
    genome: Mapping[str, bytes],
    transcripts: Sequence[Transcript],
    *,
    flank: int = FLANK,
    skip_unknown: bool = False,
) -> TrainingWindows:
    """Return the windows of all genes that overlap no other gene.

    ``skip_unknown`` leaves out genes on contigs that the genome does not have; otherwise they are an error.
    """
    unknown = [t.id for t in transcripts if t.contig not in genome] if skip_unknown else []
    if unknown:
        transcripts = [t for t in transcripts if t.contig in genome]
    check_places(transcripts, {name: len(sequence) for name, sequence in genome.items()})
    by_contig: dict[str, list[Transcript]] = defaultdict(list)
    for transcript in longest_transcripts(transcripts):
        by_contig[transcript.contig].append(transcript)
    windows: list[TrainingWindow] = []
    overlapping: list[tuple[str, str]] = []
    for contig, genes in by_contig.items():
        codes = encode_bases(genome[contig], contig)
        genes.sort(key=lambda gene: (gene.start, gene.end))
        reach, farthest = 0, ""  # end of the genes so far, and the one that ends there
        for i, gene in enumerate(genes):
            name, following = gene.gene or gene.id, len(codes)
            before, other = reach, farthest
            if gene.end > reach:
                reach, farthest = gene.end, name
            if i + 1 < len(genes):
                following = genes[i + 1].start
                other = other if gene.start < before else genes[i + 1].gene or genes[i + 1].id
            if gene.start < before or gene.end > following:
                overlapping.append((name, other))
                continue
            begin = max(before, gene.start - flank)
            end = min(following, gene.end + flank)
            windows.append(_window(gene, codes[begin:end], begin))
    return TrainingWindows(windows, overlapping, unknown)


def _window(gene: Transcript, codes: Codes, begin: int) -> TrainingWindow:
    name = gene.gene or gene.id
    exons = [(a - begin, b - begin) for a, b in gene.exons]
    if gene.strand == "+":
        return TrainingWindow(name, codes, tuple(exons))
    T = len(codes)
    return TrainingWindow(name, reverse_complement(codes), tuple((T - b, T - a) for a, b in reversed(exons)))
