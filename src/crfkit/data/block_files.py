"""The arrays of a directory of blocks: one plain file each, written in order, and mapped for reading."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native

TYPES: dict[str, np.dtype[Any]] = {
    "offsets": np.dtype("<i8"),  # [N+1]
    "indptr": np.dtype("<i8"),  # [ΣT+1]
    "indices": np.dtype("<i4"),  # [nnz]
    "values": np.dtype("<f8"),  # [nnz]; no file: all ones
    "labels": np.dtype("<i4"),  # [ΣT]
    "allowed": np.dtype("<u1"),  # [ΣT, L]; no file: every label is known
    "weights": np.dtype("<f8"),  # [N]; no file: all ones
}
_ASCENDING = ("offsets", "indptr")
_PIECE = 1 << 22  # numbers that are worked on at once


def array_path(directory: str, name: str) -> str:
    """Return the file of an array."""
    return os.path.join(directory, f"{name}.{TYPES[name].str[1:]}")


class ArrayFile:
    """A file that grows by pieces of an array."""

    def __init__(self, directory: str, name: str) -> None:
        self.name, self.path = name, array_path(directory, name)
        self.size = self._crc32 = 0
        self._dtype = TYPES[name]
        self._file = open(self.path, "wb")  # noqa: SIM115 (closed below)

    def append(self, piece: npt.NDArray[Any]) -> None:
        """Write numbers at the end."""
        piece = np.ascontiguousarray(piece, self._dtype)
        piece.tofile(self._file)
        self.size += piece.size
        self._crc32 = zlib.crc32(piece.data, self._crc32)

    @property
    def record(self) -> dict[str, int]:
        """What the header says of this array: how many numbers it has, and their checksum."""
        return {"size": self.size, "crc32": self._crc32}

    def close(self) -> None:
        """Put everything on the disk."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


def pieces_of(path: str, name: str) -> Iterator[npt.NDArray[Any]]:
    """Yield the numbers in a file, a few million at a time."""
    with open(path, "rb") as file:
        while len(piece := np.fromfile(file, TYPES[name], _PIECE)):
            yield piece


def rewritten(directory: str, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> ArrayFile:
    """Write an array again, changed piece by piece; return its closed file."""
    old = array_path(directory, name)
    os.rename(old, f"{old}.old")
    new = ArrayFile(directory, name)
    for piece in pieces_of(f"{old}.old", name):
        new.append(change(piece))
    new.close()
    os.unlink(f"{old}.old")
    return new


def mapped_array(
    directory: str, name: str, size: int, crc32: int, least: float, most: float
) -> npt.NDArray[Any]:
    """Return an array mapped from its file, which is read once to check size, checksum and range.

    A ValueError says what is wrong.
    """
    path, dtype = array_path(directory, name), TYPES[name]
    found = os.path.getsize(path)
    if found != size * dtype.itemsize:
        wrong = f"has {found:,} bytes, expected {size * dtype.itemsize:,}"
    else:
        wrong = _wrong(path, name, crc32, least, most)
    if wrong:
        raise ValueError(f"{os.path.basename(path)} {wrong}")
    if not _native.MAPS_FILES:
        return np.fromfile(path, dtype)
    return _native.map_file(path).view(dtype)


def _wrong(path: str, name: str, crc32: int, least: float, most: float) -> str:
    """Say what is wrong with the numbers in a file; nothing: an empty string."""
    checksum, before = 0, least
    for piece in pieces_of(path, name):
        checksum = zlib.crc32(piece.data, checksum)
        if not (piece.min() >= least and piece.max() <= most):  # NaN is neither
            return f"has numbers that are not from {least:,} to {most:,}"
        if name in _ASCENDING:
            if piece[0] < before or (piece[1:] < piece[:-1]).any():
                return "does not ascend"
            before = piece[-1]
    return "has another checksum" * (checksum != crc32)
