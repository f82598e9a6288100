"""Checking whether an annotated gene follows the grammar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.genes.bases import UNKNOWN, Codes, encode_bases, words
from crfkit.apps.genes.grammar import STOPS
from crfkit.apps.genes.transcripts import Span, introns

_STOP_NUMBERS = [int(words(encode_bases(stop), 3)[-1]) for stop in STOPS]
_SHORTEST_EXON = 3


def fault_of(codes: Codes, exons: Sequence[Span], *, min_intron: int, longest_intron: int) -> str | None:
    """Describe what is wrong with a gene, given in reading direction; None if nothing is."""
    if exons[0][0] < 0 or exons[-1][1] > len(codes):
        return "it reaches beyond its sequence"
    coding = np.concatenate([codes[begin:end] for begin, end in exons])
    if len(coding) % 3:
        return f"its coding length, {len(coding)}, is not a multiple of 3"
    if (coding == UNKNOWN).any():
        return "it has unknown bases"
    numbers = words(coding, 3)[2::3]
    if numbers[0] != words(encode_bases("ATG"), 3)[-1]:
        return "it does not begin with ATG"
    if numbers[-1] not in _STOP_NUMBERS:
        return "it does not end with a stop codon"
    if np.isin(numbers[:-1], _STOP_NUMBERS).any():
        return "it has a stop codon in frame"
    for begin, end in exons:
        if end - begin < _SHORTEST_EXON:
            return f"its exon at {begin} has fewer than {_SHORTEST_EXON} bases"
    for begin, end in introns(exons):
        if not min_intron <= end - begin <= longest_intron:
            return f"its intron at {begin} has {end - begin} bases, not {min_intron} to {longest_intron}"
        if codes[begin] != 2 or codes[begin + 1] not in (1, 3) or codes[end - 2] != 0 or codes[end - 1] != 2:
            return f"its intron at {begin} is not GT-AG or GC-AG"
    return None
