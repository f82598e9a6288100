"""The attributes of the builder's extractors, made in Python: the oracle of the compiled feature programs.

``in_python`` replaces the native steps (lower case, shapes, sets of characters) by Python's own methods.

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from crfkit.features.builder import steps
from crfkit.features.builder.algebra import Conjunction, Extractor, Flag, Own, Track, Vector, Written
from crfkit.features.builder.extractors import Number, Text
from crfkit.features.builder.own_functions import asked
from crfkit.features.builder.sources import Chain, Learnt
from crfkit.features.sentences import Block

Pair = tuple[str, Any]  # an attribute's name and its number or vector
Item = list[str] | dict[str, Any]
Stream = Iterable[Any]  # one value for each row of the layout

_LIKE_A_BORDER = re.compile(r"\\*</?s[0-9]*>")


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
                yield extractor, [[*texts, *pairs] for texts, pairs in asked(extractor, block, 0)]
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
                answers = chain.from_iterable(asked(own, block, i) for i in range(len(block.lengths)))
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
        if isinstance(extractor, Written):
            return self.written(extractor)
        if isinstance(extractor, Conjunction):
            return self.joined(extractor.head, extractor.parts)
        return self.looked_up(extractor, inside=False)

    def written(self, extractor: Written) -> Stream:
        """Return the attributes of an extractor with its own spelling: the texts as they are."""
        inner: Any = extractor.extractor
        parts = inner.parts if isinstance(inner, Conjunction) else (inner,)
        streams = []
        for part in parts:
            texts, results = self.looked_up(part, inside=False), self.renderer.tables[part.chain]
            rows = zip(texts, self.values(part), strict=True)
            if isinstance(part, Flag):
                streams.append([None if text is None else True for text, _ in rows])
            else:
                borders = self.renderer.borders
                streams.append(
                    [
                        None
                        if text is None
                        else value.text(part.offset)
                        if value in borders
                        else results[value]
                        for text, value in rows
                    ]
                )
        return [
            None if None in row else extractor.name + "|".join(text for text in row if text is not True)
            for row in zip(*streams, strict=True)
        ]

    def pairs(self, extractor: Any) -> Stream:
        """Return the name and number of an extractor at each row, or None."""
        if isinstance(extractor, Written):
            spelt: Any = extractor.extractor
            of = spelt.parts if isinstance(spelt, Conjunction) else (spelt,)
            texts = tuple(part for part in of if not isinstance(part, Number))
            if texts:
                head = self.written(Written(Conjunction(texts), extractor.name))
            else:
                head = [extractor.name] * self.n_rows
            return map(_product, head, *(self.values(part) for part in of if isinstance(part, Number)))
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
    if isinstance(extractor, Written):
        extractor = extractor.extractor
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


# ---- steps in Python


def shape(word: str, *, short: bool) -> str:
    """Return the pattern of capitals, letters and digits."""
    full = "".join("9" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word)
    return re.sub(r"(.)\1+", r"\1", full) if short else full


PLAIN: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "length": lambda cell: str(len(cell)),
    "shape": lambda cell: shape(cell, short=False),
    "short_shape": lambda cell: shape(cell, short=True),
}


def python_step(step: Any, cell: str) -> str | bool | None:
    """Return the result of a step by Python's own methods."""
    if isinstance(step, steps.Plain):
        return PLAIN[step.label](cell)
    if isinstance(step, steps.Affix):
        if step.kind == "skip":
            return cell[step.n :]
        if len(cell) < step.n:
            return None
        return cell[: step.n] if step.kind == "prefix" else cell[-step.n :]
    if isinstance(step, steps.OfCharacters):
        characters = step.characters
        if step.kind == "has":
            return re.search(characters, cell) is not None
        if step.kind == "only_has":
            return re.fullmatch(f"{characters}*", cell) is not None
        if step.kind == "remove":
            return re.sub(characters, "", cell)
        if step.kind == "tail":
            found = re.search(f"{characters}*\\Z", cell)
            return "" if found is None else found[0]
        left = re.sub(f"\\A{characters}+", "", cell) if step.left else cell
        left = re.sub(f"{characters}+\\Z", "", left) if step.right else left
        return cell if step.keep_whole and not left else left
    result: str | bool = step.function(cell)
    return result


@contextmanager
def in_python() -> Iterator[None]:
    """Let all steps be done by Python's own methods."""
    native, mapped = steps._Native.__call__, steps.Mapped.__call__

    def call(step: steps.Mapped, cell: str) -> str | bool | None:
        return mapped(step, cell) if step.compiled is None else python_step(step, cell)

    steps._Native.__call__ = python_step  # type: ignore[method-assign]
    steps.Mapped.__call__ = call  # type: ignore[method-assign]
    try:
        yield
    finally:
        steps._Native.__call__ = native  # type: ignore[method-assign]
        steps.Mapped.__call__ = mapped  # type: ignore[method-assign]
