"""Where results go: files that are written whole or not at all, and standard output."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import IO, cast

from crfkit.exceptions import InputError


def check_writable(path: str) -> None:
    """Before the work, not after it: can this file be written?"""
    if path == "-":
        return
    directory = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise InputError(f"{path}: it is a directory; name a file for the result")
    if not os.path.isdir(directory):
        raise InputError(f"{path}: there is no directory {directory}")
    if os.path.isfile(path) or not os.path.exists(path):  # a device or a pipe takes what it is given
        for place in (directory, path):
            if os.path.exists(place) and not os.access(place, os.W_OK):
                raise InputError(f"{path}: {place} cannot be written to")


@contextlib.contextmanager
def open_result(path: str) -> Iterator[IO[bytes]]:
    """The file for results; ``-`` is standard output."""
    from crfkit.io.opening import open_output

    check_writable(path)
    with open_output(path) as file:
        yield cast("IO[bytes]", _Whole(file)) if isinstance(file, io.RawIOBase) else file


class _Whole:
    """A raw stream, which standard output is with ``python -u``, that writes all it is given.

    By itself it may write a part, say so by a number, and leave it to the caller to write the rest.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def write(self, data: bytes) -> int:
        """Write everything."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""
