"""The lines of a text file, decoded and numbered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crfkit.exceptions import InputError


def text_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1; a byte-order mark at the start is dropped.

    What is not UTF-8, or has a NUL, raises an ``InputError`` with the file's ``name`` and the line.
    """
    for number, raw in enumerate(lines, 1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}:{number}: not UTF-8 text ({error.reason}); convert the file to UTF-8"
            ) from error
        if "\0" in text:
            raise InputError(f"{name}:{number}: a NUL character; convert the file to UTF-8 text")
        yield number, text
