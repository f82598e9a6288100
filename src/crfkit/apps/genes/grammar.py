"""The grammar of a gene: which transitions need which bases.

    N -> 0        ATG begins here
    2 -> N        the codon that ends before here is TAA, TAG or TGA
    2 -> 0        the codon that ends before here is none of these
    k -> intron   GT (or GC) begins here; after a complete codon, that codon is not a stop codon
    intron -> k   AG ends before here

These are permissions of label pairs at a position: ``permitted_pairs`` gives them for the seven labels, for
training and decoding. Two rules they cannot express, because a label does not remember: a stop codon that an
intron cuts in two, and an intron inside the start codon. ``RefinedStates`` has states that remember, so that
permissions of single states suffice, and every path is a legal gene structure, to the last codon; each state
stands for one of the seven labels and takes its scores. (An exon of a single base between two introns that
cut one codon, after a T, is the one legal structure left out.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crfkit.apps.genes.bases import Codes, Flags, matches, shifted
from crfkit.apps.genes.labels import INTRON, LABELS, NON_CODING
from crfkit.arrays import BoolArray, FloatArray
from crfkit.inference import Lattice, PermittedPairs

STARTS = ("ATG",)
STOPS = ("TAA", "TAG", "TGA")
DONORS = ("GT", "GC")
ACCEPTORS = ("AG",)

_START, _STOPPED, _DONOR, _ACCEPTOR = 1, 2, 4, 8  # bits of a position's kind


def sites(codes: Codes, donors: tuple[str, ...] = DONORS) -> dict[str, Flags]:
    """Return where a gene may start or have ended, and where an intron may start or have ended; each [T]."""
    return {
        "start": matches(codes, *STARTS),
        "stop": shifted(matches(codes, *STOPS), 3),
        "donor": matches(codes, *donors),
        "acceptor": shifted(matches(codes, *ACCEPTORS), 2),
    }


def permitted_pairs(codes: Codes, donors: tuple[str, ...] = DONORS) -> PermittedPairs:
    """Return which pairs of LABELS the grammar permits at each position and the one before."""
    kinds = np.zeros(len(codes), np.int32)
    for bit, found in zip((_START, _STOPPED, _DONOR, _ACCEPTOR), sites(codes, donors).values(), strict=True):
        kinds |= bit * found
    return PermittedPairs(kinds, _TABLES)


def _tables() -> BoolArray:
    tables = np.zeros((16, 7, 7), np.bool_)
    for kind in range(16):
        table = tables[kind]
        table[NON_CODING, NON_CODING] = True
        table[NON_CODING, 0] = kind & _START
        table[0, 1] = table[1, 2] = True
        table[2, 0] = not kind & _STOPPED
        table[2, NON_CODING] = kind & _STOPPED
        for phase, intron in enumerate(INTRON):
            table[intron, intron] = True
            table[intron, phase] = kind & _ACCEPTOR
            table[(phase - 1) % 3, intron] = kind & _DONOR and not (phase == 0 and kind & _STOPPED)
    return tables


_TABLES = _tables()


@dataclass(frozen=True)
class _State:
    label: int  # place in LABELS
    after: tuple[str, ...]  # states it may follow
    where: Callable[[_Sites], Flags] | None = None  # positions it is permitted at; None: all


@dataclass(frozen=True)
class _Sites:
    """Finds the words of the grammar in a sequence; all results [T]."""

    codes: Codes
    donors: tuple[str, ...]

    def begins(self, *words: str) -> Flags:
        """Return where one of the words begins."""
        return matches(self.codes, *words)

    def ends(self, *words: str) -> Flags:
        """Return where one of the words has its last base."""
        return shifted(matches(self.codes, *words), len(words[0]) - 1)

    def after(self, *words: str) -> Flags:
        """Return where one of the words ends just before."""
        return shifted(matches(self.codes, *words), len(words[0]))


def _machine() -> dict[str, _State]:
    """Return the refined states. Kinds of intron differ in the part of a codon before them."""
    a, b, c = INTRON
    split = {  # kind of intron: label, the coding states before it, what must be before it
        "a": (a, ("2", "2T", "2TA", "2TG", "start2"), lambda s: np.ones(len(s.codes), np.bool_)),
        "b": (b, ("0",), lambda s: ~s.after("T")),
        "bT": (b, ("0",), lambda s: s.after("T")),
        "c": (c, ("1",), lambda s: ~s.after("TA", "TG")),
        "cTA": (c, ("1",), lambda s: s.after("TA")),
        "cTG": (c, ("1",), lambda s: s.after("TG")),
    }
    whole = ("2", "2T", "2TA", "2TG", "start2")  # after a complete codon that is not a stop codon
    stops = ("stop", "stopT", "stopTA", "stopTG")
    states = {
        "N": _State(NON_CODING, ("N", *stops)),
        "start0": _State(0, ("N",), lambda s: s.begins(*STARTS)),
        "start1": _State(1, ("start0",)),
        "start2": _State(2, ("start1",)),
        "0": _State(0, (*whole, "acceptor a")),
        "1": _State(1, ("0", "acceptor b")),
        "1T": _State(1, ("acceptor bT",)),
        "2": _State(2, ("1", "acceptor c"), lambda s: ~s.ends(*STOPS)),
        "stop": _State(2, ("1",), lambda s: s.ends(*STOPS)),
        "2T": _State(2, ("1T",), lambda s: ~s.ends("AA", "AG", "GA")),
        "stopT": _State(2, ("1T",), lambda s: s.ends("AA", "AG", "GA")),
        "2TA": _State(2, ("acceptor cTA",), lambda s: ~(s.ends("A") | s.ends("G"))),
        "stopTA": _State(2, ("acceptor cTA",), lambda s: s.ends("A") | s.ends("G")),
        "2TG": _State(2, ("acceptor cTG",), lambda s: ~s.ends("A")),
        "stopTG": _State(2, ("acceptor cTG",), lambda s: s.ends("A")),
    }
    for kind, (label, before, rule) in split.items():
        states[f"donor {kind}"] = _State(
            label,
            before,
            lambda s, rule=rule: s.begins(*s.donors) & rule(s),  # type: ignore[misc]
        )
        states[f"intron {kind}"] = _State(label, (f"donor {kind}", f"intron {kind}"))
        states[f"acceptor {kind}"] = _State(label, (f"intron {kind}",), lambda s: s.ends(*ACCEPTORS))
    return states


class RefinedStates:
    """The states of legal genes, over the scores of the seven labels."""

    def __init__(self, donors: tuple[str, ...] = DONORS) -> None:
        self._machine = _machine()
        self._donors = donors
        names = list(self._machine)
        self.labels = np.array([state.label for state in self._machine.values()])  # [S] place in LABELS
        self.transitions = np.zeros((len(names), len(names)), np.bool_)  # [S, S]
        for i, state in enumerate(self._machine.values()):
            self.transitions[[names.index(before) for before in state.after], i] = True
        # The label that usually precedes each state; after acceptors and stops it is another one.
        before = [self._machine[state.after[0]].label for state in self._machine.values()]
        self._before = np.array(before)  # [S]
        outside = np.array([name == "N" or name.startswith("stop") for name in names])
        self.starts = np.array([name in ("N", "start0") for name in names])  # [S]
        self.ends = outside  # [S]

    def positions(self, codes: Codes) -> BoolArray:
        """Return which states the bases permit at each position [T, S]."""
        sites = _Sites(codes, self._donors)
        mask = np.ones((len(codes), len(self.labels)), np.bool_)
        for i, state in enumerate(self._machine.values()):
            if state.where is not None:
                mask[:, i] = state.where(sites)
        return mask

    def lattice(self, scores: Lattice, codes: list[Codes], *, partial: bool = False) -> Lattice:
        """The scores of the seven labels as scores of states; sequence i has the bases ``codes[i]``.

        ``partial``: a sequence may begin and end inside a gene.
        """
        node = np.empty((scores.n_positions, len(self.labels)))  # [ΣT, S]
        for begin, end, bases in zip(scores.offsets[:-1], scores.offsets[1:], codes, strict=True):
            found = scores.node[begin:end][:, self.labels]
            if scores.edge.ndim == 3:
                found += self._transition_scores(scores.edge[begin:end])
            node[begin:end] = np.where(self.positions(bases), found, -np.inf)
        shared = scores.edge if scores.edge.ndim == 2 else np.zeros((len(LABELS), len(LABELS)))
        edge = np.where(self.transitions, shared[np.ix_(self.labels, self.labels)], -np.inf)  # [S, S]
        never = np.zeros(len(self.labels))
        return Lattice(
            node,
            edge,
            scores.offsets,
            start=None if partial else np.where(self.starts, never, -np.inf),
            end=None if partial else np.where(self.ends, never, -np.inf),
        )

    def _transition_scores(self, edge: FloatArray) -> FloatArray:
        """The scores of label pairs [T, 7, 7] as scores of states [T, S]; every legal path keeps its own.

        A state takes the score of coming from its usual label before. Where a path comes from another, the
        state before is an acceptor or a stop, has but one label to go to, and takes the difference.
        """
        own = np.zeros((len(edge), len(self.labels)))
        own[1:] = edge[1:, self._before, self.labels]
        for state, label in enumerate(self.labels.tolist()):
            after = int(np.flatnonzero(self.transitions[state])[0])
            usual, following = int(self._before[after]), int(self.labels[after])
            if usual != label:
                own[:-1, state] += edge[1:, label, following] - edge[1:, usual, following]
        return own


__all__ = ["ACCEPTORS", "DONORS", "LABELS", "STARTS", "STOPS", "RefinedStates", "permitted_pairs", "sites"]
