"""Conversion of a block of sentences to attributes.

All sentences of a block are in one list, with ``reach`` border marks between them: a neighbour's values are a
shifted slice of the same list. Each distinct cell is converted once and then looked up.

An attribute is ``name`` or ``name=value``. Special characters in a value are escaped by a backslash, so that
different values make different attributes: ``|`` and ``\\`` in conjunctions, and values that look like a
border. Borders are ``<s>``, the place before a sentence, ``<s2>``, the place before that, and so on, and
``</s>``, ``</s2>``, … after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from math import isfinite, prod
from typing import Any

import numpy as np

from crfkit.exceptions import InputError
from crfkit.features.builder.algebra import Conjunction, Extractor, Flag, Own, Track, Vector
from crfkit.features.builder.extractors import Number, Text
from crfkit.features.builder.sentences import Block
from crfkit.features.builder.sources import Chain, Learnt

Pair = tuple[str, Any]  # an attribute's name and its number or vector
Item = list[str] | dict[str, Any]
Stream = Iterable[Any]  # one value for each row of the layout

_LIKE_A_BORDER = re.compile(r"\\*</?s\d*>")


@dataclass(frozen=True, eq=False)
class _Border:
    """A place between two sentences, by its distance to the end of the one and the start of the other."""

    behind: int
    before: int

    def text(self, offset: int) -> str:
        """Return the text of the border as seen from a position ``offset`` away."""
        distance, slash = (self.behind, "/") if offset > 0 else (self.before, "")
        return f"<{slash}s{distance if distance > 1 else ''}>"


class _Memory(dict[Any, Any]):
    """A cache of a function's results."""

    def __init__(self, function: Callable[[Any], Any], known: dict[Any, Any]) -> None:
        super().__init__(known)
        self.function = function

    def __missing__(self, value: Any) -> Any:
        result = self[value] = self.function(value)
        return result


class Renderer:
    """Makes the attributes of a plan, block by block."""

    def __init__(self, plan: list[Extractor], learnt: Learnt, padding: bool) -> None:
        self.plan = plan
        self.learnt = learnt
        self.padding = padding
        self.reach = reach = max((e.reach for e in plan), default=0)
        self.borders = [_Border(k + 1, reach - k) for k in range(reach)]
        self.tables: dict[Chain, dict[Any, Any]] = {}  # the results of a chain's steps for each value
        self.memories: dict[tuple[Track, bool], _Memory] = {}

    def items(self, block: Block, keep: frozenset[str] | None) -> list[list[Item]]:
        """Return the attributes of all positions, by sentence; of those without a number, only ``keep``."""
        texts, pairs = self._positions(block)
        if keep is not None:
            texts = [list(filter(keep.__contains__, position)) for position in texts]
        items: list[Item] = list(texts)
        for i, numbers in pairs.items():
            item: dict[str, Any] = dict.fromkeys(texts[i], 1.0)
            item.update(numbers)
            items[i] = item
        return [items[a:b] for a, b in zip(block.offsets, block.offsets[1:], strict=False)]

    def count(self, block: Block, counts: Counter[str]) -> None:
        """Count the positions of each attribute without a number."""
        for position in self._positions(block)[0]:
            counts.update(position)

    def columns(self, block: Block) -> Iterator[tuple[Extractor, list[list[str | Pair]]]]:
        """Yield each extractor and its attributes at each position of a block with one sentence."""
        layout = _Layout(self, block)
        for extractor in self.plan:
            if isinstance(extractor, Own):
                yield extractor, [[*texts, *pairs] for texts, pairs in _asked(extractor, block, 0)]
            else:
                stream = layout.pairs(extractor) if _is_number(extractor) else layout.texts(extractor)
                yield extractor, [[] if made is None else [made] for made in stream]

    def _positions(self, block: Block) -> tuple[list[list[str]], dict[int, list[Pair]]]:
        """Return the attributes of each position [ΣT], and the names and values of those with numbers."""
        layout = _Layout(self, block)
        texts = layout.transposed(
            [layout.texts(e) for e in self.plan if not isinstance(e, Own) and not _is_number(e)]
        )
        numbers = [layout.pairs(e) for e in self.plan if _is_number(e)]
        pairs: dict[int, list[Pair]] = dict(enumerate(layout.transposed(numbers))) if numbers else {}
        for own in self.plan:
            if isinstance(own, Own):
                answers = chain.from_iterable(_asked(own, block, i) for i in range(len(block.lengths)))
                for i, (more_texts, more_pairs) in enumerate(answers):
                    texts[i] += more_texts
                    if more_pairs:
                        pairs.setdefault(i, []).extend(more_pairs)
        return texts, pairs

    def memory(self, track: Track, inside: bool) -> _Memory:
        """Return the cache from a source's value to its attribute, or its part ``inside`` a conjunction."""
        if (track, inside) not in self.memories:
            known: dict[Any, str | None] = dict.fromkeys([None, *self.borders])
            results = self.tables[track.chain]
            if isinstance(track, Flag):
                made: Any = True if inside else track.name

                def render(value: Any) -> Any:
                    return None if results[value] is None else made
            else:
                head = "" if inside else track.head
                if self.padding:
                    known.update((border, head + border.text(track.offset)) for border in self.borders)

                def render(value: Any) -> Any:
                    text = results[value]
                    return None if text is None else head + _escaped(text, inside)

            self.memories[track, inside] = _Memory(render, known)
        return self.memories[track, inside]


class _Layout:
    """The values of a block with border marks between sentences; row r is at place r + reach."""

    def __init__(self, renderer: Renderer, block: Block) -> None:
        self.renderer = renderer
        self.block = block
        self.reach = renderer.reach
        self.starts = [a + i * self.reach for i, a in enumerate(block.offsets[:-1])]  # [N] rows
        self.n_rows = block.offsets[-1] + (len(block.lengths) - 1) * self.reach
        self.flat: dict[Any, list[Any]] = {}  # source -> its values [ΣT]
        self.spaced: dict[Any, list[Any]] = {}  # source -> its values and borders [n_rows + 2 * reach]
        self.tabled: set[Chain] = set()  # whose table has the values of this block

    def transposed(self, streams: list[Stream]) -> list[list[Any]]:
        """Turn one stream per extractor into one list per position [ΣT], without missing values."""
        if not streams:
            return [[] for _ in range(self.block.offsets[-1])]
        rows = [list(filter(None, row)) for row in zip(*streams, strict=True)]
        if not self.reach:
            return rows
        spans = zip(self.starts, self.block.lengths, strict=True)
        return list(chain.from_iterable(rows[start : start + n] for start, n in spans))

    def texts(self, extractor: Any) -> Stream:
        """Return the attribute of an extractor at each row, or None."""
        if isinstance(extractor, Conjunction):
            return self.joined(extractor.head, extractor.parts)
        return self.looked_up(extractor, inside=False)

    def pairs(self, extractor: Any) -> Stream:
        """Return the name and number of an extractor at each row, or None."""
        if isinstance(extractor, Conjunction):
            numbers = [part for part in extractor.parts if isinstance(part, Number)]
            others = tuple(part for part in extractor.parts if not isinstance(part, Number))
            names = self.joined(extractor.head, others) if others else [extractor.head] * self.n_rows
            return map(_product, names, *map(self.values, numbers))
        name = extractor.name
        return [None if x is None else (name, x) for x in self.values(extractor)]

    def joined(self, head: str, parts: tuple[Track, ...]) -> Stream:
        """Return the head and the text of all parts, or None if a part is missing. Flags have no text."""
        rows = zip(*(self.looked_up(part, inside=True) for part in parts), strict=True)
        if all(isinstance(part, Text) for part in parts):
            return [None if None in row else head + "|".join(row) for row in rows]
        return [
            None if None in row else head + "|".join([part for part in row if part is not True])
            for row in rows
        ]

    def looked_up(self, track: Any, inside: bool) -> Stream:
        """Return the converted values of a track."""
        values = self.values(track)
        if track.chain not in self.tabled:
            table = self.renderer.tables.setdefault(track.chain, {None: None})
            track.chain.table(self.flat[track.chain.source], table, self.block.place)
            self.tabled.add(track.chain)
        return map(self.renderer.memory(track, inside).__getitem__, values)

    def values(self, track: Any) -> list[Any]:
        """Return the values of a track at each row; for text, before its steps."""
        source = track.chain.source if isinstance(track.chain, Chain) else track.chain
        if source not in self.spaced:
            values = self.flat[source] = source.values(self.block, self.renderer.learnt)
            borders = self.renderer.borders if isinstance(track.chain, Chain) else [None] * self.reach
            spaced: list[Any] = list(borders)
            for start, n in zip(self.block.offsets, self.block.lengths, strict=False):
                spaced += values[start : start + n]
                spaced += borders
            self.spaced[source] = spaced
        begin = self.reach + track.offset
        return self.spaced[source][begin : begin + self.n_rows]


def _is_number(extractor: Extractor) -> bool:
    if isinstance(extractor, Conjunction):
        return any(isinstance(part, Number) for part in extractor.parts)
    return isinstance(extractor, (Number, Vector))


def _product(name: str | None, *numbers: Any) -> Pair | None:
    if name is None or None in numbers:
        return None
    return name, prod(numbers)


def _escaped(text: str, inside: bool) -> str:
    if inside:
        text = text.replace("\\", "\\\\").replace("|", "\\|")
    return "\\" + text if text.endswith(">") and _LIKE_A_BORDER.fullmatch(text) else text


# ---- user functions


def _asked(own: Own, block: Block, i: int) -> Iterator[tuple[list[str], list[Pair]]]:
    """Yield a user function's attributes and numbers at each position of the i-th sentence."""
    sentence = block.sentence(i)
    for t in range(block.lengths[i]):
        try:
            try:
                value = own.function(sentence, t)
            except Exception as error:
                raise InputError(f"the function failed: {type(error).__name__}: {error}") from error
            yield _answer(own.name, value)
        except InputError as error:
            raise InputError(f"{block.place(block.offsets[i] + t)}: {own.name}: {error}") from error


def _answer(name: str, value: Any) -> tuple[list[str], list[Pair]]:
    if value is None:
        return [], []
    if isinstance(value, str):
        return [f"{name}={value}"], []
    if isinstance(value, (bool, np.bool_)):
        return [name] if value else [], []
    if isinstance(value, Mapping):
        texts: list[str] = []
        numbers: list[Pair] = []
        for key, inner in value.items():
            if not isinstance(key, str) or "=" in key or isinstance(inner, Mapping):
                raise InputError(
                    "a dict must have text without '=' as keys and text, numbers, bools or lists as values, "
                    f"got {key!r}: {inner!r}"
                )
            more_texts, more_numbers = _answer(f"{name}:{key}", inner)
            texts += more_texts
            numbers += more_numbers
        return texts, numbers
    if isinstance(value, (list, tuple, AbstractSet)):
        if not all(isinstance(text, str) for text in value):
            raise InputError(f"a list must have text in it, got {value!r}")
        distinct = sorted(value) if isinstance(value, AbstractSet) else dict.fromkeys(value)
        return [f"{name}={text}" for text in distinct], []
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            "a function must return text, a bool, a number, a list of texts, a dict of these, or None, got "
            f"{type(value).__name__} {value!r}"
        ) from None
    if not isfinite(number):
        raise InputError(f"expected a finite number, got {number}")
    return [], [(name, number)]
