"""Opening files to read: paths, ``-`` for standard input, file objects; gzip is unpacked."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from abc import abstractmethod
from typing import IO, Any, TypeAlias, cast

from crfkit.exceptions import InputError

Source: TypeAlias = "str | os.PathLike[str] | IO[bytes]"

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 16  # bytes
# A gzip file may unpack to this many bytes, or to this many times its own size. Text packs to a tenth or so.
_UNPACKED, _GROWTH = 1 << 28, 100


def source_name(source: Source) -> str:
    """Return the name of a source in messages: its path, ``<stdin>``, or the name of the file object."""
    if isinstance(source, (str, os.PathLike)):
        name = "<stdin>" if source == "-" else os.fspath(source)
    else:
        name = str(getattr(source, "name", "<stream>"))
    # A path may hold bytes that are not text; they are shown as escapes.
    return name.encode("utf-8", "backslashreplace").decode()


def open_input(source: Source) -> io.BufferedReader:
    """Open a path, ``-`` (standard input) or a binary file object for reading bytes.

    Gzip is recognised by its first bytes and unpacked; if it is damaged or cut off, reading raises
    ``InputError``. Closing the result closes a file opened here, but not the caller's file object or standard
    input. ``read1`` returns the bytes available so far, without waiting for more.
    """
    name = source_name(source)
    if isinstance(source, (str, os.PathLike)) and source != "-":
        with contextlib.ExitStack() as undo:
            file = undo.enter_context(open(source, "rb"))
            opened = _unpacked(file, name)
            undo.pop_all()  # the caller closes it
            return opened
    stream = sys.stdin.buffer if isinstance(source, (str, os.PathLike)) else source
    if isinstance(stream, io.TextIOBase):
        raise InputError(f"{name}: the file object must be opened in binary mode ('rb'), got one of text")
    if not hasattr(stream, "read"):
        raise InputError(f"expected a path, '-' or a binary file object, got {type(source).__name__}")
    return _unpacked(io.BufferedReader(_Guest(stream, name), _PIECE), name)


def _unpacked(file: io.BufferedReader, name: str) -> io.BufferedReader:
    """Return the file, or its unpacked content."""
    # Wait for the second byte only if the first is that of gzip.
    first = file.peek(1)[:2]
    if first == _GZIP_MAGIC[:1]:
        file = _put_back(file.read(2), file)
        first = file.peek(2)[:2]
    if first != _GZIP_MAGIC:
        return file
    return io.BufferedReader(_Unzipped(file, name), _PIECE)


def _put_back(read: bytes, file: io.BufferedReader) -> io.BufferedReader:
    return io.BufferedReader(_Prefixed(read, file), _PIECE)


class _Raw(io.RawIOBase):
    """A readable stream made from a function that returns up to n bytes."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        piece = self.some(len(view))
        view[: len(piece)] = piece
        return len(piece)

    @abstractmethod
    def some(self, n: int) -> bytes:
        """Return up to n bytes; none at the end."""


class _Guest(_Raw):
    """The caller's file object, which is never closed."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._read = getattr(file, "read1", file.read)
        self._name = name

    def some(self, n: int) -> bytes:
        piece = self._read(n)
        if not isinstance(piece, (bytes, bytearray)):
            raise InputError(
                f"{self._name}: the file object must be opened in binary mode ('rb'), "
                f"but read() gave {type(piece).__name__}"
            )
        return bytes(piece)


class _Prefixed(_Raw):
    """Bytes read already, then the rest of the file."""

    def __init__(self, prefix: bytes, file: io.BufferedReader) -> None:
        self._prefix = prefix
        self._file = file

    def some(self, n: int) -> bytes:
        if self._prefix:
            piece, self._prefix = self._prefix[:n], self._prefix[n:]
            return piece
        return self._file.read1(n)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Counted:
    """A file that counts the bytes that were read."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.n_read = 0

    def read(self, n: int = -1) -> bytes:
        piece = self._file.read(n)
        self.n_read += len(piece)
        return piece


class _Unzipped(_Raw):
    """The content of a gzip file; damage and unpacking without bound raise ``InputError``."""

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        self._file = file
        self._name = name
        self._packed = _Counted(file)
        self._unpacked = 0  # bytes so far
        self._unzip = gzip.GzipFile(fileobj=cast("IO[bytes]", self._packed), mode="rb")

    def some(self, n: int) -> bytes:
        try:
            piece = self._unzip.read1(n)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self._name}: damaged or cut-off gzip file ({error})") from error
        self._unpacked += len(piece)
        if self._unpacked > max(_UNPACKED, _GROWTH * self._packed.n_read):
            raise InputError(
                f"{self._name}: this gzip file unpacks to more than {_GROWTH} times its size (so far "
                f"{self._unpacked} bytes from {self._packed.n_read}); if that is right, unpack it with gunzip"
            )
        return piece

    def close(self) -> None:
        self._file.close()
        super().close()
