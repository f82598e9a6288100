"""Running an optimiser or rounds of another learner.

With history, progress, early stopping, Ctrl-C and checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from crfkit.arrays import FloatArray
from crfkit.models.checkpoint import Saving
from crfkit.optim.methods import Task, find_method, minimise
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import State as Saved
from crfkit.optim.problem import Step
from crfkit.progress import Progress

State = TypeVar("State")
Dev = Callable[[FloatArray], float]  # accuracy of parameters [P] on a dev set


# ---- watching


@dataclass
class Watch(Generic[State]):
    """Records the history, shows progress, and keeps the state of training with the best dev score."""

    progress: Progress
    patience: int | None  # iterations without a better dev score; None: no early stopping
    history: list[dict[str, Any]] = field(default_factory=list)
    best: tuple[float, State] | None = None  # dev score, state
    exhausted: bool = False  # whether patience has run out
    waited: int = 0  # iterations since the best

    def note(
        self,
        record: dict[str, Any],
        score: float | None = None,
        state: Callable[[], State] | None = None,
    ) -> bool:
        """Record an iteration; return True if training should stop because the dev score no longer rises.

        If the dev ``score`` is the best so far, ``state`` is called for the state to keep.
        """
        self.history.append(record)
        self.progress.show(record)
        if score is not None and state is not None and self.patience is not None:
            if self.best is None or score > self.best[0]:
                self.best, self.waited = (score, state()), 0
            else:
                self.waited += 1
            self.exhausted = self.waited >= self.patience
        return self.exhausted

    def saved(self) -> Saved:
        """Return the state of the watch for a checkpoint."""
        return {"history": self.history, "best": self.best, "waited": self.waited}

    def resume(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        self.history, self.waited = saved["history"], saved["waited"]
        self.best = None
        if saved["best"] is not None:
            score, state = saved["best"]
            self.best = score, state
        self.progress.say(f"continuing after {len(self.history)} iterations")


def iteration_record(step: Step) -> dict[str, Any]:
    """Return an optimiser's iteration as a record of the history, without what the method does not have."""
    record = {
        "iteration": step.iteration,
        "objective": step.value,
        "gradient_norm": step.gradient_norm,
        "step": step.step,
        "passes": step.passes,
        "seconds": step.seconds,
    }
    return {name: value for name, value in record.items() if value is not None}


# ---- running


@dataclass(frozen=True)
class Outcome:
    """The parameters of a trained model, and how training went."""

    x: FloatArray  # [P]
    value: float
    converged: bool
    message: str
    history: list[dict[str, Any]]
    interrupted: bool = False  # by Ctrl-C: an estimator keeps the model, then raises ``KeyboardInterrupt``
    stuck_at: int | None = None  # the parameter that promises most where no step helped


def train(
    objective: Penalised[Any],
    start: FloatArray,
    *,
    algorithm: str,
    max_iterations: int | None,
    tol: float,
    dev: Dev | None,
    patience: int,
    seed: int | None,
    verbose: bool | int | str,
    saving: Saving | None = None,
) -> Outcome:
    """Minimise the objective from ``start``; with a dev set, return the iterate that was best on it."""
    method, _ = find_method(algorithm)
    settles = None if method.tol_factor is None else method.tol_factor * tol
    progress = Progress(verbose, max_iterations or method.max_iterations, settles)
    watch: Watch[tuple[FloatArray, float]] = Watch(progress, patience)

    def callback(step: Step) -> bool:
        record, score = iteration_record(step), None
        if dev is not None:
            score = record["dev_accuracy"] = dev(step.x)
        return watch.note(record, score, lambda: (step.x.copy(), step.value))

    task = Task(objective, start, max_iterations or 0, tol, seed, callback, progress.say)
    if saving is not None:
        if saving.state is not None:
            watch.resume(saving.state["watch"])
            task = replace(task, resume=saving.state["method"])
        offer = saving.offer
        task = replace(task, save=lambda own: offer(lambda: {"watch": watch.saved(), "method": own()}))
    function: Any = getattr(objective, "function", None)
    with progress.within((lambda: float(function.done)) if hasattr(function, "done") else None):
        result = minimise(algorithm, task)
    x, value, converged, message = result.x, result.value, result.converged, result.message
    if watch.best is not None:
        accuracy, (x, value) = watch.best
        if watch.exhausted:
            converged = True
            message = f"no better dev accuracy than {accuracy:.4f} in {patience} iterations"
    if result.interrupted and not watch.history:
        message = f"training was interrupted before its first iteration; {result.message}"
    elif result.interrupted:
        message = interruption(len(watch.history), "iterations")
    elif not converged:
        message = (
            f"training stopped before it converged: {message}. The best model so far is kept; "
            "raise max_iterations or tol, or regularise more, if that is not what you want"
        )
    progress.close(f"training is complete: {message}" if converged else message)
    stuck_at = None if converged else result.stuck_at
    return Outcome(x, value, converged, message, watch.history, result.interrupted, stuck_at)


def interruption(n: int, rounds: str) -> str:
    """Return the message of the ``KeyboardInterrupt`` that ``fit`` raises once the model is kept."""
    return f"training was interrupted after {n} {rounds}; the best model so far is kept"


def run_rounds(advance: Callable[[], str | None]) -> tuple[str, bool]:
    """Call ``advance`` round after round until it returns a reason to end.

    Return the reason, and whether training was complete: Ctrl-C ends it early.
    """
    try:
        while (reason := advance()) is None:
            pass
    except KeyboardInterrupt:
        return "it was interrupted", False
    return reason, True
