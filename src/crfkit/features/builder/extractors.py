"""Extractors: columns, and the attributes made of them.

word, pos = column(0, "w"), column(1, "pos")
word.lower()[-1]       the word before, in lower case: w.lower[-1]=the
word.window(-2, 2)     the words at most two away: w[-2]=…, w[-1]=…, w=…, w[1]=…, w[2]=…
word & pos[1]          both combined: w|pos[1]=the|NN
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.exceptions import InputError
from crfkit.features.builder import settings as rule
from crfkit.features.builder.algebra import Flag, Group, Own, Track, Vector
from crfkit.features.builder.characters import character_set
from crfkit.features.builder.gazetteer import Gazetteer
from crfkit.features.builder.numbers import Bins, NumberChain, Parsed, Places
from crfkit.features.builder.sources import Always, Cells, Chain, Gaps, Named, Phrases, Vectors, default_name
from crfkit.features.builder.steps import (
    Affix,
    CellStep,
    Computed,
    Mapped,
    OfCharacters,
    Pattern,
    Plain,
    Standardised,
)


@dataclass(frozen=True, repr=False)
class Text(Track):
    """Text: makes the attribute ``name=value``."""

    chain: Chain

    @property
    def head(self) -> str:
        return f"{self.name}="

    # ---- text from text

    def lower(self) -> Text:
        """Return the text in lower case."""
        return self._then(Plain("lower"))

    def upper(self) -> Text:
        """Return the text in capitals."""
        return self._then(Plain("upper"))

    def shape(self) -> Text:
        """Return the shape: ``X`` a capital, ``x`` another letter, ``9`` a digit, other characters kept."""
        return self._then(Plain("shape"))

    def short_shape(self) -> Text:
        """Return the shape with runs shortened: ``Xx`` for every capitalised word."""
        return self._then(Plain("short_shape"))

    def prefix(self, n: int) -> Text:
        """Return the first n characters; no attribute if there are fewer."""
        return self._then(Affix("prefix", rule.positive("n", n)))

    def suffix(self, n: int) -> Text:
        """Return the last n characters; no attribute if there are fewer."""
        return self._then(Affix("suffix", rule.positive("n", n)))

    def prefixes(self, shortest: int, longest: int) -> Group:
        """Return one prefix for each length from ``shortest`` to ``longest``."""
        members = tuple(self.prefix(n) for n in rule.length_range(shortest, longest))
        return Group(members, f"{self!r}.prefixes({shortest}, {longest})")

    def suffixes(self, shortest: int, longest: int) -> Group:
        """Return one suffix for each length from ``shortest`` to ``longest``."""
        members = tuple(self.suffix(n) for n in rule.length_range(shortest, longest))
        return Group(members, f"{self!r}.suffixes({shortest}, {longest})")

    def skip(self, n: int) -> Text:
        """Return the text without its first n characters."""
        return self._then(Affix("skip", rule.positive("n", n)))

    def length(self) -> Text:
        """Return the number of characters, as text."""
        return self._then(Plain("length"))

    def strip(
        self, characters: str, name: str, *, left: bool = True, right: bool = True, keep_whole: bool = False
    ) -> Text:
        r"""Remove the characters of a set at the ends of the text.

        ``characters`` is a set as in regular expressions, such as ``[.,;]`` or ``[^\w.]``. ``keep_whole``
        leaves a text as it is if nothing would remain of it.
        """
        return self._of_characters("strip", characters, name, bool(left), bool(right), bool(keep_whole))

    def remove(self, characters: str, name: str) -> Text:
        """Remove the characters of a set, such as ``[.,]``, everywhere."""
        return self._of_characters("remove", characters, name)

    def tail(self, characters: str, name: str) -> Text:
        """Return the characters of a set, such as ``[0-9]``, at the end of the text: as many as there are."""
        return self._of_characters("tail", characters, name)

    def find(self, pattern: str | re.Pattern[str], name: str) -> Text:
        """Return the first match of a regular expression (its first group, if any); no attribute if none."""
        return self._then(Pattern("find", rule.regular_expression(pattern), rule.attribute_name(name)))

    def map(self, function: Callable[[str], Any], name: str) -> Text:
        """Apply a function to the text; it returns text, a number (used as text), or None to skip."""
        return self._then(Mapped("map", rule.a_function(function), rule.attribute_name(name)))

    def named(self, name: str) -> Text:
        """Return the same with a short name, ``bare`` rather than ``w.lower.bare``."""
        return Text(Chain(Named(self.chain, rule.attribute_name(name))), self.offset)

    # ---- tests

    def matches(self, pattern: str | re.Pattern[str], name: str) -> Flag:
        """Tell whether a regular expression matches all of the text."""
        return self._asks(Pattern("matches", rule.regular_expression(pattern), rule.attribute_name(name)))

    def contains(self, pattern: str | re.Pattern[str], name: str) -> Flag:
        """Tell whether a regular expression matches anywhere in the text."""
        return self._asks(Pattern("contains", rule.regular_expression(pattern), rule.attribute_name(name)))

    def test(self, function: Callable[[str], Any], name: str) -> Flag:
        """Tell whether a function of the text, such as ``str.isupper``, is true."""
        return self._asks(Mapped("test", rule.a_function(function), rule.attribute_name(name)))

    def has(self, characters: str, name: str) -> Flag:
        """Tell whether the text has a character of a set, such as ``[0-9]``."""
        return self._asks(OfCharacters("has", _checked_set(characters), rule.attribute_name(name)))

    def only_has(self, characters: str, name: str) -> Flag:
        """Tell whether the text has no characters but those of a set."""
        return self._asks(OfCharacters("only_has", _checked_set(characters), rule.attribute_name(name)))

    def missing(self) -> Flag:
        """Tell whether the cell is missing (None, NaN)."""
        return Flag(Chain(Gaps(self._cells("missing"))), self.offset)

    def member(
        self,
        entries: Iterable[str | Sequence[str]],
        name: str,
        *,
        bio: bool = False,
        ignore_case: bool = False,
    ) -> Flag | Text:
        """Tell whether the position belongs to a phrase of a dictionary.

        Entries are strings, split at blanks into tokens, or lists of tokens. Sentences are read from left to
        right and the longest phrase counts. With ``bio`` the attribute has a value: B at the first token of a
        phrase, I at the others.
        """
        gazetteer = Gazetteer.of(entries, bool(ignore_case))
        phrases = Chain(Phrases(self.chain, gazetteer, rule.attribute_name(name), bool(bio)))
        return Text(phrases, self.offset) if bio else Flag(phrases, self.offset)

    # ---- numbers

    def number(self) -> Number:
        """Parse the cell as a number: makes an attribute with this value."""
        return Number(NumberChain(Parsed(self.chain)), self.offset)

    def vector(self) -> Vector:
        """Use the cell as a vector of numbers, such as an embedding: makes name:0, name:1, …"""
        return Vector(Vectors(self._cells("vector")), self.offset)

    def _of_characters(self, kind: str, characters: str, name: str, *settings: bool) -> Text:
        return self._then(OfCharacters(kind, _checked_set(characters), rule.attribute_name(name), *settings))

    def _then(self, step: CellStep) -> Text:
        return Text(self.chain.then(step), self.offset)

    def _asks(self, step: CellStep) -> Flag:
        return Flag(self.chain.then(step), self.offset)

    def _cells(self, method: str) -> Cells:
        if not isinstance(self.chain.source, Cells) or self.chain.steps:
            raise InputError(f"{method}() is only for a column itself, not for {self!r}")
        return self.chain.source


@dataclass(frozen=True, repr=False)
class Number(Track):
    """A number: makes the attribute ``name`` with this value."""

    chain: NumberChain

    def map(self, function: Callable[[float], float], name: str) -> Number:
        """Apply a function to the number."""
        step = Computed(rule.a_function(function), rule.attribute_name(name))
        return Number(self.chain.then(step), self.offset)

    def standardised(self) -> Number:
        """Subtract the mean and divide by the standard deviation; ``fit`` learns both."""
        return Number(self.chain.then(Standardised()), self.offset)

    def binned(self, bins: int | npt.ArrayLike) -> Text:
        """Return the interval that the number lies in: ``price.bin=[10,20)``.

        ``bins`` are the edges, or a number of intervals, which ``fit`` chooses to hold equally many numbers.
        """
        if not isinstance(bins, (int, np.integer)):
            return Text(Chain(Bins(self.chain, rule.bin_edges(bins))), self.offset)
        if rule.whole("bins", bins) < 2:
            raise InputError(f"there must be 2 bins or more, got {bins}")
        return Text(Chain(Bins(self.chain, int(bins))), self.offset)


def _checked_set(characters: str) -> str:
    character_set(characters)  # raises if it is none
    return characters


# ---- the functions to start with


def column(key: int | str, name: str | None = None, *, optional: bool = False) -> Text:
    """Return the extractor of a column, by its number (rows, tokens: 0) or its name (dicts, data frames).

    Parameters
    ----------
    key : number (negative numbers count from the last) or name of the column.
    name : name of the attributes; by default the key (``c0`` for 0).
    optional : whether rows may lack the column. They get no attribute, and there is no error.

    >>> column("pos").prefix(1)[-1].name
    'pos.prefix1[-1]'
    """
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise InputError(f"a column is a number or a name, got {key!r}")
    return Text(
        Chain(Cells(key, rule.attribute_name(default_name(key) if name is None else name), bool(optional)))
    )


def token(name: str = "w") -> Text:
    """Return the extractor of the token, if sentences are lists of tokens: ``column(0, "w")``."""
    return column(0, name)


def bias() -> Flag:
    """Make the attribute ``bias`` at every position: its weights learn how frequent labels are."""
    return Flag(Chain(Always("bias")))


def first() -> Flag:
    """Make the attribute ``first`` at the first position of a sentence."""
    return Flag(Chain(Always("first")))


def last() -> Flag:
    """Make the attribute ``last`` at the last position of a sentence."""
    return Flag(Chain(Always("last")))


def position(*, from_end: bool = False) -> Number:
    """Count the positions before this one, or after it; most useful as ``position().binned([1, 5])``."""
    return Number(NumberChain(Places(bool(from_end))))


def function(own: Callable[[Any, int], Any], name: str | None = None) -> Own:
    """Make attributes by your own function, called with the sentence, as you passed it, and the position.

    It returns text (``name=text``), True (``name``), a number (``name`` with this value), a list of texts, a
    dict of any of these (``name:key=text``, …), or None or False for no attribute.
    """
    if name is None:
        name = getattr(own, "__name__", "<unnamed>")
        if name.startswith("<"):
            raise InputError("a function without a name needs one for its attributes: function(…, 'name')")
    return Own(rule.a_function(own), rule.attribute_name(name))
