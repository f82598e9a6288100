"""The search for rules: the transactions, the native search, and the filter of its result.

Definitions 1 and 2 of docs/associations.md; the search itself is native/mining/rule_miner.h.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, IdArray
from crfkit.data.sequences import Sequences, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.mining.rules import Rules
from crfkit.threads import thread_count

_BLOCKS_A_STEP = 16  # native blocks per thread between two checks of the limit and of Ctrl-C
MAX_SETS = 30_000_000  # default: some seconds
_LONGEST_MINIMAL = 20  # a minimal rule is compared with all subsets of its items


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
    threads = thread_count(n_jobs)
    n_items = len(vocabulary)  # no rule is longer, and the core's numbers end somewhere
    shortest, longest = min(lengths[0], n_items + 1), min(lengths[1], n_items + 1)
    if minimal and longest > _LONGEST_MINIMAL:
        raise InputError(f"minimal rules have at most {_LONGEST_MINIMAL} items, got lengths={lengths}")
    miner = _native.RuleMiner(
        sequences.indptr,
        sequences.indices,
        labels,
        None if marked is None else marked.view(np.uint8),
        len(vocabulary),
        len(classes),
        min(min_support, sys.maxsize),
        # The subset that makes a rule not minimal need not be rare, long enough or important.
        sys.maxsize if minimal or max_support is None else min(max_support, sys.maxsize),
        min_confidence,
        1 if minimal else shortest,
        longest,
        important and not minimal,
    )
    parts: list[list[Any]] = []
    n_rules = n_sets = 0
    step = _BLOCKS_A_STEP * threads
    for begin in range(0, miner.n_blocks, step):
        end = min(begin + step, miner.n_blocks)
        left = (min(max_rules - n_rules, sys.maxsize), min(max_sets - n_sets, sys.maxsize))
        *arrays, visited = miner.run(begin, end, *left, threads)
        parts.append(arrays)
        n_sets += visited
        n_rules += len(parts[-1][2])
        if n_rules > max_rules:
            raise InputError(
                f"more than max_rules={max_rules} rules: raise min_support or min_confidence, shorten "
                f"lengths={lengths}, or allow more rules"
            )
        if n_sets > max_sets:
            raise InputError(
                f"the search has visited more than max_sets={max_sets:,} sets of items without an end: raise "
                f"min_support={min_support}, shorten lengths={lengths}, restrict items, or raise max_sets "
                "(crfkit mine --max-sets)"
            )
        _show(verbose, end, miner.n_blocks, n_rules)
    first, *columns = (_joined(parts, k) for k in range(8))
    items, found, support, coverage, rivals, margins, fixes = columns
    labelled = labels[labels >= 0]
    rules = Rules(
        vocabulary,
        classes,
        len(labelled),
        np.bincount(labelled, minlength=len(classes)).astype(np.int64),
        first,
        items,
        found,
        support,
        coverage,
        rivals,
        margins,
        fixes if marked is not None else None,
    )
    if not minimal:
        return rules
    kept = _native.minimal_rules(rules.first, rules.items, rules.labels, rules.confidence, threads) != 0
    kept &= rules.lengths >= shortest
    if important:
        kept &= rules.margins > 0
    if max_support is not None:
        kept &= rules.support <= max_support
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
