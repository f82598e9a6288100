"""Callback of a search under validation constraints: history, progress, and the best model on a dev set.

A dev set cannot stop a search under constraints in the same way as plain training, because the search would
end in its first inner loop, which has no penalties. Every iteration is scored on the dev set, and the best
one that satisfies all constraints is kept. Patience counts the outer steps (with c2="largest": trainings)
since it was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import ModelFileError
from crfkit.models.linear.steps import TrainingProblem
from crfkit.models.training import Watch, iteration_record
from crfkit.objectives.validation import ValidationConstraints
from crfkit.optim.problem import State, Step
from crfkit.optim.saddle import OuterStep
from crfkit.progress import Progress


class ConstraintRecord(NamedTuple):
    """What a model file records about the constraints."""

    violations: FloatArray  # [V]
    penalties: FloatArray  # [V]
    feasible: bool
    c2: float
    outer_history: list[dict[str, Any]]

    @classmethod
    def of(cls, record: Any) -> ConstraintRecord:
        """Return the record in a file's header; that of a model without constraints if there is none."""
        own = record if isinstance(record, dict) else {}
        history = own.get("outer_history", [])
        try:
            if not isinstance(history, list) or not all(isinstance(step, dict) for step in history):
                raise ValueError("'outer_history' must be a list of objects")
            return cls(
                np.array(own.get("violations", []), np.float64).reshape(-1),
                np.array(own.get("penalties", []), np.float64).reshape(-1),
                bool(own.get("feasible", False)),
                float(own.get("c2", np.nan)),
                history,
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"cannot read the model: its constraints are malformed ({error})") from error


@dataclass
class Candidate:
    """A feasible model, with the penalties with which it was found."""

    accuracy: float  # on the dev set
    x: FloatArray  # [P]
    c2: float
    penalties: FloatArray  # [V]


class ConstrainedWatch(Watch[None]):
    """The optimiser's callback; ``begins``, ``continues_after`` and ``ends`` are called by the search."""

    def __init__(
        self,
        problem: TrainingProblem,
        constraints: ValidationConstraints,
        patience: int,
        progress: Progress,
    ) -> None:
        super().__init__(progress, patience)
        self.candidate: Candidate | None = None
        self._dev, self._constraints = problem.dev, constraints
        self._c2, self._penalties = 0.0, np.zeros(constraints.spans.n_sets)
        self._passes, self._seconds = 0.0, 0.0  # of a search before this one
        self._found = False  # a better candidate in this outer step

    def __call__(self, step: Step) -> bool:
        """Record an iteration; passes and seconds continue from an earlier search."""
        step = replace(step, passes=self._passes + step.passes, seconds=self._seconds + step.seconds)
        record = iteration_record(step)
        if self._dev is not None:
            record["dev_accuracy"] = self._dev(step.x)
            self._judge(record["dev_accuracy"], step)
        return self.note(record)

    def begins(self, c2: float) -> None:
        """Note that a training with this penalty begins."""
        self._c2 = c2

    def continues_after(self, passes: float, seconds: float) -> None:
        """Note that another search begins, after one that took this many passes and seconds."""
        self._passes, self._seconds = passes, seconds

    def saved(self) -> State:
        best = self.candidate
        own = (self._c2, self._penalties, self._passes, self._seconds, self._found)
        return {**super().saved(), "candidate": best and list(vars(best).values()), "own": own}

    def resume(self, saved: State) -> None:
        super().resume(saved)
        best = saved["candidate"]
        self.candidate = None if best is None else Candidate(*best)
        self._c2, self._penalties, self._passes, self._seconds, self._found = saved["own"]

    def ends(self, penalties: FloatArray) -> bool:
        """Note the end of an outer step with these penalties; return True if patience has run out."""
        if self.candidate is not None:
            if self._found:
                self.candidate.penalties = penalties.copy()
                self.waited = 0
            else:
                self.waited += 1
            self.exhausted = self.waited >= (self.patience or 0)
        self._found = False
        return self.exhausted

    def _judge(self, accuracy: float, step: Step) -> None:
        if self.candidate is not None and accuracy <= self.candidate.accuracy:
            return
        if (self._constraints.violations(step.x) <= self._constraints.tau).all():
            self.candidate = Candidate(accuracy, step.x.copy(), self._c2, self._penalties)
            self._found = True


def outer_record(step: OuterStep, tau: float, c2: float) -> dict[str, Any]:
    """Return an outer step as JSON values."""
    return {
        "step": step.step,
        "c2": c2,
        "objective": step.value,
        "violations": (step.inequalities + tau).tolist(),
        "penalties": step.penalties.tolist(),
        "iterations": step.iterations,
        "passes": step.passes,
        "seconds": step.seconds,
        "temperature": step.temperature,
        "gap": step.gap,
        "stalled": step.stalled,
        "feasible": step.feasible,
        "converged": step.converged,
    }


def outer_words(step: OuterStep, tau: float) -> str:
    """Return the progress message of an outer step."""
    worst = float((step.inequalities + tau).max())
    state = "all constraints hold" if step.feasible else f"largest violation {worst:.4g}"
    return f"outer step {step.step}: objective {step.value:.2f}, {state}"
