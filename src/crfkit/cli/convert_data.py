"""Converting data from one format to another, piece by piece where possible."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crfkit.arrays import IdArray
from crfkit.cli.column_roles import Roles, column_place
from crfkit.cli.data_file import open_data, say
from crfkit.cli.messages import UsageError, note
from crfkit.data.columns import Columns
from crfkit.data.examples import Examples
from crfkit.data.label_codes import LabelCodes
from crfkit.data.relabel import convert_labels, detect_scheme, illegal_places, repair_labels
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.csv_data import NamedColumns
from crfkit.io.formats import FORMATS, DataFormat, format_by_name

if TYPE_CHECKING:
    from crfkit.features.template import Template
    from crfkit.io.data_file import DataFile

_POSITIONS = 1 << 16  # per piece


def convert_data(arguments: argparse.Namespace) -> None:
    """Read data in one format and write it in the other."""
    target = format_by_name(arguments.output) if arguments.to is None else FORMATS[arguments.to]
    if target is None:
        raise UsageError(f"the name {arguments.output} does not tell the format: name it with --to")
    schemes = _schemes(arguments.labels)
    with open_data(arguments.input, arguments) as data:
        if not arguments.quiet:
            say(data, f" → {target.name}")
        if data.format.is_table:
            pieces = iter([data.table()]) if schemes else data.tables(_POSITIONS)
            tables = (_relabelled_table(table, arguments, schemes) for table in pieces if table.n_positions)
            if target.is_table:
                _refuse(arguments, "template", f"{target.name} has cells, not attributes")
                if target.has_header:
                    tables = (_named(table, arguments) for table in tables)
                    target.write(arguments.output, tables, spreadsheet_safe=arguments.spreadsheet_safe)
                else:
                    target.write(arguments.output, tables)
            else:
                _write_attributes(arguments, target, tables)
            return
        if target.is_table:
            raise InputError(
                f"{data.name}: {data.format.name} data has any number of attributes per position, so it "
                f"cannot become {target.name}, which needs the same columns in each row"
            )
        _refuse(arguments, "template", f"{data.format.name} data has its attributes already")
        _rewrite_items(arguments, data, target, schemes)


def _refuse(arguments: argparse.Namespace, name: str, why: str) -> None:
    if getattr(arguments, name) is not None:
        raise UsageError(f"--{name.replace('_', '-')}: {why}")


def _schemes(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    before, colon, after = text.partition(":")
    if not colon or not before or not after:
        raise UsageError(f"--labels {text}: expected two schemes with : between them, such as IOB2:IOBES")
    return before, after


def _relabelled(
    codes: LabelCodes, schemes: tuple[str, str], repair: str | None, source: str, lines: Sequence[int] | None
) -> list[list[str]]:
    """Return the labels in the other scheme; repair illegal labels, or raise an error with their line."""
    before, after = schemes
    if before == "auto":
        before = detect_scheme(codes)
        note(f"{source}: labels of the scheme {before}")
    if repair is not None:
        mended = repair_labels(codes, before, how=repair)  # type: ignore[arg-type]  # argparse knows the choices
        return convert_labels(mended, before, after)
    wrong = illegal_places(codes, before)
    if wrong:
        i, t = wrong[0]
        where = source if lines is None else f"{source}:{lines[int(codes.offsets[i]) + t]}"
        raise InputError(
            f"{where}: the label {codes[i][t]!r} is not legal here in {before} (one of {len(wrong):,} such "
            "places); use --repair, or name the right scheme"
        )
    return convert_labels(codes, before, after)


# ---- tables


def _label_place(arguments: argparse.Namespace, table: Columns) -> int | None:
    if arguments.label_column == "none":
        return None
    if arguments.label_column is None:
        return table.n_columns - 1
    return column_place(table, arguments.label_column, "--label-column")


def _relabelled_table(
    table: Columns, arguments: argparse.Namespace, schemes: tuple[str, str] | None
) -> Columns:
    """Return the table with its labels converted to the other scheme, if one is given."""
    if schemes is None:
        return table
    label = _label_place(arguments, table)
    if label is None:
        raise UsageError("--labels needs labels: leave out --label-column none")
    codes = LabelCodes(*table.codes(label), table.offsets)
    labels = _relabelled(codes, schemes, arguments.repair, table.source, table.lines.tolist())
    cells = Vocabulary(table.cells.strings())
    ids = table.ids.copy()
    ids[:, label] = cells.add([each for sentence in labels for each in sentence])
    return replace(table, cells=cells, ids=ids)


def _named(table: Columns, arguments: argparse.Namespace) -> Columns:
    """Return the table with names for its columns."""
    if isinstance(table, NamedColumns):
        return table
    label = _label_place(arguments, table)
    names = tuple("label" if k == label else f"column{k}" for k in range(table.n_columns))
    return NamedColumns.of(table, names)


# ---- attributes


def _write_attributes(arguments: argparse.Namespace, target: DataFormat, tables: Iterable[Columns]) -> None:
    template = _template(arguments, target)
    vocabulary = Vocabulary()

    def pieces() -> Iterator[Examples]:
        for table in tables:
            label = _label_place(arguments, table)
            names: list[str] = []
            ids: IdArray = np.full(table.n_positions, -1, np.int32)
            if label is not None:
                names, ids = table.codes(label)
            x = template.encode(Roles(label).for_template(table), vocabulary, grow=True)
            yield Examples(x, names, ids, None)

    target.write(arguments.output, pieces(), vocabulary=vocabulary)


def _template(arguments: argparse.Namespace, target: DataFormat) -> Template:
    from crfkit.features.template import Template

    if arguments.template is None:
        raise UsageError(
            f"converting columns to {target.name} needs a template: give one with --template ('crfkit "
            "inspect MODEL --template' shows the default template of 'crfkit train')"
        )
    template = Template.read(arguments.template)
    if template.edge_attributes:
        raise InputError(
            f"{arguments.template}: its lines {', '.join(template.edge_attributes)} with macros score pairs "
            f"of labels, which {target.name} data cannot express; remove them, or train on the columns"
        )
    return template


def _rewrite_items(
    arguments: argparse.Namespace, data: DataFile, target: DataFormat, schemes: tuple[str, str] | None
) -> None:
    vocabulary = Vocabulary()
    if arguments.label_column not in (None, "none"):
        raise UsageError("--label-column K needs columns: attribute files have a fixed place for labels")

    def pieces() -> Iterator[Examples]:
        for piece in data.example_pieces(
            vocabulary,
            grow=True,
            labelled=arguments.label_column != "none",
            positions=sys.maxsize if schemes else _POSITIONS,
        ):
            if schemes is None:
                yield piece
                continue
            if (piece.ids < 0).any():
                raise InputError(f"{data.name}: --labels needs a label at every position")
            codes = LabelCodes(piece.names, piece.ids, piece.sequences.offsets)
            new = LabelCodes.of(_relabelled(codes, schemes, arguments.repair, data.name, None))
            ids = new.ids.astype(np.int32)
            yield Examples(piece.sequences, [str(name) for name in new.names], ids, piece.weights)

    target.write(arguments.output, pieces(), vocabulary=vocabulary)
