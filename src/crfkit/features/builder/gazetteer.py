"""A dictionary of phrases, and the search for them in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from crfkit.exceptions import InputError
from crfkit.features.shapes import fold_case

Phrase = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Gazetteer:
    """Phrases of one or more tokens. The longest one that begins at a token counts; none overlap."""

    phrases: frozenset[Phrase]
    ignore_case: bool = False

    @classmethod
    def of(cls, entries: Iterable[str | Sequence[str]], ignore_case: bool) -> Gazetteer:
        """Make a dictionary of strings, split at blanks, or lists of tokens. Empty entries are skipped."""
        if isinstance(entries, str) or not isinstance(entries, Iterable):
            what = f"the string {entries!r:.60}" if isinstance(entries, str) else type(entries).__name__
            raise InputError(
                f"a dictionary must be a list or set of entries, got {what}; "
                "for a file pass its lines: open(path, encoding='utf-8')"
            )
        phrases = set()
        for i, entry in enumerate(entries):
            tokens = entry.removeprefix("\ufeff").split() if isinstance(entry, str) else entry
            if not isinstance(tokens, (list, tuple)) or not all(isinstance(token, str) for token in tokens):
                raise InputError(
                    f"entry {i} of the dictionary: expected text or a list of tokens, got {entry!r}"
                )
            if tokens:
                phrases.add(tuple(map(fold_case, tokens)) if ignore_case else tuple(tokens))
        if not phrases:
            raise InputError("a dictionary must have entries, got none")
        return cls(frozenset(phrases), ignore_case)

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """The lengths of the phrases that begin with each token, longest first."""
        lengths: dict[str, set[int]] = {}
        for phrase in self.phrases:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        return {token: sorted(found, reverse=True) for token, found in lengths.items()}

    def find(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield begin and end of all phrases in a sentence, also of those that overlap, in order."""
        if self.ignore_case:
            tokens = list(map(fold_case, tokens))
        for begin, token in enumerate(tokens):
            for n in reversed(self._lengths.get(token, ())):
                if tuple(tokens[begin : begin + n]) in self.phrases:
                    yield begin, begin + n

    def mark(self, tokens: Sequence[str | None]) -> list[str | None]:
        """Mark the first token of each phrase as ``B``, its other tokens as ``I``, the rest as None [T]."""
        lengths = self._lengths
        if self.ignore_case:
            tokens = [None if token is None else fold_case(token) for token in tokens]
        marks: list[str | None] = [None] * len(tokens)
        t = 0
        while t < len(tokens):
            for n in lengths.get(tokens[t], ()):  # type: ignore[arg-type]  # None begins no phrase
                if t + n <= len(tokens) and tuple(tokens[t : t + n]) in self.phrases:
                    marks[t : t + n] = ["B", *["I"] * (n - 1)]
                    t += n - 1
                    break
            t += 1
        return marks

    def __repr__(self) -> str:
        few = ", ".join(repr(" ".join(phrase)) for phrase in sorted(self.phrases)[:2])
        return f"[{few}{', …' if len(self.phrases) > 2 else ''}]"
