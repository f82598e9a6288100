"""Words in lower case, and the pattern of letters and digits in a word.

Characters are capitals, letters and digits by one table of Unicode (``native/unicode``), because Python's own
differ from version to version.
"""

from __future__ import annotations

from functools import lru_cache

from crfkit import _native
from crfkit.features.program_code import step

_KINDS = ("lower", "fold", "shape", "short_shape")
_LOWER, _FOLD, _FULL, _SHORT = (_native.Step(step(kind)) for kind in _KINDS)


def lower_case(word: str) -> str:
    """Return the word in lower case."""
    return word.lower() if word.isascii() else str(_LOWER(word))


def fold_case(word: str) -> str:
    """Return the word in a form that is the same for all cases, as ``str.casefold``."""
    return word.lower() if word.isascii() else str(_FOLD(word))


def full_shape(word: str) -> str:
    """Return the shape of a word: ``X`` for a capital, ``x`` for another letter, ``9`` for a digit.

    >>> full_shape("McDonald"), full_shape("80020-310")
    ('XxXxxxxx', '99999-999')
    """
    return str(_FULL(word))


@lru_cache(maxsize=65536)
def word_shape(word: str) -> str:
    """Return the shape of a word with runs shortened: ``X`` a capital, ``x`` another letter, ``9`` a digit.

    >>> word_shape("McDonald"), word_shape("2nd"), word_shape("SW1A"), word_shape("80020-310")
    ('XxXx', '9x', 'X9X', '9-9')
    """
    return str(_SHORT(word))
