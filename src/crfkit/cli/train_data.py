"""Labelled data as ``train``, ``select`` and ``mine`` get it: one or more files, of columns or attributes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.cli.data_file import open_data, say
from crfkit.cli.messages import UsageError, note, warn
from crfkit.exceptions import InputError
from crfkit.io.formats import USUAL_TABLE, names_of
from crfkit.io.opening import check_writable

if TYPE_CHECKING:
    from crfkit.data.columns import Columns
    from crfkit.features.template import Template
    from crfkit.io.data_file import DataFile
    from crfkit.mining.miner import AssociationMiner
    from crfkit.models.linear.crf import CRF
    from crfkit.selection.base import BaseSelector

_LONG = 500  # positions: hardly ever one sequence in a table of several


class Job(NamedTuple):
    """What there is to train."""

    estimator: Any
    data: Data
    dev: Data | None
    fit: Callable[..., Any]  # of x, y, weights, and x and y of the held-out data
    hint: str = ""  # what can be done with {} after Ctrl-C


@dataclass(frozen=True)
class Data:
    """Labelled sequences as ``CRF.fit`` takes them."""

    x: Any
    y: list[list[Any]]
    weights: Any  # [N], or None
    record: dict[str, Any] | None  # of tables: how many columns, and which is the label
    tables: tuple[Columns, ...] = ()  # their cells without the labels, one per file

    @property
    def n_tokens(self) -> int:
        """ΣT."""
        return sum(map(len, self.y))


def read_data(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    template: Template | None,
    estimator: CRF | BaseSelector | AssociationMiner,
) -> tuple[Data, Template | None]:
    """The data of all files together, and the template, which is made here where columns have none."""
    parts: list[Data] = []
    for path in paths:
        with open_data(path, arguments, tables=template is not None) as file:
            if file.format.is_table:
                part, template = _read_table(file, arguments, template, estimator)
            else:
                part = _read_items(file, arguments, template)
        parts.append(part)
        check_alike(parts[0], part, path)
    return _together(parts, template, estimator), template


def read_dev(
    data: Data,
    arguments: argparse.Namespace,
    template: Template | None,
    estimator: CRF | BaseSelector | AssociationMiner,
) -> Data | None:
    """Read the held-out data that goes with the training data, if an option names some."""
    if arguments.dev is None:
        return None
    dev, _ = read_data([arguments.dev], arguments, template, estimator)
    check_alike(data, dev, arguments.dev)
    return dev


def read_template(arguments: argparse.Namespace) -> Template | None:
    """Read the template that ``--template`` names, if it is given."""
    if arguments.template is None:
        return None
    from crfkit.features.template import Template

    return Template.read(arguments.template)


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Raise where a file cannot be written, or is read from as well."""
    for path in filter(None, outputs):
        check_writable(path)
        for other in filter(None, inputs):
            if os.path.exists(other) and os.path.exists(path) and os.path.samefile(other, path):
                raise UsageError(f"{path} would be overwritten, and it is read from")


def check_alike(first: Data, other: Data, path: str) -> None:
    """Raise where two files do not go together."""
    if (first.record is None) != (other.record is None):
        raise InputError(f"{path}: it has attributes and the other data columns, or the other way round")
    if first.record is None or other.record is None or first.record == other.record:
        return
    if first.record.get("names") != other.record.get("names"):
        raise InputError(
            f"{path}: its columns are {', '.join(other.record.get('names', ()))}, those of the other data "
            f"{', '.join(first.record.get('names', ()))}"
        )
    if first.record["columns"] != other.record["columns"]:
        raise InputError(
            f"{path}: its rows have {other.record['columns']} columns, those of the other data "
            f"{first.record['columns']}"
        )


def read_table(file: DataFile, arguments: argparse.Namespace) -> tuple[Columns, int, dict[str, Any]]:
    """The rows of a file, the place of the labels, and what the model should remember of them."""
    from crfkit.cli.column_roles import label_place

    columns = file.table()
    if columns.n_positions == 0:
        raise InputError(f"{file.name}: there is nothing in it")
    label = label_place(columns, arguments.label_column)
    if not arguments.quiet:
        say(file, f", {columns.n_columns} per row, labels in column {label}")
    record: dict[str, Any] = {"columns": columns.n_columns, "label_column": label}
    if hasattr(columns, "names"):
        record["names"] = list(columns.names)
        if len(columns) == 1 and columns.n_positions > _LONG:
            warn(
                f"{file.name}: all {columns.n_positions:,} rows are one sequence; --sequence-column NAME "
                "says which column tells sequences apart, or put an empty line between them"
            )
    return columns, label, record


def _read_table(
    file: DataFile,
    arguments: argparse.Namespace,
    template: Template | None,
    estimator: CRF | BaseSelector | AssociationMiner,
) -> tuple[Data, Template | None]:
    from crfkit.cli.column_roles import Roles

    columns, label, record = read_table(file, arguments)
    if template is None:
        if hasattr(estimator, "tagger_"):
            raise InputError(
                f"{file.name}: the model to go on from has no template, so it takes ready-made attributes "
                f"(--format {names_of(tables=False)}), not columns"
            )
        template = _made_template(columns.n_columns - 1, arguments)
    seen = Roles(label).for_template(columns)
    return Data(seen, columns.column(label), None, record, (seen,)), template


def _made_template(n_columns: int, arguments: argparse.Namespace) -> Template:
    from crfkit.cli.default_template import default_template
    from crfkit.features.template import Template

    text = default_template(n_columns)
    if not arguments.quiet:
        n_lines = text.count("\n") - 1
        seen = " (crfkit inspect MODEL --template shows them)" if hasattr(arguments, "model") else ""
        note(f"no template given: {n_lines} lines for a window of two rows on either side, and B{seen}")
    return Template.parse(text, "crf++", "the usual template")


def _read_items(file: DataFile, arguments: argparse.Namespace, template: Template | None) -> Data:
    from crfkit.data.sequences import Encoded
    from crfkit.data.vocabulary import Vocabulary

    if template is not None:
        raise InputError(
            f"{file.name}: {file.format.name} data has its attributes already, and takes no template; "
            f"if these are columns, say so with --format {USUAL_TABLE.name}"
        )
    if arguments.label_column is not None:
        raise UsageError(f"--label-column goes with {names_of(tables=True, last='and')}")
    vocabulary = Vocabulary()
    examples = file.examples(vocabulary, grow=True)
    if not arguments.quiet:
        say(file, "")
    return Data(Encoded(examples.sequences, vocabulary), examples.labels, examples.weights, None)


def _together(
    parts: list[Data], template: Template | None, estimator: CRF | BaseSelector | AssociationMiner
) -> Data:
    """Several files as one: all over one vocabulary."""
    if len(parts) == 1:
        return parts[0]
    import numpy as np

    from crfkit.data.sequences import Encoded, Sequences
    from crfkit.data.vocabulary import Vocabulary
    from crfkit.features.inputs import encode_input

    vocabulary = Vocabulary()
    encoded = [
        encode_input(part.x, vocabulary, template, grow=True, n_jobs=estimator.n_jobs) for part in parts
    ]
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate(
            [np.ones(len(part.y)) if part.weights is None else part.weights for part in parts]
        )
    y = [labels for part in parts for labels in part.y]
    x = Encoded(Sequences.end_to_end(encoded, len(vocabulary)), vocabulary)
    return Data(x, y, weights, parts[0].record, tuple(table for part in parts for table in part.tables))
