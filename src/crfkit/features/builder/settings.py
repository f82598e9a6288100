"""Checks of the settings of extractors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit.exceptions import InputError


def whole(what: str, value: Any) -> int:
    """Return the value if it is a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{what} must be a whole number, got {value!r}")
    return int(value)


def positive(what: str, value: Any) -> int:
    """Return the value if it is a whole number of 1 or more."""
    if whole(what, value) < 1:
        raise InputError(f"{what} must be 1 or more, got {value}")
    return int(value)


def offset_range(first: Any, last: Any) -> range:
    """Return the offsets of a window, both ends included."""
    if whole("an offset", first) > whole("an offset", last):
        raise InputError(f"a window goes from the first offset to the last, got {first} and {last}")
    return range(int(first), int(last) + 1)


def length_range(shortest: Any, longest: Any) -> range:
    """Return the lengths of prefixes or suffixes, both ends included."""
    if positive("a length", shortest) > positive("a length", longest):
        raise InputError(f"lengths go from the shortest to the longest, got {shortest} and {longest}")
    return range(int(shortest), int(longest) + 1)


def attribute_name(name: Any) -> str:
    """Return the name if it has no ``=``: the part of an attribute before the first ``=`` is its name."""
    if not isinstance(name, str) or not name or "=" in name:
        raise InputError(
            "the name of an attribute must be text without '=', which separates name and value, got "
            f"{name!r}; a column can have another name: column(key, 'name')"
        )
    return name


def regular_expression(pattern: Any) -> re.Pattern[str]:
    """Return a compiled regular expression for text."""
    try:
        compiled: re.Pattern[str] = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from None
    if not isinstance(compiled.pattern, str):
        raise InputError(f"a regular expression must be text, got {pattern!r}")
    return compiled


def a_function(function: Any) -> Callable[..., Any]:
    """Return the function if it can be called."""
    if not callable(function):
        raise InputError(f"expected a function, got {function!r}")
    return function  # type: ignore[no-any-return]


def bin_edges(bins: Any) -> tuple[float, ...]:
    """Return the edges of bins, which must be finite and increasing."""
    edges = np.asarray(bins)
    if edges.ndim != 1 or edges.size == 0 or edges.dtype.kind not in "iuf":
        raise InputError(f"bins must be a number of bins or a list of edges, got {bins!r}")
    if not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise InputError(f"the edges of bins must be finite and increasing, got {edges.tolist()}")
    return tuple(edges.astype(float).tolist())
