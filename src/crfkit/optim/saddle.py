"""Extended-saddle-point search: minimise f(x) subject to g(x) <= 0, where g may have kinks.

Wah and Chen's theory of extended saddle points, as Chen, Chen, Brent and Tenney use it ("Constrained
optimization for validation-guided conditional random field learning", KDD 2009): one penalty per constraint,

    L(x, β) = f(x) + Σ_j β_j max(0, g_j(x)).

The inner loop minimises L over x, starting from the last minimum. The outer loop raises the penalties of the
violated constraints in proportion to their violation, and does not change the others. Any penalties above a
finite threshold suffice. The search therefore ends when a minimum of L is feasible, because this is then a
constrained minimum.

The inner loop is L-BFGS. L has kinks, where a quasi-Newton method can stall, even at its first step: if it
ends with a gradient far from 0, the outer step is marked as ``stalled``. Constraints that can be smoothed
(``Smoothable``) avoid this: an outer step then minimises

    f(x) + Σ_j β_j · r(g_j,T(x)),    r a rounded max(0, ·) that vanishes below -width_j

which is smooth, at a temperature T that falls from step to step. The search continues until the cost of
smoothing is below ``accuracy``. Feasibility is always decided by the constraints themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Callback, Evaluation, Result, Save, Smooth, State, Step, Vector, dot, norm

_SHARE = 1e-3  # of f that its gradient may promise at its minimum
_STALLED = 1e-2  # if the gradient's norm is above this share of its first value, no minimum was reached


class Constrained(Protocol):
    """Constraints at a point."""

    @property
    def values(self) -> Vector:
        """[m] g."""

    def pull(self, coefficients: Vector) -> Vector:
        """Return Σ_j coefficients_j · (sub)gradient of constraint j, [P]."""


class ConstraintFunctions(Protocol):
    """m constraints on P variables; continuous, with or without kinks."""

    def __call__(self, x: Vector) -> Constrained:
        """Return the constraints at x."""


@runtime_checkable
class Smoothable(Protocol):
    """Constraints with smooth approximations, ideally upper bounds: then feasible points stay feasible."""

    def __call__(self, x: Vector) -> Constrained:
        """Return the constraints at x."""

    def smoothed(self, x: Vector, temperature: float) -> Constrained:
        """Return smooth functions at x that tend to the constraints as the temperature falls."""


@dataclass(frozen=True)
class OuterStep:
    """The result of an outer step."""

    step: int
    value: float  # f
    inequalities: Vector  # g
    penalties: Vector  # β of the inner loop
    iterations: int  # of the inner loop
    passes: float  # evaluations of f since the search began
    seconds: float  # since the search began
    temperature: float  # 0: the constraints themselves
    gap: float  # Σ_j multiplier_j · the amount by which smoothing raises constraint j; 0 without smoothing
    stalled: bool  # the inner loop ended where the gradient is far from 0
    feasible: bool
    converged: bool  # the inner loop converged, and did not stall at a kink
    ended: str  # why the inner loop ended

    @property
    def violations(self) -> Vector:
        """[m] max(0, g)."""
        return np.maximum(self.inequalities, 0.0)


@dataclass(frozen=True)
class SaddleResult:
    """The result of the search, with the reason why it ended."""

    x: Vector
    value: float  # f
    inequalities: Vector
    penalties: Vector
    feasible: bool
    message: str
    history: list[OuterStep] = field(default_factory=list)
    converged: bool = False  # feasible, and the search was neither stopped nor cut off
    interrupted: bool = False  # by Ctrl-C; the exception is swallowed, so callers must check this


@dataclass(frozen=True)
class SaddleSettings:
    """Settings of the search."""

    max_outer: int = 20
    tolerance: float = 1e-6  # of g
    first_penalty: float = 0.0  # 0: the first inner loop minimises f alone
    rate: float = 1.0  # the most violated constraint's penalty rises by this at first
    growth: float = 2.0  # factor of the rate after every step
    temperature: float | None = None  # of the first step; None: no smoothing
    cooling: float = 0.25  # factor of the temperature after every step
    accuracy: float = 1e-3  # the search ends when gap / |f| is at most this
    width: float | Vector = 0.0  # [m] or one number: width of the rounded max(0, g), if there is smoothing
    inner_iterations: int = 100
    tol: float = 1e-5  # of the inner loop
    memory: int = 10


def minimize_constrained(
    function: Smooth,
    x: Vector,
    *,
    inequalities: ConstraintFunctions,
    l1: Vector | None = None,
    units: Vector | None = None,
    settings: SaddleSettings | None = None,
    n_threads: int = 1,
    callback: Callback | None = None,
    outer_callback: Callable[[OuterStep, Vector], bool] | None = None,
    save: Save | None = None,
    resume: State | None = None,
) -> SaddleResult:
    """Minimise f(x) + Σ l1·|x| subject to g <= 0 from ``x``.

    If no inner loop ends feasible within ``max_outer`` steps, the point with the least total violation is
    returned, and ``feasible`` is False. ``units`` are those of ``minimize_lbfgs``. ``callback`` sees every
    inner iteration, ``outer_callback`` every outer step; either may stop the search. ``save`` and ``resume``
    are those of ``minimize_lbfgs``.
    """
    settings = settings or SaddleSettings()
    search = _Search(function, inequalities, l1, units, settings, callback)
    return search.run(x, n_threads, outer_callback, save, resume)


class _Search:
    """The state of a search: penalties, temperature, counts."""

    def __init__(
        self,
        function: Smooth,
        inequalities: ConstraintFunctions,
        l1: Vector | None,
        units: Vector | None,
        settings: SaddleSettings,
        callback: Callback | None,
    ) -> None:
        self.function, self.inequalities = function, inequalities
        self.l1, self.units, self.settings, self.callback = l1, units, settings, callback
        self.temperature = 0.0 if settings.temperature is None else settings.temperature
        self.smooth: Smoothable | None = None  # the constraints, if they are smoothed
        if self.temperature > 0 and isinstance(inequalities, Smoothable):
            self.smooth = inequalities
        self.beta: Vector = np.zeros(0)
        self.passes = 0.0
        self.penalised = self.stopped = False
        self.number = 0  # of the outer step
        self.began = time.perf_counter()

    def run(
        self,
        x: Vector,
        n_threads: int,
        outer_callback: Callable[[OuterStep, Vector], bool] | None,
        save: Save | None,
        resume: State | None,
    ) -> SaddleResult:
        s = self.settings
        self.beta = np.full(len(self.inequalities(x).values), s.first_penalty)
        rate = s.rate
        history: list[OuterStep] = []
        best: tuple[tuple[float, float], Vector, OuterStep] | None = None
        message, converged = f"no feasible point was found in max_outer={s.max_outer} outer steps", False
        interrupted = False
        if resume is not None:
            history = [OuterStep(**step) for step in resume["history"]]
            if resume["best"] is not None:
                rank, at, k = resume["best"]
                best = (tuple(rank), at, history[k])
            self.beta, rate, self.temperature = resume["beta"], resume["rate"], resume["temperature"]
            self.passes = resume["passes"] - 1  # to continue costs another one
            self.began -= resume["seconds"]

        def state(inner: State) -> State:
            return {
                "history": [vars(step) for step in history],
                "best": best and (best[0], best[1], next(k for k, r in enumerate(history) if r is best[2])),
                "beta": self.beta,
                "rate": rate,
                "temperature": self.temperature,
                "passes": self.passes,
                "seconds": time.perf_counter() - self.began,
                "inner": inner,
            }

        for number in range(len(history) + 1, s.max_outer + 1):
            self.number = number
            self.penalised = bool(self.beta.any())
            inner = minimize_lbfgs(
                self._lagrangian,
                x,
                l1=self.l1,
                units=self.units,
                max_iterations=s.inner_iterations,
                tol=s.tol,
                share=np.inf if self.penalised else _SHARE,  # kinks and rounded ones have gradients
                memory=s.memory,
                n_threads=n_threads,
                callback=self._watch,
                save=save and (lambda own: save(lambda: state(own()))),
                resume=None if resume is None else resume["inner"],
            )
            resume = None
            x = inner.x
            try:
                record = self._judge(x, inner)
            except KeyboardInterrupt:
                if best is None:
                    raise
                message, interrupted = "it was interrupted", True
                break
            interrupted = inner.interrupted
            history.append(record)
            violation = record.violations
            rank = (0.0, record.value) if record.feasible else (float(violation.sum()), 0.0)
            if best is None or rank <= best[0]:
                best = (rank, x, record)
            if outer_callback is not None and outer_callback(record, x):
                self.stopped = True
            if self.stopped or interrupted:
                message = "it was stopped" + ("" if best[2].feasible else " before all constraints held")
                break
            if best[2].feasible:
                message = f"all constraints hold after {number} outer step" + "s" * (number > 1)
            if record.feasible and record.gap <= s.accuracy * abs(record.value):
                converged = record.converged
                if not converged:
                    message += f", but the last inner loop did not converge: {record.ended}"
                break
            if number == s.max_outer and best[2].feasible:
                message += f", but max_outer={s.max_outer} was reached before the search converged"
                if record.feasible:
                    message += f": smoothing may still cost {record.gap:.3g} of {record.value:.5g}"
            if not record.feasible:
                self.beta = self.beta + rate * violation / violation.max()
                rate *= s.growth
            if self.penalised:
                self.temperature *= s.cooling
        if best is None:
            raise ValueError(f"max_outer must be at least 1, got {s.max_outer}")
        _, x, record = best
        return SaddleResult(
            x,
            record.value,
            record.inequalities,
            record.penalties,
            record.feasible,
            message,
            history,
            converged,
            interrupted,
        )

    def _steep(self, inner: Result) -> bool:
        """Return whether the gradient is far from 0 where the inner loop ended."""
        x = inner.x if self.units is None else inner.x * self.units  # as the inner loop measures them
        smallest = self.settings.tol * max(1.0, norm(x))
        reference = _STALLED * inner.first_gradient_norm if inner.iterations else 0.0
        return inner.gradient_norm > max(smallest, reference)

    def _judge(self, x: Vector, inner: Result) -> OuterStep:
        """Return the record of an inner loop, evaluated with the exact constraints."""
        g = self.inequalities(x).values
        value = self.function(x).value + (0.0 if self.l1 is None else dot(self.l1, np.abs(x)))
        stalled = self.penalised and inner.message.startswith("no step improves") and self._steep(inner)
        at_kink = stalled and self.smooth is None  # with smoothing it is rounding, at the minimum of L
        return OuterStep(
            self.number,
            value,
            g,
            self.beta,
            inner.iterations,
            self.passes,
            time.perf_counter() - self.began,
            self.temperature if self.penalised else 0.0,
            self._gap(x, g),
            stalled,
            bool((g <= self.settings.tolerance).all()),
            inner.converged and not at_kink,
            "it stalled at a kink" if at_kink else inner.message,
        )

    def _gap(self, x: Vector, g: Vector) -> float:
        """Return the first-order cost of smoothing: lowering a bound by 1 raises f by its multiplier.

        At a minimum of the smoothed L the multiplier of constraint j is β_j · r'(g_j,T).
        """
        if not self.penalised or self.smooth is None:
            return 0.0
        smoothed = self.smooth.smoothed(x, self.temperature).values
        _, slope = rounded_hinge(smoothed, self.settings.width)
        return float((self.beta * slope) @ (smoothed - g))

    def _watch(self, step: Step) -> bool:
        if self.callback is not None:
            seconds = time.perf_counter() - self.began
            self.stopped = self.callback(replace(step, passes=self.passes, seconds=seconds))
        return self.stopped

    def _lagrangian(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """Return L without its L1 term, or f alone if no constraint has a penalty yet."""
        self.passes += 1
        here = self.function(x, diagonal=diagonal)
        if not self.penalised:
            return here
        if self.smooth is not None:
            found, width = self.smooth.smoothed(x, self.temperature), self.settings.width
        else:
            found, width = self.inequalities(x), 0.0
        cost, slope = rounded_hinge(found.values, width)
        slopes = self.beta * slope
        gradient = here.gradient + found.pull(slopes) if slopes.any() else here.gradient
        return Evaluation(here.value + float(self.beta @ cost), gradient, here.diagonal)


def rounded_hinge(g: Vector, width: float | Vector) -> tuple[Vector, Vector]:
    """Return max(0, g) with the kink replaced by a parabola from -width to 0, and its slope.

    It is 0 below -width and has slope 1 from 0 on: if a penalty is above its threshold, the minimum has
    g < 0.
    """
    wide: NDArray[np.float64] = np.broadcast_to(np.asarray(width, np.float64), g.shape)
    safe = np.where(wide > 0, wide, 1.0)
    slope = np.where(wide > 0, np.clip((g + wide) / safe, 0.0, 1.0), (g > 0).astype(np.float64))
    inside = slope * (g + wide) / 2
    return np.where(g > 0, g + wide / 2, np.where(wide > 0, inside, 0.0)), slope
