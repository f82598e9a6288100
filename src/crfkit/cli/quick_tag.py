"""``crfkit tag`` for the usual case, without NumPy: a column file, and no options that need more.

Importing NumPy takes longer than tagging a thousand sentences. Whatever is unusual (another format, an
option, a fault in the file) is left to the general path, which also has the words for errors.
"""

from __future__ import annotations

import argparse
import json
import os
from types import SimpleNamespace

from crfkit.cli.column_roles import tagging_roles
from crfkit.cli.data_file import open_data, say
from crfkit.cli.loading import data_record
from crfkit.cli.messages import warn
from crfkit.exceptions import CRFKitError
from crfkit.io.formats import USUAL_TABLE
from crfkit.io.writing import open_output
from crfkit.threads import thread_count

_LARGEST = 64 << 20  # bytes; larger files are tagged piece by piece
# Options that make no difference to which path is taken.
_ANY = {"command", "run", "earlier", "model", "input", "output", "quiet", "jobs", "blanks"}


def tag_quickly(arguments: argparse.Namespace, defaults: argparse.Namespace) -> bool:
    """Tag and return True, or do nothing and return False if this is not the usual case."""
    unusual = {name for name, value in vars(arguments).items() if value != getattr(defaults, name, None)}
    if unusual - _ANY or "-" in (arguments.model, arguments.input):
        return False
    try:
        from crfkit.tagger import open_native

        tagger = open_native(arguments.model)
        needed = tagger.n_columns
        if needed is None or not os.path.isfile(arguments.input):
            return False
        with open_data(arguments.input, arguments, tables=True) as data:
            if data.format is not USUAL_TABLE or os.path.getsize(arguments.input) > _LARGEST:
                return False
            content = data.file.read()
        if content.startswith((b"\x1f\x8b", b"\xef\xbb\xbf")):
            return False
        found = tagger.read_columns(content)
        if found is None or found.n_positions == 0:
            return False
        table = SimpleNamespace(
            ids=SimpleNamespace(shape=(found.n_positions, found.n_columns)),
            n_columns=found.n_columns,
            source=data.name,
        )
        record = data_record(_header(arguments.model)) if tagger.format == "crfkit" else None
        roles = tagging_roles(table, needed, record, None, None)  # type: ignore[arg-type]
    except (CRFKitError, OSError):
        return False  # the general path meets it again, and reports it
    if not arguments.quiet:
        labels = "without labels" if roles.label is None else f"true labels in column {roles.label}"
        say(data, f", {found.n_columns} per row, {labels}")
    label = -1 if roles.label is None else roles.label
    text, knows_some = tagger.tag_columns(
        found, label, " " if arguments.blanks else "\t", thread_count(arguments.jobs)
    )
    with open_output(arguments.output) as file:
        file.write(text)
    if not knows_some:
        warn(f"{data.name}: the model knows none of its attributes; was it trained on data of this kind?")
    return True


def _header(path: str) -> dict[str, object]:
    """Return the header of a model file that has been checked."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(64)[16:24], "little")
        header: dict[str, object] = json.loads(file.read(size))["header"]
    return header
