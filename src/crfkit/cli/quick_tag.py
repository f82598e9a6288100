"""``crfkit tag`` for the usual case, without NumPy: a column file, and no options that need more.

Importing NumPy takes longer than tagging a thousand sentences. Whatever is unusual (another format, an
option, a fault in the file) is left to the general path, which also has the words for errors.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING

from crfkit.cli.column_roles import tagging_roles
from crfkit.cli.data_file import open_data, say
from crfkit.cli.in_order import in_order
from crfkit.cli.loading import data_record
from crfkit.cli.messages import warn
from crfkit.exceptions import CRFKitError
from crfkit.io.column_pieces import parsed_pieces
from crfkit.io.formats import USUAL_TABLE
from crfkit.io.writing import open_output
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from crfkit._native import ColumnTable, Tagger

_POSITIONS = 1 << 16  # in a batch
# Options that make no difference to which path is taken.
_ANY = {"command", "run", "earlier", "model", "input", "output", "quiet", "jobs", "blanks"}


def tag_quickly(arguments: argparse.Namespace, defaults: argparse.Namespace) -> bool:
    """Tag and return True, or do nothing and return False if this is not the usual case."""
    unusual = {name for name, value in vars(arguments).items() if value != getattr(defaults, name, None)}
    if unusual - _ANY or "-" in (arguments.model, arguments.input):
        return False
    with contextlib.ExitStack() as opened:
        try:
            from crfkit._native import ColumnParser  # nothing native is loaded for the help
            from crfkit.tagger import open_native

            tagger = open_native(arguments.model)
            needed = tagger.n_columns
            if needed is None or not os.path.isfile(arguments.input):
                return False
            data = opened.enter_context(open_data(arguments.input, arguments, tables=True))
            if data.format is not USUAL_TABLE:
                return False
            parser = ColumnParser(data.name, False)
            tables = parsed_pieces(parser, parser.take_table, data.file, _POSITIONS)
            first = next(tables, None)
            if first is None:
                return False
            table = SimpleNamespace(
                ids=SimpleNamespace(shape=(first.n_positions, first.n_columns)),
                n_columns=first.n_columns,
                source=data.name,
            )
            record = data_record(_header(arguments.model)) if tagger.format == "crfkit" else None
            roles = tagging_roles(table, needed, record, None, None)  # type: ignore[arg-type]
        except (CRFKitError, OSError):
            return False  # the general path meets it again, and reports it
        if not arguments.quiet:
            labels = "without labels" if roles.label is None else f"true labels in column {roles.label}"
            say(data, f", {first.n_columns} per row, {labels}")
        knows_some = _tag(tagger, chain([first], tables), roles.label, arguments)
    if not knows_some:
        warn(f"{data.name}: the model knows none of its attributes; was it trained on data of this kind?")
    return True


def _tag(
    tagger: Tagger, tables: Iterator[ColumnTable], label: int | None, arguments: argparse.Namespace
) -> bool:
    """Write the labelled tables; return whether the model knows an attribute of the data."""
    separator, knows_some = " " if arguments.blanks else "\t", False

    def tagged(table: ColumnTable, n_threads: int) -> tuple[bytes, bool]:
        return tagger.tag_columns(table, -1 if label is None else label, separator, n_threads)

    with open_output(arguments.output) as file:
        for _, (text, known) in in_order(tagged, tables, thread_count(arguments.jobs)):
            file.write(text)
            knows_some |= known
    return knows_some


def _header(path: str) -> dict[str, object]:
    """Return the header of a model file that has been checked."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(64)[16:24], "little")
        header: dict[str, object] = json.loads(file.read(size))["header"]
    return header
