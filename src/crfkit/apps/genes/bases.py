"""DNA as small numbers: A, C, G, T are 0 to 3, anything else (N and the other IUPAC codes) is 4."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, IdArray
from crfkit.exceptions import InputError

Codes = npt.NDArray[np.uint8]  # [T]
Flags = BoolArray  # [T]

UNKNOWN = 4
IUPAC = "ACGTUNRYSWKMBDHV"

_CODES = np.full(256, 255, np.uint8)
for _i, _letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    for _letter in _letters:
        _CODES[ord(_letter)] = _i
for _letter in "NRYSWKMBDHV":
    _CODES[ord(_letter)] = _CODES[ord(_letter.lower())] = UNKNOWN

_COMPLEMENT = np.array([3, 2, 1, 0, UNKNOWN], np.uint8)


def encode_bases(sequence: str | bytes, name: str = "the sequence") -> Codes:
    """Return the codes of a sequence, upper or lower case (soft-masked)."""
    data = sequence.encode("utf-8") if isinstance(sequence, str) else sequence
    codes: Codes = _CODES[np.frombuffer(data, np.uint8)]
    bad = np.flatnonzero(codes == 255)
    if len(bad):
        found = chr(data[int(bad[0])])
        raise InputError(
            f"{name}, base {int(bad[0]) + 1}: expected DNA (A, C, G, T, N or another IUPAC code), "
            f"got {found!r}"
        )
    return codes


def reverse_complement(codes: Codes) -> Codes:
    """Return the other strand, in its own reading direction."""
    other: Codes = _COMPLEMENT[codes[::-1]]
    return other


def matches(codes: Codes, *words: str) -> Flags:
    """Return where one of the words (all of the same length) begins [T]."""
    found = np.zeros(len(codes), np.bool_)
    width = len(words[0])
    if len(codes) < width:
        return found
    for word in words:
        here = np.ones(len(codes) - width + 1, np.bool_)
        for i, code in enumerate(encode_bases(word).tolist()):
            here &= codes[i : len(codes) - width + 1 + i] == code
        found[: len(here)] |= here
    return found


def shifted(flags: Flags, by: int) -> Flags:
    """Return flags[t - by] at each t; False if that is outside."""
    moved = np.zeros(len(flags), np.bool_)
    if by >= 0:
        moved[by:] = flags[: max(len(flags) - by, 0)]
    else:
        moved[:by] = flags[-by:]
    return moved


def words(codes: Codes, length: int) -> IdArray:
    """Return the number of the word of ``length`` bases that ends at each position [T].

    Its bases are digits in base 4, the first base the highest; -1 if it is cut off or has an unknown base.
    """
    T = len(codes)
    known = codes < UNKNOWN
    number = np.zeros(T, np.int64)
    good = np.ones(T, np.bool_)
    for back in range(length):
        here = np.zeros(T, np.int64)
        here[back:] = codes[: max(T - back, 0)]
        number += here << (2 * back)
        good &= shifted(known, back)
    return np.where(good, number, -1).astype(np.int32)


def word_names(length: int) -> list[str]:
    """Return the 4^length words, in the order of their numbers."""
    names = [""]
    for _ in range(length):
        names = [name + base for name in names for base in "ACGT"]
    return names
