"""Sources of the values of attributes: cells, functions of cells, phrases of a dictionary, positions.

A source gives one value or None for each position of a block [ΣT]. Sources are immutable: what ``fit`` learns
(the mean of a column, the edges of bins) is stored in a dict with the source as its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from crfkit.exceptions import InputError
from crfkit.features.builder.gazetteer import Gazetteer
from crfkit.features.builder.steps import CellStep
from crfkit.features.cells import as_texts, as_vectors, is_missing
from crfkit.features.sentences import Block, Key

Learnt = dict[Any, Any]  # what fit has learnt, by source
Numbers = list[float | None]  # [ΣT]
_Longer = TypeVar("_Longer", bound="Steps")


class Source(Protocol):
    """One value per position."""

    @property
    def name(self) -> str:
        """The name of the attributes made of it."""

    @property
    def code(self) -> str:
        """The Python expression that makes it."""

    def values(self, block: Block, learnt: Learnt) -> list[Any]:
        """Return text, True, a vector or None for each position [ΣT]."""

    def learners(self) -> Iterator[Learner]:
        """Yield the sources that must be learnt first, in order."""


class Learner(Protocol):
    """A source that learns something from numbers."""

    def numbers(self, block: Block, learnt: Learnt) -> Numbers:
        """Return the numbers that it learns from [ΣT]."""

    def learn(self, numbers: list[float]) -> Any:
        """Learn from the numbers and return the result."""


class Unlearnt:
    """A source that learns nothing."""

    def learners(self) -> Iterator[Learner]:
        return iter(())


class OfChain:
    """A source made of a chain, which is learnt first."""

    chain: Any

    def learners(self) -> Iterator[Learner]:
        yield from self.chain.learners()


@dataclass(frozen=True)
class Steps:
    """A source and the steps applied to its values, in order."""

    source: Any
    steps: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """The name, such as w.lower.prefix3."""
        return ".".join([self.source.name, *(step.label for step in self.steps)])

    @property
    def code(self) -> str:
        return ".".join([self.source.code, *(step.code for step in self.steps)])

    def then(self: _Longer, step: Any) -> _Longer:
        return replace(self, steps=(*self.steps, step))

    def learners(self) -> Iterator[Learner]:
        yield from self.source.learners()


@dataclass(frozen=True)
class Cells(Unlearnt):
    """A column, as text."""

    key: Key
    name: str
    optional: bool = False

    @property
    def code(self) -> str:
        name = "" if self.name == default_name(self.key) else f", {self.name!r}"
        return f"column({self.key!r}{name}{', optional=True' if self.optional else ''})"

    @property
    def title(self) -> str:
        return f"column {self.key!r}"

    def values(self, block: Block, learnt: Learnt) -> list[str | None]:
        return as_texts(block.cells(self.key, self.optional), block.place, self.title, self.optional)


def default_name(key: Key) -> str:
    """Return the default name of a column."""
    return key if isinstance(key, str) else f"c{key}"


@dataclass(frozen=True)
class Chain(Steps):
    """Text of a source, and the steps applied to it."""

    source: Source
    steps: tuple[CellStep, ...] = ()

    def apply(self, value: Any) -> Any:
        """Apply the steps to a value of the source."""
        for step in self.steps:
            if value is None:
                return None
            value = step(value)
        return None if value is False else value

    def table(self, values: list[Any], known: dict[Any, Any], place: Callable[[int], str]) -> dict[Any, Any]:
        """Return the result of the steps for each distinct value of ``values`` [ΣT]; extends ``known``."""
        for value in dict.fromkeys(values):
            if value not in known:
                try:
                    known[value] = self.apply(value)
                except InputError as error:
                    raise InputError(f"{place(values.index(value))}: {self.name}: {error}") from error
        return known

    def values(self, block: Block, learnt: Learnt) -> list[Any]:
        values = self.source.values(block, learnt)
        if not self.steps:
            return values
        return list(map(self.table(values, {}, block.place).__getitem__, values))


@dataclass(frozen=True)
class Named(OfChain):
    """Text with a name of its own."""

    chain: Chain
    name: str

    @property
    def code(self) -> str:
        return f"{self.chain.code}.named({self.name!r})"

    def values(self, block: Block, learnt: Learnt) -> list[str | None]:
        return self.chain.values(block, learnt)


@dataclass(frozen=True)
class Phrases(OfChain):
    """Phrases of a dictionary: B at the first token of each, I at the others."""

    chain: Chain
    gazetteer: Gazetteer
    label: str
    bio: bool

    @property
    def name(self) -> str:
        """The name, such as w.city."""
        return f"{self.chain.name}.{self.label}"

    @property
    def code(self) -> str:
        settings = (
            f"{', bio=True' if self.bio else ''}{', ignore_case=True' if self.gazetteer.ignore_case else ''}"
        )
        return f"{self.chain.code}.member({self.gazetteer!r}, {self.label!r}{settings})"

    def values(self, block: Block, learnt: Learnt) -> list[str | None]:
        tokens = self.chain.values(block, learnt)
        marks: list[str | None] = []
        for start, stop in zip(block.offsets, block.offsets[1:], strict=False):
            marks += self.gazetteer.mark(tokens[start:stop])
        return marks


@dataclass(frozen=True)
class Opposite(OfChain):
    """True where a test does not hold; None where there is nothing to test."""

    chain: Chain

    @property
    def name(self) -> str:
        """The name, such as ~w.title."""
        return f"~{self.chain.name}"

    @property
    def code(self) -> str:
        return f"~{self.chain.code}"

    def values(self, block: Block, learnt: Learnt) -> list[bool | None]:
        holds = self.chain.values(block, learnt)
        if not self.chain.steps:  # marks: first(), missing(), member()
            return [True if value is None else None for value in holds]
        tested = Chain(self.chain.source, self.chain.steps[:-1]).values(block, learnt)
        return [
            True if value is None and text is not None else None
            for value, text in zip(holds, tested, strict=True)
        ]


@dataclass(frozen=True)
class Gaps(Unlearnt):
    """True where a column has no value."""

    cells: Cells

    @property
    def name(self) -> str:
        """The name, such as pos.missing."""
        return f"{self.cells.name}.missing"

    @property
    def code(self) -> str:
        return f"{self.cells.code}.missing()"

    def values(self, block: Block, learnt: Learnt) -> list[bool | None]:
        return [is_missing(cell) or None for cell in block.cells(self.cells.key, self.cells.optional)]


@dataclass(frozen=True)
class Always(Unlearnt):
    """True at every position (bias), at the first position of a sentence, or at the last."""

    name: str

    @property
    def code(self) -> str:
        return f"{self.name}()"

    def values(self, block: Block, learnt: Learnt) -> list[bool | None]:
        if self.name == "bias":
            return [True] * block.offsets[-1]
        marks: list[bool | None] = [None] * block.offsets[-1]
        for start, n in zip(block.offsets, block.lengths, strict=False):
            if n:
                marks[start if self.name == "first" else start + n - 1] = True
        return marks


@dataclass(frozen=True)
class Vectors(Unlearnt):
    """A column whose cells are vectors of numbers."""

    cells: Cells

    @property
    def name(self) -> str:
        return self.cells.name

    @property
    def code(self) -> str:
        return f"{self.cells.code}.vector()"

    def values(self, block: Block, learnt: Learnt) -> list[Any]:
        return as_vectors(block.cells(self.cells.key, self.cells.optional), block.place, self.cells.title)
