"""The sites of a gene: candidate places, and how much a place looks like a site.

Weight-array models (Zhang and Marr, CABIOS 9, 1993): in a window around the site, the log odds of each base
given the one before it, at true sites against all other places with the same required bases. And the branch
point of introns, a short motif at a loose distance before the acceptor, learned by expectation maximisation.
A place is a boundary between bases: ``t`` lies before base t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes.bases import UNKNOWN, Codes, encode_bases, matches
from crfkit.apps.genes.grammar import ACCEPTORS, STARTS, STOPS
from crfkit.apps.genes.transcripts import Span, introns
from crfkit.arrays import FloatArray, IntArray

Places = IntArray

SITES = ("start", "stop", "donor", "acceptor")


@dataclass(frozen=True)
class SiteRule:
    """The words that a site needs, and its window."""

    words: tuple[str, ...]
    begin: int  # where a word begins, from the site
    before: int  # bases in the window
    after: int
    cuts: tuple[int, ...] = ()  # where the window is divided into parts with separate weights
    prior: float = 100.0  # how much a base alone counts beside the one before it


def site_rules(donors: tuple[str, ...] = ("GT",)) -> dict[str, SiteRule]:
    """Return the rule of each site."""
    return {
        "start": SiteRule(STARTS, 0, 12, 9, cuts=(12,)),
        "stop": SiteRule(STOPS, -3, 9, 6),
        "donor": SiteRule(donors, 0, 8, 14, cuts=(8,)),
        "acceptor": SiteRule(ACCEPTORS, -2, 25, 4, cuts=(18, 25)),
    }


def candidates(codes: Codes, rule: SiteRule) -> Places:
    """Return the places with the required bases, ascending."""
    return np.flatnonzero(matches(codes, *rule.words)) - rule.begin


def site_places(exons: Sequence[Span]) -> dict[str, list[int]]:
    """Return the places of the sites of a gene, in reading direction."""
    inner = introns(exons)
    return {
        "start": [exons[0][0]],
        "stop": [exons[-1][1]],
        "donor": [begin for begin, _ in inner],
        "acceptor": [end for _, end in inner],
    }


def windows(codes: Codes, places: Places, rule: SiteRule) -> npt.NDArray[np.uint8]:
    """Return the bases around each place [M, before + after]; unknown outside the sequence."""
    padded = np.concatenate(
        (np.full(rule.before, UNKNOWN, np.uint8), codes, np.full(rule.after, UNKNOWN, np.uint8))
    )
    around: npt.NDArray[np.uint8] = padded[places[:, None] + np.arange(rule.before + rule.after)]
    return around


def weight_array(
    codes: Sequence[Codes], genes: Sequence[Sequence[Span]], site: str, rule: SiteRule
) -> FloatArray:
    """Return the log odds of a base (last axis) after another [width, 5, 5]; index 4: unknown bases."""
    true, false = [], []
    for bases, exons in zip(codes, genes, strict=True):
        places = candidates(bases, rule)
        is_true = np.isin(places, site_places(exons)[site])
        around = windows(bases, places, rule)
        true.append(around[is_true])
        false.append(around[~is_true])
    odds = np.zeros((rule.before + rule.after, 5, 5))
    odds[:, :, :4] = _log_array(np.concatenate(true), rule.prior) - _log_array(
        np.concatenate(false), rule.prior
    )
    return odds


def _log_array(around: npt.NDArray[np.uint8], prior: float) -> FloatArray:
    """Return log p(base | the base before) [width, 5, 4]."""
    width = around.shape[1]
    counts = np.zeros((width, 5, 5))
    before = np.concatenate((np.full((len(around), 1), UNKNOWN, np.uint8), around[:, :-1]), axis=1)
    np.add.at(counts, (np.arange(width), before, around), 1.0)
    counts = counts[:, :, :4]
    alone = counts.sum(axis=1)  # [width, 4]
    alone = (alone + 1.0) / (alone.sum(axis=1, keepdims=True) + 4.0)
    logs: FloatArray = np.log((counts + prior * alone[:, None]) / (counts.sum(axis=2, keepdims=True) + prior))
    return logs


def weigh(odds: FloatArray, codes: Codes, places: Places, rule: SiteRule) -> FloatArray:
    """Return the log odds of each part of the window [M, parts]."""
    around = windows(codes, places, rule)
    before = np.concatenate((np.full((len(around), 1), UNKNOWN, np.uint8), around[:, :-1]), axis=1)
    by_base = odds[np.arange(around.shape[1]), before, around]  # [M, width]
    return np.add.reduceat(by_base, (0, *rule.cuts), axis=1)


_MOTIF = "NCTAACN"  # start of the search: the branch point of yeast and most fungi
BRANCH_WIDTH = len(_MOTIF)
_FAR = 55  # places before the acceptor
BRANCH_PLACES = _FAR + 1
_ROUNDS = 15


@dataclass(frozen=True)
class BranchPoint:
    """A motif and its distance from the acceptor."""

    odds: FloatArray  # [width, 5] log odds of a base against introns
    distance: FloatArray  # [_FAR + 1] log probability of the number of bases between motif and acceptor

    def weigh(self, codes: Codes, places: Places) -> FloatArray:
        """Return the log of the summed odds over all places of the motif before each acceptor [M]."""
        width, n = len(self.odds), len(codes) - len(self.odds) + 1
        ends = np.full(len(codes) + 1, -np.inf)  # [T + 1] by where the motif ends
        if n > 0:
            ends[width:] = sum(self.odds[i, codes[i : i + n]] for i in range(width))
        at = places[:, None] - np.arange(len(self.distance))
        scores = np.where(at >= 0, ends[np.maximum(at, 0)], -np.inf) + self.distance
        top = np.maximum(scores.max(axis=1, initial=-np.inf), -50.0)
        with np.errstate(divide="ignore"):
            total: FloatArray = np.maximum(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)), -50.0)
        return total


def branch_point(codes: Sequence[Codes], genes: Sequence[Sequence[Span]]) -> BranchPoint:
    """Estimate the branch point from the ends of the introns, by expectation maximisation."""
    start = encode_bases(_MOTIF)
    width = len(start)
    p = np.full((width, 4), 0.25)
    for i, base in enumerate(start.tolist()):
        if base != UNKNOWN:
            p[i] = 0.1
            p[i, base] = 0.7
    ends = []  # of introns, without AG
    for bases, exons in zip(codes, genes, strict=True):
        for begin, end in introns(exons):
            part = bases[max(begin + 2, end - _FAR - width) : end - 2]
            if len(part) >= width and (part < UNKNOWN).all():
                ends.append(part)
    distance = np.full(_FAR + 1, 1.0 / (_FAR + 1))
    if not ends:
        odds = np.zeros((width, 5))
        return BranchPoint(odds, np.log(distance))
    background = (np.bincount(np.concatenate(ends), minlength=4) + 1.0) / (sum(map(len, ends)) + 4.0)
    # All starting places of all introns in one table, so that a round is a few array operations.
    owner = np.concatenate([np.full(len(e) - width + 1, i) for i, e in enumerate(ends)])  # [M]
    words = np.concatenate([np.lib.stride_tricks.sliding_window_view(e, width) for e in ends])  # [M, width]
    gap = np.concatenate([len(e) + 2 - width - np.arange(len(e) - width + 1) for e in ends])  # [M]
    gap = np.minimum(gap, _FAR)
    for _ in range(_ROUNDS):
        score = np.log(p / background)[np.arange(width), words].sum(axis=1)
        share = np.exp(score) * distance[gap]
        share /= np.bincount(owner, share)[owner]
        counts = np.full((width, 4), 0.5)
        np.add.at(counts, (np.arange(width), words), share[:, None])
        p = counts / counts.sum(axis=1, keepdims=True)
        near = np.bincount(gap, share, minlength=_FAR + 1) + 0.3
        distance = np.convolve(near, (0.1, 0.2, 0.4, 0.2, 0.1), "same")
        distance /= distance.sum()
    odds = np.zeros((width, 5))
    odds[:, :4] = np.log(p / background)
    return BranchPoint(odds, np.log(distance))
