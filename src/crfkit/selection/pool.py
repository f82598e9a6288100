"""The pool of candidates: every feature that may be chosen, numbered 0 … K-1.

Label transitions come first, then label trigrams, attributes on label pairs, and state features by attribute.
Attributes that are added later (conjunctions) get numbers at the end, and the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.conjunctions import Occurrences, conjunction_name, with_columns
from crfkit.features.index import FeatureIndex, build_index, rows_of
from crfkit.inference import PermittedPairs
from crfkit.selection.selected import Feature
from crfkit.warn import warn

_FREQUENT = 10  # positions: rarer attributes often coincide by chance


@dataclass(frozen=True)
class PoolSettings:
    """Which features are candidates, by the CRF's parameters of the same names."""

    order: int = 1
    min_freq: float = 0
    all_possible_states: bool = False
    all_possible_transitions: bool = False
    transitions: bool = True


@dataclass(frozen=True)
class Pool:
    """Labelled sequences and the candidates on them."""

    sequences: Sequences
    labels: Labels
    classes: list[Any]
    vocabulary: Vocabulary
    index: FeatureIndex
    settings: PoolSettings
    weights: FloatArray | None  # [N] of the sequences
    n_duplicates: int  # attributes left out as copies of others
    permitted: PermittedPairs | None = None  # the labellings that Z sums over
    conjunctions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    # ---- numbers

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """How many transitions, trigrams, features on label pairs and state features there are."""
        index = self.index
        return int(index.edges.sum()), len(index.ngrams), len(index.pair_ids), len(index.state_labels)

    @property
    def n_candidates(self) -> int:
        """K, the number of candidates."""
        return sum(self.parts)

    @property
    def first_state(self) -> int:
        """The number of the first state feature."""
        return sum(self.parts[:3])

    def numbers(self, w: FloatArray) -> FloatArray:
        """Convert a vector of the index to one number per candidate [K]."""
        return w[self.index.places]

    def vector(self, numbers: FloatArray) -> FloatArray:
        """Convert one number per candidate [K] to a vector of the index."""
        w = np.zeros(sum(self.index.sizes))
        w[self.index.places] = numbers
        return w

    def of(self, chosen: IntArray, numbers: FloatArray) -> tuple[FeatureIndex, FloatArray]:
        """Return the index of only the candidates ``chosen`` (ascending), and a vector of their numbers."""
        index, L = self.index, self.index.n_labels
        kept = np.zeros(sum(index.sizes), np.bool_)
        kept[index.places[chosen]] = True
        edges, ngrams, pairs, states = np.split(kept, np.cumsum(index.sizes)[:-1])
        small = FeatureIndex(
            L,
            *rows_of(index.state_keys()[states], L, index.n_attributes),
            edges.reshape(L, L),
            index.ngrams[ngrams],
            *rows_of(index.pair_keys()[pairs], L * L, index.n_attributes),
        )
        w = np.zeros(sum(small.sizes))
        w[small.places] = numbers[chosen]
        return small, w

    # ---- names

    def features(self, chosen: IntArray, round_number: int, scores: FloatArray) -> list[Feature]:
        """Return the candidates ``chosen`` by name, in the order given, with their scores."""
        L, parts = self.index.n_labels, self.parts
        kinds = np.searchsorted(np.cumsum(parts), chosen, side="right")  # [n] 0 … 3
        ends = np.cumsum((0, *parts))
        tables = [np.argwhere(self.index.edges), self.index.ngrams]
        pair_keys, state_keys = self.index.pair_keys(), self.index.state_keys()
        found = []
        for number, kind, score in zip(chosen.tolist(), kinds.tolist(), scores.tolist(), strict=True):
            place = number - int(ends[kind])
            attribute: int | None = None
            if kind < 2:
                labels = tables[kind][place].tolist()
            elif kind == 2:
                key = int(pair_keys[place])
                attribute, labels = key // L**2, [key // L % L, key % L]
            else:
                key = int(state_keys[place])
                attribute, labels = key // L, [key % L]
            name = None if attribute is None else self.vocabulary.strings(attribute, attribute + 1)[0]
            found.append(Feature(name, tuple(self.classes[i] for i in labels), round_number, score))
        return found

    def attribute_of(self, chosen: IntArray) -> IntArray:
        """Return the attribute of each candidate, -1 for transitions."""
        L, (n_edges, n_trigrams, _, _) = self.index.n_labels, self.parts
        attributes = np.concatenate(
            (
                np.full(n_edges + n_trigrams, -1),
                self.index.pair_keys() // L**2,
                self.index.state_keys() // L,
            )
        )
        found: IntArray = attributes[chosen]
        return found

    # ---- conjunctions

    def with_conjunctions(self, proposals: Sequence[tuple[int, ...]]) -> Pool:
        """Return the pool with conjunctions of attributes, except those that are copies of an attribute."""
        occurrences = Occurrences(self.sequences)
        known = set(map(tuple, _fingerprints(occurrences).T.tolist()))
        names, columns, atoms = [], [], {}
        strings = self.vocabulary.strings()
        for proposal in proposals:
            parts = tuple(
                dict.fromkeys(
                    atom
                    for number in proposal
                    for atom in self.conjunctions.get(strings[number], (strings[number],))
                )
            )
            name = conjunction_name(sorted(parts))
            if name in atoms or name in self.vocabulary:
                continue
            positions, values = occurrences.of_all(proposal)
            mark = tuple(_fingerprint(positions, values if occurrences.values is not None else None))
            if not len(positions) or mark in known:
                continue
            known.add(mark)
            names.append(name)
            columns.append((positions, values))
            atoms[name] = tuple(sorted(parts))
        if not names:
            return self
        vocabulary = Vocabulary([*strings, *names])
        grown = replace(self.sequences, n_attributes=len(vocabulary))
        sequences = with_columns(grown, np.arange(len(strings), len(vocabulary)), columns)
        new = sequences.only(sequences.indices >= len(strings))
        keys = build_index(
            new, self.labels, len(self.classes), min_freq=self.settings.min_freq, transitions=False
        ).state_keys()
        index = _widened(self.index, len(vocabulary)).union(
            keys, np.zeros_like(self.index.edges), self.index.ngrams, np.zeros(0, np.int64)
        )
        return replace(
            self,
            sequences=sequences,
            vocabulary=vocabulary,
            index=index,
            conjunctions={**self.conjunctions, **atoms},
        )


def make_pool(
    sequences: Sequences,
    labels: Labels,
    classes: list[Any],
    vocabulary: Vocabulary,
    settings: PoolSettings,
    kinds: npt.NDArray[np.uint8] | None,
    weights: FloatArray | None,
    permitted: PermittedPairs | None = None,
) -> Pool:
    """Return the candidates in the data; an attribute that is a copy of another is left out."""
    copies = _copies(sequences, kinds, vocabulary)
    if copies.any():
        sequences = sequences.only(~copies[sequences.indices])
    index = build_index(
        sequences,
        labels,
        len(classes),
        order=settings.order,
        min_freq=settings.min_freq,
        all_possible_states=settings.all_possible_states,
        all_possible_transitions=settings.all_possible_transitions,
        kinds=kinds,
        transitions=settings.transitions,
    )
    if copies.any() and settings.all_possible_states:
        keys = index.state_keys()
        keys = keys[~copies[keys // len(classes)]]
        state_indptr, state_labels = rows_of(keys, len(classes), len(vocabulary))
        index = replace(index, state_indptr=state_indptr, state_labels=state_labels)
    pool = Pool(
        sequences, labels, classes, vocabulary, index, settings, weights, int(copies.sum()), permitted
    )
    if pool.n_candidates == 0:
        raise InputError(
            "there is nothing to select from: no attribute occurs with a label"
            + (f" min_freq={settings.min_freq:g} times" if settings.min_freq > 1 else "")
            + ", and there are no transitions"
        )
    return pool


def _copies(sequences: Sequences, kinds: npt.NDArray[np.uint8] | None, vocabulary: Vocabulary) -> BoolArray:
    """Tell which attributes [A] occur at the same positions as an earlier one, with the same values."""
    occurrences = Occurrences(sequences)
    prints = _fingerprints(occurrences)
    if kinds is not None:
        prints = np.vstack((prints, kinds.astype(np.uint64)))
    _, first, which = np.unique(prints, axis=1, return_index=True, return_inverse=True)
    first = first[which.ravel()]
    copies: BoolArray = (first != np.arange(sequences.n_attributes)) & (occurrences.counts > 0)
    plain = np.flatnonzero(copies & (occurrences.counts >= _FREQUENT))
    if len(plain):
        a, b = (vocabulary.strings(i, i + 1)[0] for i in (plain[0], first[plain[0]]))
        warn(
            f"{len(plain):,} attributes are copies of others and are left out: {a!r} occurs wherever {b!r} "
            f"does{', …' if len(plain) > 1 else ''}",
            InputWarning,
        )
    return copies


def _mixed(x: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Return scrambled bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(seed)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _marks(positions: IntArray, values: FloatArray | None) -> npt.NDArray[np.uint64]:
    """Return two scrambled words per occurrence [2, n]; their sums are equal for equal columns."""
    bits = positions.astype(np.uint64)
    if values is not None:
        bits = _mixed(bits, 0x9E37) ^ values.view(np.uint64)
    return np.stack([_mixed(bits, 0x9E3779B97F4A7C15), _mixed(bits, 0x3C6EF372FE94F82A)])


def _fingerprints(occurrences: Occurrences) -> npt.NDArray[np.uint64]:
    """Return the fingerprint of each attribute [2, A]."""
    sums = np.cumsum(_marks(occurrences.positions, occurrences.values), axis=1, dtype=np.uint64)
    sums = np.concatenate((np.zeros((2, 1), np.uint64), sums), axis=1)
    return sums[:, occurrences.indptr[1:]] - sums[:, occurrences.indptr[:-1]]


def _fingerprint(positions: IntArray, values: FloatArray | None) -> list[int]:
    sums: list[int] = _marks(positions, values).sum(axis=1, dtype=np.uint64).tolist()
    return sums


def _widened(index: FeatureIndex, n_attributes: int) -> FeatureIndex:
    """Return the index with more attributes, which have no features."""

    def longer(indptr: IntArray) -> IntArray:
        return np.concatenate((indptr, np.full(n_attributes + 1 - len(indptr), indptr[-1])))

    return replace(index, state_indptr=longer(index.state_indptr), pair_indptr=longer(index.pair_indptr))
