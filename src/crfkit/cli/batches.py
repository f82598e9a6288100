"""Reading the data to tag, in batches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, IdArray, IntArray
from crfkit.cli.column_roles import column_title, tagging_roles
from crfkit.cli.data_file import say
from crfkit.cli.messages import UsageError, note
from crfkit.data.columns import Columns
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.io.data_file import DataFile
from crfkit.io.formats import names_of
from crfkit.models.fitted_model import FittedModel
from crfkit.models.linear.tagger import LinearTagger

_FREE = ("_", "-", "")
_POSITIONS = 1 << 16  # most positions in a batch
_SCORES = 1 << 22  # most scores in a batch: 32 MB


class Batch(NamedTuple):
    """Some sequences that are tagged together."""

    x: Any  # the input of the tagger
    offsets: IntArray  # [N+1]
    source: str
    gold: tuple[list[str], IdArray] | None  # label names, and indices into them [ΣT]; -1: no label
    table: Columns | None = None  # the cells; None if the data has attributes
    allowed: BoolArray | None = None  # [ΣT, L] labels that the known labels allow; None: all labels


def read_batches(
    data: DataFile,
    tagger: FittedModel,
    record: dict[str, Any] | None,
    arguments: argparse.Namespace,
    prompt: bool,
) -> Iterator[Batch]:
    """Yield the data in batches. With the first batch, report the format and the column roles.

    ``record`` describes the model's training data.
    """
    positions = min(_POSITIONS, max(1, _SCORES // tagger.scores_per_position))
    needed = tagger.n_columns
    if not data.format.is_table:
        return _of_examples(data, tagger, arguments, positions, prompt)
    if needed is None:
        raise InputError(
            f"{data.name}: the model has no template to turn {data.format.name} into attributes: give one "
            f"with --template, or give data with attributes (--format {names_of(tables=False)})"
        )
    return _of_tables(data, tagger, needed, record, arguments, positions, prompt)


def _of_tables(
    data: DataFile,
    tagger: FittedModel,
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
                labels = "without labels"
                if roles.label is not None:
                    labels = f"true labels in column {column_title(table, roles.label)}"
                say(data, f", {table.ids.shape[1]} per row, {labels}")
            made = getattr(table, "tokenizer", None)
            known = made is None or record is None or record.get("tokenizer") == made
            if not known and not arguments.quiet:
                note(
                    f"{data.name}: its text is split by crfkit's tokenizer, but the model was trained on "
                    "other tokens; if they differ, give tokens instead"
                )
        x = roles.for_template(table)
        gold = None if roles.label is None else table.codes(roles.label)
        allowed = None
        if roles.known is not None:
            allowed = _allowed(table, roles.known, [str(label) for label in tagger.classes])
        yield Batch(x, table.offsets, table.source, gold, table, allowed)


def _allowed(table: Columns, column: int, labels: list[str]) -> BoolArray:
    """Return which labels each position may have, given a column of known labels [ΣT, L].

    A cell is a label of the model; or ``_``, ``-`` or empty: any label; or ``A|B``: A or B.
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
                    f"{', '.join(labels)}; write '_' for any label, 'A|B' for one of several"
                )
            row[place[label]] = True
    return rows[codes]


def _of_examples(
    data: DataFile, tagger: FittedModel, arguments: argparse.Namespace, positions: int, prompt: bool
) -> Iterator[Batch]:
    if arguments.known_column is not None:
        raise UsageError(f"--known-column needs a table: {names_of(tables=True, last='or')}")
    if not isinstance(tagger, LinearTagger):
        raise InputError(
            f"{data.name}: {data.format.name} data has sparse attributes, but the model needs columns "
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
