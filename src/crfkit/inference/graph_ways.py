"""Which algorithm does which graph: by its cycles, and by the memory that exact inference would take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores

# As in native/bind/graphs.cpp.
FOREST, CLIQUES, MESSAGES, MEAN_FIELD, BOUNDS, GIBBS, GIVEN = range(7)
QUICK = 2**20  # numbers per graph that exact inference may take where it is not asked for

Codes = npt.NDArray[np.uint8]


def exact_memory(scores: GraphScores, threads: int) -> tuple[FloatArray, IdArray]:
    """Return the bytes that exact inference takes for each graph [N], and the widths [N]."""
    plan = scores.topology.plan
    width = plan.widths(threads)
    numbers = plan.table_sizes(scores.n_labels)
    return 8 * numbers * (1 + 1 / scores.n_labels), width


def exact_ways(scores: GraphScores, max_memory: int, threads: int) -> tuple[Codes, IdArray]:
    """Return the algorithm of exact sums for each graph [N], and the widths [N]; raise if one is too wide."""
    memory, width = exact_memory(scores, threads)
    forest = _without_cycles(scores)
    wide = np.flatnonzero(~forest & (memory > max_memory))
    if len(wide):
        i = int(wide[np.argmax(memory[wide])])
        others = f" ({len(wide) - 1} other graphs are too wide as well)" if len(wide) > 1 else ""
        if np.isfinite(memory[i]):
            need = f"has width {width[i]}{others}: with {scores.n_labels} labels, exact inference would take "
            need += f"{memory[i]:.3g} bytes, and max_memory is {max_memory:.3g}"
        else:
            need = (
                f"is too wide for exact inference{others}: the search for an elimination order was given up "
            )
            need += f"at width {width[i]}"
        raise InputError(
            f"graph {scores.first_sequence + i} {need}; use 'auto' or 'trw' ('tree-reweighted' in training) "
            "instead, or another approximate method"
        )
    return np.where(forest, FOREST, CLIQUES).astype(np.uint8), width


def possible_ways(scores: GraphScores, otherwise: int, threads: int) -> tuple[Codes, IdArray]:
    """Return exact algorithms [N] where they are quick, and ``otherwise`` for the other graphs."""
    memory, width = exact_memory(scores, threads)
    how = np.where(memory <= 8 * QUICK, CLIQUES, otherwise)
    return np.where(_without_cycles(scores), FOREST, how).astype(np.uint8), width


def _without_cycles(scores: GraphScores) -> npt.NDArray[np.bool_]:
    """Return which graphs two passes of messages solve: forests, and all if there is only one label."""
    return scores.topology.plan.forests().astype(np.bool_) | (scores.n_labels == 1)
