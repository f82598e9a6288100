"""Facts about a linear model: numbers of features, the strongest features, the features of one attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.models.linear.tagger import LinearTagger


@dataclass(frozen=True)
class Feature:
    """The weight of an attribute with a label, or with a pair of previous label and label."""

    attribute: str
    before: str | None  # the previous label; None: the label alone
    label: str
    weight: float

    def __str__(self) -> str:
        return self.attribute if self.before is None else f"{self.attribute} ({self.before} → {self.label})"

    def to_json(self) -> dict[str, Any]:
        before = {} if self.before is None else {"previous": self.before}
        return {"attribute": self.attribute, **before, "label": self.label, "weight": self.weight}


class Facts:
    """Facts about one model; labels are given by their places."""

    def __init__(self, tagger: LinearTagger) -> None:
        self.tagger = tagger
        self.labels = [str(label) for label in tagger.classes]  # [L]
        index, weights = tagger.index, tagger.weights
        self._state_attributes = _owners(index.state_indptr)  # [F]
        self._pair_ids, self._pair_weights = index.pair_ids, weights.pair  # [G]
        self._pair_attributes = _owners(index.pair_indptr)  # [G]

    def counts(self) -> dict[str, int]:
        """Return the numbers of labels, attributes, features and nonzero weights."""
        index, weights = self.tagger.index, self.tagger.weights
        triples = ((index.ngrams >= 0).sum(axis=1) == 3).sum()
        return {
            "labels": len(self.labels),
            "attributes": index.n_attributes,
            "state_features": len(index.state_labels),
            "transition_features": int(index.edges.sum()),
            "trigram_features": int(triples),
            "longer_features": len(index.ngrams) - int(triples),
            "pair_features": len(self._pair_ids),
            "nonzero_weights": int(np.count_nonzero(weights.vector)),
        }

    def strongest(self, label: int, n: int) -> tuple[list[Feature], list[Feature]]:
        """Return the n features with the largest weights for a label, and the n with the smallest."""
        L = len(self.labels)
        state = np.flatnonzero(self.tagger.index.state_labels == label)
        pairs = np.flatnonzero(self._pair_ids % L == label)
        weights = np.concatenate([self.tagger.weights.state[state], self._pair_weights[pairs]])
        order = np.argsort(weights, kind="stable")
        loudest = [order[::-1][:n], order[:n]]
        chosen: list[list[Feature]] = [[], []]
        for sign, places, found in zip((1, -1), loudest, chosen, strict=True):
            for place in places.tolist():
                if sign * weights[place] <= 0:
                    break
                if place < len(state):
                    found.append(self._state(int(state[place])))
                else:
                    found.append(self._pair(int(pairs[place - len(state)])))
        return chosen[0], chosen[1]

    def of_attribute(self, attribute: int) -> list[Feature]:
        """Return all features of one attribute, the strongest first."""
        start, stop = self.tagger.index.state_indptr[attribute : attribute + 2].tolist()
        found = [self._state(f) for f in range(start, stop)]
        start, stop = self.tagger.index.pair_indptr[attribute : attribute + 2].tolist()
        found += [self._pair(g) for g in range(start, stop)]
        return sorted(found, key=lambda feature: -abs(feature.weight))

    def loudness(self) -> FloatArray:
        """Return the largest absolute weight of each attribute [A]."""
        loudest = np.zeros(self.tagger.index.n_attributes)
        np.maximum.at(loudest, self._state_attributes, np.abs(self.tagger.weights.state))
        np.maximum.at(loudest, self._pair_attributes, np.abs(self._pair_weights))
        return loudest

    def transitions(self) -> list[tuple[tuple[str, ...], float]]:
        """Return label pairs (and longer n-grams) and their weights, the largest first."""
        found = [
            (tuple(map(str, labels)), weight) for labels, weight in self.tagger.transition_features().items()
        ]
        return sorted(found, key=lambda item: -item[1])

    def rule_weights(self) -> FloatArray | None:
        """Return the learned weight of each association rule [R]; None if rules have no weights."""
        associations, L = self.tagger.associations, len(self.labels)
        if associations is None or associations.use not in ("features", "weighted"):
            return None
        keys = self.tagger.index.state_keys()  # [F] attribute and label in one number, ascending
        wanted = associations.attributes.astype(np.int64) * L + associations.rules.labels  # [R]
        places = np.searchsorted(keys, wanted)
        known = places < len(keys)
        known[known] = keys[places[known]] == wanted[known]
        weights = np.zeros(len(wanted))
        weights[known] = self.tagger.weights.state[places[known]]
        return weights

    def all_features(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield attribute, previous label, label and weight of every nonzero weight; "#" if there is none."""
        names = self.tagger.vocabulary.strings()
        L = len(self.labels)
        weights = self.tagger.weights.state
        for f in np.flatnonzero(weights).tolist():
            label = self.labels[self.tagger.index.state_labels[f]]
            yield names[self._state_attributes[f]], "#", label, float(weights[f])
        for g in np.flatnonzero(self._pair_weights).tolist():
            before, label = divmod(int(self._pair_ids[g]), L)
            name = names[self._pair_attributes[g]]
            yield name, self.labels[before], self.labels[label], float(self._pair_weights[g])
        for labels, weight in self.transitions():
            yield "#", " ".join(labels[:-1]), labels[-1], weight

    def _name(self, attribute: int) -> str:
        return self.tagger.vocabulary.strings(attribute, attribute + 1)[0]

    def _state(self, f: int) -> Feature:
        label = self.labels[self.tagger.index.state_labels[f]]
        name = self._name(int(self._state_attributes[f]))
        return Feature(name, None, label, float(self.tagger.weights.state[f]))

    def _pair(self, g: int) -> Feature:
        before, label = divmod(int(self._pair_ids[g]), len(self.labels))
        name = self._name(int(self._pair_attributes[g]))
        return Feature(name, self.labels[before], self.labels[label], float(self._pair_weights[g]))


def _owners(indptr: IntArray) -> IntArray:
    """Return the attribute of each feature."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
