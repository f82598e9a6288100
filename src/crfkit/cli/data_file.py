"""Data files as the options describe them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli.messages import UsageError, note
from crfkit.io.formats import FORMATS

if TYPE_CHECKING:
    from crfkit.io.data_file import DataFile


def open_data(path: str, arguments: argparse.Namespace, *, tables: bool = False) -> DataFile:
    """The file, its format found out and the options checked against it.

    ``tables``: it is taken for a table where neither the option nor the file's name says what it is.
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
            raise UsageError(f"--separator is 'tab' for columns, and any character for {with_header} alone")
        if arguments.sequence_column is not None:
            data.close()
            raise UsageError(f"--sequence-column goes with {with_header}")
    return data


def say(data: DataFile, words: str) -> None:
    """Tell which format was taken, and what of it."""
    note(f"{data.name}: {data.format.name}{data.told}{words}")
