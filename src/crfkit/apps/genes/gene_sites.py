"""Gene structures as segments between sites: the grammar of the gene finder.

Segments are exons of four kinds, introns, and what lies between genes. Sites, by strand:

    N(t)       outside of genes: the ends of the sequence, starts and stops
    D(t, p)    a donor after p bases of a codon
    A(t, p)    an acceptor, where p bases of a codon lie before the intron
    S(t, p)    an acceptor after which the next bases complete a stop codon

An exon is initial N → D, internal A → D, terminal A → N or single N → N. Exons have a reading frame f: their
codons begin where position % 3 = f, and a stop codon in frame is a barrier. An intron D → A remembers which
part of a codon lies before it:

    k = 0: nothing   1: a base that is not T   2: T   3: two bases, not TA or TG   4: TA   5: TG

so that it leads to S, and only to the end of the gene, if the bases after it complete a stop codon. Every
path is thus a legal gene structure. If genes may be cut off, a path may also begin and end inside a gene. The
other strand has the same sites in the reverse complement, turned round; the two share N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes.bases import Codes, matches
from crfkit.apps.genes.grammar import STOPS
from crfkit.apps.genes.lengths import EXON_KINDS
from crfkit.apps.genes.signals import SITES, Places
from crfkit.apps.genes.transcripts import Span
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.inference.site_lattice import Barriers, Entries, Sites

KINDS = (*EXON_KINDS, "intron", "cut exon", "cut intron")
INTRONS = (KINDS.index("intron"), KINDS.index("cut intron"))
TABLES = (*EXON_KINDS, "split stop", "intron", "cut exon", "cut exon at the end", "cut intron", "outside")
TRACKS = 4  # of a strand: coding in frame 0, 1, 2; intron
_SETS = 6  # of a strand: stop codons in frame 0, 1, 2; the same where they may be the end
_PHASE = (0, 1, 1, 2, 2, 2)  # by k
_BEFORE = {2: "T", 4: "TA", 5: "TG"}  # by k: what may begin a stop codon

OUTSIDE = 0  # the label of what lies between genes
ZERO, SPLIT_STOP, CUT = range(3)  # sources of scores that are not sites; those of sites follow
_CONSTANTS = 3


class Label(NamedTuple):
    """A label of one strand."""

    kind: int  # place in KINDS
    part: int  # an exon's frame, k of an intron, the phase of one that is cut off
    table: int  # place in TABLES
    barriers: int = -1  # its set
    starts: bool = False  # has a start codon
    stops: bool = False  # has a stop codon

    @property
    def track(self) -> int:
        return 3 if self.kind in INTRONS else self.part


def _strand_labels() -> list[Label]:
    names = {name: i for i, name in enumerate(TABLES)}
    labels = []
    for kind, name in enumerate(EXON_KINDS):
        starts, stops = name in ("initial", "single"), name in ("terminal", "single")
        labels += [Label(kind, f, kind, f + 3 * stops, starts, stops) for f in range(3)]
    terminal, cut = EXON_KINDS.index("terminal"), KINDS.index("cut exon")
    labels += [Label(terminal, f, names["split stop"], stops=True) for f in range(3)]
    labels += [Label(KINDS.index("intron"), k, names["intron"]) for k in range(6)]
    labels += [Label(cut, f, names["cut exon"], stops=stops) for stops in (False, True) for f in range(3)]
    at_end = names["cut exon at the end"]
    labels += [Label(cut, f, at_end, starts=starts) for starts in (True, False) for f in range(3)]
    cut = KINDS.index("cut intron")
    labels += [Label(cut, p, names["cut intron"]) for _ in ("to acceptor", "from donor") for p in range(3)]
    return labels


STRAND_LABELS = _strand_labels()


class GeneLabels:
    """The labels of one or both strands: what lies outside, then those of each strand."""

    def __init__(self, n_strands: int) -> None:
        n = len(STRAND_LABELS)
        self.n_labels = 1 + n_strands * n
        self.strand = np.repeat(np.arange(-1, n_strands), [1] + [n] * n_strands)  # [L]; -1: outside

        def column(outside: int, of_label: list[int], step: int) -> IdArray:
            one = np.array(of_label, np.int32)
            each = [np.where(one < 0, -1, one + step * s) for s in range(n_strands)]
            return np.concatenate([[outside], *each]).astype(np.int32)

        self.kind = column(-1, [label.kind for label in STRAND_LABELS], 0)
        self.part = column(-1, [label.part for label in STRAND_LABELS], 0)
        self.table = column(TABLES.index("outside"), [label.table for label in STRAND_LABELS], 0)
        self.track = column(-1, [label.track for label in STRAND_LABELS], TRACKS)
        barriers = [label.barriers for label in STRAND_LABELS]
        self.barriers = column(_SETS * n_strands, barriers, _SETS)
        self.starts, self.stops = (
            np.array([False, *(getattr(label, what) for label in STRAND_LABELS * n_strands)])
            for what in ("starts", "stops")
        )  # [L]
        # labels of one strand and track are the same to a reader: an exon in its frame, or an intron
        self.alike = [np.flatnonzero((self.track == t) & (t >= 0)) for t in self.track]


@cache
def gene_labels(n_strands: int) -> GeneLabels:
    """Return the labels of one or both strands."""
    return GeneLabels(n_strands)


class _Ends(NamedTuple):
    """Where a label opens, or closes, and the sources of the scores."""

    node: IntArray  # numbers of nodes; N(t) is -1 - t
    source: IntArray


_Table = npt.NDArray[np.signedinteger[Any]]
_NONE = _Ends(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class _Strand:
    """The sites of one strand of one sequence, in reading direction."""

    place: IntArray  # of the nodes D, A and S
    outside: IntArray  # places of N
    opens: list[_Ends]  # by label
    closes: list[_Ends]
    stops: list[IntArray]  # the ends of stop codons in frame 0, 1, 2

    def turned(self, T: int) -> _Strand:
        """Return the strand as seen from the other one: what opened closes."""

        def turn(ends: _Ends) -> _Ends:
            node = np.where(ends.node < 0, -1 - (T - (-1 - ends.node)), ends.node)
            return _Ends(node[::-1], ends.source[::-1])

        opens, closes = [turn(e) for e in self.closes], [turn(e) for e in self.opens]
        return _Strand(T - self.place, T - self.outside, opens, closes, self.stops)

    def barriers(self, T: int, turned: bool) -> list[tuple[_Table, _Table]]:
        """Return last begins and first ends of each set."""
        pairs: list[tuple[_Table, _Table]] = [(c - 3, c + end) for end in (0, 1) for c in self.stops]
        return [(T - q[::-1], T - p[::-1]) for p, q in pairs] if turned else pairs


def _strand(codes: Codes, places: dict[str, Places], first: dict[str, int], partial: bool) -> _Strand:
    """Return the sites of a strand; ``first``: the source of the first score of each site."""
    T = len(codes)
    starts, stops = places["start"], places["stop"]
    donors = np.flatnonzero(places["donor"] >= 3)  # an exon has at least 3 bases
    acceptors = np.flatnonzero(places["acceptor"] < T)
    d, a = places["donor"][donors], places["acceptor"][acceptors]
    n_d, n_a = len(d), len(a)
    kinds = intron_kinds(codes, d)  # [n_d, 3]
    # the S of every acceptor and k, and nodes: D, A, S of phase 1, S of phase 2
    splits = {
        k: matches(codes, *(s[len(w) :] for s in STOPS if s.startswith(w)))[a] for k, w in _BEFORE.items()
    }
    split = [np.zeros(n_a, np.bool_), splits[2], splits[4] | splits[5]]  # by phase
    node_s = [np.cumsum(found) - 1 for found in split]
    node_s = [np.zeros(0), 3 * (n_d + n_a) + node_s[1], 3 * (n_d + n_a) + int(split[1].sum()) + node_s[2]]
    place = np.concatenate([np.repeat(d, 3), np.repeat(a, 3), a[split[1]], a[split[2]]])

    def nodes_d(phase: _Table | int) -> IntArray:
        return 3 * np.arange(n_d) + phase

    def nodes_a(phase: _Table | int) -> IntArray:
        return 3 * n_d + 3 * np.arange(n_a) + phase

    def ends(node: IntArray, source: _Table | int) -> _Ends:
        return _Ends(node, np.full(len(node), source))

    def outside(which: IntArray, of: str) -> _Ends:
        return ends(-1 - places[of][which], first[of] + which)

    from_start = [outside(np.flatnonzero(starts % 3 == f), "start") for f in range(3)]
    to_stop = [outside(np.flatnonzero(stops % 3 == f), "stop") for f in range(3)]
    to_donor = [ends(nodes_d((d - f) % 3), ZERO) for f in range(3)]
    from_acceptor = [ends(nodes_a((a - f) % 3), ZERO) for f in range(3)]
    from_split, to_split = [], []
    for f in range(3):
        which = [np.flatnonzero(split[p] & ((a - p) % 3 == f)) for p in (1, 2)]
        both = np.concatenate([node_s[p][own] for p, own in zip((1, 2), which, strict=True)]).astype(np.int64)
        at = np.concatenate([a[own] for own in which])
        from_split.append(ends(both[np.argsort(at)], ZERO))
        over = np.unique(np.concatenate([a[own] + 3 - p for p, own in zip((1, 2), which, strict=True)]))
        to_split.append(ends(-1 - over, SPLIT_STOP))
    into, out = [], []  # introns by k
    for k, p in enumerate(_PHASE):
        own = np.flatnonzero(kinds[:, p] == k)
        into.append(ends(nodes_d(p)[own], first["donor"] + donors[own]))
        to = np.where(splits[k], node_s[p], nodes_a(p)).astype(np.int64) if k in splits else nodes_a(p)
        out.append(ends(to, first["acceptor"] + acceptors))
    opens = [*from_start, *from_acceptor, *from_acceptor, *from_start, *from_split, *into]
    closes = [*to_donor, *to_donor, *to_stop, *to_stop, *to_split, *out]
    in_frame = [stops[stops % 3 == f] for f in range(3)]
    if partial:
        here, there = np.array([-1]), np.array([-1 - T])  # N(0), N(T)
        before = [int(c[0]) if len(c) else T + 1 for c in in_frame]  # the first stop codon ends here
        after = [int(c[-1]) - 3 if len(c) else -1 for c in in_frame]  # and the last begins here
        opens += [ends(here, CUT)] * 6
        closes += [_Ends(*(part[d < before[f]] for part in to_donor[f])) for f in range(3)]
        closes += [_Ends(*(part[:1] for part in to_stop[f])) for f in range(3)]
        opens += [_Ends(*(p[-1 - from_start[f].node > after[f]] for p in from_start[f])) for f in range(3)]
        opens += [_Ends(*(part[a > after[f]] for part in from_acceptor[f])) for f in range(3)]
        closes += [ends(there, CUT)] * 6
        opens += [ends(here, CUT)] * 3
        closes += [ends(nodes_a(p), first["acceptor"] + acceptors) for p in range(3)]
        opens += [ends(nodes_d(p), first["donor"] + donors) for p in range(3)]
        closes += [ends(there, CUT)] * 3
    else:
        opens += [_NONE] * (len(STRAND_LABELS) - len(opens))
        closes += [_NONE] * (len(STRAND_LABELS) - len(closes))
    split_ends = [-1 - e.node for e in to_split]
    return _Strand(place, np.concatenate([starts, stops, *split_ends]), opens, closes, in_frame)


def _rests(before: str) -> list[str]:
    """Return what completes a stop codon."""
    return [stop[len(before) :] for stop in STOPS if stop.startswith(before)]


def intron_kinds(codes: Codes, donors: Places) -> IntArray:
    """Return k of introns that begin at donors, after 0, 1 and 2 bases of a codon [M, 3]."""
    last, other = codes[donors - 1], codes[donors - 2]
    one = np.where(last == 3, 2, 1)
    two = np.where((other == 3) & (last == 0), 4, np.where((other == 3) & (last == 2), 5, 3))
    return np.stack([np.zeros_like(one), one, two], axis=1)


@dataclass(frozen=True, eq=False)
class GeneSites:
    """The sites of a batch, and which score each entry has: a number of the vector of sources."""

    sites: Sites
    labels: GeneLabels
    open_source: IdArray  # [E]
    close_source: IdArray  # [E']
    n_sources: int

    def counts(self, opens: FloatArray, closes: FloatArray) -> FloatArray:
        """Return the sums over entries of each source."""
        found = [
            np.bincount(source, counts, self.n_sources)
            for source, counts in ((self.open_source, opens), (self.close_source, closes))
        ]
        return np.add(*found, dtype=np.float64)


def gene_sites(
    strands: Sequence[Sequence[tuple[Codes, dict[str, Places]]]], *, partial: bool = False
) -> GeneSites:
    """Return the sites of N sequences: for each strand, the codes and the places of sites of each sequence.

    The second strand is given in its reading direction. Sources of scores are ``ZERO``, ``SPLIT_STOP`` and
    ``CUT``; then for each strand start, stop, donor and acceptor, all places of all sequences.
    """
    labels = gene_labels(len(strands))
    first: list[dict[str, list[int]]] = []
    n_sources = _CONSTANTS
    for strand in strands:
        first.append({})
        for site in SITES:
            counts = [len(places[site]) for _, places in strand]
            first[-1][site] = (n_sources + np.cumsum([0, *counts])[:-1]).tolist()
            n_sources += sum(counts)
    rows = _Rows()
    for i, (codes, _) in enumerate(strands[0]):
        T, own, barriers = len(codes), [], []
        for s, strand in enumerate(strands):
            found = _strand(*strand[i], {site: at[i] for site, at in first[s].items()}, partial)
            barriers += found.barriers(T, s == 1)
            own.append(found.turned(T) if s == 1 else found)
        rows.add(T, own, barriers)
    return GeneSites(*rows.sites(labels), n_sources)


class _Rows:
    """The sites of several sequences, as they are put together."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.places: list[IntArray] = []
        self.opens: list[IntArray] = []
        self.closes: list[IntArray] = []
        self.sources: tuple[list[IntArray], list[IntArray]] = ([], [])
        self.barriers: list[tuple[_Table, _Table]] = []

    def add(self, T: int, strands: list[_Strand], barriers: list[tuple[_Table, _Table]]) -> None:
        outside = np.unique(np.concatenate([[0, T], *(strand.outside for strand in strands)]))
        places = np.concatenate([outside, *(strand.place for strand in strands)])
        order = np.argsort(places, kind="stable")  # at one place N comes first
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        self.lengths.append(T)
        self.places.append(places[order])
        inner = number[: len(outside)]
        zero = np.zeros(len(outside) - 1, np.int64)
        if T:
            ends = ((inner[:-1], zero), (inner[1:], zero))
        else:
            ends = ((inner[:0], zero[:0]), (inner[:0], zero[:0]))
        for lists, sources, (node, source) in zip((self.opens, self.closes), self.sources, ends, strict=True):
            lists.append(node)
            sources.append(source)
        self.barriers += [*barriers, (outside[1:-1] - 1, outside[1:-1] + 1)]
        shift = len(outside)
        for strand in strands:
            for lists, sources, all_ends in zip(
                (self.opens, self.closes), self.sources, (strand.opens, strand.closes), strict=True
            ):
                for end in all_ends:
                    at_outside = len(end.node) and end.node[0] < 0  # then all are
                    at = np.searchsorted(outside, -1 - end.node) if at_outside else end.node + shift
                    lists.append(number[at])
                    sources.append(end.source)
            shift += len(strand.place)

    def sites(self, labels: GeneLabels) -> tuple[Sites, GeneLabels, IdArray, IdArray]:
        def joined(parts: Sequence[_Table]) -> IdArray:
            return np.concatenate(parts, dtype=np.int32, casting="unsafe") if parts else np.zeros(0, np.int32)

        def bounds(parts: Sequence[_Table]) -> IntArray:
            return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)

        sites = Sites(
            np.concatenate([[0], np.cumsum(self.lengths)]),
            bounds(self.places),
            joined(self.places),
            Entries(bounds(self.opens), joined(self.opens)),
            Entries(bounds(self.closes), joined(self.closes)),
            labels.track,
            labels.table,
            Barriers(
                bounds([p for p, _ in self.barriers]),
                joined([p for p, _ in self.barriers]),
                joined([q for _, q in self.barriers]),
            ),
            labels.barriers,
        )
        return sites, labels, joined(self.sources[0]), joined(self.sources[1])


def gene_labelling(where: GeneSites, codes: Sequence[Codes], genes: Sequence[Sequence[Span]]) -> IdArray:
    """Return the labelling [ΣT] of sequences with one gene each, in reading direction, on one strand."""
    sites, L = where.sites, where.labels.n_labels
    found = []
    for i, (bases, exons) in enumerate(zip(codes, genes, strict=True)):
        own = sites.opens.site[sites.opens.bounds[i * L + OUTSIDE] : sites.opens.bounds[i * L + OUTSIDE + 1]]
        found.append(_labelling(bases, exons, sites.place[sites.bounds[i] + own]))
    return np.concatenate(found)


def _labelling(codes: Codes, exons: Sequence[Span], outside: IdArray) -> IdArray:
    """Return the labelling of one sequence; ``outside``: the places of N."""
    n_labels = gene_labels(1).n_labels
    ids = np.full(len(codes), n_labels + OUTSIDE, np.int32)
    ids[outside] = OUTSIDE
    number = {(label.kind, label.part, label.table): 1 + y for y, label in enumerate(STRAND_LABELS)}

    def write(begin: int, end: int, kind: int, part: int) -> None:
        y = number[kind, part, TABLES.index(KINDS[kind])]
        ids[begin:end] = n_labels + y
        ids[begin] = y

    done = 0
    names = ["single"] if len(exons) == 1 else ["initial", *["internal"] * (len(exons) - 2), "terminal"]
    for name, (begin, end) in zip(names, exons, strict=True):
        write(begin, end, KINDS.index(name), (begin - done) % 3)
        done += end - begin
    done = 0
    for (begin, end), (after, _) in pairwise(exons):
        done += end - begin
        write(end, after, KINDS.index("intron"), int(intron_kinds(codes, np.array([end]))[0, done % 3]))
    return ids
