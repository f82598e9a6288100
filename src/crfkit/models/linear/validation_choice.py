"""The validation sets that a user has chosen, as spans of positions of the training data.

The choice is a number of sets, a list of sequence numbers per set, one set per sequence or group, a splitter
of scikit-learn, or the last positions of each sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.arrays import IntArray
from crfkit.exceptions import InputError
from crfkit.objectives.validation_sets import Spans

Ids = IntArray
Offsets = IntArray

EACH = "sequences"  # one set per sequence
HELD_OUT = "held-out"  # folds, each under a model that has not seen it: held_out_search.py

RULE: rule.Rule = (
    "a number of sets (at least 1), 'sequences', 'held-out', a list of sets (each the numbers of its "
    "sequences), or a splitter with a method split",
    lambda v: (
        (isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= 1)
        or (isinstance(v, str) and v in (EACH, HELD_OUT))
        or (isinstance(v, (list, tuple, np.ndarray)) and len(v) > 0)
        or callable(getattr(v, "split", None) if not isinstance(v, str) else None)
    ),
)


def validation_spans(
    validation: Any, offsets: Offsets, *, last: int | None = None, groups: Any = None
) -> Spans:
    """Return the spans that ``validation``, ``last`` or ``groups`` (one per sequence) name; offsets [N+1].

    ``last``, then ``groups``, take precedence over ``validation`` (a splitter receives the groups).
    """
    n = len(offsets) - 1
    if last is not None:
        return _ends(last, offsets)
    splitter = not isinstance(validation, (str, list, tuple, np.ndarray, Integral))
    if groups is not None:
        groups = _checked_groups(groups, n)
        if not splitter:
            named = sorted(set(groups.tolist()), key=str)
            return _whole([np.flatnonzero(groups == name) for name in named], offsets, "group")
    if splitter:
        return _whole(_split(validation, n, groups), offsets, "split")
    if isinstance(validation, str):
        return _whole([[i] for i in range(n) if offsets[i + 1] > offsets[i]], offsets, "sequence")
    if isinstance(validation, Integral):
        return _equal_parts(int(validation), offsets)
    sets = [_checked_set(members, n, j) for j, members in enumerate(validation)]
    owner: dict[int, int] = {}
    for j, members in enumerate(sets):
        for i in members.tolist():
            if i in owner:
                raise InputError(
                    f"validation sets must not overlap, but sequence {i} is in set {owner[i]} and in "
                    f"set {j}; leave it in one of them, or give a splitter whose test parts overlap"
                )
            owner[i] = j
    return _whole(sets, offsets, "set")


def _equal_parts(n_sets: int, offsets: Offsets) -> Spans:
    """Return V runs of about equally many positions: whole sequences, if there are enough of them."""
    total, n = int(offsets[-1]), len(offsets) - 1
    if n_sets > total:
        raise InputError(f"{n_sets} validation sets need as many positions; the data has {total}")
    targets = total * np.arange(1, n_sets) / n_sets
    cuts = [0, *(int(np.abs(offsets - at).argmin()) for at in targets), n]  # places in offsets
    if all(offsets[a] < offsets[b] for a, b in pairwise(cuts)):
        return Spans.of_sequences([np.arange(a, b) for a, b in pairwise(cuts)], offsets)
    bounds = np.array([0, *np.rint(targets).astype(np.int64), total], np.int64)  # cut within sequences
    edges = np.union1d(bounds, offsets)
    first, end = edges[:-1], edges[1:]
    sets = (np.searchsorted(bounds, first, side="right") - 1).astype(np.int32)
    return Spans(first.astype(np.int64), end.astype(np.int64), sets, n_sets)


def _ends(last: int, offsets: Offsets) -> Spans:
    """Return one set: the last positions of each sequence."""
    lengths = np.diff(offsets)
    short = np.flatnonzero(lengths < last)
    if len(short):
        raise InputError(
            f"last={last}, but sequence {short[0]} has only {lengths[short[0]]} positions; take a smaller "
            "last, or leave short sequences out"
        )
    ends = offsets[1:]
    return Spans(ends - last, ends.copy(), np.zeros(len(ends), np.int32), 1)


def _checked_groups(groups: Any, n: int) -> npt.NDArray[Any]:
    found = np.asarray(groups)
    if found.shape != (n,):
        raise InputError(f"groups must be one per sequence, [{n}]; got shape {found.shape}")
    return found


def _split(splitter: Any, n: int, groups: Any) -> list[Ids]:
    """Return the test parts of a splitter."""
    try:
        parts = [test for _, test in splitter.split(np.zeros((n, 1)), None, groups)]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the validation splitter {splitter!r} cannot split {n} sequences: {error}"
        ) from error
    return [_checked_set(part, n, j) for j, part in enumerate(parts)]


def _checked_set(members: Any, n: int, j: int) -> Ids:
    try:
        found = np.asarray(members)
    except ValueError as error:
        raise InputError(f"validation set {j} must be the numbers of its sequences: {error}") from error
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise InputError(
            f"validation set {j} must be a list of the numbers of its sequences, got {members!r:.80}"
        )
    if not found.size:
        raise InputError(f"validation set {j} is empty")
    outside = found[(found < 0) | (found >= n)]
    if len(outside):
        raise InputError(
            f"validation set {j} names sequence {outside[0]}, but the data has the sequences 0 to {n - 1}"
        )
    numbers, times = np.unique(found, return_counts=True)
    if (times > 1).any():
        raise InputError(f"validation set {j} names sequence {numbers[times > 1][0]} more than once")
    return numbers.astype(np.int64)


def _whole(sets: Sequence[npt.ArrayLike], offsets: Offsets, what: str) -> Spans:
    """Return sets of whole sequences; raise if a set has no positions."""
    if not sets:
        raise InputError("there are no validation sets")
    spans = Spans.of_sequences(sets, offsets)
    empty = np.flatnonzero(spans.lengths == 0)
    if len(empty):
        raise InputError(f"validation {what} {empty[0]} is empty: its sequences have no positions")
    return spans
