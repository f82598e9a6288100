"""What the rules that hold at a position say together, as attributes: a few numbers for every label.

For label l and the rules that hold at a position,

    strongest  log2 of the largest support of those for l;
    p items    log(1 + how many of those with p items are for l), for every length p.

Single rules are too rare for weights of their own to be learned well; how far such votes can be trusted is
learned from all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crfkit.mining.rules import Rules


def vote_names(rules: Rules) -> list[str]:
    """Names of the M attributes: for each kind of number in turn, one for every label."""
    kinds = ["strongest", *(f"{p} items" for p in _lengths(rules))]
    return [f"rules for {label}: {kind}" for kind in kinds for label in rules.classes]


def vote_table(
    rules: Rules, first: npt.NDArray[np.int64], found: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The votes at every position, sparsely: bounds [ΣT+1], places among ``vote_names``, values.

    The rules that hold at position t are ``found[first[t]:first[t+1]]``.
    """
    n, L = len(first) - 1, len(rules.classes)
    cell = np.repeat(np.arange(n), np.diff(first)) * L + rules.labels[found]  # position and label of a vote
    cells, cell_of = np.unique(cell, return_inverse=True)  # [C]
    strongest = np.zeros(len(cells))
    np.maximum.at(strongest, cell_of, np.log2(rules.support[found]))
    lengths = rules.lengths[found]
    counts = [np.bincount(cell_of, lengths == p, minlength=len(cells)) for p in _lengths(rules)]
    table = np.stack([strongest, *map(np.log1p, counts)])  # [kinds, C]
    kind, place = np.nonzero(table)
    position, label = cells[place] // L, cells[place] % L
    order = np.lexsort((label, kind, position))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(position, minlength=n)))).astype(np.int64)
    return bounds, (kind * L + label)[order], table[kind, place][order]


def _lengths(rules: Rules) -> range:
    return range(int(rules.lengths.min(initial=2)), int(rules.lengths.max(initial=2)) + 1)
