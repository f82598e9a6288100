"""Smooth densities of the lengths of exons and introns, estimated from the training genes.

A Gaussian kernel on the logarithm of the length, mixed with a small uniform density so that no length is
impossible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.genes.transcripts import Span, introns
from crfkit.arrays import FloatArray

EXON_KINDS = ("initial", "internal", "terminal", "single")
LONGEST_EXON = 6000  # longer ones count as this long

_UNIFORM = 0.02
_EXON_WIDTH, _INTRON_WIDTH = 0.35, 0.08  # of the kernel: exons vary, introns hardly
_TYPICAL = 300  # stands for lengths of a kind that the training genes do not have


def log_density(lengths: Sequence[int], n: int, width: float) -> FloatArray:
    """Return the log probabilities [n] of the lengths 0 .. n-1."""
    known = np.minimum(lengths, n - 1) if len(lengths) else np.array([min(_TYPICAL, n - 1)])
    counts = np.bincount(known, minlength=n)
    seen = np.flatnonzero(counts)
    log = np.log(np.arange(1, n))  # [n - 1]
    kernel = np.exp(-0.5 * ((log[:, None] - np.log(seen)) / width) ** 2)  # [n - 1, seen]
    density = kernel @ counts[seen] / np.arange(1, n)
    p = np.full(n, _UNIFORM / n)
    p[1:] += (1 - _UNIFORM) * density / density.sum()
    logs: FloatArray = np.log(p)
    return logs


def exon_lengths(genes: Sequence[Sequence[Span]]) -> dict[str, list[int]]:
    """Return the lengths of each kind of exon; genes in reading direction."""
    lengths: dict[str, list[int]] = {kind: [] for kind in EXON_KINDS}
    for exons in genes:
        for i, (begin, end) in enumerate(exons):
            lengths[exon_kind(i, len(exons))].append(end - begin)
    return lengths


def exon_kind(i: int, n: int) -> str:
    """Return the kind of exon i of n."""
    if n == 1:
        return "single"
    return "initial" if i == 0 else "terminal" if i == n - 1 else "internal"


def densities(genes: Sequence[Sequence[Span]], longest_intron: int) -> tuple[FloatArray, FloatArray]:
    """Return the log densities of exons [4, LONGEST_EXON] and of introns [longest_intron + 1]."""
    exon = [log_density(of, LONGEST_EXON, _EXON_WIDTH) for of in exon_lengths(genes).values()]
    between = [end - begin for exons in genes for begin, end in introns(exons)]
    return np.stack(exon), log_density(between, longest_intron + 1, _INTRON_WIDTH)
