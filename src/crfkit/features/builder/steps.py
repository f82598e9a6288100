"""Steps: functions of a text or a number. A step that returns None makes no attribute.

Each step has a ``label``, its part of the attribute's name, and ``code``, its Python expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from crfkit.exceptions import InputError
from crfkit.features.shapes import full_shape, word_shape


class CellStep(Protocol):
    """A function from text to text, or, for a test, to True or False."""

    @property
    def label(self) -> str:
        """Its part of the attribute's name."""

    @property
    def code(self) -> str:
        """Its Python expression."""

    def __call__(self, cell: str, /) -> str | bool | None:
        """Return the result for a cell."""


@dataclass(frozen=True)
class Plain:
    """A step without settings, such as ``lower``."""

    label: str

    @property
    def code(self) -> str:
        return f"{self.label}()"

    def __call__(self, cell: str) -> str:
        return _PLAIN[self.label](cell)


_PLAIN: dict[str, Callable[[str], str]] = {"lower": str.lower, "shape": full_shape, "short_shape": word_shape}


@dataclass(frozen=True)
class Affix:
    """The first or last n characters of a cell; None if it is shorter."""

    kind: str  # prefix or suffix
    n: int

    @property
    def label(self) -> str:
        """The label, such as prefix3."""
        return f"{self.kind}{self.n}"

    @property
    def code(self) -> str:
        return f"{self.kind}({self.n})"

    def __call__(self, cell: str) -> str | None:
        if len(cell) < self.n:
            return None
        return cell[: self.n] if self.kind == "prefix" else cell[-self.n :]


@dataclass(frozen=True)
class Pattern:
    """A regular expression: whether it matches the whole cell, whether it occurs, or what it finds."""

    kind: str  # matches, contains or find
    pattern: re.Pattern[str]
    label: str

    @property
    def code(self) -> str:
        text = self.pattern.pattern
        raw = "\\" in text and text.isprintable() and not text.endswith("\\") and "'" not in text
        written = f"r'{text}'" if raw else repr(text)
        return f"{self.kind}({written}, {self.label!r})"

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

    def __call__(self, cell: str) -> str | bool | None:
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


def _call(function: Callable[[Any], Any], cell: Any, label: str) -> Any:
    try:
        return function(cell)
    except Exception as error:
        raise InputError(
            f"the function of {label!r} failed for {cell!r}: {type(error).__name__}: {error}"
        ) from error


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
