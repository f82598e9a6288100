"""Opening data files as the options describe them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import UsageError, note
from crfkit.io.formats import FORMATS

if TYPE_CHECKING:
    from crfkit.io.data_file import DataFile


def open_data(
    path: str,
    arguments: argparse.Namespace,
    *,
    tables: bool = False,
    record: Mapping[str, Any] | None = None,
    keep_sequence_column: bool = False,
) -> DataFile:
    """Open a file, detect its format, and check the options against it.

    ``tables``: assume a table if neither the option nor the file's name tells the format. ``record``
    describes the training data of a model: its sequence column and the name of its labels are used, unless
    options name others.
    """
    from crfkit.io.data_file import DataFile

    separator = {"tab": "\t", "\\t": "\t"}.get(arguments.separator, arguments.separator)
    label_column = getattr(arguments, "label_column", None)
    sequence_column = arguments.sequence_column or (record or {}).get("sequence_column")
    data = DataFile(
        path,
        arguments.format,
        tables=tables,
        separator=separator,
        sequence_column=None if sequence_column == "none" else sequence_column,
        header=not arguments.no_header,
        keep_sequence_column=keep_sequence_column,
        label_column=None if label_column == "none" else label_column,
        trained_label=(record or {}).get("label_key"),
        snap=arguments.snap,
    )
    if not data.format.has_header:
        with_header = " and ".join(format.name for format in FORMATS.values() if format.has_header)
        if separator not in (None, "\t"):
            data.close()
            raise UsageError(f"--separator must be 'tab' for columns; only {with_header} allows others")
        for option in ("sequence_column", "no_header"):
            if getattr(arguments, option):
                data.close()
                raise UsageError(f"--{option.replace('_', '-')} needs {with_header}")
    return data


def say(data: DataFile, words: str) -> None:
    """Report the format of the data, followed by more ``words``."""
    note(f"{data.name}: {data.format.name}{data.told}{words}")
