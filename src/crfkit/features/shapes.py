"""The pattern of letters and digits in a word."""

from __future__ import annotations

import re
from functools import lru_cache

_RUNS = re.compile(r"(.)\1+")


def full_shape(word: str) -> str:
    """Return the shape of a word: ``X`` for a capital, ``x`` for another letter, ``9`` for a digit.

    >>> full_shape("McDonald"), full_shape("80020-310")
    ('XxXxxxxx', '99999-999')
    """
    return "".join("9" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word)


@lru_cache(maxsize=65536)
def word_shape(word: str) -> str:
    """Return the shape of a word with runs shortened: ``X`` a capital, ``x`` another letter, ``9`` a digit.

    >>> word_shape("McDonald"), word_shape("2nd"), word_shape("SW1A"), word_shape("80020-310")
    ('XxXx', '9x', 'X9X', '9-9')
    """
    return _RUNS.sub(r"\1", full_shape(word))
