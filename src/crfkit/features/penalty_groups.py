"""Groups of features that have a penalty of their own, and scales: how much larger or smaller it is.

A group is named by what its attributes have in common: the line of a template (``U00``), the name of an
attribute without its value (``lower``, ``-1:shape``), a prefix, or whatever a function returns. Transitions
are a group; attributes that score label pairs are groups of their own.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.general_scales import GENERAL
from crfkit.features.index import FeatureIndex
from crfkit.io.writing import open_output

TRANSITIONS, TRIPLES = "transitions", "label triples"
_COLUMNS, _RULES, _BARE, _OTHERS = "columns", "rules", "names without a value", "all others"
_PAIRS = " on label pairs"
_MOST = 500  # groups: more are probably the values of attributes, not their names
# An offset such as "-1:" or "-1|0:", then everything up to "=" or ":" outside brackets.
_NAME = re.compile(r"((?:[+-]?\d+(?:\|[+-]?\d+)*:)?(?:\[[^\]]*\]|[^=:\[])*)[=:]")

Grouping = Callable[..., str]  # of an attribute's name, or of its name and a label


def template_of(name: str) -> str:
    """Return the group of an attribute: its name without the value.

    >>> [template_of(name) for name in ("U05:the/dog", "-1:lower=st", "w[-1]|w[0]=a|b", "word:cat", "bias")]
    ['U05', '-1:lower', 'w[-1]|w[0]', 'word', 'names without a value']
    """
    if " → " in name or name.startswith("rules for "):
        return _RULES
    found = _NAME.match(name)
    return _BARE if found is None else found[1]


class FeatureGroups(NamedTuple):
    """The groups of the features of a model."""

    names: list[str]  # [G]
    of: IntArray  # [weights] the group of each feature, in the order of ``FeatureIndex.sizes``


@dataclass(frozen=True)
class PenaltyScales:
    """Factors of the common penalty by group. They can be saved, averaged, and given to another model.

    >>> two = [PenaltyScales({"word": 0.5}), PenaltyScales({"word": 2.0, "shape": 4.0})]
    >>> PenaltyScales.mean(two).factors
    {'word': 1.0, 'shape': 2.0}
    """

    factors: Mapping[str, float]
    groups: Any = "templates"  # how attributes are grouped: "templates", prefixes or a function

    def __post_init__(self) -> None:
        for name, factor in self.factors.items():
            if not isinstance(name, str) or not _is_positive(factor):
                raise InputError(f"a scale is a number above 0 of a group's name, got {name!r}: {factor!r}")

    @classmethod
    def of(cls, value: Any) -> PenaltyScales | None:
        """Return scales given as such, as their record, or as a dict of numbers; None: it is none of them."""
        if isinstance(value, PenaltyScales):
            return value
        if isinstance(value, Mapping) and value.keys() == {"factors", "groups"}:
            return cls(dict(value["factors"]), value["groups"])
        if isinstance(value, Mapping) and value and all(_is_positive(v) for v in value.values()):
            return cls(dict(value))
        return None

    @classmethod
    def mean(cls, scales: Sequence[PenaltyScales]) -> PenaltyScales:
        """Return the geometric mean of scales with the same groups; a scale that one lacks is 1 there."""
        if not scales or any(each.groups != scales[0].groups for each in scales):
            raise InputError("the mean needs scales with the same groups, at least one")
        names = list(dict.fromkeys(name for each in scales for name in each.factors))
        logs = {name: sum(math.log(each.factors.get(name, 1.0)) for each in scales) for name in names}
        return cls({name: math.exp(total / len(scales)) for name, total in logs.items()}, scales[0].groups)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scales as JSON."""
        record = self.to_record()
        if record is None:
            raise InputError("scales of groups made by a function cannot be saved: name prefixes instead")
        text = json.dumps({"penalty_scales": record}, indent=2, ensure_ascii=False)
        with open_output(path) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PenaltyScales:
        """Read scales written by ``save``."""
        try:
            with open(path, encoding="utf-8") as file:
                scales = cls.of(json.load(file)["penalty_scales"])
        except (ValueError, KeyError, TypeError, InputError) as error:
            raise InputError(f"{os.fspath(path)} has no penalty scales: {error}") from error
        if scales is None:
            raise InputError(f"{os.fspath(path)} has no penalty scales")
        return scales

    def to_record(self) -> dict[str, Any] | None:
        """Return the scales as JSON values; None if a function makes the groups."""
        if callable(self.groups):
            return None
        return {"factors": {name: float(v) for name, v in self.factors.items()}, "groups": self.groups}

    def in_words(self, most: int = 8) -> str:
        """Describe the scales farthest from 1: "transitions 0.09 times, … the common penalty"."""
        far = sorted(self.factors.items(), key=lambda item: -abs(math.log(item[1])))[:most]
        if not far:
            return "the same penalty for all"
        words = ", ".join(f"{name} {factor:.2g} times" for name, factor in sorted(far, key=lambda i: i[1]))
        return f"{words} the common penalty"


def _is_positive(value: Any) -> bool:
    return (
        isinstance(value, (int, float, np.number))
        and not isinstance(value, bool)
        and 0 < float(value) < math.inf
    )


def is_grouping(value: Any) -> bool:
    """Return whether ``penalty_groups`` can have this value."""
    if (
        value is None
        or (isinstance(value, str) and value in ("templates", GENERAL))
        or callable(value)
        or isinstance(value, PenaltyScales)
    ):
        return True
    return (
        isinstance(value, Mapping)
        and bool(value)
        and (PenaltyScales.of(value) is not None or _is_prefixes(value))
    )


def groups_record(value: Any) -> Any:
    """Return ``penalty_groups`` as JSON values; None if a function makes the groups."""
    scales = PenaltyScales.of(value)
    if scales is not None:
        return scales.to_record()
    if isinstance(value, Mapping):
        return {name: v if isinstance(v, str) else list(v) for name, v in value.items()}
    return value if isinstance(value, str) else None


RULE = (
    "None, 'templates', 'general', a dict of names to prefixes of attributes, a function of an attribute's "
    "name (and a label), or scales (PenaltyScales, or a dict of names to numbers)",
    is_grouping,
)


def _is_prefixes(value: Mapping[Any, Any]) -> bool:
    def texts(v: Any) -> bool:
        return isinstance(v, str) or (isinstance(v, (list, tuple)) and all(isinstance(p, str) for p in v))

    return all(isinstance(name, str) and texts(v) for name, v in value.items())


def feature_groups(
    groups: Any,
    index: FeatureIndex,
    vocabulary: Vocabulary,
    classes: Sequence[Any],  # [L]
) -> FeatureGroups:
    """Return the group of each feature; groups without a feature are left out."""
    by_label = callable(groups) and _takes_labels(groups)
    if isinstance(groups, str):
        by_name: Grouping = template_of
        if vocabulary.names_columns():
            by_name = lambda name: _COLUMNS  # noqa: E731
    elif callable(groups):
        by_name = lambda *feature: _text(groups(*feature), *feature)  # noqa: E731
    else:
        by_name = _by_prefix(groups)
    number: dict[str, int] = {TRANSITIONS: 0}
    names, L = vocabulary.strings(), len(classes)

    def numbers(indptr: IntArray, labels: Callable[[int], Any], end: str) -> IntArray:
        """Return the group of each feature of the attributes; ``labels`` are those of a feature."""
        counts = np.diff(indptr)
        if by_label:
            made = [
                number.setdefault(by_name(names[a], labels(f)) + end, len(number))
                for f, a in enumerate(np.repeat(np.arange(len(names)), counts).tolist())
            ]
            return np.array(made, np.int64)
        of = [number.setdefault(by_name(names[a]) + end, len(number)) for a in np.flatnonzero(counts)]
        return np.repeat(np.array(of, np.int64), counts[counts > 0])

    states = numbers(index.state_indptr, lambda f: classes[index.state_labels[f]], "")
    pairs = numbers(
        index.pair_indptr, lambda f: tuple(classes[k] for k in divmod(int(index.pair_ids[f]), L)), _PAIRS
    )
    if len(number) > _MOST:
        some = ", ".join(repr(name) for name in list(number)[1:6])
        raise InputError(
            f"penalty_groups makes {len(number):,} groups of {len(names):,} attributes (such as {some}); at "
            f"most {_MOST} make sense: name prefixes, as in penalty_groups={{'words': 'w='}}"
        )
    edges, ngrams, _, _ = index.sizes
    triples = np.full(ngrams, number.setdefault(TRIPLES, len(number)) if ngrams else 0)
    of = np.concatenate([np.zeros(edges, np.int64), triples, pairs, states])
    kept = np.unique(of[index.places])
    found = [list(number)[int(g)] for g in kept]
    if isinstance(groups, Mapping):
        _require_features(groups, set(found))
    return FeatureGroups(found, np.minimum(np.searchsorted(kept, of), max(0, len(kept) - 1)))


def _takes_labels(function: Callable[..., Any]) -> bool:
    """Return whether a function of groups has two parameters: an attribute's name and a label."""
    try:
        asked = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in function
        return False
    return (
        sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in asked)
        > 1
    )


def _text(group: Any, *feature: Any) -> str:
    if not isinstance(group, str):
        of = ", ".join(map(repr, feature))
        raise InputError(f"penalty_groups must return a group's name, a str; got {group!r} for {of}")
    return group


def _by_prefix(groups: Mapping[str, str | Sequence[str]]) -> Grouping:
    """Return a function that finds the group with the longest prefix of a name."""
    prefixes = sorted(
        ((p, name) for name, given in groups.items() for p in ([given] if isinstance(given, str) else given)),
        key=lambda item: -len(item[0]),
    )

    def group(name: str) -> str:
        return next((group for prefix, group in prefixes if name.startswith(prefix)), _OTHERS)

    return group


def _require_features(groups: Iterable[str], found: set[str]) -> None:
    """Raise if a group that the user named has no feature."""
    empty = [name for name in groups if name not in found and name + _PAIRS not in found]
    if empty:
        raise InputError(
            f"penalty_groups: no feature belongs to {', '.join(map(repr, empty))}; no attribute begins with "
            "its prefixes"
        )
