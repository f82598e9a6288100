"""Names and their ids: strings to 0, 1, 2, … in order of first appearance, and back.

The strings are in a native arena with a hash table. Both are plain arrays (``to_arrays``). A vocabulary made
by ``from_arrays`` uses these arrays in place, so that a memory-mapped model is ready at once; it copies them
when the first name is added. Names are stored as UTF-8. Any text is possible, also the empty string and NUL
characters, except lone surrogates, which have no UTF-8 form and raise ``InputError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import IdArray, IntArray
from crfkit.exceptions import ModelFileError

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Vocabulary:
    """Append-only mapping of strings to the ids from 0 to len - 1.

    Example: ``Vocabulary(["a", "b"]).lookup(["b", "x"])`` gives ``[1, -1]``.
    """

    __slots__ = ("__weakref__", "native")

    native: _native.Vocabulary
    """The native object, for the functions of ``crfkit._native``."""

    def __init__(self, names: Iterable[str | bytes] = ()) -> None:
        self.native = _native.Vocabulary()
        self.native.add(names)

    def __len__(self) -> int:
        return len(self.native)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and int(self.native.find([name])[0]) >= 0

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} names)"

    def lookup(self, names: Iterable[str | bytes]) -> IdArray:
        """Return the ids of the names, -1 for unknown ones; [len(names)]."""
        return self.native.find(names)

    def add(self, names: Iterable[str | bytes]) -> IdArray:
        """Add new names and return the ids of all, [len(names)]. After an error nothing has been added."""
        return self.native.add(names)

    def strings(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the names with ids ``start .. stop-1``, in order."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self.native.strings(start, stop)

    def strings_of(self, ids: IntArray) -> list[str]:
        """Return the names with these ids, in their order."""
        return self.native.strings_of(ids)

    def add_columns(self, n: int) -> None:
        """Append ``"0" .. str(n-1)``, the names of an array's columns."""
        self.native.add_columns(n)

    def names_columns(self) -> bool:
        """Tell whether the names are ``"0" .. str(len-1)``: a vocabulary of array columns."""
        return self.native.has_columns()

    def copy(self) -> Vocabulary:
        """Return a copy, which can grow independently. Both share the names of a large vocabulary."""
        return Vocabulary.from_native(self.native.extended())

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return copies of its arrays; see docs/model-file.md for their meaning."""
        arena, offsets, slots = self.native.arrays()
        return {
            "arena": arena,  # uint8 [bytes]
            "offsets": offsets,  # int64 [n+1]
            "slots": slots,  # uint32 [2^b]
            "hash_version": np.array([_native.HASH_VERSION], dtype=np.uint32),  # [1]
        }

    @classmethod
    def from_native(cls, native: _native.Vocabulary) -> Vocabulary:
        vocabulary = cls.__new__(cls)
        vocabulary.native = native
        return vocabulary

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Vocabulary:
        """Return a vocabulary over the arrays of ``to_arrays``, without a copy: they must not change later.

        The arrays may come from a damaged file: look-ups then find nothing or raise, and never read outside.
        """
        arena = _array(arrays, "arena", np.uint8)
        offsets = _array(arrays, "offsets", np.int64)
        slots = _array(arrays, "slots", np.uint32)
        version = _array(arrays, "hash_version", np.uint32)
        vocabulary = cls.from_native(_native.Vocabulary.attach(arena, offsets, slots))
        if version.shape != (1,) or version[0] != _native.HASH_VERSION:
            # Hashed by another version of crfkit: the strings can be used, the table cannot.
            vocabulary = cls(vocabulary.strings())
            if len(vocabulary) != offsets.size - 1:
                raise ModelFileError("the vocabulary holds the same name twice")
        return vocabulary

    def __reduce__(
        self,
    ) -> tuple[Callable[[Mapping[str, npt.NDArray[np.generic]]], Vocabulary], tuple[object, ...]]:
        return (Vocabulary.from_arrays, (self.to_arrays(),))


def _array(
    arrays: Mapping[str, npt.NDArray[np.generic]], name: str, dtype: type[_Scalar]
) -> npt.NDArray[_Scalar]:
    if name not in arrays:
        raise ModelFileError(f"the vocabulary lacks its array {name!r}; it has {sorted(arrays)}")
    array = arrays[name]
    if array.dtype != dtype or array.ndim != 1:
        raise ModelFileError(
            f"the vocabulary's array {name!r} must be 1-D {np.dtype(dtype)}, got {array.ndim}-D {array.dtype}"
        )
    return np.require(array, dtype, ["C", "A"])
