"""How many rounds of boosting are enough: held-out data has the say, a dev set or folds of training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.labels import Labels, encode_labels, label_lists
from crfkit.data.tables import Table, TableSchema
from crfkit.data.training_data import cut_as
from crfkit.exceptions import InputError
from crfkit.inference.expected_gain import decoded
from crfkit.models.trees.boosting import Boosting


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
        self._given = _given(labels)

    @property
    def n_positions(self) -> int:
        """Positions with a label."""
        return int(self._given.sum())

    def after_round(self) -> float:
        """The accuracy with the trees of the last round, which are added here."""
        self._scored.add(self._boosting.rounds[-1], self._boosting.settings.window, self._n_jobs)
        return self.accuracy()

    def accuracy(self) -> float:
        """The share of labels that are right, with the trees as they are; 0 where there are no labels."""
        if not self.n_positions:
            return 0.0
        lattice = self._scored.lattice(self._boosting.tables)
        found = decoded(lattice, self._decode, self._n_jobs)
        right = found == self._ids
        if self._allowed is not None:
            right |= (self._ids < 0) & self._allowed[np.arange(len(found)), found]
        return float(right[self._given].mean())


def dev_set(
    boosting: Boosting,
    schema: TableSchema,
    classes: list[Any],
    X: Any,
    y: Any,
    decode: str,
    n_jobs: int | None,
) -> HeldOut:
    """The dev set that the user gave."""
    try:
        y = label_lists(y)
        table = schema.encode(X, cut_as(X, y, None))
        if table.n_positions == 0:
            raise InputError("it has no positions")
        held = HeldOut(boosting, table, _dev_labels(y, classes, table), decode, n_jobs)
        if not held.n_positions:
            raise InputError("it has no labels")
        return held
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error


def _dev_labels(y: list[Any], classes: list[Any], table: Table) -> Labels:
    """Labels of held-out data; one that training never saw stays one that is never right."""
    labels = encode_labels(y, classes, table.offsets, unknown="ignore")
    if labels.allowed is None:
        return labels
    given = np.array([label is not None for found in y for label in found])  # [ΣT]
    never = given & (labels.ids < 0) & labels.allowed.all(axis=1)
    allowed = labels.allowed.copy()
    allowed[never] = False
    return Labels(labels.ids, allowed)


def _given(labels: Labels) -> BoolArray:
    """Which positions have a label, or some that it may be [ΣT]."""
    if labels.allowed is None:
        return np.ones(len(labels.ids), np.bool_)
    return np.logical_not(labels.allowed.all(axis=1))


def n_labelled(labels: Labels, table: Table) -> IntArray:
    """Positions of each sequence that have a label [N]."""
    ends = np.concatenate([[0], np.cumsum(_given(labels))])  # [ΣT+1]
    found: IntArray = np.diff(ends[table.offsets])
    return found


def fold_numbers(
    sizes: IntArray, groups: Sequence[Any] | None, n_folds: int, seed: int, asked_by: str
) -> IntArray:
    """The fold of each sequence [N]: groups stay together, folds add up to about the same size.

    ``asked_by`` is the parameter that wants them, for messages.
    """
    if groups is not None and len(groups) != len(sizes):
        raise InputError(f"groups must be one a sequence, {len(sizes)} of them; got {len(groups)}")
    names = list(range(len(sizes))) if groups is None else list(groups)
    distinct = list(dict.fromkeys(names))
    if len(distinct) < n_folds:
        raise InputError(
            f"{asked_by}={n_folds} needs as many {'sequences' if groups is None else 'groups'}, but "
            f"there are {len(distinct)}"
        )
    place = {name: g for g, name in enumerate(distinct)}
    of = np.array([place[name] for name in names])  # [N]
    together = np.bincount(of, sizes, len(distinct))
    order = np.random.default_rng(seed).permutation(len(distinct))
    order = order[np.argsort(-together[order], kind="stable")]
    filled, fold = np.zeros(n_folds), np.zeros(len(distinct), np.int64)
    for g in order:
        fold[g] = int(np.argmin(filled))
        filled[fold[g]] += together[g] + 1e-9
    found: IntArray = fold[of]
    return found


def rounds_by_folds(
    fold: IntArray,  # [N]
    table: Table,
    labels: Labels,
    make: Callable[[IntArray], Boosting],
    *,
    n_iterations: int,
    patience: int,
    decode: str,
    n_jobs: int | None,
    show: Callable[[dict[str, Any]], None],
) -> tuple[int, list[float]]:
    """The number of rounds with the best accuracy over all folds, and the accuracies after each round.

    ``make`` gives the boosting of some sequences. All folds go on together, until no more is gained; one that
    cannot split any more waits for the others.
    """
    parts: list[tuple[Boosting, HeldOut]] = []
    right: list[float] = []  # of each fold, held-out positions that are right now
    for k in range(int(fold.max()) + 1):
        inside, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        boosting = make(inside)
        truth = labels.subset(out, table.offsets)
        held = HeldOut(boosting, table.subset(out), truth, decode, n_jobs)
        parts.append((boosting, held))
        right.append(held.accuracy() * held.n_positions)
    n_positions = sum(held.n_positions for _, held in parts)
    going = list(range(len(parts)))
    curve: list[float] = []
    for number in range(n_iterations):
        for k in list(going):
            boosting, held = parts[k]
            if boosting.round() is None:
                going.remove(k)
            else:
                right[k] = held.after_round() * held.n_positions
        if not going:
            break
        curve.append(sum(right) / max(1, n_positions))
        show({"iteration": number + 1, "cv_accuracy": curve[-1]})
        if number + 1 - _best(curve) >= patience:
            break
    return _best(curve), curve


def _best(curve: list[float]) -> int:
    """Rounds, the fewest of equally good numbers."""
    return 1 + int(np.argmax(curve)) if curve else 1
