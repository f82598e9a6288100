"""The search of ``ConstrainedCRF(validation="held-out")``: the penalty under constraints on unseen data.

The extended saddle point is searched in log c2 (``objectives/held_out_constraints.py``). The violations that
the search sees are those of models one Newton step away from the joint one. At the end models are trained
without each fold, and their violations decide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.folds import fold_numbers
from crfkit.exceptions import InputError
from crfkit.models.linear.constrained_search import Found
from crfkit.models.linear.constrained_watch import outer_record
from crfkit.models.linear.steps import TrainingProblem
from crfkit.models.training import Watch, iteration_record
from crfkit.objectives.held_out_constraints import HeldOutConstraints, reflected
from crfkit.optim.problem import Step
from crfkit.optim.saddle import OuterStep, SaddleSettings, minimize_constrained
from crfkit.progress import Progress

_FOLDS = 5


class HeldOutConstraintSearch:
    """The problem, its folds, and what the search has seen."""

    def __init__(
        self,
        problem: TrainingProblem,
        *,
        groups: Any,  # [N] or None
        seed: int,
        tau: float,
        margin: float,
        progress: Progress,
        tol: float,
        max_iterations: int,
    ) -> None:
        offsets = problem.offsets
        fold = fold_numbers(
            np.diff(offsets), groups, _FOLDS, seed, "validation='held-out': the number of folds"
        )
        self.problem, self.tau, self.progress = problem, tau, progress
        self._watch: Watch[None] = Watch(progress, None)
        self.constraints = HeldOutConstraints(
            problem.objective,
            [np.flatnonzero(fold == j) for j in range(_FOLDS)],
            offsets,
            tau=tau,
            margin=margin,
            start=problem.start,
            tol=tol,
            max_iterations=max_iterations,
            watch=self._note,
            say=progress.say,
        )
        self.violations: FloatArray = np.full(_FOLDS, np.inf)  # per position

    @property
    def history(self) -> list[dict[str, Any]]:
        """The iterations of the joint model's trainings."""
        return self._watch.history

    def require(self, *, c1: Any, c2: Any, last: int | None, gradient: str) -> None:
        """Raise if a setting cannot be combined with held-out constraints."""
        asked = "validation='held-out'"
        if last is not None:
            raise InputError(f"{asked} leaves whole sequences out; last={last} names parts of them: drop one")
        if c2 != 0:
            raise InputError(f"{asked} chooses c2 itself: leave c2={c2!r} out")
        if c1:
            raise InputError(f"{asked} needs c1=0, got c1={c1:g}: Newton steps need a smooth penalty")
        if gradient == "flip":
            raise InputError(f"{asked} has no gradient='flip': its variable is c2; leave the default")
        if self.problem.objective.centre is not None or self.problem.free is not None:
            raise InputError(f"{asked} cannot be continued by partial_fit: give all data to fit")
        if self.problem.dev is not None:
            raise InputError(f"{asked} does not use a dev set: leave X_dev out, or take validation=3")
        if self.problem.saving is not None:
            raise InputError(f"{asked} cannot be continued from a checkpoint: leave checkpoint out")

    def run(self, *, max_outer: int, rate: float, growth: float) -> Found:
        """Search until the penalty found has been certified; keep the joint model there."""
        settings = SaddleSettings(
            max_outer=max_outer,
            first_penalty=float(rate),  # with none, c2 = 0 fits best
            rate=float(rate),
            growth=float(growth),
            tolerance=0.0,
        )
        constraints = self.constraints
        records: list[dict[str, Any]] = []  # of the last search

        def note(step: OuterStep, x: FloatArray) -> bool:
            per_position = step.inequalities / constraints.positions
            seen = replace(step, step=len(records) + 1, inequalities=per_position, passes=constraints.passes)
            records.append(outer_record(seen, self.tau, float(np.exp(reflected(x)))))
            return False

        try:
            while True:
                records.clear()
                found = minimize_constrained(
                    constraints,
                    constraints.best_of_decades(),
                    inequalities=constraints.constraints,
                    settings=settings,
                    outer_callback=note,
                )
                if found.interrupted:
                    raise KeyboardInterrupt
                if not constraints.certify(found.x):
                    break
        except KeyboardInterrupt:
            return self._interrupted(records)
        node = constraints.best(found.x)
        self.violations = node.h / constraints.positions
        message = f"held-out constraints hold with c2={node.c2:.3g}"
        if not node.converged:
            message += ", but the joint model's training did not converge: raise max_iterations"
        return Found(
            node.x, node.objective, found.penalties, node.c2, message, records, node.converged, False
        )

    def what_is_violated(self) -> str:
        """Return the warning about constraints that do not hold."""
        bad, worst = int((self.violations > self.tau).sum()), int(self.violations.argmax())
        return (
            f"{bad} of {_FOLDS} held-out constraints are violated: without fold {worst}, its best labelling "
            f"scores {self.violations[worst]:.4g} per position above the true one (with the margin), where "
            f"tau={self.tau:g} is allowed. The penalty with the least violation is kept. Unseen data is "
            "seldom decoded without mistakes: this is no fault of training; raise tau to set a bar that can "
            "be met"
        )

    def _note(self, step: Step) -> bool:
        return self._watch.note(iteration_record(replace(step, passes=self.constraints.passes)))

    def _interrupted(self, records: list[dict[str, Any]]) -> Found:
        """Return the last joint model that was trained."""
        node, none = self.constraints.latest(), np.zeros(_FOLDS)
        if node is None:
            x = self.problem.start
            return Found(x, self.problem.objective.value(x), none, 0.0, "", records, False, True)
        return Found(node.x, node.objective, none, node.c2, "", records, False, True)
