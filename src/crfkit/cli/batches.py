"""Data to be tagged, in pieces that a tagger takes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.cli.column_roles import tagging_roles
from crfkit.cli.data_file import say
from crfkit.cli.messages import UsageError
from crfkit.data.columns import Columns
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.io.data_file import DataFile
from crfkit.io.formats import names_of
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.tagger import Tagger

_FREE = ("_", "-", "")
_POSITIONS = 1 << 16  # of a batch, at most
_SCORES = 1 << 22  # of a batch, at most: 32 MB


class Batch(NamedTuple):
    """Some sequences on their way through."""

    x: Any  # what the tagger takes
    offsets: IntArray  # [N+1]
    source: str
    gold: tuple[list[str], IdArray] | None  # names, and places in them [ΣT]; -1: no label
    table: Columns | None = None  # its cells, where it has some
    allowed: BoolArray | None = None  # [ΣT, L] what known labels leave; None: everything


def read_batches(
    data: DataFile,
    tagger: Tagger,
    record: dict[str, Any] | None,
    arguments: argparse.Namespace,
    prompt: bool,
) -> Iterator[Batch]:
    """The data in batches; what was taken for what is said with the first.

    ``record`` is what the model remembers of its training data.
    """
    positions = min(_POSITIONS, max(1, _SCORES // tagger.scores_per_position))
    needed = tagger.n_columns
    if not data.format.is_table:
        return _of_examples(data, tagger, arguments, positions, prompt)
    if needed is None:
        raise InputError(
            f"{data.name}: the model has no template to make attributes of {data.format.name}: give one with "
            f"--template, or data with ready-made attributes (--format {names_of(tables=False)})"
        )
    return _of_tables(data, tagger, needed, record, arguments, positions, prompt)


def _of_tables(
    data: DataFile,
    tagger: Tagger,
    needed: int,
    record: dict[str, Any] | None,
    arguments: argparse.Namespace,
    positions: int,
    prompt: bool,
) -> Iterator[Batch]:
    roles = None
    for table in data.tables(positions, prompt):
        if table.n_positions == 0:
            continue
        if roles is None:
            roles = tagging_roles(table, needed, record, arguments.label_column, arguments.known_column)
            if not arguments.quiet:
                labels = "without labels" if roles.label is None else f"true labels in column {roles.label}"
                say(data, f", {table.ids.shape[1]} per row, {labels}")
        x = roles.for_template(table)
        gold = None if roles.label is None else table.codes(roles.label)
        allowed = None
        if roles.known is not None:
            allowed = _allowed(table, roles.known, [str(label) for label in tagger.classes])
        yield Batch(x, table.offsets, table.source, gold, table, allowed)


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


def _of_examples(
    data: DataFile, tagger: Tagger, arguments: argparse.Namespace, positions: int, prompt: bool
) -> Iterator[Batch]:
    if arguments.known_column is not None:
        raise UsageError(f"--known-column goes with {names_of(tables=True, last='and')}")
    if not isinstance(tagger, LinearTagger):
        raise InputError(
            f"{data.name}: {data.format.name} data has sparse attributes, and the model takes columns "
            f"(--format {names_of(tables=True)})"
        )
    labelled: bool | None = None
    for piece in data.example_pieces(
        tagger.vocabulary,
        grow=False,
        labelled=arguments.label_column != "none",
        positions=positions,
        prompt=prompt,
    ):
        if labelled is None:
            labelled = bool((piece.ids >= 0).any())
            if not arguments.quiet:
                say(data, "" if labelled else ", without labels")
        x = Encoded(piece.sequences, tagger.vocabulary)
        yield Batch(x, piece.sequences.offsets, data.name, (piece.names, piece.ids) if labelled else None)
