"""A data file of any format, opened once: its format is detected, then it is read."""

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
    """One input file and its format, which ``auto`` detects. A context manager."""

    format: DataFormat
    told: str  # how the format was detected, for messages; "" if it was given

    def __init__(
        self,
        path: str,
        format: str = "auto",
        *,
        tables: bool = False,
        **options: Any,
    ) -> None:
        """Open a path, or standard input for ``-``.

        With ``tables``, the file is a table if neither ``format`` nor its name determines the format.
        ``options`` are passed to the formats that have them (see ``DataFormat.options``).
        """
        self.name = "<stdin>" if path == "-" else path
        self.options = options
        self._own = path != "-"
        # A large buffer: its beginning is read to detect the format, and again by the parser.
        self.file: Any = (
            open(path, "rb", buffering=HEAD) if self._own else sys.stdin.buffer  # noqa: SIM115 (closed below)
        )
        try:
            model = binary_model_format(self._head()[:64])
            if model is not None:
                raise InputError(f"{self.name}: expected data, but this is a model ({model})")
            self.format, self.told = self._format_of(path, format, tables)
        except BaseException:
            self.close()
            raise

    def _format_of(self, path: str, format: str, tables: bool) -> tuple[DataFormat, str]:
        """Return the format, and how it was detected, for messages."""
        if format != "auto":
            return FORMATS[format], ""
        named = format_by_name(path)
        if named is not None:
            return named, " (told by its name)"
        separator = self.options.get("separator")
        if separator is not None:
            return FORMATS["csv"] if separator not in (" ", "\t", "tab") else USUAL_TABLE, ""
        found = format_by_content(self._head(), tables=tables)
        return found, "" if tables and found is USUAL_TABLE else " (told by its content)"

    def _head(self) -> bytes:
        """Return the first bytes, unpacked; they can be read again."""
        head: bytes = self.file.peek(HEAD)[:HEAD]
        if head[:2] == b"\x1f\x8b":
            with contextlib.suppress(zlib.error):  # the parser reports the error
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
        """Whether the input is interactive: a terminal or a pipe."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return not stat.S_ISREG(os.fstat(self.file.fileno()).st_mode)
        return False

    def table(self) -> Columns:
        """Return all rows of a table."""
        columns: Columns = self.format.read(self.file, **self._settings())
        return columns

    def tables(self, positions: int, prompt: bool = False) -> Iterator[Columns]:
        """Yield the rows of a table in pieces; with ``prompt``, as soon as a sequence is complete."""
        pieces: Iterator[Columns] = self.format.stream(
            self.file, **self._settings(), positions=positions, prompt=prompt
        )
        return pieces

    def _settings(self) -> dict[str, Any]:
        return {own: self.options[option] for option, own in self.format.options if option in self.options}

    def examples(self, vocabulary: Vocabulary, *, grow: bool) -> Examples:
        """Return all sequences of attributes."""
        examples: Examples = self.format.read(self.file, vocabulary, grow=grow)
        return examples

    def example_pieces(
        self, vocabulary: Vocabulary, *, grow: bool, labelled: bool, positions: int, prompt: bool = False
    ) -> Iterator[Examples]:
        """Yield the sequences of attributes in pieces; labels may be missing if the format permits it."""
        labels = "optional" if labelled and self.format.optional_labels else labelled
        pieces: Iterator[Examples] = self.format.stream(
            self.file, vocabulary, grow=grow, labels=labels, positions=positions, prompt=prompt
        )
        return pieces
