"""The papers' gene model: 7 states, 5th-order emissions, transitions that require their bases.

Emissions are the words of 6 bases that end at a position, each with a weight for each of the 7 labels:
7 · 4^6 = 28,672 features. ``lengths`` may add shorter words; ``sites`` lets the bases around a site
score the transition there, beyond permitting it. Training sums Z over the labellings that the grammar
permits; decoding finds the best legal gene structure (``grammar.RefinedStates``). Code that selects features
or constrains training can build on ``encode_words`` and ``permitted``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.apps.genes import grammar
from crfkit.apps.genes.bases import Codes, encode_bases, matches, word_names, words
from crfkit.apps.genes.grammar import DONORS, RefinedStates, permitted_pairs
from crfkit.apps.genes.labels import LABELS, genes_of, label_ids
from crfkit.apps.genes.transcripts import Span, introns
from crfkit.arrays import FloatArray, IdArray
from crfkit.data.sequences import Encoded, Sequences, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.inference import Lattice, PermittedPairs, marginals, viterbi
from crfkit.models.linear.crf import CRF

Bases = str | bytes | Codes

_LONGEST_WORD = 10  # 4^10 words are a million


def codes_of(sequences: Iterable[Bases]) -> list[Codes]:
    """Convert each sequence to codes."""
    return [
        s if isinstance(s, np.ndarray) else encode_bases(s, f"sequence {i}") for i, s in enumerate(sequences)
    ]


def encode_words(
    sequences: Iterable[Bases],
    *,
    lengths: Sequence[int] = (6,),
    sites: bool = False,
    donors: tuple[str, ...] = DONORS,
) -> Encoded:
    """Every position with the words of these lengths that end there, ``w=ACGTAC``.

    With ``sites``, also what lies around a place where the grammar permits a start, stop, donor or
    acceptor, for the label pairs there: ``donor-2=AG`` is AG from two bases before the intron's first. The
    vocabulary has all 4^length words of each kind, in the order of the alphabet. Where a word is cut off or
    has an unknown base, the position is without it.
    """
    all_codes = codes_of(sequences)
    kinds = [_Kind("w", length, 1 - length) for length in lengths]
    kinds += _SITE_WORDS if sites else []
    first = np.cumsum([0, *(4**kind.length for kind in kinds)])  # id of the first word of each kind
    numbers = np.concatenate(
        [np.zeros((0, len(kinds)), np.int32), *(_numbers(codes, kinds, donors) for codes in all_codes)]
    )  # [ΣT, kinds]
    known = numbers >= 0
    ids = (numbers + first[:-1]).astype(np.int32)
    return Encoded(
        Sequences(
            offsets=offsets_of([len(codes) for codes in all_codes]),
            indptr=offsets_of(known.sum(axis=1)),
            indices=np.ascontiguousarray(ids[known]),
            values=None,
            n_attributes=int(first[-1]),
        ),
        Vocabulary([f"{kind.name}={word}" for kind in kinds for word in word_names(kind.length)]),
    )


@dataclass(frozen=True)
class _Kind:
    """Words of one length that begin ``offset`` bases after a position."""

    name: str
    length: int
    offset: int
    site: str | None = None  # only at these places


# The bases around a site that count, begin..end-1; 0 is the one after the boundary of labels.
_AROUND = {"start": (-9, 7), "stop": (-4, 4), "donor": (-4, 7), "acceptor": (-12, 4)}
_SITE_WORDS = [
    _Kind(f"{site}{offset:+d}", length, offset, site)
    for site, (begin, end) in _AROUND.items()
    for length in (1, 2, 3)
    for offset in range(begin, end - length + 1)
]


def _numbers(codes: Codes, kinds: Sequence[_Kind], donors: tuple[str, ...]) -> IdArray:
    """Return the number of each kind's word at each position [T, kinds]; -1: none."""
    places = grammar.sites(codes, donors)
    ending = {length: words(codes, length) for length in {kind.length for kind in kinds}}
    T = len(codes)
    numbers = np.full((T, len(kinds)), -1, np.int32)
    for i, kind in enumerate(kinds):
        last = kind.offset + kind.length - 1  # where the word ends, from here
        begin, end = min(T, max(0, -last)), max(0, min(T, T - last))
        numbers[begin:end, i] = ending[kind.length][begin + last : end + last]
        if kind.site is not None:
            numbers[~places[kind.site], i] = -1
    return numbers


def permitted(sequences: Iterable[Bases], donors: tuple[str, ...] = DONORS) -> PermittedPairs:
    """Return the pairs that the grammar permits in a batch of sequences, over the sorted labels."""
    parts = [permitted_pairs(codes, donors) for codes in codes_of(sequences)]
    tables = parts[0].tables if parts else permitted_pairs(np.zeros(0, np.uint8)).tables
    return PermittedPairs(np.concatenate([np.zeros(0, np.int32), *(part.kinds for part in parts)]), tables)


def donors_of(codes: Sequence[Codes], exons: Sequence[Sequence[Span]]) -> tuple[str, ...]:
    """Return the donor words of the grammar with which introns of the training genes begin."""
    seen = set()
    for bases, parts in zip(codes, exons, strict=True):
        sites = {donor: matches(bases, donor) for donor in DONORS}
        for start, _ in introns(parts):
            seen |= {donor for donor in DONORS if sites[donor][start]}
    return tuple(donor for donor in DONORS if donor in seen) or DONORS[:1]


def is_permitted(codes: Codes, ids: IdArray, donors: tuple[str, ...] = DONORS) -> bool:
    """Return whether the grammar permits a labelling."""
    pairs = permitted_pairs(codes, donors)
    return bool(pairs.tables[pairs.kinds[1:], ids[:-1], ids[1:]].all())


def label_strings(exons: Sequence[Span], length: int) -> list[str]:
    """Return the labels of a window with one gene, in the form that ``CRF.fit`` takes."""
    return [LABELS[i] for i in label_ids(exons, length)]


class SevenStateGenes:
    """The papers' model: finds genes in windows of DNA, on the given strand.

    Parameters
    ----------
    c1, c2, **settings
        As in :class:`crfkit.CRF`, which does the training.
    grammar
        Sum Z in training only over labellings that the grammar permits. Decoding always follows the grammar.
    lengths
        Lengths of the words in bases; the papers have 6. With (1, 2, 3, 4, 5, 6), 38,220 features in all,
        rare words profit from shorter ones; with few training genes this helps more than any penalty.
    sites
        Words of 1 to 3 bases around start, stop and splice sites score the transitions there, if they occur
        in training: about 26,000 more features, and nearly four times as many genes found with words of 1
        to 6. Not in the papers.
    all_features
        Also use emission features that do not occur in the training data.
    donors
        The words with which introns may begin; None: as in the training genes.
    """

    def __init__(
        self,
        c1: float = 0.0,
        c2: float = 1.0,
        *,
        grammar: bool = True,
        lengths: Sequence[int] = (6,),
        sites: bool = False,
        all_features: bool = True,
        donors: tuple[str, ...] | None = None,
        **settings: Any,
    ) -> None:
        whole = all(isinstance(n, (int, np.integer)) for n in lengths)
        if not len(lengths) or not whole or len(set(lengths)) < len(lengths):
            raise InputError(f"lengths must be different whole numbers, got {tuple(lengths)}")
        if not 1 <= min(lengths) <= max(lengths) <= _LONGEST_WORD:
            raise InputError(f"lengths must be 1 to {_LONGEST_WORD} bases, got {tuple(lengths)}")
        self.grammar = grammar
        self.lengths = tuple(lengths)
        self.sites = sites
        self.donors = donors
        scoring_pairs = tuple(_AROUND) if sites else None
        self.crf = CRF(
            c1=c1, c2=c2, all_possible_states=all_features, edge_attributes=scoring_pairs, **settings
        )

    def fit(self, sequences: Sequence[Bases], exons: Sequence[Sequence[Span]]) -> SevenStateGenes:
        """Train on windows and the exons of the gene in each. Genes that violate the grammar are left out."""
        codes = codes_of(sequences)
        self.donors_ = self.donors or donors_of(codes, exons)
        targets = [label_ids(e, len(c)) for e, c in zip(exons, codes, strict=True)]
        if self.grammar:
            legal = [is_permitted(c, t, self.donors_) for c, t in zip(codes, targets, strict=True)]
            if not all(legal):
                warnings.warn(
                    f"{legal.count(False)} of {len(legal)} genes violate the grammar (start, stop or splice "
                    f"sites) and are left out, the first in sequence {legal.index(False)}",
                    InputWarning,
                    stacklevel=2,
                )
            codes = [c for c, kept in zip(codes, legal, strict=True) if kept]
            targets = [t for t, kept in zip(targets, legal, strict=True) if kept]
        pairs = permitted(codes, self.donors_) if self.grammar else None
        y = [[LABELS[i] for i in ids.tolist()] for ids in targets]
        missing = set(LABELS).difference(*y)
        if missing:
            raise InputError(
                f"the {len(y)} training genes do not contain the labels {', '.join(sorted(missing))}; "
                "training needs genes with introns in all three phases, and bases around them"
            )
        self.crf.fit(self._encode(codes), y, permitted=pairs)
        return self

    def scores(self, sequences: Sequence[Bases]) -> Lattice:
        """Return the scores of the seven labels."""
        return self.crf.tagger_.lattice(self.crf.tagger_.encode(self._encode(sequences)))

    def _encode(self, sequences: Sequence[Bases]) -> Encoded:
        return encode_words(sequences, lengths=self.lengths, sites=self.sites, donors=self.donors_)

    def predict(self, sequences: Sequence[Bases], *, partial: bool = False) -> list[list[list[Span]]]:
        """Return the genes in the best legal structure of each window, each as a list of exons."""
        return [genes_of(ids) for ids in self.predict_labels(sequences, partial=partial)]

    def predict_labels(
        self, sequences: Sequence[Bases], *, partial: bool = False
    ) -> list[npt.NDArray[np.integer]]:
        """Return the best legal structure of each window as indices into LABELS, [T] per window."""
        return decode_legal(self.scores(sequences), codes_of(sequences), partial=partial, donors=self.donors_)

    def predict_marginals(self, sequences: Sequence[Bases]) -> list[FloatArray]:
        """Return p(y_t = l | x) over legal gene structures, [T, 7] per window."""
        refined = RefinedStates(self.donors_)
        lattice = refined.lattice(self.scores(sequences), codes_of(sequences))
        by_state = marginals(lattice, n_jobs=self.crf.n_jobs).node  # [ΣT, S]
        member = refined.labels[:, None] == np.arange(len(LABELS))  # [S, 7]
        by_label = by_state @ member
        return [by_label[b:e] for b, e in zip(lattice.offsets[:-1], lattice.offsets[1:], strict=True)]


def decode_legal(
    scores: Lattice,
    codes: Sequence[Codes],
    *,
    partial: bool = False,
    donors: tuple[str, ...] = DONORS,
    n_jobs: int | None = None,
) -> list[npt.NDArray[np.integer]]:
    """Return the best legal gene structure for the scores of seven labels, as labels [T] per sequence."""
    refined = RefinedStates(donors)
    states = viterbi(refined.lattice(scores, list(codes), partial=partial), n_jobs=n_jobs).labels
    ids = refined.labels[states]
    return [ids[b:e] for b, e in zip(scores.offsets[:-1], scores.offsets[1:], strict=True)]
