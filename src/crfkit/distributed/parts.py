"""One worker's part of the likelihood, as a function of the weights of the features in its data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences, gather
from crfkit.distributed.shards import Shard
from crfkit.distributed.vocabularies import Common
from crfkit.features.index import FeatureIndex, with_features
from crfkit.models.linear.scales import value_range
from crfkit.objectives.linear_likelihood import LinearLikelihood

Sent = npt.NDArray[np.floating[Any]]  # on its way between processes


class Partial(NamedTuple):
    """Values and derivatives of a part, by the weights of its own features [F of the part]."""

    values: FloatArray  # [1], or one per validation set
    gradient: Sent | None
    diagonal: Sent | None = None  # of the Hessian


@dataclass
class Part:
    """Encoded sequences with the features of all data that they contain.

    The native objective cannot travel. It is built when it is first needed, and again where the part has
    been moved to another worker. There, features that occur at the same positions share a parameter: this
    makes the computation faster, and changes neither value nor gradient by the weights of the features.
    """

    sequences: Sequences
    labels: Labels
    index: FeatureIndex  # of its own attributes
    attributes: IdArray  # [A of the part] their numbers in the whole vocabulary
    places: IntArray  # [F of the part] of its features in the weights of all
    weights: FloatArray | None  # [N]
    class_weights: FloatArray | None  # [L]
    n_threads: int

    def __post_init__(self) -> None:
        self._function: LinearLikelihood | None = None
        self.lock = threading.RLock()  # a task may run twice at once, if Dask moves it

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __sizeof__(self) -> int:
        """Return the bytes of arrays and objective, by which Dask plans where tasks run."""
        entries = self.sequences.indices.nbytes * (2 if self.sequences.values is None else 6)
        return entries + 40 * self.sequences.n_positions + 8 * self.places.size

    def function(self) -> LinearLikelihood:
        """Return the native objective; ``lock`` must be held while it is used."""
        if self._function is None:
            self._function = LinearLikelihood(
                self.sequences,
                self.labels,
                self.index,
                n_threads=self.n_threads,
                weights=self.weights,
                class_weights=self.class_weights,
            )
        return self._function


# ---- tasks


def part_of(shard: Shard, common: Common, n_threads: int) -> Part:
    """Return the part of the likelihood that a shard is."""
    own = common.vocabulary.lookup(shard.vocabulary.strings())
    index = common.index
    edges, ngrams, pairs, _ = index.sizes
    state_indptr, states = gather(index.state_indptr, own.astype(np.int64))
    pair_indptr, scored = gather(index.pair_indptr, own.astype(np.int64))
    transitions = np.arange(edges + ngrams)
    places = np.concatenate([transitions, edges + ngrams + scored, edges + ngrams + pairs + states])
    local = replace(
        index,
        state_indptr=state_indptr,
        state_labels=index.state_labels[states],
        pair_indptr=pair_indptr,
        pair_ids=index.pair_ids[scored],
    )
    return Part(
        shard.sequences,
        shard.labels_among(common.classes),
        local,
        own,
        places,
        shard.weights,
        common.class_weights,
        n_threads,
    )


def with_only(part: Part, kept: IntArray) -> Part:
    """Return a part with some features, at these places of the weights of all (ascending), and new places.

    The new places are those in an index that has only these features (``FeatureIndex.only``).
    """
    n_edges = part.index.edges.size  # they have a place in every index
    index = part.index.only(np.isin(part.places, kept))
    own = part.places[n_edges:]
    others, own = kept[kept >= n_edges], own[np.isin(own, kept)]
    places = np.concatenate([np.arange(n_edges), n_edges + np.searchsorted(others, own)])
    attributes = part.attributes[index.used]
    sequences, index = with_features(part.sequences, index)
    return replace(part, sequences=sequences, index=index, attributes=attributes, places=places)


def places_of(part: Part) -> IntArray:
    """Return the places of the part's features in the weights of all."""
    return part.places


def evaluated(part: Part, sent: tuple[Sent, bool]) -> Partial:
    """Return value and derivatives at the weights of the part's features, in their precision."""
    w, diagonal = sent
    with part.lock:
        function = part.function()
        found = function(function.parameters(w.astype(np.float64, copy=False)), diagonal=diagonal)
        gradient, second = function.weights(found.gradient), None
        if found.diagonal is not None:
            second = function.weights(found.diagonal / function.roots()).astype(w.dtype, copy=False)
    return Partial(np.array([found.value]), gradient.astype(w.dtype, copy=False), second)


def some_of(part: Part, chosen: IntArray, n_attributes: int) -> tuple[Sequences, Labels]:
    """Return some sequences of a part, with the numbers of the whole vocabulary."""
    some = part.sequences.subset(chosen)
    labels = part.labels.subset(chosen, part.sequences.offsets)
    return replace(some, indices=part.attributes[some.indices], n_attributes=n_attributes), labels


def range_of(part: Part, attribute: int) -> tuple[float, float] | None:
    """Return the least and the greatest value of an attribute of the whole vocabulary in a part."""
    own = np.flatnonzero(part.attributes == attribute)
    return None if not len(own) else value_range(part.sequences, int(own[0]))


# ---- sums, in the order of the parts


class Union(NamedTuple):
    """The features of some parts together, and where those of each part are among them."""

    places: IntArray  # [F of the union], ascending
    inside: list[IntArray]  # one per part [F of the part]


def united(*places: IntArray) -> Union:
    """Return the union of the features of some parts."""
    whole = np.unique(np.concatenate(places))
    return Union(whole, [np.searchsorted(whole, one) for one in places])


def union_places(union: Union) -> IntArray:
    """Return the places of the features of a union in the weights of all."""
    return union.places


def added_up(union: Union, *partials: Partial) -> Partial:
    """Return the sum of partial results over the features of their union."""
    return total(len(union.places), union.inside, partials)


def total(n: int, inside: list[IntArray], partials: Sequence[Partial]) -> Partial:
    """Add partial results in their order, in double precision: the same bits at every repetition."""

    def added(some: Sequence[Any]) -> FloatArray | None:
        if some[0] is None:
            return None
        whole = np.zeros(n)
        for places, own in zip(inside, some, strict=True):
            _native.add_at(whole, places, own)
        return whole

    values, gradients, diagonals = zip(*partials, strict=True)
    return Partial(sum(values[1:], values[0]), added(gradients), added(diagonals))
