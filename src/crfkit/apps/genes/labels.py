"""The papers' seven labels of a base, and their conversion from and to exons.

N: non-coding; 0, 1, 2: coding, by position in the codon; a, b, c: in an intron that is followed by codon
position 0, 1 or 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes.transcripts import Span
from crfkit.arrays import IdArray
from crfkit.exceptions import InputError

LABELS = ["0", "1", "2", "N", "a", "b", "c"]  # sorted, as a CRF keeps them
CODING = (0, 1, 2)
NON_CODING = 3
INTRON = (4, 5, 6)

Ids = IdArray  # [T]


def label_ids(exons: Sequence[Span], length: int) -> Ids:
    """Return the labels [length] of a window with one gene in reading direction, as indices into LABELS."""
    ids = np.full(length, NON_CODING, np.int32)
    coding, last = 0, None
    for start, end in exons:
        if not 0 <= start < end <= length or (last is not None and start < last):
            raise InputError(
                f"exon {start}..{end} does not fit a window of {length} bases, or is out of order"
            )
        if last is not None:
            ids[last:start] = INTRON[coding % 3]
        ids[start:end] = (coding + np.arange(end - start)) % 3
        coding += end - start
        last = end
    return ids


def genes_of(ids: npt.NDArray[np.integer]) -> list[list[Span]]:
    """Return the exons of each gene in a labelling. Introns join exons, N separates genes."""
    coding = ids < NON_CODING
    edges = np.flatnonzero(np.diff(np.concatenate(([0], coding.astype(np.int8), [0]))))
    genes: list[list[Span]] = []
    last = None
    for start, end in edges.reshape(-1, 2).tolist():
        if last is None or (ids[last:start] == NON_CODING).any():
            genes.append([])
        genes[-1].append((start, end))
        last = end
    return genes
