"""Scores of segments between sites: the sparse form of segmentations.

A ``SegmentLattice`` has a score for every label at every position. If segments may begin and end at few
places only, and lengths go into the thousands, sites are the better form. A site is a place between positions
(place t is before position t) where segments may meet; several sites may have one place. A segment of label y
goes from a site that opens y, at place b, to a site that closes y, at place e:

    open[i, y] + Σ_{b<=t<e} content[t, track of y] + length(e - b) + close[j, y]

A segmentation is a path of segments from a sequence's first site to its last. Which labels may follow each
other is decided by the sites: a site that closes exons and opens introns lets introns follow exons, and a
second one at the same place can remember something else about what came before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import checked_offsets, checked_scores
from crfkit.inference.segment_answers import SegmentScores
from crfkit.threads import thread_count


class Entries(NamedTuple):
    """The sites that open labels, or close them: by sequence, then by label, then ascending."""

    bounds: IntArray  # [N·L + 1] those of sequence i and label y: bounds[i·L + y] .. bounds[i·L + y + 1] - 1
    site: IdArray  # [E] numbers among the sequence's sites; a label has at most one per place


class Barriers(NamedTuple):
    """Sets of barriers (p, q): no segment with begin <= p and end >= q is permitted.

    It would contain the stretch of the positions p .. q-1. By sequence, then by set; in a set, both p and q
    ascend.
    """

    bounds: IntArray  # [N·G + 1]
    last_begin: IdArray  # [B] p
    first_end: IdArray  # [B] q


NO_BARRIERS = Barriers(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))


@dataclass(frozen=True, eq=False)
class Sites:
    """Where the segments of N sequences may begin and end; L labels. Checked once, for any scores.

    Sites are numbered within each sequence. Sequences with positions have their first site at place 0 and
    their last one at their end.
    """

    offsets: IntArray  # [N+1] of positions
    bounds: IntArray  # [N+1] of sites
    place: IdArray  # [S] ascending in each sequence
    opens: Entries
    closes: Entries
    track: IdArray  # [L] column of the content scores; -1: none
    table: IdArray  # [L] row of the length scores
    barriers: Barriers = NO_BARRIERS
    barrier_set: IdArray | None = None  # [L]; -1: none

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "offsets", checked_offsets(self.offsets, int(np.asarray(self.offsets)[-1])))
        put(self, "bounds", np.ascontiguousarray(self.bounds, np.int64))
        for name in ("place", "track", "table", "barrier_set"):
            given = getattr(self, name)
            given = np.full(len(self.track), -1) if given is None else given
            put(self, name, np.ascontiguousarray(given, np.int32))
        for name in ("opens", "closes", "barriers"):
            bounds, *parts = getattr(self, name)
            ids = (np.ascontiguousarray(part, np.int32) for part in parts)
            put(self, name, type(getattr(self, name))(np.ascontiguousarray(bounds, np.int64), *ids))
        if not 0 < self.n_labels == len(self.table) == len(self.barrier_sets):
            raise InputError(
                "track, table and barrier_set must have one entry per label, and a label or more"
            )
        self._check_places()
        self._check_entries("opens", self.opens)
        self._check_entries("closes", self.closes)
        self._check_barriers()

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_labels(self) -> int:
        return len(self.track)

    @property
    def barrier_sets(self) -> IdArray:
        """[L]; -1: none."""
        sets: IdArray = self.barrier_set  # type: ignore[assignment]
        return sets

    @property
    def n_sets(self) -> int:
        return (len(self.barriers.bounds) - 1) // max(self.n_sequences, 1)

    @cached_property
    def open_keys(self) -> IntArray:
        """[E] one number per entry, ascending; see ``key``."""
        return self._keys(self.opens)

    @cached_property
    def close_keys(self) -> IntArray:
        return self._keys(self.closes)

    def key(self, sequence: IntArray, label: npt.NDArray[np.integer], place: IntArray) -> IntArray:
        """Return numbers that tell entries apart."""
        keys: IntArray = (sequence * self.n_labels + label) * self._width + place
        return keys

    def in_barrier(
        self, sequence: IntArray, begin: IntArray, end: IntArray, label: npt.NDArray[np.integer]
    ) -> BoolArray:
        """Return which segments a barrier forbids [M]."""
        barred = np.zeros(len(begin), np.bool_)
        which = np.flatnonzero(self.barrier_sets[label] >= 0)
        if len(which) == 0 or len(self.barriers.last_begin) == 0:
            return barred
        owner = np.repeat(np.arange(len(self.barriers.bounds) - 1), np.diff(self.barriers.bounds))
        keys = owner * self._width + self.barriers.last_begin
        own = sequence[which] * self.n_sets + self.barrier_sets[label[which]]
        at = np.searchsorted(keys, own * self._width + begin[which])
        same = at < self.barriers.bounds[own + 1]
        at = np.minimum(at, len(keys) - 1)
        barred[which] = same & (self.barriers.first_end[at] <= end[which])
        return barred

    @property
    def _width(self) -> int:
        return int(np.diff(self.offsets).max(initial=0)) + 1

    def _keys(self, entries: Entries) -> IntArray:
        owner = np.repeat(np.arange(len(entries.bounds) - 1), np.diff(entries.bounds))
        place = self.place[self.bounds[owner // self.n_labels] + entries.site].astype(np.int64)
        return self.key(owner // self.n_labels, owner % self.n_labels, place)

    def _check_places(self) -> None:
        lengths = np.diff(self.offsets)
        _check_bounds("bounds", self.bounds, len(lengths), "the sites of each sequence", len(self.place))
        for i in np.flatnonzero(lengths > 0):
            places = self.place[self.bounds[i] : self.bounds[i + 1]]
            if len(places) < 2 or places[0] != 0 or places[-1] != lengths[i] or (np.diff(places) < 0).any():
                raise InputError(
                    f"the places of the sites of sequence {i} must ascend from 0 to its length, "
                    f"{lengths[i]}; got {len(places)} places"
                    + (f" from {places[0]} to {places[-1]}" if len(places) else "")
                )

    def _check_entries(self, name: str, entries: Entries) -> None:
        n_lists, n = self.n_sequences * self.n_labels, len(entries.site)
        _check_bounds(f"{name}.bounds", entries.bounds, n_lists, "each sequence and label", n)
        owner = np.repeat(np.arange(n_lists), np.diff(entries.bounds))
        wrong = np.flatnonzero(
            (entries.site < 0) | (entries.site >= np.diff(self.bounds)[owner // self.n_labels])
        )
        if len(wrong) == 0:
            wrong = 1 + np.flatnonzero(np.diff(self._keys(entries)) <= 0)
        if len(wrong):
            i, y = divmod(int(owner[wrong[0]]), self.n_labels)
            raise InputError(
                f"{name}: label {y} of sequence {i} has site {entries.site[wrong[0]]}; expected sites of "
                f"this sequence, 0..{np.diff(self.bounds)[i] - 1}, each at a later place than the one before"
            )

    def _check_barriers(self) -> None:
        bounds, last_begin, first_end = self.barriers
        N, G = self.n_sequences, self.n_sets
        _check_bounds("barriers.bounds", bounds, N * G, "each sequence and set", len(last_begin))
        owner = np.repeat(np.arange(N * G), np.diff(bounds))
        same = np.diff(owner) == 0
        if (
            last_begin.shape != first_end.shape
            or (same & ((np.diff(last_begin) < 0) | (np.diff(first_end) < 0))).any()
        ):
            raise InputError("barriers need two places each, both of them ascending in each set")
        if N and (self.barrier_sets.min() < -1 or self.barrier_sets.max() >= G):
            raise InputError(f"barrier_set must be -1 or one of {G} sets; got {self.barrier_sets.max()}")


@dataclass(frozen=True, eq=False, init=False)
class SiteLattice(SegmentScores):
    """Scores of segments between sites.

    Parameters
    ----------
    sites
        Where segments may begin and end.
    open, close
        [E] scores of the entries of ``sites.opens`` and ``sites.closes``; -inf forbids.
    content
        [ΣT, C] scores of positions inside segments, by track. They must be finite: barriers forbid.
    lengths
        [M, K]: ``lengths[m, d-1]`` is the score of a segment of d positions.
    tail
        [M] score of each position beyond K: lengths then have a geometric tail. -inf: no longer segments.
    """

    sites: Sites
    open: FloatArray  # [E]
    close: FloatArray  # [E']
    content: FloatArray  # [ΣT, C]
    lengths: FloatArray  # [M, K]
    tail: FloatArray  # [M]

    def __init__(
        self,
        sites: Sites,
        open: npt.ArrayLike,
        close: npt.ArrayLike,
        content: npt.ArrayLike,
        lengths: npt.ArrayLike,
        tail: npt.ArrayLike,
    ) -> None:
        T, C = int(sites.offsets[-1]), int(sites.track.max()) + 1
        M = int(sites.table.max()) + 1
        if np.ndim(content) != 2 or np.shape(content)[0] != T or np.shape(content)[1] < C:
            raise InputError(f"content must have shape [{T}, {C}] or more tracks; got {np.shape(content)}")
        if np.ndim(lengths) != 2 or np.shape(lengths)[0] < M or np.shape(lengths)[1] == 0:
            raise InputError(f"lengths must have shape [{M}, K] or more rows; got {np.shape(lengths)}")
        put = object.__setattr__
        put(self, "sites", sites)
        put(self, "open", checked_scores("open", open, sites.opens.site.shape))
        put(self, "close", checked_scores("close", close, sites.closes.site.shape))
        put(self, "content", checked_scores("content", content, np.shape(content), sites.offsets))
        put(self, "lengths", checked_scores("lengths", lengths, np.shape(lengths)))
        put(self, "tail", checked_scores("tail", tail, np.shape(lengths)[:1]))
        if T and self.content.shape[1] and self.content.min() == -np.inf:
            t, c = np.argwhere(self.content == -np.inf)[0]
            raise InputError(
                f"content scores must be finite; got -inf at position {t}, track {c}: set a barrier instead"
            )

    @property
    def offsets(self) -> IntArray:  # type: ignore[override]
        return self.sites.offsets

    @property
    def n_labels(self) -> int:
        return self.sites.n_labels

    @property
    def longest(self) -> int:
        """K, the longest length with a score of its own."""
        return int(self.lengths.shape[1])

    def __repr__(self) -> str:
        return (
            f"SiteLattice({self.n_sequences} sequences, {self.n_positions} positions, "
            f"{len(self.sites.place)} sites, {self.n_labels} labels)"
        )


def native_sites(scores: SiteLattice, n_jobs: int | None) -> tuple[_native.SiteBatch, int]:
    """Return the scores in the form of the native core, and the number of threads for ``n_jobs``."""
    sites = scores.sites
    batch = _native.SiteBatch(
        sites.offsets,
        sites.place,
        sites.bounds,
        sites.opens.site,
        sites.opens.bounds,
        scores.open,
        sites.closes.site,
        sites.closes.bounds,
        scores.close,
        sites.track,
        sites.table,
        sites.barrier_sets,
        *sites.barriers,
        scores.content,
        scores.lengths,
        scores.tail,
    )
    return batch, thread_count(n_jobs)


def _check_bounds(name: str, bounds: IntArray, n: int, what: str, last: int) -> None:
    if len(bounds) != n + 1 or bounds[0] != 0 or bounds[-1] != last or (np.diff(bounds) < 0).any():
        raise InputError(
            f"{name} must be {n + 1} numbers that ascend from 0 to {last}: bounds of {what}; got "
            + (f"{len(bounds)} from {bounds[0]} to {bounds[-1]}" if len(bounds) else "none")
        )
