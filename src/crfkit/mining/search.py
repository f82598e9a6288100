"""The search for rules: the transactions, the native search, and the filter of its result.

Definitions 1 and 2 of docs/associations.md; the search itself is native/mining/rule_miner.h.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.data.sequences import Sequences, gather, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.mining.rules import Rules
from crfkit.threads import thread_count

_BLOCKS_A_STEP = 16  # native blocks per thread between two checks of the limit and of Ctrl-C
MAX_SETS = 30_000_000  # default: some seconds
_LONGEST_MINIMAL = 20  # a minimal rule is compared with all subsets of its items


@dataclass(frozen=True)
class Bounds:
    """Which rules are searched for: parameters of :class:`crfkit.mining.AssociationMiner`."""

    min_support: int
    max_support: int | None
    min_confidence: float
    lengths: tuple[int, int]
    important: bool
    minimal: bool
    max_rules: int
    max_sets: int

    def check(self, n_rules: int, n_sets: int) -> None:
        """Raise an error if more rules have been found or more sets visited than allowed."""
        if n_rules > self.max_rules:
            raise InputError(
                f"more than max_rules={self.max_rules} rules: raise min_support or min_confidence, shorten "
                f"lengths={self.lengths}, or allow more rules"
            )
        if n_sets > self.max_sets:
            raise InputError(
                f"the search has visited more than max_sets={self.max_sets:,} sets of items without an end: "
                f"raise min_support={self.min_support}, shorten lengths={self.lengths}, restrict items, or "
                "raise max_sets (crfkit mine --max-sets)"
            )


class Ranking(NamedTuple):
    """The items that may be in rules, from rare to frequent, and how often each occurs with each label."""

    items: IdArray  # [I] by rank
    first: IntArray  # [I+1] the item of rank r has the counts first[r] .. first[r+1]-1
    labels: IdArray
    counts: IntArray

    def ranks(self, n_items: int) -> IdArray:
        """Return the rank of every item [A], -1 for those that are in no rule."""
        ranks = np.full(n_items, -1, np.int32)
        ranks[self.items] = np.arange(len(self.items))
        return ranks


def rank_items(first: IntArray, labels: IdArray, counts: IntArray, min_support: int) -> Ranking:
    """Rank the items that occur often enough with some label.

    Item a occurs ``counts[i]`` times with ``labels[i]``, for i from ``first[a]`` to ``first[a+1]-1``.
    """
    some = np.flatnonzero(np.diff(first))
    often = some
    if len(some):
        often = some[np.maximum.reduceat(counts, first[some]) >= min(min_support, sys.maxsize)]
    rows, places = gather(first, often)
    support = np.add.reduceat(counts[places], rows[:-1]) if len(often) else often
    items = often[np.argsort(support, kind="stable")]
    rows, places = gather(first, items)
    return Ranking(items.astype(np.int32), rows, labels[places], counts[places])


def mine_rules(
    sequences: Sequences,
    labels: IdArray,  # [ΣT] places in classes, -1: no transaction
    vocabulary: Vocabulary,
    classes: list[Any],
    *,
    min_support: int = 2,
    max_support: int | None = None,
    min_confidence: float = 1.0,
    lengths: tuple[int, int] = (2, 3),
    important: bool = True,
    minimal: bool = False,
    max_rules: int = 50_000_000,
    max_sets: int = MAX_SETS,
    marked: BoolArray | None = None,  # [ΣT]
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> Rules:
    """Return all rules within the bounds between the attributes of a position and its label.

    Parameters are those of :class:`crfkit.mining.AssociationMiner`. With ``marked``, only rules that are
    right at a marked position are kept; ``fixes`` counts these positions.
    """
    bounds = Bounds(
        min_support, max_support, min_confidence, lengths, important, minimal, max_rules, max_sets
    )
    n_items, n_labels = len(vocabulary), len(classes)
    counts = _native.item_counts(sequences.indptr, sequences.indices, labels, n_items, n_labels)
    ranking = rank_items(*counts, min_support)
    ranks = ranking.ranks(n_items)[sequences.indices]
    found = search(
        bounds,
        ranking,
        (sequences.indptr, ranks, labels),
        n_labels,
        marked=marked,
        threads=thread_count(n_jobs),
        verbose=verbose,
    )
    labelled = labels[labels >= 0]
    label_counts = np.bincount(labelled, minlength=n_labels).astype(np.int64)
    return joined(bounds, [found], vocabulary, classes, label_counts, marked is not None, n_jobs)


class Found(NamedTuple):
    """Rules as columns: first, items, labels, support, coverage, rivals, margins, fixes."""

    columns: list[npt.NDArray[Any]]
    n_sets: int  # visited


def search(
    bounds: Bounds,
    ranking: Ranking,
    transactions: tuple[IntArray, IdArray, IdArray],  # [n+1] indptr, ranks of the items, [n] labels
    n_labels: int,
    *,
    marked: BoolArray | None = None,  # [n]
    within: tuple[int, int] | None = None,
    threads: int = 1,
    verbose: bool | int = False,
) -> Found:
    """Find the rules in transactions, or only those whose rarest item has a rank ``within`` these bounds.

    A rank is -1 for an item that is in no rule, a label -1 for a position that is no transaction. Rules come
    in the order of ranks.
    """
    n_items = len(ranking.items)  # no rule is longer, and the core's numbers end somewhere
    shortest, longest = (min(length, n_items + 1) for length in bounds.lengths)
    if bounds.minimal and longest > _LONGEST_MINIMAL:
        raise InputError(f"minimal rules have at most {_LONGEST_MINIMAL} items, got lengths={bounds.lengths}")
    indptr, ranks, labels = transactions
    every = bounds.minimal or bounds.max_support is None
    miner = _native.RuleMiner(
        *ranking,
        indptr,
        ranks,
        labels,
        None if marked is None else marked.view(np.uint8),
        n_labels,
        min(bounds.min_support, sys.maxsize),
        # The subset that makes a rule not minimal need not be rare, long enough or important.
        sys.maxsize if every else min(bounds.max_support or 0, sys.maxsize),
        bounds.min_confidence,
        1 if bounds.minimal else shortest,
        longest,
        bounds.important and not bounds.minimal,
        *(within or (0, n_items)),
    )
    parts: list[list[Any]] = []
    n_rules = n_sets = 0
    step = _BLOCKS_A_STEP * threads
    for begin in range(0, miner.n_blocks, step):
        end = min(begin + step, miner.n_blocks)
        left = (
            min(bounds.max_rules - n_rules, sys.maxsize),
            min(bounds.max_sets - n_sets, sys.maxsize),
        )
        *arrays, visited = miner.run(begin, end, *left, threads)
        parts.append(arrays)
        n_sets += visited
        n_rules += len(parts[-1][2])
        bounds.check(n_rules, n_sets)
        _show(verbose, end, miner.n_blocks, n_rules)
    columns = [_joined(parts, k) for k in range(8)]
    return Found(columns, n_sets)


def joined(
    bounds: Bounds,
    found: Sequence[Found],
    vocabulary: Vocabulary,
    classes: list[Any],
    label_counts: IntArray,  # [L] of all transactions
    marked: bool = False,
    n_jobs: int | None = None,
) -> Rules:
    """Return the rules of searches within ascending ranks, without those that are not minimal."""
    first, items, labels, support, coverage, rivals, margins, fixes = (
        _joined([one.columns for one in found], k) for k in range(8)
    )
    rules = Rules(
        vocabulary,
        classes,
        int(label_counts.sum()),
        label_counts,
        first,
        items,
        labels,
        support,
        coverage,
        rivals,
        margins,
        fixes if marked else None,
    )
    if not bounds.minimal:
        return rules
    threads = thread_count(n_jobs)
    kept = _native.minimal_rules(rules.first, rules.items, rules.labels, rules.confidence, threads) != 0
    kept &= rules.lengths >= min(bounds.lengths[0], sys.maxsize)
    if bounds.important:
        kept &= rules.margins > 0
    if bounds.max_support is not None:
        kept &= rules.support <= min(bounds.max_support, sys.maxsize)
    minimal_rules: Rules = rules[kept]
    return minimal_rules


def _joined(parts: list[list[Any]], k: int) -> npt.NDArray[Any]:
    """Concatenate column k of all parts; column 0 holds bounds, which continue from part to part."""
    if k == 0:
        return offsets_of(np.concatenate([np.zeros(0, np.int64), *(np.diff(part[0]) for part in parts)]))
    kinds = (np.int64, np.int32, np.int32, np.int32, np.int32, np.int32, np.int64, np.int32)
    return np.concatenate([np.zeros(0, kinds[k]), *(part[k] for part in parts)])


def _show(verbose: bool | int, done: int, total: int, n_rules: int) -> None:
    if verbose:
        sys.stderr.write(f"\rmining: {100 * done // total:3d}%  {n_rules:,} rules" + "\n" * (done == total))
        sys.stderr.flush()
