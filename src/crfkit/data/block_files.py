"""The arrays of a directory of blocks: one plain file each, written in order, and mapped for reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.exceptions import ModelFileError

TYPES: dict[str, np.dtype[Any]] = {
    "offsets": np.dtype("<i8"),  # [N+1]
    "indptr": np.dtype("<i8"),  # [ΣT+1]
    "indices": np.dtype("<i4"),  # [nnz]
    "values": np.dtype("<f8"),  # [nnz]; no file: all ones
    "labels": np.dtype("<i4"),  # [ΣT]
    "allowed": np.dtype("<u1"),  # [ΣT, L]; no file: every label is known
    "weights": np.dtype("<f8"),  # [N]; no file: all ones
}
_PIECE = 1 << 22  # numbers that are worked on at once


def array_path(directory: str, name: str) -> str:
    """Return the file of an array."""
    return os.path.join(directory, f"{name}.{TYPES[name].str[1:]}")


class ArrayFile:
    """A file that grows by pieces of an array."""

    def __init__(self, directory: str, name: str) -> None:
        self.name, self.path, self.size = name, array_path(directory, name), 0
        self._dtype = TYPES[name]
        self._file = open(self.path, "wb")  # noqa: SIM115 (closed below)

    def append(self, piece: npt.NDArray[Any]) -> None:
        """Write numbers at the end."""
        np.ascontiguousarray(piece, self._dtype).tofile(self._file)
        self.size += piece.size

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


def rewritten(directory: str, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> int:
    """Write an array again, changed piece by piece; return how many numbers it has now."""
    old = array_path(directory, name)
    os.rename(old, f"{old}.old")
    new = ArrayFile(directory, name)
    for piece in pieces_of(f"{old}.old", name):
        new.append(change(piece))
    new.close()
    os.unlink(f"{old}.old")
    return new.size


def mapped_array(directory: str, name: str, size: int) -> npt.NDArray[Any]:
    """Return an array of this size, mapped from its file; raise if the file has another size."""
    path, dtype = array_path(directory, name), TYPES[name]
    try:
        found = os.path.getsize(path)
    except OSError as error:
        raise ModelFileError(f"cannot read the blocks {directory}: {error}") from error
    if found != size * dtype.itemsize:
        raise ModelFileError(
            f"the blocks {directory} are damaged: {os.path.basename(path)} has {found:,} bytes, expected "
            f"{size * dtype.itemsize:,}; remove the directory and write it again"
        )
    if not _native.MAPS_FILES:
        return np.fromfile(path, dtype)
    return _native.map_file(path).view(dtype)
