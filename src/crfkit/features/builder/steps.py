"""Steps: functions of a text or a number. A step that returns None makes no attribute.

Each step has a ``label``, its part of the attribute's name, and ``code``, its Python expression. Those that
are no functions of the user's also have ``compiled``, their form in a feature program.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from crfkit import _native
from crfkit.exceptions import InputError
from crfkit.features import program_code
from crfkit.features.builder.characters import character_set


class CellStep(Protocol):
    """A function from text to text, or, for a test, to True or False."""

    @property
    def label(self) -> str:
        """Its part of the attribute's name."""

    @property
    def code(self) -> str:
        """Its Python expression."""

    @property
    def compiled(self) -> bytes | None:
        """The step of a feature program, or None if only Python can do it."""

    def __call__(self, cell: str, /) -> str | bool | None:
        """Return the result for a cell."""


class _Native(ABC):
    """A step that feature programs have: it is run natively, here and in model files."""

    @property
    @abstractmethod
    def compiled(self) -> bytes:
        """The step of a feature program."""

    def __call__(self, cell: str) -> str | bool | None:
        return native_step(self.compiled)(cell)


@lru_cache(maxsize=1024)
def native_step(code: bytes) -> _native.Step:
    """Return the function of a compiled step."""
    return _native.Step(code)


@dataclass(frozen=True)
class Plain(_Native):
    """A step without settings, such as ``lower``."""

    label: str

    @property
    def code(self) -> str:
        return f"{self.label}()"

    @property
    def compiled(self) -> bytes:
        return program_code.step(self.label)


@dataclass(frozen=True)
class Affix(_Native):
    """The first or last n characters of a cell (None if it is shorter), or all but the first n (``skip``)."""

    kind: str  # prefix, suffix or skip
    n: int

    @property
    def label(self) -> str:
        """The label, such as prefix3."""
        return f"{self.kind}{self.n}"

    @property
    def code(self) -> str:
        return f"{self.kind}({self.n})"

    @property
    def compiled(self) -> bytes:
        return program_code.step(self.kind, program_code.number(self.n))


@dataclass(frozen=True)
class OfCharacters(_Native):
    """A step with a set of characters: ``strip``, ``remove``, ``tail``, or a test: ``has``, ``only_has``."""

    kind: str
    characters: str
    label: str
    left: bool = True  # the ends that strip looks at
    right: bool = True
    keep_whole: bool = False

    @property
    def code(self) -> str:
        usual = {"left": True, "right": True, "keep_whole": False}
        changed = "".join(f", {k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v)
        return f"{self.kind}({regular_expression_code(self.characters)}, {self.label!r}{changed})"

    @property
    def compiled(self) -> bytes:
        return self.compiled_as(negated=False)

    def compiled_as(self, *, negated: bool) -> bytes:
        """Return the step; ``negated``, of a test: where it does not hold."""
        name = {"has": "any", "only_has": "all"}.get(self.kind, self.kind)
        settings = []
        if self.kind == "strip":
            settings = [program_code.flag(on) for on in (self.left, self.right, self.keep_whole)]
        elif name != self.kind:
            settings = [program_code.flag(negated)]
        return program_code.step(name, *settings, character_set(self.characters))


@dataclass(frozen=True)
class Pattern:
    """A regular expression: whether it matches the whole cell, whether it occurs, or what it finds."""

    kind: str  # matches, contains or find
    pattern: re.Pattern[str]
    label: str

    @property
    def compiled(self) -> None:
        """Nothing: only Python has its regular expressions."""

    @property
    def code(self) -> str:
        return f"{self.kind}({regular_expression_code(self.pattern.pattern)}, {self.label!r})"

    def __call__(self, cell: str) -> str | bool | None:
        if self.kind == "matches":
            return self.pattern.fullmatch(cell) is not None
        found = self.pattern.search(cell)
        if self.kind == "contains":
            return found is not None
        if found is None:
            return None
        text: str | None = found.group(1 if self.pattern.groups else 0)
        return text


@dataclass(frozen=True)
class Mapped:
    """A user function of the cell: ``map`` makes text, ``test`` is true or false."""

    kind: str
    function: Callable[[str], Any]
    label: str

    @property
    def code(self) -> str:
        return f"{self.kind}({_function_name(self.function)}, {self.label!r})"

    @property
    def compiled(self) -> bytes | None:
        """The step, if the function is a method of ``str`` that feature programs have."""
        return self.compiled_as(negated=False)

    def compiled_as(self, *, negated: bool) -> bytes | None:
        """Return the step; ``negated``, of a test: where it does not hold."""
        if self.kind == "map":
            known = [name for method, name in _MAPS if self.function is method]
            return program_code.step(known[0]) if known else None
        for i, test in enumerate(program_code.TESTS):
            if self.function is getattr(str, test):
                return program_code.step("test", program_code.flag(negated), bytes([i]))
        return None

    def __call__(self, cell: str) -> str | bool | None:
        code = self.compiled
        if code is not None:  # by the table of characters that is the same in all versions of Python
            return native_step(code)(cell)
        value = _call(self.function, cell, self.label)
        if self.kind == "test":
            return bool(value)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (bool, list, tuple, dict, set, frozenset)):
            hint = "for a bool write .test" if isinstance(value, bool) else "see crfkit.features.function"
            raise InputError(
                f"map {self.label!r} must return text, a number or None, got {value!r} for {cell!r}; {hint}"
            )
        return str(value)


@dataclass(frozen=True)
class Computed:
    """A function of a number."""

    function: Callable[[float], Any]
    label: str

    @property
    def code(self) -> str:
        return f"map({_function_name(self.function)}, {self.label!r})"

    def __call__(self, number: float) -> float:
        value = _call(self.function, number, self.label)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(f"map {self.label!r} must give a number, got {value!r} for {number!r}") from None


@dataclass(frozen=True)
class Standardised:
    """Subtraction of the mean and division by the standard deviation, both learnt by ``fit``."""

    label: str = "standardised"
    code: str = "standardised()"


_MAPS = (
    (str.lower, "lower"),
    (str.upper, "upper"),
    (str.casefold, "fold"),
)  # methods of str that programs have


def regular_expression_code(text: str) -> str:
    """Return the Python expression of a regular expression's text."""
    raw = "\\" in text and text.isprintable() and not text.endswith("\\") and "'" not in text
    return f"r'{text}'" if raw else repr(text)


def _call(function: Callable[[Any], Any], cell: Any, label: str) -> Any:
    try:
        return function(cell)
    except Exception as error:
        raise InputError(
            f"the function of {label!r} failed for {cell!r}: {type(error).__name__}: {error}"
        ) from error


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
