"""Training of a ``TreeCRF``: the number of rounds by folds, then the model or the members of a committee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.folds import fold_numbers
from crfkit.data.labelled_table import LabelledTable
from crfkit.data.tables import Table
from crfkit.models.checkpoint import Saving
from crfkit.models.training import Watch
from crfkit.models.trees.boosting import Boosting, BoostingSettings
from crfkit.models.trees.steps import Member, grow_member, member_state
from crfkit.models.trees.validation import HeldOut, n_labelled, rounds_by_folds
from crfkit.objectives.dev_set import DevSet
from crfkit.optim.problem import Save, State
from crfkit.potentials.tree import TreePotential
from crfkit.progress import Progress

if TYPE_CHECKING:
    from crfkit.models.trees.tree_crf import TreeCRF


@dataclass(frozen=True)
class GrownTrees:
    """The trained model, or the members of a committee, and how training ended."""

    members: list[Member]
    message: str
    converged: bool  # False: it was interrupted
    curve: list[float]  # accuracy on the held-out folds after each round, with early_stopping


@dataclass(frozen=True)
class TreeTraining:
    """The data and settings of one training."""

    estimator: TreeCRF
    data: LabelledTable
    settings: BoostingSettings
    dev: tuple[Table, DevSet] | None
    groups: Sequence[Any] | None
    progress: Progress
    saving: Saving | None
    start: TreePotential | None = None  # a model that is trained further

    def run(self) -> GrownTrees:
        """Choose the number of rounds, and grow the trees."""
        limit, curve = self._choose_rounds()
        return self._grow(limit, curve)

    def _choose_rounds(self) -> tuple[int, list[float]]:
        """Return the maximum number of rounds, by cross-validation if requested, and its accuracies."""
        estimator, saving = self.estimator, self.saving
        if estimator.early_stopping is None:
            return estimator.n_iterations, []
        saved, save = None if saving is None else saving.state, None
        if saved is not None and "chosen" in saved:
            limit, curve = saved["chosen"]
            return int(limit), curve
        if saving is not None:
            offer = saving.offer
            save = lambda own: offer(lambda: {"folds": own()})  # noqa: E731
        self.progress.say(f"choosing the number of rounds by {estimator.early_stopping} folds")
        return rounds_by_folds(
            self.data,
            self._folds(estimator.early_stopping, "early_stopping"),
            self.settings,
            n_iterations=estimator.n_iterations,
            patience=estimator.patience,
            decode=estimator.decode,
            n_jobs=estimator.n_jobs,
            show=self.progress.say,
            save=save,
            resume=saved and saved["folds"],
        )

    def _folds(self, n_folds: int, asked_by: str) -> IntArray:
        """Return the fold of each sequence [N]."""
        seed = self.estimator.random_state or 0
        return fold_numbers(n_labelled(self.data), self.groups, n_folds, seed, asked_by)

    def _grow(self, limit: int, curve: list[float]) -> GrownTrees:
        """Train the model, or every member of a committee. If interrupted, keep the complete members."""
        estimator, data, saving = self.estimator, self.data, self.saving
        chosen: list[IntArray | None] = [None]
        if estimator.committee is not None:
            fold = self._folds(estimator.committee, "committee")
            chosen = [np.flatnonzero(fold != k) for k in range(estimator.committee)]
        self.progress.total = limit * len(chosen)
        found: list[Member] = []
        saved: list[State] = [] if saving is None else (saving.state or {}).get("members", [])
        complete: list[State] = []  # one per member
        save: Save | None = None
        if saving is not None:
            offer = saving.offer
            save = lambda own: offer(lambda: {"chosen": (limit, curve), "members": [*complete, own()]})  # noqa: E731
        message, converged = "", True
        for k, part in enumerate(chosen):
            training = data if part is None else data.subset(part)
            boosting = Boosting(training, self.settings, estimator.n_jobs, self.start)
            watch: Watch[int] = Watch(self.progress, estimator.patience)
            member = grow_member(
                boosting,
                None if self.dev is None else HeldOut(boosting, *self.dev),
                limit,
                watch,
                patience=estimator.patience,
                callbacks=estimator.callbacks or (),
                save=save,
                resume=saved[k] if k < len(saved) else None,
            )
            if saving is not None:
                complete.append(member_state(boosting, watch, member.message))
            message, converged = member.message, member.converged
            if not converged and found:  # a member that has barely begun would spoil the mean
                message = f"training was interrupted; {len(found)} of {len(chosen)} members are kept"
                break
            if not converged and not member.stages:
                raise KeyboardInterrupt
            found.append(member)
            if not converged:
                break
        self.progress.close(f"training is complete: {message}" if converged else message)
        return GrownTrees(found, message, converged, curve)
