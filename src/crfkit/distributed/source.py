"""What ``CRF.fit`` trains on if X is a Dask collection: see ``models/linear/source.py``.

The steps, of which only the last happens here, not on the cluster:

    partitions ─► encoded ─► shards, one per worker ─► summaries ─► merged: vocabulary, labels, features
                               │                                        │
                               └────────► parts of the likelihood ◄─────┘  ─► sums ─► optimiser
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences, offsets_of
from crfkit.distributed.cluster import Cluster
from crfkit.distributed.cluster_sum import FAN_IN, ClusterSum
from crfkit.distributed.collections import partitions_of
from crfkit.distributed.parts import part_of, range_of, some_of
from crfkit.distributed.shards import HowToRead, encoded, joined, learnt
from crfkit.distributed.vocabularies import Common, common, merged, summary
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import edge_prefixes
from crfkit.features.index import FeatureIndex
from crfkit.features.inputs import given_template
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.constrained_crf import ConstrainedCRF
from crfkit.models.linear.penalty_search import FoundPenalties
from crfkit.models.linear.penalty_step import AUTO, given_penalties
from crfkit.models.linear.source import Given
from crfkit.models.linear.steps import IndexSettings
from crfkit.objectives.units import AttributeSizes
from crfkit.threads import thread_count
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF


@dataclass(frozen=True)
class ClusterSource:
    """Training data on a cluster, encoded and indexed."""

    cluster: Cluster
    parts: list[Any]  # futures
    common: Any  # future of what they share
    shared: Common
    encoder: InputEncoder
    sizes: AttributeSizes
    offsets: IntArray  # [N+1] of all sequences
    first: IntArray  # [parts+1] the number of the first sequence of each part
    fingerprints: tuple[str, ...]

    @property
    def classes(self) -> list[Any]:
        return self.shared.classes

    @property
    def index(self) -> FeatureIndex:
        return self.shared.index

    @cached_property
    def function(self) -> ClusterSum:
        return self.sum_over(self.parts, self.index)

    def sum_over(
        self, parts: list[Any], index: FeatureIndex, *, cluster: Cluster | None = None, exact: bool = False
    ) -> ClusterSum:
        """Return the likelihood as a sum over parts, these or some that were made of them."""
        bounds = self.offsets[self.first]
        return ClusterSum(
            cluster or self.cluster, parts, bounds, index, self.sizes, thread_count(None), exact=exact
        )

    @property
    def class_weights(self) -> FloatArray | None:
        return self.shared.class_weights

    @property
    def coarse(self) -> None:
        return None

    def penalties(self, estimator: CRF) -> FoundPenalties | None:
        return given_penalties(estimator, self.encoder.vocabulary, self.classes, self.index, self.function)

    def identity(self) -> dict[str, Any]:
        names = "\0".join(self.encoder.vocabulary.strings())
        return {
            "training data": (self.fingerprints, names),
            "labels": (self.classes, self.class_weights),
            "features": self.index,
        }

    def some(self, sequences: IntArray) -> tuple[Sequences, Labels]:
        A, submit = len(self.encoder.vocabulary), self.cluster.client.submit
        bounds = np.searchsorted(sequences, self.first)
        chosen = [sequences[a:b] - n for (a, b), n in zip(pairwise(bounds), self.first[:-1], strict=True)]
        found = self.cluster.results(
            lambda: [submit(some_of, part, own, A) for part, own in zip(self.parts, chosen, strict=True)]
        )
        labels, allowed = [one for _, one in found], None
        if any(one.allowed is not None for one in labels):
            allowed = np.concatenate([one.permitted(len(self.classes)) for one in labels])
        ids = np.concatenate([one.ids for one in labels])
        return Sequences.end_to_end([one for one, _ in found], A), Labels(ids, allowed)

    def value_range(self, attribute: int) -> tuple[float, float] | None:
        submit = self.cluster.client.submit
        ranges = self.cluster.results(lambda: [submit(range_of, part, attribute) for part in self.parts])
        known = [one for one in ranges if one is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def open_collection(estimator: CRF, given: Given) -> ClusterSource:
    """Encode and index a Dask collection on its cluster."""
    _check(estimator, given)
    cluster = Cluster.current()
    template, settings = given_template(estimator.template), IndexSettings.of(estimator)
    if template is not None and estimator.extractor is not None:
        raise InputError("template= and extractor= both make attributes: give one of them")
    prefixes = edge_prefixes(estimator.edge_attributes, template)
    how = HowToRead(template, estimator.features)
    shards, extraction = shards_of(cluster, given.X, given.y, how, estimator.extractor)
    summaries = [cluster.kept(summary, shard, settings, prefixes) for shard in shards]
    together = merged_in_tree(cluster, summaries)
    transitions = template is None or template.transitions
    shared = cluster.kept(common, together, settings, prefixes, transitions, estimator.class_weight)
    n_jobs = estimator.n_jobs
    n_threads = min(cluster.workers().values()) if n_jobs is None else thread_count(n_jobs)
    parts = [
        cluster.kept(part_of, shard, shared, n_threads, **cluster.near(k)) for k, shard in enumerate(shards)
    ]
    extracted, whole, agreed = cluster.results(lambda: [extraction, together, shared])
    lengths = cluster.results(lambda: [cluster.client.submit(_n_sequences, one) for one in summaries])
    index: FeatureIndex = agreed.index
    if settings.features is None and not len(index.state_labels) and whole.counts.any():
        warn(
            f"no attribute occurs min_freq={settings.min_freq:g} times with a label, so the model ignores "
            "X: lower min_freq",
        )
    encoder = InputEncoder(agreed.vocabulary, template, extraction=extracted)
    if estimator.features is not None:
        encoder = encoder.with_conjunctions(estimator.features.conjunctions)
    sizes = AttributeSizes.of_sums(whole.counts, whole.squares)
    offsets, first = offsets_of(whole.lengths), offsets_of(lengths)
    return ClusterSource(cluster, parts, shared, agreed, encoder, sizes, offsets, first, whole.fingerprints)


def merged_in_tree(cluster: Cluster, summaries: list[Any]) -> Any:
    """Return the summary of all shards; these are merged in their order."""
    while len(summaries) > 1:
        pieces = [summaries[k : k + FAN_IN] for k in range(0, len(summaries), FAN_IN)]
        summaries = [cluster.kept(merged, *piece) for piece in pieces]
    return summaries[0]


def shards_of(
    cluster: Cluster, X: Any, y: Any, how: HowToRead, extractor: Any = None
) -> tuple[list[Any], Any]:
    """Encode the partitions and join neighbours: one shard per worker. Also return the extractor.

    An extractor that learns from data learns from the first partition.
    """
    partitions = partitions_of(X, y)
    if not partitions:
        raise InputError("there is nothing to train on: X has no partitions")
    n = len(partitions)
    n_shards = min(len(cluster.addresses), n)
    shard_of = [i * n_shards // n for i in range(n)]
    raw = cluster.computed(partitions)
    extraction = cluster.kept(learnt, raw[0], extractor)
    pieces = [
        cluster.client.submit(encoded, i, one, how, extraction, pure=False, **cluster.near(k))
        for i, (one, k) in enumerate(zip(raw, shard_of, strict=True))
    ]
    shards = [
        cluster.kept(
            joined, *pieces[bisect_left(shard_of, k) : bisect_left(shard_of, k + 1)], **cluster.near(k)
        )
        for k in range(n_shards)
    ]
    return shards, extraction


def _n_sequences(part: Any) -> int:
    return len(part.lengths)


def _check(estimator: CRF, given: Given) -> None:
    """Raise an error if a parameter needs the whole data in one place."""
    wrong = {
        "c2='auto'": estimator.c2 == AUTO,
        "associations=": estimator.associations is not None,
        "prune=": estimator.prune > 0,
        "sample_weight=": given.sample_weight is not None,
        "lengths=": given.lengths is not None,
        "permitted=": given.permitted is not None,
        "groups=": given.together is not None,
        f"algorithm={estimator.algorithm!r}": estimator.algorithm not in ("auto", "lbfgs"),
        "validation='held-out'": isinstance(estimator, ConstrainedCRF) and estimator._is_held_out,
    }
    refuse(wrong)


def refuse(wrong: dict[str, bool]) -> None:
    """Raise an error for the first of these things that is there."""
    for what, is_there in wrong.items():
        if is_there:
            raise InputError(
                f"{what} is not possible with a Dask collection, because it needs all sequences in one place "
                "(docs/large-data.md lists what is possible)"
            )
