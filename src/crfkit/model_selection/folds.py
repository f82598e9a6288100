"""Grouped folds of sequences, and nested samples of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.data.folds import fold_numbers, group_numbers
from crfkit.exceptions import InputError


def sequence_folds(
    n: int | npt.ArrayLike,
    groups: Sequence[Any] | None = None,
    cv: int = 5,
    random_state: int | None = None,
) -> list[tuple[IntArray, IntArray]]:
    """Return ``cv`` folds, each as the numbers of the training and of the held-out sequences.

    ``n`` is the number of sequences, or their lengths [N]: folds then have about the same number of
    positions. ``groups`` is one group per sequence; no group is split. The same seed gives the same folds.

    >>> for train, test in sequence_folds(6, groups=["a", "a", "b", "b", "c", "c"], cv=3):
    ...     print(train, test)
    [0 1 2 3] [4 5]
    [0 1 4 5] [2 3]
    [2 3 4 5] [0 1]
    """
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise InputError(f"cv must be the number of folds, a whole number of at least 2; got {cv!r}")
    sizes = np.ones(int(n), np.int64) if np.ndim(n) == 0 else np.asarray(n)  # type: ignore[arg-type]
    fold = fold_numbers(sizes, groups, int(cv), random_state or 0, "cv")
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(cv))]


def nested_sample(n: int, groups: Sequence[Any] | None, share: float, seed: int) -> IntArray:
    """Return the sequences of a share of the groups; a larger share has them all."""
    of, n_groups = group_numbers(groups, n)
    chosen = np.zeros(n_groups, np.bool_)
    chosen[np.random.default_rng([seed, 1]).permutation(n_groups)[: int(np.ceil(share * n_groups))]] = True
    return np.flatnonzero(chosen[of])
