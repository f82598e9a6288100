"""The pool: candidates and the labelled sequences that have them, in this process.

Attributes that are added later (conjunctions) get numbers at the end, and the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputWarning
from crfkit.features.conjunctions import Occurrences, conjunction_name, with_columns
from crfkit.features.index import FeatureIndex, build_index, with_features
from crfkit.inference import PermittedPairs
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.selection.candidates import Candidates
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


@dataclass(frozen=True, kw_only=True)
class Pool(Candidates):
    """Labelled sequences and the candidates on them."""

    sequences: Sequences
    labels: Labels
    settings: PoolSettings
    weights: FloatArray | None  # [N] of the sequences
    permitted: PermittedPairs | None = None  # the labellings that Z sums over

    @property
    def n_positions(self) -> int:
        return self.sequences.n_positions

    def likelihood(self, n_threads: int) -> LinearLikelihood:
        # Of features that share a parameter, one may be chosen and the other not.
        return self._likelihood(self.sequences, self.index, n_threads, apart=True)

    def likelihood_of(
        self, chosen: IntArray, n_threads: int, c2: float
    ) -> tuple[FeatureIndex, LinearLikelihood]:
        index = self.index_of(chosen)
        return index, self._likelihood(*with_features(self.sequences, index), n_threads, c2)

    def _likelihood(
        self,
        sequences: Sequences,
        index: FeatureIndex,
        n_threads: int,
        c2: float = 0.0,
        *,
        apart: bool = False,
    ) -> LinearLikelihood:
        return LinearLikelihood(
            sequences,
            self.labels,
            index,
            n_threads=n_threads,
            weights=self.weights,
            permitted=self.permitted,
            c2=c2,
            apart=apart,
        )

    # ---- conjunctions

    def with_conjunctions(self, proposals: Sequence[tuple[int, ...]]) -> Pool:
        """Return the pool with conjunctions of attributes, except those that are copies of an attribute."""
        occurrences = Occurrences(self.sequences)
        known = set(map(tuple, fingerprints(occurrences).T.tolist()))
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
    occurrences = Occurrences(sequences)
    copies = find_copies(fingerprints(occurrences), occurrences.counts, kinds, vocabulary)
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
    return Pool(
        sequences=sequences,
        labels=labels,
        classes=classes,
        vocabulary=vocabulary,
        index=index.only(features_without(index, copies)) if copies.any() else index,
        settings=settings,
        weights=weights,
        n_duplicates=int(copies.sum()),
        permitted=permitted,
    )


def features_without(index: FeatureIndex, dropped: BoolArray) -> BoolArray:
    """Tell which features are not of the attributes ``dropped`` [A], in the order of ``index.sizes``."""
    L, (n_edges, n_ngrams, _, _) = index.n_labels, index.sizes
    pairs, states = ~dropped[index.pair_keys() // L**2], ~dropped[index.state_keys() // L]
    return np.concatenate([np.ones(n_edges + n_ngrams, np.bool_), pairs, states])


def find_copies(
    prints: npt.NDArray[np.uint64],  # [2, A]
    counts: IntArray,  # [A] the positions of each attribute
    kinds: npt.NDArray[np.uint8] | None,  # [A]
    vocabulary: Vocabulary,
) -> BoolArray:
    """Tell which attributes [A] occur at the same positions as an earlier one, with the same values."""
    if kinds is not None:
        prints = np.vstack((prints, kinds.astype(np.uint64)))
    _, first, which = np.unique(prints, axis=1, return_index=True, return_inverse=True)
    first = first[which.ravel()]
    copies: BoolArray = (first != np.arange(len(first))) & (counts > 0)
    plain = np.flatnonzero(copies & (counts >= _FREQUENT))
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


def fingerprints(occurrences: Occurrences) -> npt.NDArray[np.uint64]:
    """Return the fingerprint of each attribute [2, A]: a sum over its occurrences, which parts can add."""
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
