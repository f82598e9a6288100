"""The search of a ``ConstrainedCRF``: for an extended saddle point, or for the largest feasible penalty.

A checkpoint holds the trainings so far, the search in progress, and its callback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crfkit.arrays import FloatArray
from crfkit.models.linear.constrained_watch import ConstrainedWatch, outer_record, outer_words
from crfkit.models.linear.largest_penalty import PenaltySearch, Training
from crfkit.models.linear.steps import TrainingProblem
from crfkit.objectives.validation import ValidationConstraints
from crfkit.optim.problem import Save, State
from crfkit.optim.saddle import OuterStep, SaddleSettings, minimize_constrained
from crfkit.progress import Progress


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    x: FloatArray  # [P]
    value: float
    penalties: FloatArray  # [V]
    c2: float
    message: str
    records: list[dict[str, Any]]
    converged: bool
    interrupted: bool


@dataclass(frozen=True)
class ConstrainedSearch:
    """The problem, and what watches the search."""

    problem: TrainingProblem
    constraints: ValidationConstraints
    watch: ConstrainedWatch
    progress: Progress

    def largest(self, *, max_iterations: int, max_steps: int, tol: float) -> Found | list[dict[str, Any]]:
        """Search for the largest feasible c2; if there is none, return the records of all trainings."""
        tau, watch, progress = self.constraints.tau, self.watch, self.progress
        saved = self._saved("search")
        if saved is not None:  # the search for a saddle point that follows has begun already
            records: list[dict[str, Any]] = saved["before"]
            return records

        def ends(training: Training) -> bool:
            progress.end_round(f"c2 {training.c2:.4g}, {outer_words(training.step, tau)}")
            return watch.ends(training.step.penalties)

        search = PenaltySearch(
            self.problem.objective,
            self.constraints,
            max_iterations=max_iterations,
            max_steps=max_steps,
            callback=watch,
            begins=watch.begins,
            ends=ends,
            save=self._save(lambda state: {"largest": state}),
            resume=self._saved("largest"),
        )
        kept = search.run(self.problem.start, tol)
        records = [outer_record(training.step, tau, training.c2) for training in search.tried]
        if kept is None:
            return records
        message, step = f"all constraints hold up to c2={kept.c2:.3g}", kept.step
        if search.stopped:
            message = "it was stopped" + ("" if step.feasible else " before all constraints held")
        elif not step.converged:
            message += f", but the last training did not converge: {step.ended}"
        elif not search.bracketed:
            message += (
                f", where the search ended ({len(records)} trainings, c2 at most 1000): a larger one may "
                "hold, too. If even tiny weights decode the validation sets, the largest c2 is meaningless: "
                "give a margin, or choose c2 by cross-validation"
            )
        elif kept.tol > tol:
            message += f", but max_outer={max_steps} left no training with full tolerance"
        sure = step.converged and search.bracketed and kept.tol <= tol and not search.stopped
        return Found(kept.x, step.value, step.penalties, kept.c2, message, records, sure, search.interrupted)

    def saddle_point(self, c2: float, settings: SaddleSettings, before: list[dict[str, Any]]) -> Found:
        """Search for the extended saddle point; ``before``: records of the trainings so far."""
        tau, watch = self.constraints.tau, self.watch
        passes, seconds = (before[-1]["passes"], before[-1]["seconds"]) if before else (0.0, 0.0)
        watch.begins(c2)
        watch.continues_after(passes, seconds)

        def say(step: OuterStep, _: FloatArray) -> bool:
            self.progress.end_round(outer_words(step, tau))
            return watch.ends(step.penalties)

        saved = self._saved("search")
        objective = replace(self.problem.objective, l2=c2)
        result = minimize_constrained(
            objective,
            self.problem.start,
            inequalities=self.constraints,
            l1=objective.l1,
            units=objective.units,
            settings=settings,
            n_threads=objective.n_threads,
            callback=watch,
            outer_callback=say,
            save=self._save(lambda state: {"search": {"saddle": state, "before": before}}),
            resume=None if saved is None else saved["saddle"],
        )
        records = [
            outer_record(
                replace(
                    step,
                    step=len(before) + step.step,
                    passes=passes + step.passes,
                    seconds=seconds + step.seconds,
                ),
                tau,
                c2,
            )
            for step in result.history
        ]
        return Found(
            result.x,
            result.value,
            result.penalties,
            c2,
            result.message,
            [*before, *records],
            result.converged,
            result.interrupted,
        )

    # ---- checkpoints

    def resume(self) -> None:
        """Let the callback continue from the checkpoint, if there is one."""
        saving = self.problem.saving
        if saving is not None:
            saving.depends_on("validation sets", self.constraints.spans)
            if saving.state is not None:
                self.watch.resume(saving.state["watch"])

    def _save(self, named: Callable[[State], State]) -> Save | None:
        saving = self.problem.saving
        if saving is None:
            return None
        return lambda own: saving.offer(lambda: {"watch": self.watch.saved(), **named(own())})

    def _saved(self, name: str) -> State | None:
        saving = self.problem.saving
        return None if saving is None or saving.state is None else saving.state.get(name)
