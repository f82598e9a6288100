"""Data from one format to another, in pieces where nothing needs the whole."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

from crfkit.arrays import IdArray
from crfkit.cli.column_roles import Roles, column_place
from crfkit.cli.data_file import DataFile
from crfkit.cli.formats import format_by_name
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.outputs import open_result
from crfkit.data.columns import Columns
from crfkit.data.examples import Examples
from crfkit.data.label_codes import LabelCodes
from crfkit.data.relabel import convert_labels, detect_scheme, illegal_places, repair_labels
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io.item_text import write_items

if TYPE_CHECKING:
    from crfkit.features.template import Template

_POSITIONS = 1 << 16  # of a piece


def convert_data(arguments: argparse.Namespace) -> None:
    """Read one format and write the other."""
    target: str | None = arguments.to or format_by_name(arguments.output)
    if target is None:
        raise UsageError(f"--to: into which format? The name {arguments.output} does not tell")
    schemes = _schemes(arguments.labels)
    with DataFile(arguments.input, arguments.format, arguments) as data:
        if not arguments.quiet:
            data.say(f" → {target}")
        if data.is_table:
            pieces = iter([data.table()]) if schemes else data.tables(_POSITIONS, False)
            filled = (table for table in pieces if table.n_positions)
            if target in ("columns", "csv"):
                _refuse(arguments, "template", f"{target} has cells, not attributes")
                _write_table(arguments, target, filled, schemes)
            else:
                _write_attributes(arguments, target, filled, schemes)
            return
        if target in ("columns", "csv"):
            raise InputError(
                f"{data.name}: {data.format} data has attributes, any number of them a position; they do not "
                f"make columns, so it cannot become {target}"
            )
        _refuse(arguments, "template", f"{data.format} data has its attributes already")
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
    """The labels in the other scheme; illegal ones are mended, or an error with their line."""
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
            "places); --repair mends them, or the scheme is another"
        )
    return convert_labels(codes, before, after)


def _label_place(arguments: argparse.Namespace, table: Columns) -> int | None:
    if arguments.label_column == "none":
        return None
    if arguments.label_column is None:
        return table.n_columns - 1
    return column_place(table, arguments.label_column, "--label-column")


# ---- tables


def _write_table(
    arguments: argparse.Namespace, target: str, tables: Iterable[Columns], schemes: tuple[str, str] | None
) -> None:
    blanks = False
    with open_result(arguments.output) as file:
        for number, table in enumerate(tables):
            columns = [table.column(k) for k in range(table.n_columns)]
            label = _label_place(arguments, table)
            if schemes is not None:
                if label is None:
                    raise UsageError("--labels: there are none (--label-column none)")
                codes = LabelCodes(*table.codes(label), table.offsets)
                columns[label] = _relabelled(
                    codes, schemes, arguments.repair, table.source, table.lines.tolist()
                )
            if target == "csv":
                _write_csv(file, table, label, columns, header=number == 0)
            else:
                blanks |= _check_cells(table)
                _write_rows(file, columns)
    if blanks:
        warn(f"{arguments.output}: some cells are empty or hold blanks; read it with --separator tab")


def _check_cells(table: Columns) -> bool:
    """Whether single tabs must part the columns; raise where not even these can."""
    cells = table.cells.strings()
    broken = next((k for k, cell in enumerate(cells) if "\t" in cell or "\n" in cell or "\r" in cell), None)
    if broken is not None:
        at = np.flatnonzero((table.ids == broken).any(axis=1))
        if len(at):
            raise InputError(
                f"{table.source}:{table.lines[at[0]]}: the cell {cells[broken]!r} has a tab or a line break, "
                "which columns cannot hold"
            )
    return any(not cell or " " in cell for cell in cells)


def _write_rows(file: IO[bytes], columns: list[list[list[str]]]) -> None:
    text: list[str] = []
    for sentence in zip(*columns, strict=True):
        text += map("\t".join, zip(*sentence, strict=True))
        text.append("")
    file.write(("\n".join(text) + "\n").encode())


def _write_csv(
    file: IO[bytes], table: Columns, label: int | None, columns: list[list[list[str]]], *, header: bool
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if header:
        names = getattr(table, "names", None) or [
            "label" if k == label else f"column{k}" for k in range(table.n_columns)
        ]
        writer.writerow(names)
    for n, sentence in enumerate(zip(*columns, strict=True)):
        if n or not header:
            text.write("\n")  # an empty line parts sequences
        writer.writerows(zip(*sentence, strict=True))
    file.write(text.getvalue().encode())


# ---- attributes


def _write_attributes(
    arguments: argparse.Namespace, target: str, tables: Iterator[Columns], schemes: tuple[str, str] | None
) -> None:
    template = _template(arguments, target)
    vocabulary = Vocabulary()

    def pieces() -> Iterator[Examples]:
        for table in tables:
            label = _label_place(arguments, table)
            names: list[str] = []
            ids: IdArray = np.full(table.n_positions, -1, np.int32)
            if label is not None:
                names, ids = table.codes(label)
            if schemes is not None:
                codes = LabelCodes(names, ids, table.offsets)
                labels = _relabelled(codes, schemes, arguments.repair, table.source, table.lines.tolist())
                names, ids = _coded(labels)
            x = template.encode(Roles(label).for_template(table), vocabulary, grow=True)
            yield Examples(x, names, ids, None)

    _write_items(target, arguments.output, pieces(), vocabulary)


def _template(arguments: argparse.Namespace, target: str) -> Template:
    from crfkit.features.template import Template

    if arguments.template is None:
        raise UsageError(
            f"columns become {target} data through a template: give one with --template (the one that "
            "'crfkit train' makes itself is shown by 'crfkit inspect MODEL --template')"
        )
    template = Template.read(arguments.template)
    if template.edge_attributes:
        raise InputError(
            f"{arguments.template}: its lines {', '.join(template.edge_attributes)} with macros score pairs "
            f"of labels, which {target} data cannot say; take them out, or train on the columns themselves"
        )
    return template


def _rewrite_items(
    arguments: argparse.Namespace, data: DataFile, target: str, schemes: tuple[str, str] | None
) -> None:
    vocabulary = Vocabulary()
    labelled = arguments.label_column != "none"
    if arguments.label_column not in (None, "none"):
        raise UsageError("--label-column: attribute files have their labels in one place, or none")

    def pieces() -> Iterator[Examples]:
        positions = np.iinfo(np.int64).max if schemes else _POSITIONS
        for piece in data.item_pieces(
            vocabulary, grow=True, labelled=labelled, positions=int(positions), prompt=False
        ):
            if schemes is None:
                yield piece
                continue
            if (piece.ids < 0).any():
                raise InputError(f"{data.name}: --labels needs a label at every position")
            codes = LabelCodes(piece.names, piece.ids, piece.sequences.offsets)
            names, ids = _coded(_relabelled(codes, schemes, arguments.repair, data.name, None))
            yield Examples(piece.sequences, names, ids, piece.weights)

    _write_items(target, arguments.output, pieces(), vocabulary)


def _coded(labels: list[list[str]]) -> tuple[list[str], IdArray]:
    codes = LabelCodes.of(labels)
    return [str(name) for name in codes.names], codes.ids.astype(np.int32)


def _write_items(target: str, path: str, pieces: Iterator[Examples], vocabulary: Vocabulary) -> None:
    with open_result(path) as file:
        write_items("mallet" if target == "mallet" else "crfsuite", file, pieces, None, None, vocabulary)
