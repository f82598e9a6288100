"""Checks of estimator parameters: one rule per parameter, one form of message for all.

Also: which values a model file can hold. It is asked before training, because a trained model that cannot be
saved is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from crfkit.exceptions import InputError

DIGITS = 20  # characters of the longest integer in a model file: parsing long ones takes quadratic time
_LONG = 10**DIGITS

Rule = tuple[str, Callable[[Any], bool]]  # description of the expected value, and the check


def number(low: float, high: float = np.inf) -> Rule:
    """Return the rule for a finite number of at least ``low``, and of at most ``high``."""
    return (
        f"a number of at least {low:g}" if high == np.inf else f"a number from {low:g} to {high:g}",
        lambda v: (
            isinstance(v, Real) and not isinstance(v, bool) and low <= float(v) <= high and float(v) < np.inf
        ),
    )


def positive() -> Rule:
    """Return the rule for a finite number above 0."""
    return (
        "a number above 0",
        lambda v: isinstance(v, Real) and not isinstance(v, bool) and 0 < float(v) < np.inf,
    )


def whole_number(low: int, high: int | None = None) -> Rule:
    """Return the rule for an integer of at least ``low``, and of at most ``high``."""
    return (
        f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}",
        lambda v: (
            isinstance(v, Integral)
            and not isinstance(v, bool)
            and low <= int(v)
            and (high is None or v <= high)
        ),
    )


def flag() -> Rule:
    """Return the rule for True or False."""
    return ("True or False", lambda v: isinstance(v, (bool, np.bool_)))


def one_of(*choices: Any) -> Rule:
    """Return the rule for one of the choices."""

    def same(value: Any, choice: Any) -> bool:  # NumPy scalars are accepted; True is not 1
        plain = value.item() if isinstance(value, np.generic) else value
        return type(plain) is type(choice) and bool(plain == choice)

    return ("one of " + ", ".join(map(repr, choices)), lambda v: any(same(v, choice) for choice in choices))


def optional(rule: Rule) -> Rule:
    """Return the rule that accepts None and everything the given rule accepts."""
    expected, check = rule
    return (f"None or {expected}", lambda v: v is None or check(v))


def either(*rules: Rule) -> Rule:
    """Return the rule that accepts everything that at least one of the rules accepts."""
    return (" or ".join(expected for expected, _ in rules), lambda v: any(check(v) for _, check in rules))


def automatic(rule: Rule, *words: str) -> Rule:
    """Return the rule that accepts "auto", some other words, and everything the given rule accepts."""
    expected, check = rule
    words = ("auto", *words)
    return (
        f"{', '.join(map(repr, words))}{',' if expected.startswith('None') else ' or'} {expected}",
        lambda v: v in words if isinstance(v, str) else check(v),
    )


def verbosity() -> Rule:
    """Return the rule for what training shows (``crfkit.progress``)."""
    return automatic(either(flag(), whole_number(0)))


def mapping() -> Rule:
    """Return the rule for a dict."""
    return ("a dict", lambda v: isinstance(v, Mapping))


def names_or_places() -> Rule:
    """Return the rule for a list of columns, each given by its name or its place."""
    return (
        "a list of names or places of columns",
        lambda v: (
            isinstance(v, (Collection, np.ndarray))
            and not isinstance(v, (str, bytes, Mapping))
            and all(name_or_place()[1](column) for column in v)
        ),
    )


def name_or_place() -> Rule:
    """Return the rule for one column, given by its name or its place."""
    return (
        "the name or the place of a column",
        lambda v: isinstance(v, str) or (isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= 0),
    )


def window() -> Rule:
    """Return the rule for a window around a position."""
    return (
        "an odd number of positions, or a pair (before, after)",
        lambda v: window_sides(v) is not None,
    )


def window_sides(value: Any) -> tuple[int, int] | None:
    """Return how many positions a window has before and after its centre; None for an invalid window."""
    whole = whole_number(0)[1]
    if isinstance(value, (tuple, list)):
        return (int(value[0]), int(value[1])) if len(value) == 2 and all(map(whole, value)) else None
    return (int(value) // 2, int(value) // 2) if whole(value) and int(value) % 2 else None


def functions() -> Rule:
    """Return the rule for a list of functions."""
    return (
        "a list of functions",
        lambda v: isinstance(v, Collection) and not isinstance(v, str) and all(map(callable, v)),
    )


def unstorable(value: Any) -> str | None:
    """Return what a model file cannot hold in a number, a text or a collection of them; None if nothing."""
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        inside = chain(value, value.values()) if isinstance(value, Mapping) else value
        return next(filter(None, map(unstorable, inside)), None)
    if isinstance(value, Integral) and not -_LONG < int(value) * (10 if int(value) < 0 else 1) < _LONG:
        return f"an integer of more than {DIGITS} characters"
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        return "a half of a surrogate pair, which is not text"
    return None


def check_parameters(estimator: object, rules: Mapping[str, Rule]) -> None:
    """Raise InputError for the first parameter that breaks its rule."""
    for name, (expected, check) in rules.items():
        value = getattr(estimator, name)
        if not check(value):
            raise InputError(f"{type(estimator).__name__}: {name} must be {expected}, got {value!r}")
        lost = unstorable(value)
        if lost is not None:
            raise InputError(f"{type(estimator).__name__}: {name} has {lost}; a model file cannot hold it")
