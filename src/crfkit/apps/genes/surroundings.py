"""Measures around starts and stops: untranslated regions, and other start codons before a start.

Ribosomes scan from the beginning of the messenger and start at an early ATG. So a true start seldom has
another ATG shortly before it, least of all in its own frame without a stop codon between them. Distances are
binned; each bin has the log odds of true starts against all other ATG. The regions before a start and after a
stop have their own Markov chain, compared with other non-coding DNA.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.genes.bases import Codes, matches, words
from crfkit.apps.genes.grammar import STARTS, STOPS
from crfkit.apps.genes.labels import NON_CODING, Ids
from crfkit.apps.genes.markov import chain, look_up_column
from crfkit.apps.genes.signals import Places
from crfkit.apps.genes.transcripts import Span
from crfkit.arrays import BoolArray, FloatArray, IntArray

_BINS = np.array([4, 7, 13, 25, 50, 100, 200, 400])
N_BINS = len(_BINS) + 1
_STRETCH, _ORDER, _PRIOR = 60, 3, 30.0


def start_distances(codes: Codes, places: Places) -> IntArray:
    """Return bins of the distance to the ATG before [M, 2]: in any frame; in frame with no stop between."""
    T = len(codes)
    starts, stops = matches(codes, *STARTS), matches(codes, *STOPS)
    any_frame = _last_before(starts, 1)
    own = np.full(T, -1, np.int64)
    for frame in range(3):
        start_at, stop_at = _last_before(starts[frame::3], 1), _last_before(stops[frame::3], 1)
        open_frame = np.where(start_at > stop_at, start_at, -1)
        own[frame::3] = np.where(open_frame >= 0, open_frame * 3 + frame, -1)
    gaps = [np.where(last[places] >= 0, places - last[places], T + _BINS[-1]) for last in (any_frame, own)]
    return np.stack([np.searchsorted(_BINS, gap, side="right") for gap in gaps], axis=1)


def _last_before(flags: BoolArray, by: int) -> IntArray:
    """Return the last True at least ``by`` places before each place; -1: none."""
    at = np.where(flags, np.arange(len(flags)), -1)
    last = np.maximum.accumulate(at) if len(at) else at
    return np.concatenate((np.full(min(by, len(at)), -1, np.int64), last[: max(0, len(at) - by)]))


def distance_odds(codes: Sequence[Codes], places: Sequence[Places], true: Sequence[BoolArray]) -> FloatArray:
    """Return the log odds of each bin [2, bins], from candidate starts and which of them are true."""
    bins = np.concatenate([start_distances(c, p) for c, p in zip(codes, places, strict=True)])
    is_true = np.concatenate(true)
    odds = np.zeros((2, N_BINS))
    for k in range(2):
        of = [np.bincount(bins[mask, k], minlength=odds.shape[1]) + 1.0 for mask in (is_true, ~is_true)]
        odds[k] = np.log(of[0] / of[0].sum()) - np.log(of[1] / of[1].sum())
    return odds


def stretch_tables(
    codes: Sequence[Codes], genes: Sequence[Sequence[Span]], labels: Sequence[Ids]
) -> FloatArray:
    """Return log odds of bases before starts and after stops against other DNA [4^(order+1), 2]."""
    masks: list[list[BoolArray]] = [[], [], []]
    for bases, exons, ids in zip(codes, genes, labels, strict=True):
        at = np.arange(len(bases))
        outside = ids == NON_CODING
        masks[0].append(outside & (at >= exons[0][0] - _STRETCH) & (at < exons[0][0]))
        masks[1].append(outside & (at >= exons[-1][1]) & (at < exons[-1][1] + _STRETCH))
        masks[2].append(outside)
    numbers = [np.concatenate([words(c, k + 1) for c in codes]) for k in range(_ORDER + 1)]
    chains = [chain([n[np.concatenate(mask)] for n in numbers], _PRIOR) for mask in masks]
    return np.stack([chains[0] - chains[2], chains[1] - chains[2]], axis=1)


def stretch_before(table: FloatArray, codes: Codes, places: Places) -> FloatArray:
    """Return the log odds of the bases before starts [M]."""
    total = np.concatenate(([0.0], np.cumsum(look_up_column(table[:, 0], codes))))
    odds: FloatArray = total[places] - total[np.maximum(places - _STRETCH, 0)]
    return odds


def stretch_after(table: FloatArray, codes: Codes, places: Places) -> FloatArray:
    """Return the log odds of the bases after stops [M]."""
    total = np.concatenate(([0.0], np.cumsum(look_up_column(table[:, 1], codes))))
    odds: FloatArray = total[np.minimum(places + _STRETCH, len(codes))] - total[places]
    return odds
