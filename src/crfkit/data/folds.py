"""Folds of sequences for cross-validation: groups stay together, and folds have about the same size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import IntArray
from crfkit.exceptions import InputError


def fold_numbers(
    sizes: npt.ArrayLike, groups: Sequence[Any] | None, n_folds: int, seed: int, asked_by: str
) -> IntArray:
    """Return the fold of each sequence [N]; ``sizes`` [N] are what folds share evenly.

    ``asked_by`` is the name of the parameter with the number of folds, for messages.
    """
    sizes = np.asarray(sizes)
    of, n_groups = group_numbers(groups, len(sizes))
    if n_groups < n_folds:
        raise InputError(
            f"{asked_by}={n_folds} needs as many {'sequences' if groups is None else 'groups'}, but "
            f"there are {n_groups}"
        )
    together = np.bincount(of, sizes, n_groups)
    order = np.random.default_rng(seed).permutation(n_groups)
    order = order[np.argsort(-together[order], kind="stable")]
    filled, fold = np.zeros(n_folds), np.zeros(n_groups, np.int64)
    for g in order:
        fold[g] = int(np.argmin(filled))
        filled[fold[g]] += together[g] + 1e-9
    found: IntArray = fold[of]
    return found


def group_numbers(groups: Sequence[Any] | None, n_sequences: int) -> tuple[IntArray, int]:
    """Return the number of each sequence's group [N], and how many groups there are; None: one each."""
    if groups is not None and len(groups) != n_sequences:
        raise InputError(f"groups must be one per sequence, {n_sequences} of them; got {len(groups)}")
    names = list(range(n_sequences)) if groups is None else list(groups)
    place = {name: g for g, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], np.int64), len(place)
