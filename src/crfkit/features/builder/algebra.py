"""How extractors combine: neighbours ``[-1]``, windows, conjunctions ``&``.

An extractor is immutable: every method returns a new one. Two are equal if they are made in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from crfkit.exceptions import InputError
from crfkit.features.builder.settings import offset_range, whole
from crfkit.features.builder.sources import Chain, Learner, Opposite, Vectors

_Self = TypeVar("_Self", bound="Extractor")
_Moved = TypeVar("_Moved", bound="Shiftable")
_Same = TypeVar("_Same", bound="Track")


class Extractor:
    """An object that makes attributes."""

    # ``extractor[-1]`` is that of the neighbour: without these two lines Python would treat it as a sequence.
    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    name: str  # the name of the attributes: the part before ``=``

    @property
    def head(self) -> str:
        """The name, with ``=`` if a value follows, or ``:`` if the name continues."""
        return self.name

    @property
    def reach(self) -> int:
        return 0

    def learners(self) -> Iterator[Learner]:
        return iter(())

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: Any) -> _Self:
        return self  # it never changes


class Shiftable(Extractor, ABC):
    """An extractor that can be shifted to a neighbouring position and combined with others."""

    def __getitem__(self: _Moved, offset: int) -> _Moved:
        if isinstance(offset, slice):
            raise InputError("an offset is a single number; for several write .window(-2, 2)")
        return self._at(whole("an offset", offset))

    @abstractmethod
    def _at(self: _Moved, offset: int) -> _Moved:
        """Return the extractor shifted by ``offset`` positions."""

    def window(self, first: int, last: int) -> Group:
        """Return one extractor for each offset from ``first`` to ``last`` (both included)."""
        return Group(
            tuple(self[k] for k in offset_range(first, last)), f"{_operand(self)}.window({first}, {last})"
        )

    def ngrams(self, n: int, first: int, last: int) -> Group:
        """Return one conjunction per run of n neighbours from ``first`` to ``last`` (both included)."""
        offsets = offset_range(first, last)
        if not 2 <= whole("n", n) <= len(offsets):
            raise InputError(f"n must be 2 or more and fit into the window {first} to {last}, got {n}")
        runs = []
        for start in range(len(offsets) - n + 1):
            run: Shiftable = self[offsets[start]]
            for k in offsets[start + 1 : start + n]:
                run = run._with(self[k])
            runs.append(run)
        return Group(tuple(runs), f"{_operand(self)}.ngrams({n}, {first}, {last})")

    def __and__(self, other: Shiftable | Group) -> Any:
        if isinstance(other, Group):
            return Group(tuple(self & member for member in other), f"{self!r} & {other!r}")
        return self._with(other) if isinstance(other, Shiftable) else NotImplemented

    def _with(self, other: Shiftable) -> Conjunction:
        return Conjunction((*self._parts(), *other._parts()))

    def written_as(self, head: str) -> Written:
        """Return the extractor with its attributes spelt in another way: this text, then the value if any.

        Values are written as they are, joined by ``|`` in a conjunction: use it to make the attributes that
        another program makes. Nothing keeps different values from making the same attribute.
        """
        if not isinstance(head, str) or not head:
            raise InputError(f"attributes must begin with a text, got {head!r}")
        return Written(self, head)

    def _parts(self) -> tuple[Track, ...]:
        raise InputError(f"{self!r} cannot be combined with others")


@dataclass(frozen=True, repr=False)
class Written(Extractor):
    """An extractor whose attributes are spelt in another way."""

    extractor: Shiftable
    name: str

    @property
    def reach(self) -> int:
        return self.extractor.reach

    def learners(self) -> Iterator[Learner]:
        yield from self.extractor.learners()

    def __repr__(self) -> str:
        return f"{_operand(self.extractor)}.written_as({self.name!r})"


@dataclass(frozen=True, repr=False)
class Track(Shiftable):
    """One value per position, taken ``offset`` positions away."""

    chain: Any  # a Source: the class of the track says which
    offset: int = 0

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as w.lower[-1]."""
        return f"{self.chain.name}{_bracket(self.offset)}"

    @property
    def reach(self) -> int:
        return abs(self.offset)

    def learners(self) -> Iterator[Learner]:
        yield from self.chain.learners()

    def _at(self: _Same, offset: int) -> _Same:
        return replace(self, offset=self.offset + offset)

    def _parts(self) -> tuple[Track, ...]:
        return (self,)

    def __repr__(self) -> str:
        return f"{self.chain.code}{_bracket(self.offset)}"


@dataclass(frozen=True, repr=False)
class Flag(Track):
    """A test: makes the attribute ``name`` where it is true. ``~flag`` is the opposite test."""

    chain: Chain

    def __invert__(self) -> Flag:
        source = self.chain.source
        if isinstance(source, Opposite):
            return Flag(source.chain, self.offset)
        return Flag(Chain(Opposite(self.chain)), self.offset)


@dataclass(frozen=True, repr=False)
class Vector(Track):
    """A vector of numbers: makes the attributes ``name:0``, ``name:1``, …"""

    chain: Vectors

    @property
    def head(self) -> str:
        return f"{self.name}:"

    def written_as(self, head: str) -> Written:
        raise InputError(f"{self!r} cannot be spelt in another way: it is a vector")

    def _parts(self) -> tuple[Track, ...]:
        raise InputError(f"{self!r} cannot be combined with others: it is a vector")


@dataclass(frozen=True, repr=False)
class Conjunction(Shiftable):
    """Several tracks combined: the text of all, where every flag is true, with the product of the numbers."""

    parts: tuple[Track, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as w[-1]|w."""
        return "|".join(part.name for part in self.parts)

    @property
    def head(self) -> str:
        """The name, with ``=`` if there is text in it."""
        return self.name + ("=" if any(part.head.endswith("=") for part in self.parts) else "")

    @property
    def reach(self) -> int:
        return max(part.reach for part in self.parts)

    def learners(self) -> Iterator[Learner]:
        for part in self.parts:
            yield from part.learners()

    def _at(self, offset: int) -> Conjunction:
        return Conjunction(tuple(part[offset] for part in self.parts))

    def _parts(self) -> tuple[Track, ...]:
        return self.parts

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.parts))


@dataclass(frozen=True, repr=False)
class Own(Extractor):
    """A function of the sentence and the position."""

    function: Callable[[Any, int], Any]
    name: str

    def __repr__(self) -> str:
        written = getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"function({written}, {self.name!r})"


@dataclass(frozen=True, repr=False)
class Group:
    """Several extractors that were made together."""

    members: tuple[Shiftable, ...]
    code: str

    def __iter__(self) -> Iterator[Shiftable]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, offset: int) -> Group:
        return Group(tuple(member[offset] for member in self.members), f"{_operand(self)}[{offset}]")

    def window(self, first: int, last: int) -> Group:
        """Return the members at each offset from ``first`` to ``last`` (both included)."""
        members = tuple(member for k in offset_range(first, last) for member in self[k])
        return Group(members, f"{_operand(self)}.window({first}, {last})")

    def __and__(self, other: Shiftable | Group) -> Group:
        """Combine each member with the other extractor, or with each member of the other group."""
        if not isinstance(other, (Shiftable, Group)):
            return NotImplemented
        others = other if isinstance(other, Group) else (other,)
        return Group(tuple(a & b for a in self.members for b in others), f"{self!r} & {other!r}")

    def __deepcopy__(self, memo: Any) -> Group:
        return self  # it never changes

    def __repr__(self) -> str:
        return self.code


def _operand(extractor: object) -> str:
    """Return the code of an extractor, in parentheses if needed before a method call."""
    code = repr(extractor)
    return f"({code})" if " & " in code else code


def _bracket(offset: int) -> str:
    return f"[{offset}]" if offset else ""
