"""Compilation of extractors into a feature program.

What only Python can do (functions of the user, regular expressions) is an input of the program: Python
computes the column, and everything made of it is native again. Functions of the sentence and the position
make attributes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from crfkit.exceptions import InputError
from crfkit.features.builder.algebra import Conjunction, Extractor, Flag, Own, Track, Vector, Written
from crfkit.features.builder.extractors import Number, Text
from crfkit.features.builder.numbers import Bins, NumberChain, Places, bin_titles
from crfkit.features.builder.sources import (
    Always,
    Cells,
    Chain,
    Gaps,
    Learnt,
    Named,
    Opposite,
    Phrases,
)
from crfkit.features.builder.steps import Standardised
from crfkit.features.program_code import Part, ProgramCode, many, number, real, text
from crfkit.features.sentences import Block


@dataclass(frozen=True)
class Compiled:
    """A feature program, and what only Python can do."""

    code: bytes
    computed: tuple[Any, ...]  # chains whose values are inputs of the program, by place
    own: tuple[Own, ...]  # functions that make attributes
    learnt: Learnt

    @property
    def functions(self) -> list[Callable[[Block], list[Any]]]:
        """The functions that compute columns of a block."""
        return [partial(_values, chain, self.learnt) for chain in self.computed]

    @property
    def in_python(self) -> list[str]:
        """What only Python can do, by the expressions that make it."""
        return [*(chain.code for chain in self.computed), *map(repr, self.own)]


def compile_extractors(extractors: Iterable[Extractor], learnt: Learnt, padding: bool) -> Compiled:
    """Return the program that makes the attributes of the extractors, those without a value first."""
    extractors = list(extractors)
    compiler = _Compiler(learnt)
    makers = [e for e in extractors if not isinstance(e, Own)]
    for extractor in sorted(makers, key=is_numeric):
        compiler.add(extractor)
    reach = max((e.reach for e in extractors), default=0) if padding else 0
    before = [border("", k) for k in range(1, reach + 1)]
    after = [border("/", k) for k in range(1, reach + 1)]
    code = compiler.code.finish(before, after)
    return Compiled(
        code, tuple(compiler.computed), tuple(e for e in extractors if isinstance(e, Own)), learnt
    )


def border(slash: str, distance: int) -> str:
    """Return the text of a place outside the sentence."""
    return f"<{slash}s{distance if distance > 1 else ''}>"


def is_numeric(extractor: Extractor) -> bool:
    """Tell whether the attributes have a value."""
    if isinstance(extractor, Written):
        extractor = extractor.extractor
    if isinstance(extractor, Conjunction):
        return any(isinstance(part, Number) for part in extractor.parts)
    return isinstance(extractor, (Number, Vector))


class _Compiler:
    def __init__(self, learnt: Learnt) -> None:
        self.code = ProgramCode()
        self.learnt = learnt
        self.computed: dict[Any, int] = {}  # chain -> place among the computed inputs

    # ---- lines

    def add(self, extractor: Any) -> None:
        """Add the line of an extractor."""
        if isinstance(extractor, Written):
            return self._line(extractor.name, _parts(extractor.extractor), "none")
        if isinstance(extractor, Vector):
            cells = extractor.chain.cells
            of = self.code.input("vector", cells.key, cells.title, optional=cells.optional)
            return self.code.vector_line(extractor.head, of, extractor.offset)
        joined = isinstance(extractor, Conjunction)
        return self._line(extractor.head, _parts(extractor), "joined" if joined else "borders")

    def _line(
        self, head: str, parts: tuple[Track, ...], escape: Literal["none", "borders", "joined"]
    ) -> None:
        if len(parts) == 1 and isinstance(parts[0], Flag) and _is_constant(parts[0]):
            self.code.line([head])
            return
        literals = [head]
        nodes: list[Part] = []
        numbers: list[Part] = []
        for part in parts:
            if isinstance(part, Number):
                numbers.append(Part(self.number(part.chain), part.offset))
                continue
            shown = isinstance(part, Text)
            if shown and any(node.shown for node in nodes):
                literals[-1] += "|"
            nodes.append(Part(self.text(part.chain), part.offset, shown))
            literals.append("")
        self.code.line(literals, nodes, numbers, escape=escape)

    # ---- nodes

    def text(self, source: Any) -> int:
        """Add the node of a source of texts or marks."""
        add = self.code.node
        if isinstance(source, Chain):
            native = 0  # steps from here on are native
            for k, step in enumerate(source.steps):
                if step.compiled is None:
                    native = k + 1
            done = Chain(source.source, source.steps[:native])
            node = self._input("text", done) if native else self.text(source.source)
            for step in source.steps[native:]:
                node = add("step", number(node), step.compiled or b"")
            return node
        if isinstance(source, Cells):
            column = self.code.input("text", source.key, source.title, optional=source.optional)
            return add("input", number(column))
        if isinstance(source, Gaps):
            cells = source.cells
            column = self.code.input("gap", cells.key, cells.title, optional=cells.optional)
            return add("input", number(column))
        if isinstance(source, Named):
            return self.text(source.chain)
        if isinstance(source, Phrases):
            gazetteer = self.code.gazetteer(source.gazetteer.phrases, source.gazetteer.ignore_case)
            return add("phrases", number(self.text(source.chain)), number(gazetteer))
        if isinstance(source, Opposite):
            return self._opposite(source)
        if isinstance(source, Always):
            return add({"bias": "always"}.get(source.name, source.name))
        if isinstance(source, Bins):
            edges = self.learnt[source] if isinstance(source.bins, int) else source.bins
            titles = b"".join(map(text, bin_titles(edges)))
            return add("bin", number(self.number(source.chain)), many([real(x) for x in edges]), titles)
        raise InputError(f"{source!r} cannot be compiled")

    def number(self, chain: NumberChain) -> int:
        """Add the node of numbers."""
        add = self.code.node
        if chain.steps:
            if isinstance(chain.steps[-1], Standardised):
                mean, deviation = self.learnt[chain]
                of = self.number(NumberChain(chain.source, chain.steps[:-1]))
                return add("standardised", number(of), real(mean), real(deviation))
            return self._input("number", chain)
        source = chain.source
        if isinstance(source, Places):
            return add("place_from_end" if source.from_end else "place")
        cells = source.chain.source
        if isinstance(cells, Cells) and not source.chain.steps:
            column = self.code.input("number", cells.key, cells.title, optional=cells.optional)
            return add("number", number(column))
        title = cells.title if isinstance(cells, Cells) else source.name
        return add("parsed", number(self.text(source.chain)), text(title))

    def _input(self, kind: Literal["text", "number"], chain: Any) -> int:
        """Add a column that Python computes."""
        place = self.computed.setdefault(chain, len(self.computed))
        column = self.code.input(kind, place, chain.name, computed=True)
        return self.code.node("input" if kind == "text" else "number", number(column))

    def _opposite(self, source: Opposite) -> int:
        chain = source.chain
        if not chain.steps:
            return self.code.node("not", number(self.text(chain.source)))
        *before, test = chain.steps
        if test.compiled is None:
            return self._input("text", Chain(source))
        of = self.text(Chain(chain.source, tuple(before)))
        return self.code.node("step", number(of), test.compiled_as(negated=True))  # type: ignore[attr-defined]


def _values(chain: Any, learnt: Learnt, block: Block) -> list[Any]:
    values: list[Any] = chain.values(block, learnt)
    return values


def _parts(extractor: Any) -> tuple[Track, ...]:
    return extractor.parts if isinstance(extractor, Conjunction) else (extractor,)


def _is_constant(part: Flag) -> bool:
    return part.chain == Chain(Always("bias")) and part.offset == 0
