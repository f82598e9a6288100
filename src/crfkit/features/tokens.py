"""A good first set of attributes for words, for example in addresses, names and chunks.

Each attribute is a string ``name=value`` (or a bare name) and is either present or not. A neighbour's
attributes have its offset as a prefix: the word after ``st`` has ``-1:lower=st``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from crfkit.exceptions import InputError
from crfkit.features.shapes import word_shape


@lru_cache(maxsize=65536)
def _of_neighbour(word: str) -> tuple[str, ...]:
    return (f"lower={word.lower()}", f"shape={word_shape(word)}")


@lru_cache(maxsize=65536)
def _of_word(word: str) -> tuple[str, ...]:
    lower = word.lower()
    bare = lower.rstrip(".,;:")
    attributes = [f"word={word}", *_of_neighbour(word), f"bare={bare}"]
    attributes += [f"prefix={bare[:n]}" for n in (1, 2, 3) if len(bare) > n]
    attributes += [f"suffix={bare[-n:]}" for n in (1, 2, 3, 4) if len(bare) > n]
    n_digits = sum(c.isdigit() for c in word)
    if n_digits:
        attributes.append(f"digits={n_digits}/{len(bare)}" if n_digits < len(bare) else f"digits={n_digits}")
    if bare != lower:
        attributes.append(f"ends={word[len(bare) :]}")
    return tuple(attributes)


def token_features(tokens: Sequence[str], *, window: int = 2) -> list[list[str]]:
    """Describe every token by its word, shape, beginnings and endings, digits, and neighbours.

    Parameters
    ----------
    tokens : the words of one sequence.
    window : how many neighbours on each side to use.

    Returns
    -------
    One list of attribute strings per token: what ``CRF.fit`` and ``CRF.predict`` take for one sequence.

    >>> token_features(["42", "Main", "St."])[0][:5]
    ['bias', 'word=42', 'lower=42', 'shape=9', 'bare=42']
    """
    if isinstance(tokens, str):
        raise InputError(f"tokens must be a list of words, got the string {tokens!r}; split it first")
    features = []
    for t, word in enumerate(tokens):
        attributes = ["bias", *_of_word(word)]
        for offset in (*range(-window, 0), *range(1, window + 1)):
            if 0 <= t + offset < len(tokens):
                attributes += [f"{offset:+d}:{a}" for a in _of_neighbour(tokens[t + offset])]
        if t > 0:
            attributes.append(f"-1|0:lower={tokens[t - 1].lower()}|{word.lower()}")
        else:
            attributes.append("first")
        if t + 1 == len(tokens):
            attributes.append("last")
        features.append(attributes)
    return features
