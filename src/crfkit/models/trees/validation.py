"""Choosing the number of boosting rounds by held-out data: a dev set, or folds of the training data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.labelled_table import LabelledTable
from crfkit.data.labels import label_lists
from crfkit.data.tables import Table
from crfkit.data.training_data import cut_as
from crfkit.exceptions import InputError
from crfkit.models.trees.boosting import Boosting, BoostingSettings
from crfkit.objectives.dev_set import DevSet
from crfkit.optim.problem import Save, State


class HeldOut:
    """Held-out sequences whose scores are updated with each round's trees."""

    def __init__(self, boosting: Boosting, table: Table, labels: DevSet) -> None:
        self._boosting, self._labels = boosting, labels
        self._scores = boosting.start.growing(table, n_jobs=labels.n_jobs)

    def resume(self) -> None:
        """Add the trees of all rounds, which come from a checkpoint."""
        for forest in self._boosting.rounds:
            self._scores.add(forest, n_jobs=self._labels.n_jobs)

    def after_round(self) -> float:
        """Add the trees of the last round and return the accuracy with them."""
        self._scores.add(self._boosting.rounds[-1], n_jobs=self._labels.n_jobs)
        return self.accuracy()

    def accuracy(self) -> float:
        """Return the share of labels that are right with the trees so far; 0 if there are no labels."""
        return self._labels.accuracy(self._scores.lattice(self._boosting.tables))

    @property
    def n_labels(self) -> int:
        """Number of positions with a label."""
        return self._labels.n_given


def read_dev(
    X: Any, y: Any, training: LabelledTable, decode: str, n_jobs: int | None
) -> tuple[Table, DevSet]:
    """Encode the dev set that the user gave."""
    try:
        y = label_lists(y)
        table = training.schema.encode(X, cut_as(X, y, None))
        if all(label is None for labels in y for label in labels):
            raise InputError("it has no labels")
        return table, DevSet.of(y, training.classes, table.offsets, decode=decode, n_jobs=n_jobs)
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error


def n_labelled(data: LabelledTable) -> IntArray:
    """Return how many positions of each sequence have a label [N]."""
    given = DevSet.of_labels(data.labels, len(data.classes)).given  # [ΣT]
    found: IntArray = np.diff(np.concatenate([[0], np.cumsum(given)])[data.table.offsets])
    return found


def rounds_by_folds(
    data: LabelledTable,
    fold: IntArray,  # [N]
    settings: BoostingSettings,
    *,
    n_iterations: int,
    patience: int,
    decode: str,
    n_jobs: int | None,
    show: Callable[[str], None],
    save: Save | None = None,
    resume: State | None = None,
) -> tuple[int, list[float]]:
    """Return the number of rounds with the best accuracy over all folds, and the accuracy after each round.

    All folds are boosted in parallel until the accuracy no longer rises; a fold that cannot split any more
    stays as it is. ``save`` is offered the state after each round; ``resume`` is such a state.
    """
    parts: list[tuple[Boosting, HeldOut]] = []
    for k in range(int(fold.max()) + 1):
        boosting = Boosting(data.subset(np.flatnonzero(fold != k)), settings, n_jobs)
        out = data.subset(np.flatnonzero(fold == k))
        truth = DevSet.of_labels(out.labels, len(data.classes), decode=decode, n_jobs=n_jobs)
        parts.append((boosting, HeldOut(boosting, out.table, truth)))
    right = [held.accuracy() * held.n_labels for _, held in parts]  # positions, of each fold
    n_labels = sum(held.n_labels for _, held in parts)
    going = list(range(len(parts)))
    curve: list[float] = []
    if resume is not None:
        right, going, curve = resume["right"], resume["going"], resume["curve"]
        for (boosting, held), saved in zip(parts, resume["parts"], strict=True):
            boosting.resume(saved)
            held.resume()

    def state() -> State:
        return {"parts": [b.saved() for b, _ in parts], "right": right, "going": going, "curve": curve}

    while len(curve) < n_iterations and len(curve) - _best(curve) < patience:
        for k in list(going):
            boosting, held = parts[k]
            if boosting.round() is None:
                going.remove(k)
            else:
                right[k] = held.after_round() * held.n_labels
        if not going:
            break
        curve.append(sum(right) / max(1, n_labels))
        show(f"folds: round {len(curve)}, accuracy {curve[-1]:.4f}")
        if save is not None:
            save(state)
    return max(1, _best(curve)), curve


def _best(curve: list[float]) -> int:
    """Return the number of rounds with the best accuracy, the fewest of equally good numbers."""
    return 1 + int(np.argmax(curve)) if curve else 0
