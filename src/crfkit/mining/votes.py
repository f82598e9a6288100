"""What the rules that hold at a position say together, as attributes: a few numbers for every label.

For label l and the rules that hold at a position,

    share      the share of them that are for l;
    support    the same, every rule counted with log(1 + its support);
    strongest  log2 of the largest support of those for l;
    p items    log(1 + how many of them with p items are for l), for every length p.

Single rules are too rare for weights of their own to be learned well; how far such votes can be trusted is
learned from all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crfkit.mining.rules import Rules

_KINDS = ("share", "support", "strongest")


def vote_names(rules: Rules) -> list[str]:
    """Names of the M attributes: kinds, then lengths, for each of the labels in turn."""
    lengths = range(int(rules.lengths.min(initial=2)), int(rules.lengths.max(initial=2)) + 1)
    kinds = [*_KINDS, *(f"{p} items" for p in lengths)]
    return [f"rules for {label}: {kind}" for kind in kinds for label in rules.classes]


def vote_table(
    rules: Rules, first: npt.NDArray[np.int64], found: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The votes at every position, sparsely: bounds [ΣT+1], places among ``vote_names``, values."""
    n, L = len(first) - 1, len(rules.classes)
    cell = np.repeat(np.arange(n), np.diff(first)) * L + rules.labels[found]  # position and label of a vote
    cells, cell_of = np.unique(cell, return_inverse=True)  # [C]
    support = rules.support[found].astype(np.float64)
    lengths = rules.lengths[found]

    def total(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.bincount(cell_of, weights, minlength=len(cells))

    def share(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        votes = total(weights)
        return votes / np.bincount(cells // L, votes, minlength=n)[cells // L]

    strongest = np.zeros(len(cells))
    np.maximum.at(strongest, cell_of, np.log2(support))
    columns = [share(np.ones(len(found))), share(np.log1p(support)), strongest]
    shortest, longest = int(rules.lengths.min(initial=2)), int(rules.lengths.max(initial=2))
    columns += [np.log1p(total((lengths == p).astype(np.float64))) for p in range(shortest, longest + 1)]
    table = np.stack(columns)  # [kinds, C]
    kind, place = np.nonzero(table)
    position, label = cells[place] // L, cells[place] % L
    order = np.lexsort((label, kind, position))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(position, minlength=n)))).astype(np.int64)
    return bounds, (kind * L + label)[order], table[kind, place][order]
