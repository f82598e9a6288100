"""Finding genes: the best structure of contigs, with the probabilities of its exons and genes.

Contigs are searched in pieces that overlap, so that memory does not grow with them. Short contigs are
searched together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crfkit.apps.genes.bases import Codes, encode_bases, reverse_complement
from crfkit.apps.genes.evidence import Evidence
from crfkit.apps.genes.gene_sites import INTRONS, OUTSIDE, TRACKS, GeneLabels, gene_labels
from crfkit.apps.genes.structure_scores import GeneBatch, GenePotential
from crfkit.apps.genes.transcripts import Transcript
from crfkit.arrays import FloatArray, IntArray
from crfkit.inference.segment_answers import LabelledSpans, segments_of
from crfkit.inference.site_lattice import SiteLattice
from crfkit.inference.site_segmentations import SITE_SEGMENTATIONS

_PIECE, _MARGIN = 200_000, 30_000  # bases searched at once, and extra bases on either side
_CUT = -6.0  # score of a gene that the end of a contig cuts off


@dataclass(frozen=True)
class Posterior:
    """Probabilities of a stretch of one strand, in the contig's direction."""

    coding: FloatArray  # [T] in an exon
    intron: FloatArray  # [T]

    def cut(self, places: slice) -> Posterior:
        return Posterior(self.coding[places], self.intron[places])


class _Piece(NamedTuple):
    """A part of a contig that is searched at once."""

    contig: int
    codes: Codes
    begin: int  # place on the contig
    first: int  # genes that start at ``first`` .. ``stop`` - 1 count; others are found in other pieces
    stop: int
    cut: float


class _Segments(NamedTuple):
    """The segments of the best structures of a batch, and their probabilities."""

    found: LabelledSpans
    of_any_kind: FloatArray  # [M]
    p: FloatArray  # [M]
    given_site: FloatArray  # [M] given that a structure has the site on its left


class GeneSearch:
    """Searches DNA with a trained potential."""

    def __init__(self, evidence: Evidence, potential: GenePotential, n_jobs: int | None) -> None:
        self._evidence, self._potential, self._n_jobs = evidence, potential, n_jobs

    def genes(
        self, sequences: Sequence[str | bytes | Codes], names: Sequence[str], *, both: bool, partial: bool
    ) -> list[list[Transcript]]:
        """Return the genes in the best structure of each sequence."""
        genes: list[list[Transcript]] = [[] for _ in sequences]
        for group in _groups(_pieces(sequences, names, partial)):
            for piece, gene in self._search(group, both):
                mine = genes[piece.contig]
                moved = gene.moved(piece.begin)
                last = mine[-1].end if mine else 0
                if piece.first <= moved.start < piece.stop and moved.start >= last:
                    mine.append(moved)
        return [_named(found, name) for found, name in zip(genes, names, strict=True)]

    def posterior(self, codes: Codes, *, both: bool) -> dict[str, Posterior]:
        """Return the probability of coding and intron at each base, for each strand, "+" and "-"."""
        scores = self._scores([codes], both, _CUT)
        _, counts = SITE_SEGMENTATIONS.expectations(scores, n_jobs=self._n_jobs)
        tracks = {"+": counts.content[:, :TRACKS]}
        if both:
            tracks["-"] = counts.content[:, TRACKS:]
        return {strand: Posterior(track[:, :3].sum(axis=1), track[:, 3]) for strand, track in tracks.items()}

    def _scores(self, codes: Sequence[Codes], both: bool, cut: float) -> SiteLattice:
        measured = [[self._evidence.measure(bases) for bases in codes]]
        if both:
            measured.append([self._evidence.measure(reverse_complement(bases)) for bases in codes])
        return self._potential.scores(GeneBatch(*measured), cut=cut)

    def _search(self, group: list[_Piece], both: bool) -> Iterator[tuple[_Piece, Transcript]]:
        """Yield the genes of pieces, from left to right in each."""
        scores = self._scores([p.codes for p in group], both, group[0].cut)
        for i, gene in best_genes(scores, gene_labels(1 + both), n_jobs=self._n_jobs):
            yield group[i], gene


def best_genes(
    scores: SiteLattice, labels: GeneLabels, *, n_jobs: int | None = None
) -> Iterator[tuple[int, Transcript]]:
    """Yield the genes in the best structure of each sequence, with the sequence's number."""
    segments = _best_segments(scores, labels, n_jobs)
    sequence, begin, end, label = segments.found
    lengths = np.diff(scores.offsets)
    run: list[int] = []  # segments of the gene at hand
    for i, y in enumerate(label.tolist()):
        if run and (begin[i] != end[run[-1]] or sequence[i] != sequence[run[-1]]):
            yield _gene(segments, labels, run, lengths)
            run = []
        run.append(i)
        if labels.stops[y] if labels.strand[y] == 0 else labels.starts[y]:
            yield _gene(segments, labels, run, lengths)
            run = []
    if run:
        yield _gene(segments, labels, run, lengths)


def _best_segments(scores: SiteLattice, labels: GeneLabels, n_jobs: int | None) -> _Segments:
    best = SITE_SEGMENTATIONS.best(scores, n_jobs=n_jobs)
    found, _ = segments_of(best, scores.offsets, scores.n_labels)
    found = LabelledSpans(*(part[found.label != OUTSIDE] for part in found))
    # Segments that differ in kind only: an exon in its frame is right whatever its kind.
    alike = [labels.alike[y] for y in found.label]
    each = np.repeat(np.arange(len(alike)), [len(own) for own in alike])
    label = np.concatenate([*alike, np.zeros(0)]).astype(np.int32)
    wanted = LabelledSpans(found.sequence[each], found.begin[each], found.end[each], label)
    p, given_site = SITE_SEGMENTATIONS.steps(scores, wanted, n_jobs=n_jobs)
    own = np.flatnonzero(label == found.label[each])
    of_any_kind = np.bincount(each, p, len(alike)).astype(np.float64, copy=False)
    return _Segments(found, of_any_kind, p[own], given_site[own])


def codes_of(sequence: str | bytes | Codes, *name: str) -> Codes:
    """Return the codes of a sequence; ``name`` is for messages."""
    return sequence if isinstance(sequence, np.ndarray) else encode_bases(sequence, *name)


def _pieces(
    sequences: Sequence[str | bytes | Codes], names: Sequence[str], partial: bool
) -> Iterator[_Piece]:
    for i, (sequence, name) in enumerate(zip(sequences, names, strict=True)):
        codes = codes_of(sequence, name)
        T = len(codes)
        for first in range(0, T, _PIECE):
            begin, end = max(0, first - _MARGIN), min(T, first + _PIECE + _MARGIN)
            # The inner ends of a piece may cut off genes; the next piece contains these genes completely.
            cut = _CUT if partial or begin > 0 or end < T else -np.inf
            yield _Piece(i, codes[begin:end], begin, first, first + _PIECE, cut)


def _groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield pieces that are searched together: they have as many bases as a large one."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        if group and (size + len(piece.codes) > _PIECE or piece.cut != group[0].cut):
            yield group
            group, size = [], 0
        group.append(piece)
        size += len(piece.codes)
    if group:
        yield group


def _gene(
    segments: _Segments, labels: GeneLabels, run: list[int], lengths: IntArray
) -> tuple[int, Transcript]:
    """Convert the segments of a gene, from left to right, to a transcript."""
    found = segments.found
    sequence, strand = int(found.sequence[run[0]]), int(labels.strand[found.label[run[0]]])
    exons = [i for i in run if labels.kind[found.label[i]] not in INTRONS]
    in_order = exons if strand == 0 else exons[::-1]  # in reading direction
    first, last = in_order[0], in_order[-1]
    begin = found.begin[first] if strand == 0 else lengths[sequence] - found.end[first]
    return sequence, Transcript(
        "",
        "+" if strand == 0 else "-",
        tuple((int(found.begin[i]), int(found.end[i])) for i in exons),
        phase=int((labels.part[found.label[first]] - begin) % 3),
        score=float(np.clip(segments.p[run[0]] * np.prod(segments.given_site[run[1:]]), 0.0, 1.0)),
        exon_scores=tuple(np.clip(segments.of_any_kind[exons], 0.0, 1.0).tolist()),
        complete=(bool(labels.starts[found.label[first]]), bool(labels.stops[found.label[last]])),
    )


def _named(genes: list[Transcript], contig: str) -> list[Transcript]:
    """Return the genes of a contig with numbered ids."""
    width = len(str(len(genes)))
    ids = (f"{contig}.g{i + 1:0{width}d}" for i in range(len(genes)))
    return [replace(gene, contig=contig, gene=id, id=f"{id}.t1") for gene, id in zip(genes, ids, strict=True)]
