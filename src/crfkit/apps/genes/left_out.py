"""Why genes are left out of training: the most likely mistake in their annotation.

Each mistake is tried on genes that violate the grammar: if most of them are legal without it, it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from crfkit.apps.genes.bases import Codes, reverse_complement
from crfkit.apps.genes.legality import fault_of
from crfkit.apps.genes.transcripts import Span

_TRIED = 50  # genes

Gene = tuple[Codes, Sequence[Span]]


def likely_mistake(genes: Iterable[Gene], *, min_intron: int, longest_intron: int) -> str | None:
    """Name the mistake that most of these illegal genes have; None if there is none in common."""
    some = list(genes)[:_TRIED]

    def legal(gene: Gene) -> bool:
        codes, exons = gene
        inside = exons[0][0] >= 0 and exons[-1][1] <= len(codes) and all(a < b for a, b in exons)
        return inside and fault_of(codes, exons, min_intron=min_intron, longest_intron=longest_intron) is None

    for mend, words in _MISTAKES:
        if 2 * sum(any(map(legal, mend(gene))) for gene in some) > len(some):
            return words
    return None


def _shifted(gene: Gene) -> Iterable[Gene]:
    """Yield the gene with its starts, its ends or both moved by one base."""
    codes, exons = gene
    for start in (-1, 0, 1):
        for end in (-1, 0, 1):
            yield codes, [(a + start, b + end) for a, b in exons]


def _turned(gene: Gene) -> Iterable[Gene]:
    """Yield the gene on the other strand."""
    codes, exons = gene
    yield reverse_complement(codes), [(len(codes) - b, len(codes) - a) for a, b in reversed(exons)]


_MISTAKES: tuple[tuple[Callable[[Gene], Iterable[Gene]], str], ...] = (
    (_shifted, "their positions seem to be off by one: GFF counts bases from 1 and includes the last one"),
    (_turned, "they seem to be on the other strand: check column 7"),
)


def similar_contig(name: str, known: Iterable[str]) -> str | None:
    """Return the contig that is probably meant by another name: chr1, Chr1 and 1 are the same."""

    def bare(text: str) -> str:
        return text.lower().removeprefix("chr").lstrip("0_")

    return next((contig for contig in known if bare(contig) == bare(name)), None)
