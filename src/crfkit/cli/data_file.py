"""Data files as commands get them: a path or ``-``, opened once, looked at before they are read."""

from __future__ import annotations

import argparse
import contextlib
import sys
import zlib
from typing import TYPE_CHECKING, Any

from crfkit.cli.formats import HEAD, format_by_content, format_by_name
from crfkit.cli.loading import kind_of_model
from crfkit.cli.messages import UsageError, note
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crfkit.data.columns import Columns
    from crfkit.data.examples import Examples
    from crfkit.data.vocabulary import Vocabulary


class DataFile:
    """One input file and its format; ``auto`` formats are found out here."""

    def __init__(
        self, path: str, format: str, options: argparse.Namespace, likely: str | None = None
    ) -> None:
        """``likely``: what to take where neither the option nor the file's name says."""
        self.name = "<stdin>" if path == "-" else path
        self._separator = {"tab": "\t", "\\t": "\t"}.get(options.separator, options.separator)
        self._sequence_column = options.sequence_column
        self._own = path != "-"
        # A large buffer: its beginning is looked at, and then read again by those who parse it.
        self.file: Any = (
            open(path, "rb", buffering=HEAD) if self._own else sys.stdin.buffer  # noqa: SIM115 (closed below)
        )
        try:
            self._look(path, format, likely)
        except BaseException:
            self.__exit__()
            raise

    def _look(self, path: str, format: str, likely: str | None) -> None:
        """Find out the format, and whether the options go with it."""
        kind = kind_of_model(self.head()[:64])
        if kind is not None:
            raise InputError(f"{self.name}: expected data, and this is a model ({kind})")
        self.format, self._why = _format_of(self, path, format, likely)
        if self.format != "csv" and self._separator not in (None, "\t"):
            raise UsageError("--separator is 'tab' for columns, and any character for csv alone")
        if self.format != "csv" and self._sequence_column is not None:
            raise UsageError("--sequence-column goes with csv")

    def __enter__(self) -> DataFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own:
            self.file.close()

    @property
    def is_table(self) -> bool:
        """Whether rows have cells, which a template looks at; else they have attributes."""
        return self.format in ("columns", "csv")

    @property
    def separator(self) -> str | None:
        """What stands between cells; None: the format's own."""
        separator: str | None = self._separator
        return separator

    @property
    def waits(self) -> bool:
        """Whether somebody may be waiting at the other end, as at a terminal or a pipe."""
        import os
        import stat

        with contextlib.suppress(OSError, ValueError, AttributeError):
            return not stat.S_ISREG(os.fstat(self.file.fileno()).st_mode)
        return False

    def say(self, words: str) -> None:
        """Tell which format was taken, and what of it."""
        note(f"{self.name}: {self.format}{self._why}{words}")

    def table(self) -> Columns:
        """All rows."""
        if self.format == "csv":
            from crfkit.io.csv_data import read_csv

            return read_csv(self.file, sequence_column=self._sequence_column, delimiter=self._separator)
        from crfkit.io.columns import read_columns

        return read_columns(self.file, separator=self._separator)

    def tables(self, positions: int, prompt: bool) -> Iterator[Columns]:
        """The rows in pieces."""
        if self.format == "csv":
            from crfkit.io.csv_data import stream_csv

            return stream_csv(
                self.file,
                sequence_column=self._sequence_column,
                delimiter=self._separator,
                positions=1 if prompt else positions,
            )
        from crfkit.io.columns import stream_columns

        return stream_columns(self.file, separator=self._separator, positions=positions, prompt=prompt)

    def items(self, vocabulary: Vocabulary, *, grow: bool) -> Examples:
        """All sequences of attributes."""
        if self.format == "mallet":
            from crfkit.io.mallet_data import read_mallet

            return read_mallet(self.file, vocabulary, grow=grow)
        from crfkit.io.crfsuite_data import read_crfsuite

        return read_crfsuite(self.file, vocabulary, grow=grow)

    def item_pieces(
        self, vocabulary: Vocabulary, *, grow: bool, labelled: bool, positions: int, prompt: bool
    ) -> Iterator[Examples]:
        """The sequences of attributes in pieces; labels may be missing in a crfsuite file."""
        if self.format == "mallet":
            from crfkit.io.mallet_data import stream_mallet

            return stream_mallet(
                self.file, vocabulary, grow=grow, labels=labelled, positions=positions, prompt=prompt
            )
        from crfkit.io.crfsuite_data import stream_crfsuite

        return stream_crfsuite(
            self.file,
            vocabulary,
            grow=grow,
            labels="optional" if labelled else False,
            positions=positions,
            prompt=prompt,
        )

    def head(self) -> bytes:
        """The first bytes, unpacked; they can be read again."""
        head: bytes = self.file.peek(HEAD)[:HEAD]
        if head[:2] == b"\x1f\x8b":
            with contextlib.suppress(zlib.error):  # the parser will say what is wrong with it
                return zlib.decompressobj(31).decompress(head, HEAD)
        return head


def _format_of(file: DataFile, path: str, format: str, likely: str | None) -> tuple[str, str]:
    """The format of a file, and in words what told it."""
    if format != "auto":
        return format, ""
    named = format_by_name(path)
    if named is None and file.separator is not None:
        return "columns", ""
    if named is not None:
        return named, " (told by its name)"
    return (likely, "") if likely is not None else (format_by_content(file.head()), " (told by its content)")
