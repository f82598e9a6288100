"""A good first set of attributes for words, for example in addresses, names and chunks.

Each attribute is a string ``name=value`` (or a bare name) and is either present or not. A neighbour's
attributes have its offset as a prefix: the word after ``st`` has ``-1:lower=st``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from crfkit.data.reading import MISSING_HINT
from crfkit.exceptions import InputError
from crfkit.features.cells import is_missing
from crfkit.features.program_code import Part, ProgramCode, flag, number, step
from crfkit.features.shapes import full_shape, lower_case, word_shape

_MARKS = ".,;:"


@lru_cache(maxsize=65536)
def _of_neighbour(word: str) -> tuple[str, ...]:
    return (f"lower={lower_case(word)}", f"shape={word_shape(word)}")


@lru_cache(maxsize=65536)
def _of_word(word: str) -> tuple[str, ...]:
    lower = lower_case(word)
    bare = lower.rstrip(_MARKS)
    attributes = [f"word={word}", *_of_neighbour(word), f"bare={bare}"]
    attributes += [f"prefix={bare[:n]}" for n in (1, 2, 3) if len(bare) > n]
    attributes += [f"suffix={bare[-n:]}" for n in (1, 2, 3, 4) if len(bare) > n]
    n_digits = full_shape(word).count("9")
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
    ``CRF(extractor=token_features)`` takes the tokens themselves.

    >>> token_features(["42", "Main", "St."])[0][:5]
    ['bias', 'word=42', 'lower=42', 'shape=9', 'bare=42']
    """
    if isinstance(tokens, str):
        raise InputError(f"tokens must be a list of words, got the string {tokens!r}; split it first")
    for t, word in enumerate(tokens):
        if not isinstance(word, str):
            hint = f". {MISSING_HINT}" if is_missing(word) else ""
            raise InputError(f"position {t}: expected a word, got {type(word).__name__} {word!r}{hint}")
    features = []
    for t, word in enumerate(tokens):
        attributes = ["bias", *_of_word(word)]
        for offset in (*range(-window, 0), *range(1, window + 1)):
            if 0 <= t + offset < len(tokens):
                attributes += [f"{offset:+d}:{a}" for a in _of_neighbour(tokens[t + offset])]
        if t > 0:
            attributes.append(f"-1|0:lower={lower_case(tokens[t - 1])}|{lower_case(word)}")
        else:
            attributes.append("first")
        if t + 1 == len(tokens):
            attributes.append("last")
        features.append(attributes)
    return features


class TokenFeatures:
    """``token_features`` with another window, for ``CRF(extractor=…)``."""

    def __init__(self, window: int = 2) -> None:
        self.window = window

    def __call__(self, tokens: Sequence[str]) -> list[list[str]]:
        """Return the attributes of one sequence."""
        return token_features(tokens, window=self.window)

    def __repr__(self) -> str:
        return "token_features" if self.window == 2 else f"TokenFeatures(window={self.window})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {"window": self.window}

    def set_params(self, **parameters: Any) -> TokenFeatures:
        """Change parameters."""
        for name, value in parameters.items():
            if name != "window":
                raise InputError(f"Invalid parameter {name!r} for TokenFeatures: there is window")
            self.window = value
        return self

    def program(self) -> bytes:
        """Return the feature program, which makes the same attributes in the same order."""
        if isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 0:
            raise InputError(f"window must be a whole number of 0 or more, got {self.window!r}")
        code = ProgramCode()
        word = code.node("input", number(code.input("text", 0, "tokens")))

        def then(node: int, kind: str, *arguments: bytes) -> int:
            return code.node("step", number(node), step(kind, *arguments))

        def line(name: str, node: int, offset: int = 0) -> None:
            code.line([f"{name}=", ""], [Part(node, offset)])

        lower, shape = then(word, "lower"), then(word, "short_shape")
        marks = flag(False) + b"\0" + number(len(_MARKS)) + b"".join(2 * number(ord(c)) for c in _MARKS)
        bare = then(lower, "strip", flag(False), flag(True), flag(False), marks)
        code.line(["bias"])
        for name, node in (("word", word), ("lower", lower), ("shape", shape), ("bare", bare)):
            line(name, node)
        for n in (1, 2, 3):
            line("prefix", then(bare, "beginning", number(n)))
        for n in (1, 2, 3, 4):
            line("suffix", then(bare, "ending", number(n)))
        line("digits", then(word, "digit_share"))
        line("ends", then(word, "marks"))
        for offset in (*range(-self.window, 0), *range(1, self.window + 1)):
            line(f"{offset:+d}:lower", lower, offset)
            line(f"{offset:+d}:shape", shape, offset)
        code.line(["-1|0:lower=", "|", ""], [Part(lower, -1), Part(lower, 0)])
        for name in ("first", "last"):
            code.line([name, ""], [Part(code.node(name), 0, shown=False)])
        return code.finish()
