"""Numbers from cells and positions, functions of them, and bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crfkit.exceptions import InputError
from crfkit.features.builder.sources import Cells, Chain, Learner, Learnt, Numbers, OfChain, Steps, Unlearnt
from crfkit.features.builder.steps import Computed, Standardised
from crfkit.features.cells import as_numbers
from crfkit.features.sentences import Block


@dataclass(frozen=True)
class Parsed(OfChain):
    """Cells, or text made of them, as numbers."""

    chain: Chain

    @property
    def name(self) -> str:
        return self.chain.name

    @property
    def code(self) -> str:
        return f"{self.chain.code}.number()"

    def values(self, block: Block, learnt: Learnt) -> Numbers:
        cells = self.chain.source
        if not isinstance(cells, Cells):
            return as_numbers(self.chain.values(block, learnt), block.place, self.name, True)
        if self.chain.steps:  # a step may return None
            return as_numbers(self.chain.values(block, learnt), block.place, cells.title, True)
        return as_numbers(block.cells(cells.key, cells.optional), block.place, cells.title, cells.optional)


@dataclass(frozen=True)
class Places(Unlearnt):
    """The number of positions before, or after."""

    from_end: bool

    @property
    def name(self) -> str:
        return "position.end" if self.from_end else "position"

    @property
    def code(self) -> str:
        return f"position({'from_end=True' if self.from_end else ''})"

    def values(self, block: Block, learnt: Learnt) -> Numbers:
        """Return 0, 1, … from the start, or backwards from the end [ΣT]."""
        places: Numbers = []
        for n in block.lengths:
            places += map(float, reversed(range(n)) if self.from_end else range(n))
        return places


@dataclass(frozen=True)
class NumberChain(Steps):
    """Numbers of a source, and the steps applied to them."""

    source: Parsed | Places
    steps: tuple[Computed | Standardised, ...] = ()

    def values(self, block: Block, learnt: Learnt) -> Numbers:
        if not self.steps:
            return self.source.values(block, learnt)
        values = self.numbers(block, learnt)
        step = self.steps[-1]
        if isinstance(step, Standardised):
            mean, deviation = learnt[self]
            return [None if x is None else (x - mean) / deviation for x in values]
        results: Numbers = []
        for i, x in enumerate(values):
            try:
                y = None if x is None else step(x)
                if y is not None and not math.isfinite(y):
                    raise InputError(f"expected a finite number, got {y} for {x}")
            except InputError as error:
                raise InputError(f"{block.place(i)}: {self.name}: {error}") from error
            results.append(y)
        return results

    def numbers(self, block: Block, learnt: Learnt) -> Numbers:
        """Return the input of the last step [ΣT]."""
        return NumberChain(self.source, self.steps[:-1]).values(block, learnt)

    def learn(self, numbers: list[float]) -> tuple[float, float]:
        """Return the mean and the standard deviation; 1 instead of a deviation of 0."""
        if not numbers:
            raise InputError(f"{self.name}: there are no numbers to learn from")
        return float(np.mean(numbers)), float(np.std(numbers)) or 1.0

    def learners(self) -> Iterator[Learner]:
        """Yield the learners of the source, and the chain up to each step that learns."""
        yield from super().learners()
        for k, step in enumerate(self.steps):
            if isinstance(step, Standardised):
                yield NumberChain(self.source, self.steps[: k + 1])


@dataclass(frozen=True)
class Bins:
    """The interval that a number lies in, as text."""

    chain: NumberChain
    bins: int | tuple[float, ...]  # how many (edges are quantiles, learnt by fit), or the edges

    @property
    def name(self) -> str:
        """The name, such as price.bin."""
        return f"{self.chain.name}.bin"

    @property
    def code(self) -> str:
        edges = self.bins if isinstance(self.bins, int) else f"[{', '.join(_marks(self.bins))}]"
        return f"{self.chain.code}.binned({edges})"

    def values(self, block: Block, learnt: Learnt) -> list[str | None]:
        """Return an interval such as ``[10,20)`` for each position [ΣT]."""
        edges = learnt[self] if isinstance(self.bins, int) else self.bins
        titles = bin_titles(edges)
        return [None if x is None else titles[bisect_right(edges, x)] for x in self.numbers(block, learnt)]

    def numbers(self, block: Block, learnt: Learnt) -> Numbers:
        return self.chain.values(block, learnt)

    def learn(self, numbers: list[float]) -> tuple[float, ...]:
        """Return edges of bins with about equally many numbers; there are fewer bins if numbers repeat."""
        if not numbers:
            raise InputError(f"{self.name}: there are no numbers to learn from")
        n = int(self.bins)  # type: ignore[arg-type]  # learners() says so
        edges = np.unique(np.quantile(numbers, np.arange(1, n) / n))
        return tuple(float(edge) for edge in edges if edge > min(numbers))  # no bin below the smallest

    def learners(self) -> Iterator[Learner]:
        """Yield the learners of the numbers, and this source unless the edges are given."""
        yield from self.chain.learners()
        if isinstance(self.bins, int):
            yield self


def bin_titles(edges: tuple[float, ...]) -> list[str]:
    """Return the names of the intervals between edges, and of those outside."""
    if not edges:
        return ["any"]
    marks = _marks(edges)
    between = [f"[{low},{high})" for low, high in pairwise(marks)]
    return [f"<{marks[0]}", *between, f">={marks[-1]}"]


def _marks(edges: tuple[float, ...]) -> list[str]:
    """Return the edges as text, as short as possible but distinct."""
    marks = [format(edge, "g") for edge in edges]
    return marks if len(set(marks)) == len(marks) else list(map(repr, edges))
