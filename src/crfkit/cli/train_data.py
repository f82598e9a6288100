"""Reading labelled data for ``train``, ``select`` and ``mine``: files of columns or attributes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from crfkit.cli.data_file import open_data, say
from crfkit.cli.messages import UsageError, note, warn
from crfkit.exceptions import InputError
from crfkit.io.formats import USUAL_TABLE, names_of

if TYPE_CHECKING:
    from crfkit.data.columns import Columns
    from crfkit.features.builder import Features
    from crfkit.features.extraction import Extraction
    from crfkit.features.template import Template
    from crfkit.io.data_file import DataFile
    from crfkit.mining.miner import AssociationMiner
    from crfkit.models.linear.crf import CRF
    from crfkit.models.segments.semi_crf import SemiCRF
    from crfkit.selection.base import BaseSelector

# What makes attributes of columns: a template, features, or what a model keeps of them.
Maker: TypeAlias = "Template | Features | Extraction"
Default: TypeAlias = "Callable[[Columns, argparse.Namespace], Maker]"

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_LONG = 500  # positions; a longer sequence hints at missing separators


class Job(NamedTuple):
    """An estimator and the data to train it on."""

    estimator: Any
    data: Data
    dev: Data | None
    fit: Callable[..., Any]  # takes x, y, weights, x and y of the held-out data, checkpoint=, and groups=
    hint: str = ""  # how to use the unfinished model {} after Ctrl-C


@dataclass(frozen=True)
class Data:
    """Labelled sequences in the form that ``CRF.fit`` takes."""

    x: Any
    y: Any  # lists of labels; None: x is blocks, which hold them
    weights: Any  # [N], or None
    record: dict[str, Any] | None  # for tables: number of columns, and index of the label column
    tables: tuple[Columns, ...] = ()  # cells without the labels, one table per file
    groups: list[str] | None = None  # [N] what --group-column says
    words: tuple[str, str] = ("sequences", "tokens")  # what y has, for messages

    @property
    def n_sequences(self) -> int:
        return int(self.x.sequences.n_sequences) if self.y is None else len(self.y)

    @property
    def n_tokens(self) -> int:
        return int(self.x.sequences.n_positions) if self.y is None else sum(map(len, self.y))

    @property
    def n_labels(self) -> int:
        return len(self.x.classes if self.y is None else {label for labels in self.y for label in labels})

    def close(self) -> None:
        """Release what training needed."""

    def __str__(self) -> str:
        return f"{self.n_sequences:,} {self.words[0]}, {self.n_tokens:,} {self.words[1]}"


@overload
def read_data(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    maker: Template | None,
    estimator: CRF | SemiCRF | BaseSelector | AssociationMiner,
) -> tuple[Data, Template | None]: ...
@overload
def read_data(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    maker: Maker | None,
    estimator: CRF | SemiCRF | BaseSelector | AssociationMiner,
    default: Default | None,
) -> tuple[Data, Maker | None]: ...
def read_data(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    maker: Maker | None,
    estimator: CRF | SemiCRF | BaseSelector | AssociationMiner,
    default: Default | None = None,
) -> tuple[Data, Maker | None]:
    """Read the data of all files; return it with what makes attributes of its columns.

    ``default`` makes that from the columns if none is given; the default is a template.
    """
    parts: list[Data] = []
    for path in paths:
        with open_data(path, arguments, tables=maker is not None) as file:
            if file.format.is_table:
                part, maker = _read_table(file, arguments, maker, estimator, default or window_template)
            else:
                part = _read_items(file, arguments, maker)
        parts.append(part)
        check_alike(parts[0], part, path)
    return _together(parts, maker, estimator), maker


def read_dev(
    data: Data,
    arguments: argparse.Namespace,
    maker: Maker | None,
    estimator: CRF | SemiCRF | BaseSelector | AssociationMiner,
) -> Data | None:
    """Read the held-out data that goes with the training data, if an option names some."""
    if arguments.dev is None:
        return None
    dev, _ = read_data([arguments.dev], arguments, maker, estimator, None)
    check_alike(data, dev, arguments.dev)
    return dev


def read_template(arguments: argparse.Namespace) -> Template | None:
    """Read the template that ``--template`` names, if it is given."""
    if arguments.template is None:
        return None
    from crfkit.features.template import Template

    return Template.read(arguments.template)


def check_alike(first: Data, other: Data, path: str) -> None:
    """Raise an error if two files do not have the same kind of data and the same columns."""
    if (first.record is None) != (other.record is None):
        raise InputError(f"{path}: all files must have columns, or all must have attributes")
    if first.record is None or other.record is None or first.record == other.record:
        return
    if first.record.get("names") != other.record.get("names"):
        raise InputError(
            f"{path}: its columns are {', '.join(other.record.get('names', ()))}, but the other data has "
            f"{', '.join(first.record.get('names', ()))}"
        )
    if first.record["columns"] != other.record["columns"]:
        raise InputError(
            f"{path}: its rows have {other.record['columns']} columns, but the other data has "
            f"{first.record['columns']}"
        )


class Table(NamedTuple):
    """A table, and what its columns are."""

    columns: Columns  # without the groups
    label: int  # the place of the labels
    record: dict[str, Any]  # for the model
    groups: list[str] | None  # of the sequences


def _table(file: DataFile, arguments: argparse.Namespace) -> Table:
    """Read a table."""
    from crfkit.cli.group_column import cut_groups

    whole = columns = file.table()
    if columns.n_positions == 0:
        raise InputError(f"{file.name}: the file is empty")
    label = label_of(file, columns, arguments)
    groups, named = None, getattr(arguments, "group_column", None)
    if named is not None:
        columns, label, groups = cut_groups(columns, label, named)
    if len(columns) == 1 and columns.n_positions > _LONG:
        by_name = "name the column that identifies the sequence with --sequence-column NAME, or "
        warn(
            f"{file.name}: all {columns.n_positions:,} rows are one sequence; "
            f"{by_name if file.format.has_header else ''}separate sequences with empty lines"
        )
    return Table(columns, label, table_record(file, columns, label, whole), groups)


def label_of(file: DataFile, columns: Columns, arguments: argparse.Namespace) -> int:
    """Return the place of the labels, and say what the columns are."""
    from crfkit.cli.column_roles import column_title, label_place

    label = label_place(columns, arguments.label_column)
    if not arguments.quiet:
        say(file, f", {columns.n_columns} per row, labels in column {column_title(columns, label)}")
    return label


def table_record(file: DataFile, columns: Columns, label: int, whole: Columns) -> dict[str, Any]:
    """Return the record of a table for the model; ``whole`` is the table as it was read."""
    record: dict[str, Any] = {"columns": columns.n_columns, "label_column": label}
    if hasattr(columns, "names"):
        record["names"] = list(columns.names)
    named = dict(file.format.options)
    if "sequence_column" in named and file.options["sequence_column"] is not None:
        record["sequence_column"] = file.options["sequence_column"]
    if "trained_label" in named:
        record["label_key"] = columns.names[label]  # type: ignore[attr-defined]
    if getattr(whole, "tokenizer", None) is not None:
        record["tokenizer"] = whole.tokenizer  # type: ignore[attr-defined]
    return record


def _read_table(
    file: DataFile,
    arguments: argparse.Namespace,
    maker: Maker | None,
    estimator: CRF | SemiCRF | BaseSelector | AssociationMiner,
    default: Default,
) -> tuple[Data, Maker | None]:
    from crfkit.cli.column_roles import Roles

    columns, label, record, groups = _table(file, arguments)
    seen = Roles(label).for_template(columns)
    if maker is None:
        if hasattr(estimator, "tagger_"):
            raise InputError(
                f"{file.name}: the earlier model has no template, so it needs ready-made attributes "
                f"(--format {names_of(tables=False)}), not columns"
            )
        maker = default(seen, arguments)
    unknown, y = getattr(arguments, "unknown", None), columns.column(label)
    labels = y if unknown is None else [[None if one == unknown else one for one in row] for row in y]
    return Data(seen, labels, None, record, (seen,), groups), maker


def word_features(columns: Columns, arguments: argparse.Namespace) -> Features:
    """Return the default features of a table without its labels; say which columns count as words."""
    from crfkit.cli.column_roles import column_title
    from crfkit.features.default_features import default_features, word_columns

    places = range(columns.n_columns)
    values = [columns.codes(k)[0] for k in places]
    numeric = [k for k in places if all(map(_NUMBER.fullmatch, values[k]))]
    words = word_columns([len(different) for different in values], numeric)
    classes = [k for k in places if k not in words]
    if not arguments.quiet:
        titles = [column_title(columns, k) for k in places]
        listed = [", ".join(titles[k] for k in some) for some in (words, classes)]
        also = f", classes in {listed[1]}" if classes else ""
        note(
            f"default features: words in column {listed[0]}{also} (the first column of text, and others with "
            "half as many values, are words; crfkit inspect MODEL --template shows the features)"
        )
    names = getattr(columns, "names", None)
    return default_features(words, classes, None if names is None else dict(enumerate(names)))


def window_template(columns: Columns, arguments: argparse.Namespace) -> Template:
    """Return the default template of a table without its labels, for commands that need one."""
    from crfkit.cli.default_template import default_template
    from crfkit.features.template import Template

    text = default_template(columns.n_columns)
    if not arguments.quiet:
        n_lines = text.count("\n") - 1
        seen = " (crfkit inspect MODEL --template shows them)" if hasattr(arguments, "model") else ""
        note(f"default template: {n_lines} lines for a window of two rows on either side, and B{seen}")
    return Template.parse(text, "crf++", "the default template")


def _read_items(file: DataFile, arguments: argparse.Namespace, maker: Maker | None) -> Data:
    from crfkit.data.sequences import Encoded
    from crfkit.data.vocabulary import Vocabulary

    if maker is not None:
        raise InputError(
            f"{file.name}: {file.format.name} data already has attributes: leave out the template; "
            f"if the data has columns, use --format {USUAL_TABLE.name}"
        )
    for option in ("label_column", "group_column"):
        if getattr(arguments, option, None) is not None:
            table = names_of(tables=True, last="or")
            raise UsageError(f"--{option.replace('_', '-')} needs a table: {table}")
    vocabulary = Vocabulary()
    examples = file.examples(vocabulary, grow=True)
    if not arguments.quiet:
        say(file, "")
    return Data(Encoded(examples.sequences, vocabulary), examples.labels, examples.weights, None)


def _together(
    parts: list[Data], maker: Maker | None, estimator: CRF | SemiCRF | BaseSelector | AssociationMiner
) -> Data:
    """Combine several files, with one vocabulary for all."""
    if len(parts) == 1:
        return parts[0]
    from crfkit.features.template import Template

    needs_rows = getattr(estimator, "segment_features", None) is not None
    if maker is not None and (needs_rows or not isinstance(maker, Template)):
        return joined_tables(parts)
    import numpy as np

    from crfkit.data.sequences import Encoded, Sequences
    from crfkit.data.vocabulary import Vocabulary
    from crfkit.features.inputs import encode_input

    vocabulary = Vocabulary()
    encoded = [encode_input(part.x, vocabulary, maker, grow=True, n_jobs=estimator.n_jobs) for part in parts]
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate(
            [np.ones(len(part.y)) if part.weights is None else part.weights for part in parts]
        )
    y = [labels for part in parts for labels in part.y]
    x = Encoded(Sequences.end_to_end(encoded, len(vocabulary)), vocabulary)
    tables = tuple(table for part in parts for table in part.tables)
    return Data(x, y, weights, parts[0].record, tables, _all_groups(parts))


def read_cells(paths: Sequence[str], arguments: argparse.Namespace, model: str) -> Data:
    """Read the cells of all files and combine them, for a model that takes tables."""
    parts: list[Data] = []
    for path in paths:
        with open_data(path, arguments, tables=True) as file:
            if not file.format.is_table:
                raise InputError(
                    f"{file.name}: {file.format.name} data has sparse attributes, but {model} "
                    f"need{'' if model.endswith('s') else 's'} columns (--format {names_of(tables=True)})"
                )
            parts.append(cells_of(file, arguments))
        check_alike(parts[0], parts[-1], path)
    return parts[0] if len(parts) == 1 else joined_tables(parts)


def cells_of(file: DataFile, arguments: argparse.Namespace) -> Data:
    """Read the cells of a table."""
    from crfkit.cli.column_roles import Roles

    columns, label, record, groups = _table(file, arguments)
    return Data(Roles(label).for_template(columns), columns.column(label), None, record, groups=groups)


def joined_tables(parts: list[Data]) -> Data:
    """Combine the tables of several files."""
    from crfkit.data.columns import Columns
    from crfkit.io.csv_data import NamedColumns

    rows = Columns.from_rows([sentence for part in parts for sentence in part.x])
    names = getattr(parts[0].x, "names", None)
    if names is not None:
        rows = NamedColumns.of(rows, names)
    tables = tuple(table for part in parts for table in part.tables)
    y = [labels for part in parts for labels in part.y]
    return Data(rows, y, None, parts[0].record, tables, _all_groups(parts))


def _all_groups(parts: list[Data]) -> list[str] | None:
    groups = [group for part in parts for group in part.groups or ()]
    return groups or None
