"""What ``GradientSelector.fit`` chooses from if X is a Dask collection: see ``selection/candidates.py``.

The likelihood of all candidates is that of a CRF with all of them, a sum over parts. For the training after a
round, every part makes a smaller one, with only the chosen features: a step of it sends only their weights.

Attributes that occur at the same positions are copies of each other. In one part they may do so by chance.
The fingerprint of an attribute is a sum over its occurrences, so sums over the parts tell which attributes
are alike in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.distributed.cluster import Cluster
from crfkit.distributed.cluster_sum import ClusterSum
from crfkit.distributed.parts import Part, with_only
from crfkit.distributed.source import ClusterSource, open_collection, refuse
from crfkit.distributed.vocabularies import Common
from crfkit.features.conjunctions import Occurrences
from crfkit.features.edge_attributes import attribute_kinds, edge_prefixes
from crfkit.features.index import FeatureIndex
from crfkit.features.inputs import given_template
from crfkit.models.linear.crf import CRF
from crfkit.models.linear.source import Given
from crfkit.selection.candidates import Candidates
from crfkit.selection.gain import GainSelector
from crfkit.selection.gradient import GradientSelector
from crfkit.selection.pool import features_without, find_copies, fingerprints

if TYPE_CHECKING:
    from crfkit.selection.base import BaseSelector

_SETTINGS = (
    *("order", "min_freq", "all_possible_states", "all_possible_transitions"),
    *("template", "edge_attributes", "n_jobs"),
)


@dataclass(frozen=True, kw_only=True)
class ClusterCandidates(Candidates):
    """Candidates of data on a cluster."""

    source: ClusterSource  # with the features of all attributes, also of copies
    distinct: list[Any]  # futures: the parts of the source without the features of copies
    places: IntArray  # of the candidates' vector in that of the source

    @property
    def n_positions(self) -> int:
        return int(self.source.offsets[-1])

    def likelihood(self, n_threads: int) -> ClusterSum:
        return self.source.sum_over(self.distinct, self.index, exact=True)

    def likelihood_of(self, chosen: IntArray, n_threads: int, c2: float) -> tuple[FeatureIndex, ClusterSum]:
        index, kept = self.index_of(chosen), self.places[self.index.places[chosen]]
        own = Cluster(self.source.cluster.client)  # what it keeps is dropped after this training
        near = self.source.cluster.near
        parts = [own.kept(with_only, part, kept, **near(k)) for k, part in enumerate(self.source.parts)]
        return index, self.source.sum_over(parts, index, cluster=own, exact=True)


def collection_candidates(
    selector: BaseSelector, X: Any, y: Any, sample_weight: Any, lengths: Any, permitted: Any
) -> ClusterCandidates:
    """Encode and index a Dask collection on its cluster."""
    refuse(
        {
            type(selector).__name__: isinstance(selector, GainSelector)
            or not isinstance(selector, GradientSelector),
            "conjunctions=": selector._n_proposals() > 0,
        }
    )
    crf = CRF(**{name: getattr(selector, name) for name in _SETTINGS})
    source = open_collection(crf, Given(X, y, sample_weight, lengths, permitted, None))
    cluster, parts, index = source.cluster, source.parts, source.index
    copies = _copies(source, edge_prefixes(selector.edge_attributes, given_template(selector.template)))
    kept = features_without(index, copies)
    if copies.any():
        places = cluster.kept(places_without, source.common, np.packbits(copies))
        parts = [cluster.kept(with_only, part, places, **cluster.near(k)) for k, part in enumerate(parts)]
    return ClusterCandidates(
        classes=source.classes,
        vocabulary=source.encoder.vocabulary,
        index=index.only(kept),
        n_duplicates=int(copies.sum()),
        source=source,
        distinct=parts,
        places=np.flatnonzero(kept),
    )


def _copies(source: ClusterSource, prefixes: dict[str, str]) -> BoolArray:
    """Tell which attributes [A] occur at the same positions as an earlier one in all parts."""
    vocabulary, submit = source.encoder.vocabulary, source.cluster.client.submit
    prints, counts = np.zeros((2, len(vocabulary)), np.uint64), np.zeros(len(vocabulary), np.int64)
    begin = source.offsets[source.first[:-1]].tolist()
    marks: list[Marks] = source.cluster.results(
        lambda: [submit(marks_of, part, t, pure=False) for part, t in zip(source.parts, begin, strict=True)]
    )
    for own in marks:
        prints[:, own.attributes] += own.prints
        counts[own.attributes] += own.counts
    return find_copies(prints, counts, attribute_kinds(vocabulary, prefixes), vocabulary)


# ---- tasks


class Marks(NamedTuple):
    """Where the attributes of a part occur."""

    attributes: IdArray  # [A of the part] their numbers in the whole vocabulary
    prints: npt.NDArray[np.uint64]  # [2, A of the part]
    counts: IntArray  # [A of the part]


def marks_of(part: Part, begin: int) -> Marks:
    """Return where the attributes of a part occur, whose first position is ``begin`` in the whole data."""
    sequences = part.sequences
    if sequences.values is None:  # other parts may have values
        sequences = replace(sequences, values=np.ones(len(sequences.indices)))
    occurrences = Occurrences(sequences)
    occurrences.positions += begin
    return Marks(part.attributes, fingerprints(occurrences), occurrences.counts)


def places_without(common: Common, copies: npt.NDArray[np.uint8]) -> IntArray:
    """Return the places of all features but those of copies, which are one bit per attribute."""
    dropped = np.unpackbits(copies, count=len(common.vocabulary)).astype(np.bool_)
    return np.flatnonzero(features_without(common.index, dropped))
