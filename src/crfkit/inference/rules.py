"""Constraints from a user's rules: which labels may follow each other, come first, or come last.

Rules name labels, or patterns of labels like those for file names: ``*`` is any text, ``?`` any character,
``[ab]`` one of these characters. A pattern that equals a label matches that label only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray
from crfkit.exceptions import InputError
from crfkit.inference.constraints import Constraints
from crfkit.inference.schemes import checked_names

Pattern = str | Iterable[str]  # one of several


def rule_constraints(
    classes: Sequence[str],
    *,
    forbid: Iterable[Sequence[Pattern]] = (),
    allow: Iterable[Sequence[Pattern]] = (),
    only_after: Mapping[str, Pattern] | None = None,
    only_before: Mapping[str, Pattern] | None = None,
    starts: Pattern | None = None,
    ends: Pattern | None = None,
) -> Constraints:
    """Return constraints that permit everything except what the rules forbid.

    Parameters
    ----------
    classes
        [L] the model's labels, in the model's order.
    forbid
        Forbidden pairs (before, after), or triples of consecutive labels (for lattices of order 2). Each
        member is a pattern or a list of patterns.
    allow
        Exceptions to ``forbid``. ``forbid=[("*", "*")], allow=[...]`` permits only what it lists.
    only_after, only_before
        ``{"I-NP": ["B-NP", "I-NP"]}``: I-NP comes only after (before) one of these. With ``only_after`` it
        is therefore never first, with ``only_before`` never last.
    starts, ends
        The labels that may be first and last.

    Examples
    --------
    >>> rules = rule_constraints(["O", "B-NP", "I-NP"], only_after={"I-*": ["B-*", "I-*"]})
    >>> rules.transitions[0].tolist(), rules.starts.tolist()
    ([True, True, False], [True, True, False])
    """
    names = checked_names(classes)
    n = len(names)
    pairs = np.ones((n, n), dtype=np.bool_)
    triples: BoolArray | None = None  # [L, L, L], made if there is a rule on three labels
    first = np.ones(n, dtype=np.bool_) if starts is None else _matching(starts, names, "starts")
    last = np.ones(n, dtype=np.bool_) if ends is None else _matching(ends, names, "ends")
    for word, rules, permitted in (("forbid", forbid, False), ("allow", allow, True)):
        for rule in rules:
            masks = [_matching(pattern, names, f"{word} {rule!r}") for pattern in _checked(rule, word)]
            if len(masks) == 2:
                pairs[np.ix_(*masks)] = permitted
                continue
            triples = np.ones((n, n, n), dtype=np.bool_) if triples is None else triples
            triples[np.ix_(*masks)] = permitted
    for label, company in (only_after or {}).items():
        here, others = _matching(label, names, "only_after"), _matching(company, names, "only_after")
        pairs[np.ix_(~others, here)] = False
        first &= ~here
    for label, company in (only_before or {}).items():
        here, others = _matching(label, names, "only_before"), _matching(company, names, "only_before")
        pairs[np.ix_(here, ~others)] = False
        last &= ~here
    return Constraints(transitions=pairs, transitions2=triples, starts=first, ends=last)


def _checked(rule: Any, word: str) -> Sequence[Pattern]:
    if isinstance(rule, str) or not isinstance(rule, Sequence) or len(rule) not in (2, 3):
        raise InputError(
            f"{word} must list pairs (label before, label after) or three labels in a row; got {rule!r}"
        )
    return rule


def _matching(pattern: Pattern, names: list[str], where: str) -> BoolArray:
    """Return which labels match one of the patterns [L]; raise for a pattern that matches no label."""
    found = np.zeros(len(names), dtype=np.bool_)
    for one in pattern if isinstance(pattern, Iterable) and not isinstance(pattern, str) else [pattern]:
        if not isinstance(one, str):
            raise InputError(f"{where}: a label or pattern must be a string, got {one!r}")
        hits = [name == one for name in names] if one in names else [fnmatchcase(name, one) for name in names]
        if not any(hits):
            from difflib import get_close_matches  # slow to import, and only needed here

            near = get_close_matches(one, names, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise InputError(f"{where}: none of the {len(names)} labels matches {one!r}{hint}")
        found |= np.array(hits)
    return found
