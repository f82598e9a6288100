"""Candidates: every feature that may be chosen, numbered 0 … K-1, wherever the data is.

Label transitions come first, then label trigrams, attributes on label pairs, and state features by attribute.
A search needs only their names and numbers, and the likelihood as a function of their weights. Data in this
process is a ``Pool``; the candidates of data on other machines are a class of a higher room.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex
from crfkit.objectives.linear_function import LinearFunction
from crfkit.selection.selected import Feature


@dataclass(frozen=True, kw_only=True)
class Candidates(ABC):
    """The features that may be chosen, and what a search asks of the data that has them."""

    classes: list[Any]
    vocabulary: Vocabulary
    index: FeatureIndex
    n_duplicates: int  # attributes left out as copies of others
    conjunctions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    # ---- the data

    @property
    @abstractmethod
    def n_positions(self) -> int:
        """ΣT."""

    @abstractmethod
    def likelihood(self, n_threads: int) -> LinearFunction:
        """Return the likelihood as a function of the weights of all candidates."""

    @abstractmethod
    def likelihood_of(
        self, chosen: IntArray, n_threads: int, c2: float
    ) -> tuple[FeatureIndex, LinearFunction]:
        """Return the index of only the candidates ``chosen`` (ascending), and the likelihood of such a model.

        ``c2`` is the penalty that it will get.
        """

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

    def index_of(self, chosen: IntArray) -> FeatureIndex:
        """Return the index of only the candidates ``chosen``."""
        kept = np.zeros(sum(self.index.sizes), np.bool_)
        kept[self.index.places[chosen]] = True
        return self.index.only(kept)

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
