"""Segmentations between sites as a ``Structure``: the same labellings, with sparse scores.

Time goes by the pairs of sites between which segments are permitted, and memory by the sites; segmentations
with scores at all places need both for every position and label.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.inference.segment_answers import LabelledSpans, SegmentAnswers, segments_of
from crfkit.inference.site_lattice import Barriers, SiteLattice, Sites, native_sites


class SiteGradient(NamedTuple):
    """One number per score of a ``SiteLattice``, in the shapes of its fields."""

    open: FloatArray  # [E]
    close: FloatArray  # [E']
    content: FloatArray  # [ΣT, C]
    lengths: FloatArray  # [M, K]
    tail: FloatArray  # [M]


class Steps(NamedTuple):
    """Probabilities of segments."""

    p: FloatArray  # [M]
    given_site: FloatArray  # [M] given that a path has the site where the segment begins


class SiteSegmentations(SegmentAnswers[SiteLattice, SiteGradient]):
    """A ``Structure`` with the scores of segments between sites."""

    def labelling_score(self, scores: SiteLattice, ids: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        found, opens, closes, legal = _entries_of(scores.sites, ids)
        table, d = scores.sites.table[found.label], found.end - found.begin
        beyond = np.maximum(d - scores.longest, 0)
        before = np.vstack([np.zeros(scores.content.shape[1]), np.cumsum(scores.content, axis=0)])
        track, first = scores.sites.track[found.label], scores.offsets[found.sequence]
        inside = before[first + found.end, track] - before[first + found.begin, track]
        own = scores.open[opens] + scores.close[closes] + np.where(track >= 0, inside, 0.0)
        own += scores.lengths[table, np.minimum(d, scores.longest) - 1]
        own[beyond > 0] += beyond[beyond > 0] * scores.tail[table[beyond > 0]]
        total = np.bincount(found.sequence, own, scores.n_sequences).astype(np.float64, copy=False)
        total[~legal] = -np.inf
        return total

    def labelling_counts(
        self, scores: SiteLattice, ids: IdArray, *, weights: FloatArray | None = None
    ) -> SiteGradient:
        found, opens, closes, _ = _entries_of(scores.sites, ids)
        counts = self._zeros(scores)
        share = np.ones(scores.n_sequences) if weights is None else weights
        own, table = share[found.sequence], scores.sites.table[found.label]
        d = found.end - found.begin
        np.add.at(counts.open, opens, own)
        np.add.at(counts.close, closes, own)
        np.add.at(counts.lengths, (table, np.minimum(d, scores.longest) - 1), own)
        np.add.at(counts.tail, table, own * np.maximum(d - scores.longest, 0))
        track = scores.sites.track[ids % scores.n_labels]  # [ΣT]
        inside = np.flatnonzero(track >= 0)
        counts.content[inside, track[inside]] = np.repeat(share, np.diff(scores.offsets))[inside]
        return counts

    def permit(self, scores: SiteLattice, labels: Labels) -> SiteLattice:
        allowed, L = labels.permitted(2 * scores.n_labels), scores.n_labels
        sequence, label, place = _open_places(scores.sites)
        at = scores.offsets[sequence] + np.minimum(place, np.diff(scores.offsets)[sequence] - 1)
        return scores.changed(
            sites=_with_breaks(scores.sites, ~allowed[:, L:]),
            open=np.where(allowed[at, label], scores.open, -np.inf),
        )

    def raise_wrong(self, scores: SiteLattice, labels: Labels, costs: FloatArray) -> SiteLattice:
        # costs [2L] of the ids; otherwise as in the chain. Each label gets a track of its own.
        known, L = np.flatnonzero(labels.ids >= 0), scores.n_labels
        ids, track = labels.ids[known], scores.sites.track
        content = np.where(track >= 0, scores.content[:, track], 0.0)  # [ΣT, L]
        going_on = ids >= L
        content[known[going_on], ids[going_on] - L] -= costs[ids[going_on]]
        cost = np.zeros((scores.n_positions, L))  # of opening a label at a position
        cost[known[~going_on], ids[~going_on]] = costs[ids[~going_on]]
        cost[known[going_on], ids[going_on] - L] = -costs[ids[going_on]]  # it does not go on there
        sequence, label, place = _open_places(scores.sites)
        inner = place < np.diff(scores.offsets)[sequence]
        opened = scores.open.copy()
        opened[inner] -= cost[(scores.offsets[sequence] + place)[inner], label[inner]]
        own = replace(scores.sites, track=np.arange(L, dtype=np.int32))
        return scores.changed(sites=own, content=content, open=opened)

    def steps(self, scores: SiteLattice, segments: LabelledSpans, *, n_jobs: int | None = None) -> Steps:
        """Return how probable given segments are; they must be in order of their sequences.

        A stretch of a path has the probability ``p`` of its first segment times ``given_site`` of the others.
        """
        given_site = np.full(len(segments.begin), -np.inf)
        log_p = self._of_segments(scores, segments, _native.segment_steps, n_jobs, given_site)
        return Steps(np.exp(log_p), np.exp(given_site))

    def _batch(self, scores: SiteLattice, n_jobs: int | None) -> tuple[_native.SiteBatch, int]:
        return native_sites(scores, n_jobs)

    def _zeros(self, scores: SiteLattice) -> SiteGradient:
        return SiteGradient._make(np.zeros(getattr(scores, name).shape) for name in SiteGradient._fields)


SITE_SEGMENTATIONS = SiteSegmentations()


def _entries_of(sites: Sites, ids: IdArray) -> tuple[LabelledSpans, IntArray, IntArray, BoolArray]:
    """Return the segments of a labelling, the entries where each opens and closes [M], and what is legal [N].

    Segments that may not be there have arbitrary entries.
    """
    found, legal = segments_of(ids, sites.offsets, sites.n_labels)
    entries: list[IntArray] = []
    joints: list[IdArray] = []
    for keys, places, of in (
        (sites.open_keys, found.begin, sites.opens),
        (sites.close_keys, found.end, sites.closes),
    ):
        wanted = sites.key(found.sequence, found.label, places)
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        missing = keys[at] != wanted if len(keys) else np.ones(len(wanted), np.bool_)
        legal[found.sequence[missing]] = False
        entries.append(at)
        joints.append(of.site[at] if len(keys) else np.full(len(at), -1, np.int32))
    begins, ends = joints
    first = np.ones(len(begins), np.bool_)
    first[1:] = np.diff(found.sequence) > 0
    last = np.append(first[1:], True)[: len(first)]
    n_sites = np.diff(sites.bounds)[found.sequence]
    apart = np.where(first, begins != 0, begins != np.append(-1, ends[:-1])[: len(begins)])
    apart |= last & (ends != n_sites - 1)
    apart |= sites.in_barrier(found.sequence, found.begin, found.end, found.label)
    legal[found.sequence[apart]] = False
    return found, entries[0], entries[1], legal


def _open_places(sites: Sites) -> tuple[IntArray, IntArray, IntArray]:
    """Return sequence, label and place of every entry that opens a label."""
    owner = np.repeat(np.arange(len(sites.opens.bounds) - 1), np.diff(sites.opens.bounds))
    sequence, label = owner // sites.n_labels, owner % sites.n_labels
    return sequence, label, sites.place[sites.bounds[sequence] + sites.opens.site].astype(np.int64)


def _with_breaks(sites: Sites, broken: BoolArray) -> Sites:
    """Return the sites with barriers where labels may not go on from the position before: broken [ΣT, L]."""
    L, G = sites.n_labels, sites.n_sets
    bounds, last_begin, first_end = [0], [], []
    for i in range(sites.n_sequences):
        for y in range(L):
            at = np.flatnonzero(broken[sites.offsets[i] : sites.offsets[i + 1], y])
            p, q = at - 1, at + 1
            if (own := sites.barrier_sets[y]) >= 0:
                old = slice(sites.barriers.bounds[i * G + own], sites.barriers.bounds[i * G + own + 1])
                p = np.concatenate((p, sites.barriers.last_begin[old]))
                q = np.concatenate((q, sites.barriers.first_end[old]))
            order = np.lexsort((-p, q))
            p, q = p[order], q[order]
            kept = p > np.maximum.accumulate(np.append(-2, p))[:-1]  # the others are implied
            last_begin.append(p[kept])
            first_end.append(q[kept])
            bounds.append(bounds[-1] + int(kept.sum()))
    none = [np.zeros(0, np.int64)]
    barriers = Barriers(
        np.array(bounds), np.concatenate(last_begin or none), np.concatenate(first_end or none)
    )
    return replace(sites, barriers=barriers, barrier_set=np.arange(L, dtype=np.int32))
