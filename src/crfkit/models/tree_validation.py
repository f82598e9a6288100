"""How many rounds of boosting are enough: held-out data has the say, a dev set or folds of training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.data.labels import Labels
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.models.tree_training import Boosting, decoded

FloatArray = npt.NDArray[np.float64]


class HeldOut:
    """Held-out sequences whose scores keep up with the trees."""

    def __init__(
        self, boosting: Boosting, table: Table, labels: Labels, decode: str, n_jobs: int | None
    ) -> None:
        self._boosting, self._decode, self._n_jobs = boosting, decode, n_jobs
        self._scored = boosting.watch(table)
        self._ids = labels.ids
        # A label that training never saw is in no set of its own: it counts as wrong, as it is.
        self._allowed = labels.allowed
        self._given: npt.NDArray[np.bool_] = np.ones(len(labels.ids), np.bool_)
        if labels.allowed is not None:
            self._given = np.logical_not(labels.allowed.all(axis=1))
        if not self._given.any():
            raise InputError("the held-out data has no labels")

    @property
    def n_positions(self) -> int:
        """Positions with a label."""
        return int(self._given.sum())

    def after_round(self) -> float:
        """The accuracy with the trees of the last round, which are added here."""
        self._scored.add(self._boosting.rounds[-1], self._boosting.settings.window, self._n_jobs)
        lattice = self._scored.lattice(self._boosting.tables)
        found = decoded(lattice, self._decode, self._n_jobs)
        right = found == self._ids
        if self._allowed is not None:
            right |= (self._ids < 0) & self._allowed[np.arange(len(found)), found]
        return float(right[self._given].mean())


def fold_numbers(
    lengths: npt.NDArray[np.int64], groups: Sequence[Any] | None, n_folds: int, seed: int
) -> npt.NDArray[np.int64]:
    """The fold of each sequence [N]: groups stay together, folds have about the same number of positions."""
    if groups is not None and len(groups) != len(lengths):
        raise InputError(f"groups must be one a sequence, {len(lengths)} of them; got {len(groups)}")
    names = list(range(len(lengths))) if groups is None else list(groups)
    distinct = list(dict.fromkeys(names))
    if len(distinct) < n_folds:
        raise InputError(
            f"early_stopping={n_folds} needs as many {'sequences' if groups is None else 'groups'}, but "
            f"there are {len(distinct)}"
        )
    place = {name: g for g, name in enumerate(distinct)}
    of = np.array([place[name] for name in names])  # [N]
    sizes = np.bincount(of, lengths, len(distinct))
    order = np.random.default_rng(seed).permutation(len(distinct))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold = np.zeros(n_folds), np.zeros(len(distinct), np.int64)
    for g in order:
        fold[g] = int(np.argmin(filled))
        filled[fold[g]] += sizes[g] + 1e-9
    found: npt.NDArray[np.int64] = fold[of]
    return found


def rounds_by_folds(
    fold: npt.NDArray[np.int64],  # [N]
    table: Table,
    labels: Labels,
    make: Callable[[npt.NDArray[np.int64]], Boosting],
    *,
    n_iterations: int,
    patience: int,
    decode: str,
    n_jobs: int | None,
    show: Callable[[dict[str, Any]], None],
) -> tuple[int, list[float]]:
    """The number of rounds with the best accuracy over all folds, and the accuracies after each round.

    ``make`` gives the boosting of some sequences. All folds go on together, until no more is gained.
    """
    parts: list[tuple[Boosting, HeldOut]] = []
    for k in range(int(fold.max()) + 1):
        inside, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        boosting = make(inside)
        right = labels.subset(out, table.offsets)
        parts.append((boosting, HeldOut(boosting, table.subset(out), right, decode, n_jobs)))
    n_positions = sum(held.n_positions for _, held in parts)
    curve: list[float] = []
    for number in range(n_iterations):
        correct = 0.0
        for boosting, held in parts:
            if boosting.round() is None:
                return _best(curve), curve
            correct += held.after_round() * held.n_positions
        curve.append(correct / n_positions)
        show({"iteration": number + 1, "cv_accuracy": curve[-1]})
        if number + 1 - _best(curve) >= patience:
            break
    return _best(curve), curve


def _best(curve: list[float]) -> int:
    """Rounds, the fewest of equally good numbers."""
    return 1 + int(np.argmax(curve)) if curve else 1
