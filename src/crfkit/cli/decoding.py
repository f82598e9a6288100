"""Labels of one batch: the best path or the best labels, with the probabilities that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.cli.column_roles import Roles
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import (
    Constraints,
    Lattice,
    constrain,
    log_partition,
    marginals,
    max_expected_gain,
    max_marginal,
    nbest,
    path_score,
    permitted_labels,
    viterbi,
)
from crfkit.models.tagger import Scored, Tagger

_FREE = ("_", "-", "")


@dataclass(frozen=True)
class Decoded:
    """A labelling of each sequence."""

    labels: IdArray  # [ΣT]
    marginals: FloatArray | None  # [ΣT, L]
    probability: FloatArray | None  # [N] of the labellings


@dataclass(frozen=True)
class Batch:
    """Some sequences on their way through."""

    x: Any  # what the tagger takes
    offsets: IntArray  # [N+1]
    gold: tuple[list[str], IdArray] | None  # names, and places in them [ΣT]; -1: no label
    table: Columns | None  # its cells, where it has some
    roles: Roles | None
    source: str


def lattice_of(tagger: Tagger, batch: Batch, scored: Scored, constraints: Constraints | None) -> Lattice:
    """The scores of a batch, with all that is forbidden."""
    lattice = scored.lattice
    if batch.table is not None and batch.roles is not None and batch.roles.known is not None:
        allowed = _allowed(batch.table, batch.roles.known, [str(label) for label in tagger.classes])
        lattice = constrain(lattice, permitted_labels(allowed))
    return tagger.permit(lattice, constraints, None, scored.forced)


def _allowed(table: Columns, column: int, labels: list[str]) -> BoolArray:
    """The labels that a column of known ones leaves to each position [ΣT, L].

    A cell that is a label of the model is that label; ``_``, ``-`` and nothing are any; ``A|B`` is A or B.
    """
    cells, codes = table.codes(column)
    place = {label: i for i, label in enumerate(labels)}
    rows = np.zeros((len(cells), len(labels)), np.bool_)
    for row, cell in zip(rows, cells, strict=True):
        if cell not in place and cell in _FREE:
            row[:] = True
            continue
        for label in [cell] if cell in place else cell.split("|"):
            if label not in place:
                line = table.lines[np.flatnonzero(codes == cells.index(cell))[0]]
                raise InputError(
                    f"{table.source}:{line}: known label {cell!r}: the model has no label {label!r}; it has "
                    f"{', '.join(labels)}; a free position is '_', one of several 'A|B'"
                )
            row[place[label]] = True
    return rows[codes]


def decode(
    lattice: Lattice,
    *,
    posterior: bool,
    with_marginals: bool,
    with_probability: bool,
    jobs: int | None,
    boundary_gain: float = 0.0,
) -> Decoded:
    """The best path through each sequence, or with ``posterior`` the best label of each position.

    The second may give boundaries a gain (see ``crfkit.inference.max_expected_gain``).
    """
    node, log_z = None, None
    if with_marginals and not posterior:
        node = marginals(lattice, n_jobs=jobs).node
    if with_probability:
        log_z = log_partition(lattice, n_jobs=jobs)
    if posterior:
        labels, node = max_marginal(lattice, posterior=True, n_jobs=jobs)
        if boundary_gain:
            labels = max_expected_gain(lattice, boundary_gain, n_jobs=jobs)
        score = path_score(lattice, labels, n_jobs=jobs) if with_probability else None
    else:
        labels, score = viterbi(lattice, n_jobs=jobs)
    probability = None
    if with_probability and score is not None and log_z is not None:
        probability = np.exp(np.minimum(score - log_z, 0.0))  # rounding must not make it more than 1
    return Decoded(labels, node if with_marginals else None, probability)


def decode_several(lattice: Lattice, k: int, jobs: int | None) -> Iterator[list[tuple[Any, float]]]:
    """The k best labellings of each sequence, with their probabilities."""
    best, log_z = nbest(lattice, k, n_jobs=jobs), log_partition(lattice, n_jobs=jobs)
    for i in range(lattice.n_sequences):
        probabilities = np.exp(np.minimum(best.scores_of(i) - log_z[i], 0.0))
        yield list(zip(best.paths_of(i), probabilities.tolist(), strict=True))


def no_path_at(lattice: Lattice, batch: Batch, error: NoPathError) -> NoPathError:
    """The error with the line that the first sequence without a labelling begins at."""
    if batch.table is None:
        return error
    for i in range(lattice.n_sequences):
        start, stop = lattice.offsets[i : i + 2].tolist()
        edge = lattice.edge if lattice.edge.ndim == 2 else lattice.edge[start:stop]
        alone = Lattice(
            lattice.node[start:stop], edge, [0, stop - start], lattice.start, lattice.end, lattice.edge2
        )
        try:
            viterbi(alone)
        except NoPathError:
            return NoPathError(
                f"{batch.source}:{batch.table.lines[start]}: nothing is left of the labellings of the "
                "sequence that begins here; forbid less, or free some of its known labels"
            )
    return error
