"""A data file of any format: opened once, looked at, then read."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import zlib
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import InputError
from crfkit.io.formats import FORMATS, HEAD, USUAL_TABLE, DataFormat, format_by_content, format_by_name
from crfkit.io.model_formats import binary_model_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crfkit.data.columns import Columns
    from crfkit.data.examples import Examples
    from crfkit.data.vocabulary import Vocabulary


class DataFile:
    """One input file and its format; ``auto`` formats are found out here. A context manager."""

    format: DataFormat
    told: str  # in words, what told the format; "" where somebody has said it

    def __init__(
        self,
        path: str,
        format: str = "auto",
        *,
        tables: bool = False,
        separator: str | None = None,
        sequence_column: str | None = None,
    ) -> None:
        """Open a path, or standard input for ``-``.

        With ``tables``, a file of which neither ``format`` nor its name says the format is taken for a table.
        ``separator`` and ``sequence_column`` are for the formats that can be told so.
        """
        self.name = "<stdin>" if path == "-" else path
        self.options = {"separator": separator, "sequence_column": sequence_column}
        self._own = path != "-"
        # A large buffer: its beginning is looked at, and then read again by those who parse it.
        self.file: Any = (
            open(path, "rb", buffering=HEAD) if self._own else sys.stdin.buffer  # noqa: SIM115 (closed below)
        )
        try:
            model = binary_model_format(self._head()[:64])
            if model is not None:
                raise InputError(f"{self.name}: expected data, and this is a model ({model})")
            self.format, self.told = self._format_of(path, format, tables)
        except BaseException:
            self.close()
            raise

    def _format_of(self, path: str, format: str, tables: bool) -> tuple[DataFormat, str]:
        """The format, and in words what told it."""
        if format != "auto":
            return FORMATS[format], ""
        named = format_by_name(path)
        if named is not None:
            return named, " (told by its name)"
        if tables or self.options["separator"] is not None:
            return USUAL_TABLE, ""
        return format_by_content(self._head()), " (told by its content)"

    def _head(self) -> bytes:
        """The first bytes, unpacked; they can be read again."""
        head: bytes = self.file.peek(HEAD)[:HEAD]
        if head[:2] == b"\x1f\x8b":
            with contextlib.suppress(zlib.error):  # the parser will say what is wrong with it
                return zlib.decompressobj(31).decompress(head, HEAD)
        return head

    def __enter__(self) -> DataFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if self._own:
            self.file.close()

    @property
    def waits(self) -> bool:
        """Whether somebody may be waiting at the other end, as at a terminal or a pipe."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return not stat.S_ISREG(os.fstat(self.file.fileno()).st_mode)
        return False

    def table(self) -> Columns:
        """All rows of a table."""
        columns: Columns = self.format.read(self.file, **self._settings())
        return columns

    def tables(self, positions: int, prompt: bool = False) -> Iterator[Columns]:
        """The rows of a table in pieces of about so many; with ``prompt``, as soon as a sequence is there."""
        pieces: Iterator[Columns] = self.format.stream(
            self.file, **self._settings(), positions=positions, prompt=prompt
        )
        return pieces

    def _settings(self) -> dict[str, Any]:
        return {own: self.options[option] for option, own in self.format.options}

    def examples(self, vocabulary: Vocabulary, *, grow: bool) -> Examples:
        """All sequences of attributes."""
        examples: Examples = self.format.read(self.file, vocabulary, grow=grow)
        return examples

    def example_pieces(
        self, vocabulary: Vocabulary, *, grow: bool, labelled: bool, positions: int, prompt: bool = False
    ) -> Iterator[Examples]:
        """The sequences of attributes in pieces; labels may be missing where the format can say so."""
        labels = "optional" if labelled and self.format.optional_labels else labelled
        pieces: Iterator[Examples] = self.format.stream(
            self.file, vocabulary, grow=grow, labels=labels, positions=positions, prompt=prompt
        )
        return pieces
