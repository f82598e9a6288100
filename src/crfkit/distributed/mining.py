"""Association rules of a Dask collection, exactly those that are found in memory.

Supports are small, so a bound on the support within a partition would prune nothing. Hence the work is cut by
items, not by partitions, as in parallel FP-growth (Li, Wang, Zhang, Zhang and Chang, RecSys 2008):

1. Sums over the parts say how often each item has each label. They decide the ranks of the items, from rare
   to frequent, and the votes of single items.
2. The ranks are cut into groups of like work. A group finds the rules whose rarest item is in it.
3. Each part sends each group the positions that contain an item of the group, with only the items that the
   group's rules can have: those from the group's first rank on.
4. The rules of all groups are joined here, in the order of ranks, which is that of a search in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.distributed.cluster import Cluster
from crfkit.distributed.shards import HowToRead, Shard
from crfkit.distributed.source import merged_in_tree, refuse, shards_of
from crfkit.distributed.vocabularies import Summary, require_labelled, summary
from crfkit.exceptions import InputError
from crfkit.features.index import rows_of
from crfkit.features.inputs import given_template
from crfkit.features.template import Template
from crfkit.mining.miner import Items, chosen_items, no_items
from crfkit.mining.rules import Rules
from crfkit.mining.search import Bounds, Found, Ranking, joined, rank_items, search
from crfkit.models.linear.steps import IndexSettings

if TYPE_CHECKING:
    from crfkit.mining.miner import AssociationMiner

_GROUPS = 4  # per thread of the cluster: more even out the work, but repeat more of the data

# Items and their labels are counted like the features of a model, where only min_freq=2 needs the counts.
_COUNTED = IndexSettings(
    order=1,
    min_freq=2,
    all_possible_states=False,
    all_possible_transitions=False,
    edge_attributes=None,
    features=None,
)


def collection_rules(miner: AssociationMiner, X: Any, y: Any, y_pred: Any, lengths: Any) -> Rules:
    """Mine the rules of a Dask collection on its cluster."""
    refuse(
        {
            "y_pred=": y_pred is not None,
            "lengths=": lengths is not None,
            "rules=": miner.rules is not None,
        }
    )
    bounds, template, cluster = miner.bounds(), given_template(miner.template), Cluster.current()
    shards, _ = shards_of(cluster, X, y, HowToRead(template, None))
    shards = [cluster.kept(labelled_alone, shard) for shard in shards]
    whole = merged_in_tree(cluster, [cluster.kept(summary, shard, _COUNTED, {}) for shard in shards])
    shared = cluster.kept(agreed, whole)
    ranking = cluster.kept(ranked, whole, miner.items, template, bounds.min_support)
    parts = [
        cluster.kept(transactions_of, shard, shared, ranking, **cluster.near(k))
        for k, shard in enumerate(shards)
    ]
    works = [cluster.kept(works_of, part, ranking, bounds.lengths[1]) for part in parts]
    agreement, *found = cluster.results(lambda: [shared, *works])
    n_groups = _GROUPS * sum(cluster.workers().values())
    groups: list[Any] = []
    for first, last in pairwise(cut_evenly(sum(found), n_groups)):
        # In this order the cluster has the data of few groups at once.
        pieces = [cluster.client.submit(piece_of, part, first, last, pure=False) for part in parts]
        n_labels = len(agreement.classes)
        groups.append(cluster.kept(mined, bounds, ranking, n_labels, first, last, *pieces))
    sizes = cluster.results(lambda: [cluster.client.submit(size_of, group, pure=False) for group in groups])
    bounds.check(*map(sum, zip(*sizes, strict=True)) if sizes else (0, 0))
    rules: list[Found] = cluster.results(lambda: groups)
    return joined(bounds, rules, agreement.vocabulary, agreement.classes, agreement.label_counts)


def cut_evenly(work: FloatArray, n: int) -> list[int]:
    """Cut ranks with this work [I] into at most ``n`` runs of like work; return their bounds."""
    done = np.concatenate([[0.0], np.cumsum(work)])
    cuts = np.searchsorted(done, done[-1] * np.arange(1, n) / n)
    return [int(bound) for bound in np.unique([0, *cuts, len(work)])]


# ---- tasks


class Agreed(NamedTuple):
    """What rules refer to, and what all of them share."""

    vocabulary: Vocabulary
    classes: list[Any]
    label_counts: IntArray  # [L] of the positions with one label


@dataclass(frozen=True)
class Transactions:
    """Positions with one label and with items that may be in rules."""

    indptr: IntArray  # [n+1]
    ranks: IdArray  # of the items, ascending within a position
    labels: IdArray  # [n]

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return self.indptr.nbytes + self.ranks.nbytes + self.labels.nbytes


def labelled_alone(shard: Shard) -> Shard:
    """Return a shard in which positions with a set of labels have none: they are no transactions."""
    return replace(shard, labels=Labels(shard.labels.ids, None), unknown=None)


def agreed(whole: Summary) -> Agreed:
    """Return the names of the items, the labels and their counts."""
    require_labelled(whole)
    return Agreed(whole.vocabulary, whole.classes, whole.label_counts)


def ranked(whole: Summary, items: Items | None, template: Template | None, min_support: int) -> Ranking:
    """Return the ranks and the votes of the items of all data."""
    require_labelled(whole)
    kept = chosen_items(items, whole.vocabulary, template)
    if not whole.counts[kept].any():
        raise InputError(no_items(items))
    counted, L = whole.features, len(whole.classes)
    some = kept[counted.state_keys // L]
    return rank_items(*rows_of(counted.state_keys[some], L, len(kept)), counted.state[some], min_support)


def transactions_of(shard: Shard, shared: Agreed, ranking: Ranking) -> Transactions:
    """Return the transactions of a shard."""
    own = shared.vocabulary.lookup(shard.vocabulary.strings())
    sequences = shard.sequences
    ranks = ranking.ranks(len(shared.vocabulary))[own][sequences.indices]
    labels = shard.labels_among(shared.classes).ids
    positions = np.repeat(np.arange(sequences.n_positions), np.diff(sequences.indptr))
    kept = (ranks >= 0) & (labels[positions] >= 0)
    ranks, positions = ranks[kept], positions[kept]
    order = np.lexsort((ranks, positions))
    there, sizes = np.unique(positions, return_counts=True)
    return Transactions(offsets_of(sizes), ranks[order], labels[there])


def works_of(part: Transactions, ranking: Ranking, longest: int) -> FloatArray:
    """Return the estimated work of finding the rules with each rarest item [I].

    It is the number of its sets of up to three items, or of as many as rules have.
    """
    after = np.repeat(part.indptr[1:], np.diff(part.indptr)) - np.arange(len(part.ranks)) - 1
    sets = np.ones(len(part.ranks))
    if longest > 1:
        sets += after
    if longest > 2:
        sets += after * (after - 1) / 2
    return np.bincount(part.ranks, sets, len(ranking.items)).astype(np.float64)


def piece_of(part: Transactions, first: int, last: int) -> Transactions:
    """Return the positions with an item of rank ``first`` to ``last - 1``, and their items from there on."""
    before = offsets_of(part.ranks < first)  # [nnz+1] how many such items are before a place
    begin = part.indptr[:-1] + np.diff(before[part.indptr])  # [n] the first item that is kept
    has = begin < part.indptr[1:]
    has[has] = part.ranks[begin[has]] < last
    sizes = np.diff(part.indptr)
    kept = np.repeat(has, sizes) & (part.ranks >= first)
    return Transactions(offsets_of((part.indptr[1:] - begin)[has]), part.ranks[kept], part.labels[has])


def mined(
    bounds: Bounds, ranking: Ranking, n_labels: int, first: int, last: int, *pieces: Transactions
) -> Found:
    """Find the rules whose rarest item has a rank from ``first`` to ``last - 1``."""
    indptr = offsets_of(np.concatenate([np.diff(piece.indptr) for piece in pieces]))
    ranks, labels = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("ranks", "labels"))
    return search(bounds, ranking, (indptr, ranks, labels), n_labels, within=(first, last))


def size_of(found: Found) -> tuple[int, int]:
    """Return how many rules were found and how many sets visited."""
    return len(found.columns[2]), found.n_sets
