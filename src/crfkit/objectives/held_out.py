"""The K-fold held-out loss of a linear CRF as a function of its penalties, with its gradient.

Fold k is trained without its held-out part; V_k is the loss of that part:

    w_k(λ) = argmin_w  f_k(w) + Σ_p l2_p(λ) w_p² (+ Σ_p l1_p |w_p|),      V(λ) = min_a Σ_k V_k(a · w_k(λ))

The factor a is common to all folds. Without it the loss asks for probabilities that are right, and prefers a
larger penalty than good labels need; after the best factor only the order of labellings counts. By the
envelope theorem a is constant in the gradient. Implicit differentiation at the minimum, where
∇f_k + 2 l2 w = 0 and H = ∇²f_k + 2 l2, gives (Bengio 2000; Do, Foo and Ng, NIPS 2007; Pedregosa, ICML 2016)

    dV_k / d log l2_p  =  -2 l2_p w_p q_p,        H q = a ∇V_k(a w),      by conjugate gradients;

under L1, over the weights that are not 0, and with -l1_p sign(w_p) q_p besides if l1 is a multiple of l2.
Folds need not be trained to the end: a point with gradient g is H⁻¹g away from the minimum, so
V_k(w_k) ≈ V_k(w) - q·g, which helps to say when to stop and corrects the rest.

Nothing leaks: a fold starts from its own earlier weights, which have never seen its held-out part, and has
weights only for features of its own training part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit._native import CurvatureHistory
from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.objectives.grouped_penalty import GroupedPenalty
from crfkit.objectives.linear_likelihood import LinearLikelihood, LinearPart
from crfkit.optim.conjugate_gradients import solve_cg
from crfkit.optim.hessian import HessianProducts
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Evaluation, Step, dot

_PERIOD = 5  # iterations over which the training objective falls little
_CALM = 3  # iterations in a row in which q·g is small
_MEMORY = 10  # of L-BFGS
_MOST_FACTORS = 6
_EXACT = 2e-4  # share of the loss that a better factor may still gain


@dataclass(frozen=True)
class Effort:
    """How exactly folds are trained and systems are solved."""

    little: float = 2e-3  # share of the training objective that it may still fall by in five iterations
    stable: float = 5e-3  # largest |q·g| as a share of the held-out loss, if q is known
    max_iterations: int = 100  # of one training
    residual: float = 0.2  # of conjugate gradients
    max_products: int = 6  # of one solution; the next one starts from it


@dataclass(frozen=True)
class FoldIds:
    """The sequences of a fold, and the parameters that its training part has."""

    train: IdArray
    held: IdArray
    free: BoolArray | None  # [P] None: all


class _Recorded:
    """A function that remembers its last gradient and counts its evaluations."""

    def __init__(self, function: LinearPart) -> None:
        self._function, self.gradient, self.calls = function, np.zeros(0), 0

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        here = self._function(x, diagonal=diagonal)
        self.gradient, self.calls = here.gradient, self.calls + 1
        return here


@dataclass
class Fold:
    """A fold's own weights, and the solution q of its linear system."""

    train: _Recorded
    held: LinearPart
    share: float  # of all sequences, in its training part
    x: FloatArray  # [P]
    history: CurvatureHistory  # of its trainings
    q: FloatArray | None = None  # [P]
    loss: float = np.inf  # of the held-out part, at the last evaluation


@dataclass(frozen=True)
class HeldOut:
    """The held-out loss at some penalties."""

    value: float  # summed over all folds
    gradient: FloatArray  # [G] by the logs of the penalties
    factor: float  # the best common factor of the weights


class HeldOutLoss:
    """V(λ) for log penalties λ [G] of groups of features."""

    def __init__(
        self,
        function: LinearLikelihood,
        folds: Sequence[FoldIds],
        *,
        calibrated: bool = True,
        effort: Effort = Effort(),
        watch: Callable[[], None] = lambda: None,  # is called after each training of a fold
    ) -> None:
        self._function, self._calibrated, self._effort, self._watch = function, calibrated, effort, watch
        self._folds = folds
        self._passes = 0.0
        self.cold()

    def cold(self) -> None:
        """Forget all weights: the next evaluation trains every fold from the beginning."""
        function = self._function
        if hasattr(self, "folds"):
            self._passes = self.passes
        self.factor = 1.0
        self.folds = [
            Fold(
                _Recorded(function.part(fold.train, fold.free)),
                function.part(fold.held, fold.free),
                len(fold.train) / max(1, function.n_examples),
                np.zeros(function.n_parameters),
                CurvatureHistory(_MEMORY, function.n_parameters, function.n_threads),
            )
            for fold in self._folds
        ]

    @property
    def passes(self) -> float:
        """How many passes over all the data it has taken so far."""
        return self._passes + sum(fold.share * fold.train.calls for fold in self.folds)

    def value(self, logs: FloatArray, penalty: GroupedPenalty, effort: Effort | None = None) -> float:
        """Return the loss; every fold continues from its own weights. This needs no linear system."""
        l1, l2 = penalty.l1(logs), penalty.l2(logs)
        for fold in self.folds:
            self._train(fold, l1, l2, effort or self._effort)
        held = self._calibrate()
        for fold, there in zip(self.folds, held, strict=True):
            fold.loss = there.value
        return sum(there.value for there in held)

    def __call__(self, logs: FloatArray, penalty: GroupedPenalty) -> HeldOut:
        """Return the loss and its gradient; every fold continues from its own weights."""
        l1, l2, effort = penalty.l1(logs), penalty.l2(logs), self._effort
        for fold in self.folds:
            self._train(fold, l1, l2, effort)
        value, slope = 0.0, np.zeros(len(l2))
        for fold, there in zip(self.folds, self._calibrate(), strict=True):
            objective: Penalised[Any] = Penalised(fold.train, l2)
            here = objective(fold.x, diagonal=True)
            active = 1.0 if l1 is None else (fold.x != 0).astype(np.float64)
            products = HessianProducts(objective, fold.x)
            fold.q = solve_cg(
                products if l1 is None else lambda v, p=products, on=active: on * p(v),  # type: ignore[misc]
                self.factor * there.gradient * active,
                diagonal=None if here.diagonal is None else np.maximum(here.diagonal, 1e-300),
                start=fold.q,
                tol=effort.residual,
                max_products=effort.max_products,
            ).x
            fold.loss = there.value
            value += there.value - _gap(fold.q, here.gradient, l1, fold.x)
            slope -= penalty.pull(logs, fold.x) * fold.q
        return HeldOut(value, penalty.slope(logs, slope), self.factor)

    def _train(self, fold: Fold, l1: FloatArray | None, l2: FloatArray, effort: Effort) -> None:
        """Train a fold until its held-out loss is stable."""
        values: list[float] = []
        calm = 0

        def is_stable(step: Step) -> bool:
            nonlocal calm
            values.append(step.value)
            if fold.q is not None:
                gap = _gap(fold.q, fold.train.gradient + 2 * l2 * step.x, l1, step.x)
                calm = calm + 1 if abs(gap) <= effort.stable / 2 * fold.loss else 0
            little = len(values) > _PERIOD and values[-1 - _PERIOD] - step.value <= effort.little * step.value
            return little and (fold.q is None or calm >= _CALM)

        found = minimize_lbfgs(
            Penalised(fold.train, l2),
            fold.x,
            l1=l1,
            units=self._function.units(float(np.exp(np.log(l2).mean()))),
            max_iterations=effort.max_iterations,
            tol=1e-6,
            share=np.inf,
            n_threads=self._function.n_threads,
            callback=is_stable,
            history=fold.history,
        )
        fold.x = found.x
        if found.interrupted:
            raise KeyboardInterrupt
        self._watch()

    def _calibrate(self) -> list[Evaluation]:
        """Find the best common factor by the secant method; return the held-out losses with it."""

        def at(factor: float) -> tuple[list[Evaluation], float]:
            self._passes += 1
            found = [fold.held(factor * fold.x) for fold in self.folds]
            return found, sum(dot(fold.x, g.gradient) for fold, g in zip(self.folds, found, strict=True))

        a = self.factor
        here, slope = at(a)
        step = -0.1 * a * np.sign(slope) if self._calibrated else 0.0
        for _ in range(_MOST_FACTORS):
            if step == 0:  # the slope is 0
                break
            a += step
            there, new = at(a)
            bend = (new - slope) / step
            here, slope = there, new
            if not bend > 0 or slope**2 / bend <= _EXACT * sum(g.value for g in here):
                break
            step = float(np.clip(-slope / bend, -0.5 * a, a))
        self.factor = float(a)
        return here


def _gap(q: FloatArray, gradient: FloatArray, l1: FloatArray | None, x: FloatArray) -> float:
    """Return q·g, where q is 0 for weights that L1 holds at 0."""
    return dot(q, gradient if l1 is None else gradient + l1 * np.sign(x))
