"""The largest L2 penalty under which a model still decodes its validation sets.

If there are more features than the training data can contradict, plain training already satisfies the
validation constraints, and they have no effect. Feasible models then differ in the size of their weights. Of
the minima

    w(c2) = argmin_w O(w) + c2·‖w‖²

the search finds the one with the largest c2 up to which h_j(w(c2)) <= τ for all j, by steps of a factor and
then by bisection on a logarithmic scale. Each training starts from an earlier one. The constraints replace
cross-validation: one search instead of one training per fold and penalty.

Without a margin h_j is homogeneous: on data so easy that even tiny weights decode it, every c2 is feasible.
The search then ends at a bound (``bracketed`` is False), which is meaningless.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.objectives.validation import ValidationConstraints
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Callback, Evaluation, Save, State, Step, Vector
from crfkit.optim.saddle import OuterStep

_FIRST = 1.0
_FACTOR = 4.0
_SMALLEST, _LARGEST = 1e-4, 1e3
_BISECTIONS = 2
_ROUGH = 1e-3  # tolerance of the trainings before the last
_A_LITTLE_LESS = 1.25  # divisor of c2 if the last training, with full tolerance, is not feasible


@dataclass(frozen=True)
class Training:
    """The minimum at one penalty."""

    c2: float
    x: Vector  # [P]
    step: OuterStep
    tol: float


class PenaltySearch:
    """A search over penalties: all trainings (``tried``), and the one to keep (``kept``)."""

    def __init__(
        self,
        objective: PenalisedLikelihood[LinearLikelihood],
        constraints: ValidationConstraints,
        *,
        max_iterations: int,
        max_steps: int,
        callback: Callback,
        begins: Callable[[float], None],
        ends: Callable[[Training], bool],
        save: Save | None = None,
        resume: State | None = None,
    ) -> None:
        self._objective, self._constraints = objective, constraints
        self._max_iterations, self._max_steps = max_iterations, max_steps
        self._callback, self._begins, self._ends = callback, begins, ends
        self.tried: list[Training] = []
        self.kept: Training | None = None  # the feasible one with the largest c2, if there is one
        self.stopped = self.interrupted = False  # stopped: by the callback, by ``ends``, or by Ctrl-C
        self.passes = 0.0
        self._began = time.perf_counter()
        self._save, self._resume = save, resume
        self._earlier: list[Training] = []  # trainings in the checkpoint, in their order
        if resume is not None:
            self._began -= resume["seconds"]
            self._earlier = [Training(c2, x, OuterStep(**step), tol) for c2, x, step, tol in resume["tried"]]

    def run(self, start: Vector, tol: float) -> Training | None:
        """Return the training to keep; None if no penalty from 0.0001 to 1000 is feasible.

        If the search was stopped before it found a feasible penalty, return that with the least violation.
        """
        rough = max(tol, _ROUGH)
        here = self._train(_FIRST, start, rough)
        up = here.step.feasible
        factor = _FACTOR if up else 1 / _FACTOR
        while self._goes_on and _SMALLEST <= here.c2 * factor <= _LARGEST and here.step.feasible == up:
            here = self._train(here.c2 * factor, start, rough)
        for _ in range(_BISECTIONS):
            above = [t.c2 for t in self.tried if self.kept is not None and t.c2 > self.kept.c2]
            if self._goes_on and self.kept is not None and above:
                self._train(float(np.sqrt(self.kept.c2 * min(above))), start, rough)
        # Once more with the full tolerance.
        rough_best, c2 = self.kept, 0.0 if self.kept is None else self.kept.c2
        while self._goes_on and rough_best is not None and tol < rough:
            last = self._train(c2, start, tol)
            if last.step.feasible:
                self.kept = last
                break
            c2 /= _A_LITTLE_LESS
        if self.kept is None and self.stopped:
            return min(self.tried, key=lambda training: float(training.step.violations.sum()))
        return self.kept

    @property
    def bracketed(self) -> bool:
        """Whether a penalty larger than the kept one was found infeasible."""
        kept = self.kept
        return kept is not None and any(t.c2 > kept.c2 and not t.step.feasible for t in self.tried)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def _goes_on(self) -> bool:
        return not self.stopped and len(self.tried) < self._max_steps

    def _train(self, c2: float, start: Vector, tol: float) -> Training:
        if self._earlier:
            return self._note(self._earlier.pop(0))
        near = min(self.tried, key=lambda t: abs(np.log(t.c2 / c2)), default=None)
        objective = replace(self._objective, l2=c2)
        self._begins(c2)

        def counted(x: Vector, *, diagonal: bool = False) -> Evaluation:
            self.passes += 1
            return objective(x, diagonal=diagonal)

        def watch(step: Step) -> bool:
            self.stopped = self._callback(replace(step, passes=self.passes, seconds=self.seconds))
            return self.stopped

        inner, save = None, self._save
        if self._resume is not None:
            inner = self._resume["inner"]
            self.passes = self._resume["passes"] - 1  # to continue costs another one
            self._resume = None
        result = minimize_lbfgs(
            counted,
            start if near is None else near.x,
            l1=objective.l1,
            units=objective.units,
            max_iterations=self._max_iterations,
            tol=tol,
            n_threads=self._objective.n_threads,
            callback=watch,
            save=save and (lambda own: save(lambda: self._state(own()))),
            resume=inner,
        )
        self.interrupted |= result.interrupted
        self.stopped |= result.interrupted
        h = self._constraints.violations(result.x)
        record = OuterStep(
            step=len(self.tried) + 1,
            value=result.value,
            inequalities=h - self._constraints.tau,
            penalties=np.zeros(len(h)),
            iterations=result.iterations,
            passes=self.passes,
            seconds=self.seconds,
            temperature=0.0,
            gap=0.0,
            stalled=False,
            feasible=bool((h <= self._constraints.tau).all()),
            converged=result.converged,
            ended=result.message,
        )
        training = self._note(Training(c2, result.x, record, tol))
        self.stopped |= self._ends(training)
        return training

    def _note(self, training: Training) -> Training:
        """Remember a training, and keep it if it is the best."""
        self.tried.append(training)
        if training.step.feasible and (self.kept is None or training.c2 >= self.kept.c2):
            self.kept = training
        return training

    def _state(self, inner: State) -> State:
        tried = [(t.c2, t.x, vars(t.step), t.tol) for t in self.tried]
        return {"tried": tried, "passes": self.passes, "seconds": self.seconds, "inner": inner}
