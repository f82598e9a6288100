"""Opening data files as the options describe them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli.messages import UsageError, note
from crfkit.io.formats import FORMATS

if TYPE_CHECKING:
    from crfkit.io.data_file import DataFile


def open_data(path: str, arguments: argparse.Namespace, *, tables: bool = False) -> DataFile:
    """Open a file, detect its format, and check the options against it.

    ``tables``: assume a table if neither the option nor the file's name tells the format.
    """
    from crfkit.io.data_file import DataFile

    separator = {"tab": "\t", "\\t": "\t"}.get(arguments.separator, arguments.separator)
    data = DataFile(
        path,
        arguments.format,
        tables=tables,
        separator=separator,
        sequence_column=arguments.sequence_column,
    )
    if not data.format.has_header:
        with_header = " and ".join(format.name for format in FORMATS.values() if format.has_header)
        if separator not in (None, "\t"):
            data.close()
            raise UsageError(f"--separator must be 'tab' for columns; only {with_header} allows others")
        if arguments.sequence_column is not None:
            data.close()
            raise UsageError(f"--sequence-column needs {with_header}")
    return data


def say(data: DataFile, words: str) -> None:
    """Report the format of the data, followed by more ``words``."""
    note(f"{data.name}: {data.format.name}{data.told}{words}")
