"""Votes of the rules that hold at a position, as attributes: a few numbers for every label.

For label l, of the rules that hold at a position for l,

    strongest    log2 of the largest support;
    p items      log(1 + how many have p items), for every length p;
    with f       log(1 + how many have an item of family f), for every family: the part of an item's name
                 before the value, such as ``w[-1]`` in ``w[-1]=the``.

Single rules are too rare to learn a good weight for each; the weights of votes are learned from all rules.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.mining.rules import Rules

_FAMILY = re.compile(r"((?:[+-]\d+:)?[^:=]+)[:=]")
_REST = "another item"  # items without a family, and those of rare ones
_MOST_FAMILIES = 40


def family_of(item: str) -> str | None:
    """Return the part of an item's name before the value; None if there is none."""
    found = _FAMILY.match(item)
    return None if found is None else found[1]


def vote_counter(rules: Rules, kinds: list[str]) -> _native.VoteCounter:
    """Return a counter of the votes of these rules; its ``count`` returns them for every position, sparsely.

    These are bounds [ΣT+1], places (kind · L + label) and values, from the rules that hold at each position.
    """
    place = {kind: k for k, kind in enumerate(kinds)}
    rest = place.get(f"with {_REST}", 0)
    names = rules.vocabulary.strings()
    of_item = np.zeros(len(names), np.int32)  # [A]
    for item in np.flatnonzero(np.bincount(rules.items, minlength=1)).tolist():
        of_item[item] = place.get(f"with {family_of(names[item])}", rest)
    longest = int(rules.lengths.max(initial=0))
    of_length = np.array([place.get(f"{p} items", 0) for p in range(longest + 1)], np.int32)
    strength = np.log2(np.maximum(rules.support, 1.1))  # [R] never 0, so that every vote counts
    return _native.VoteCounter(
        rules.labels, strength, rules.first, rules.items, of_item, of_length, len(kinds), len(rules.classes)
    )


def vote_kinds(rules: Rules) -> list[str]:
    """Return the kinds of votes that these rules make."""
    shortest, longest = int(rules.lengths.min(initial=2)), int(rules.lengths.max(initial=2))
    counts = np.bincount(rules.items, minlength=len(rules.vocabulary))  # [A]
    names = rules.vocabulary.strings()
    families: dict[str | None, int] = {}
    for item in np.flatnonzero(counts).tolist():
        family = family_of(names[item])
        families[family] = families.get(family, 0) + int(counts[item])
    rest = families.pop(None, 0)
    ranked = sorted((-n, str(family)) for family, n in families.items())
    kept = sorted(family for _, family in ranked[:_MOST_FAMILIES])
    if rest or len(ranked) > _MOST_FAMILIES:
        kept.append(_REST)
    lengths = [f"{p} items" for p in range(shortest, longest + 1)]
    return ["strongest", *lengths, *(f"with {family}" for family in kept)]


def vote_names(kinds: list[str], classes: list[Any]) -> list[str]:
    """Return the names of the attributes: for each kind of vote, one for every label."""
    return [f"rules for {label}: {kind}" for kind in kinds for label in classes]
