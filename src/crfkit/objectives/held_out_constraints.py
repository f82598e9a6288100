"""Validation constraints on models that have not seen the validation set.

The joint model w(λ) minimises f(w) + e^λ·‖w‖², with f the negative log likelihood of all folds. The model
without fold j minimises f(w) - f_j(w) + e^λ·‖w‖². It is not trained: it is one Newton step away from the
joint model (an infinitesimal jackknife with the Hessian of the data that is left; Giordano et al., "A Swiss
Army infinitesimal jackknife", AISTATS 2019),

    w_j = w + Δ_j,     H_j Δ_j = -∇(f - f_j)(w) - 2 e^λ w,     H_j = ∇²(f - f_j)(w) + 2 e^λ,

by conjugate gradients. If too much of the gradient is left, another step follows; if three steps are not
enough, as with hardly any penalty, the model is trained instead. Then

    minimise f(w(λ))  subject to  h_j(a·w_j(λ)) <= τ·T_j,       a = argmin Σ_j h_j(a·w_j(λ)),

where fold j has T_j positions, and h_j has a margin. Without the common factor a the constraints would ask
for small weights rather than right labels; no labelling depends on it.

The variable is λ, and not w. What a constraint on fold j does to w directly, the model without fold j does
not have: only what all folds share can satisfy constraints on unseen data, and that is the penalty. f and h_j
are computed at penalties of a grid, where the search asks for them, and interpolated between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood, LinearPart
from crfkit.objectives.validation import ValidationConstraints
from crfkit.objectives.validation_sets import Spans
from crfkit.optim.conjugate_gradients import solve_cg
from crfkit.optim.hessian import HessianProducts
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.one_variable import minimize_between
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Callback, Evaluation, Result, dot, norm

SMALLEST, LARGEST = 1e-4, 1e2  # penalties between which the search stays
_NODES = 13  # of the grid: two per decade
_FIRST, _APART = float(np.log(SMALLEST)), np.log(LARGEST / SMALLEST) / (_NODES - 1)
_RESIDUAL, _PRODUCTS = 0.02, 40  # of conjugate gradients
_STEPS, _LEFT = 3, 0.1  # Newton steps at most, and the share of the gradient that they may leave
_FACTORS = (1 / 32, 4.0)  # between which the common factor lies


class Node(NamedTuple):
    """The functions of λ at one penalty."""

    f: float
    h: FloatArray  # [V]
    x: FloatArray  # [P] the joint model
    c2: float
    objective: float  # of the joint model, with its penalty
    converged: bool  # the joint model's training
    certified: bool  # h is that of models trained without their fold, not an estimate


class HeldOutConstraints:
    """f and g_j = h_j - τ·T_j as functions of λ [1], for the saddle-point search."""

    def __init__(
        self,
        objective: PenalisedLikelihood[LinearLikelihood],
        folds: Sequence[IntArray],  # the sequences of each fold
        offsets: IntArray,  # [N+1]
        *,
        tau: float,
        margin: float,
        start: FloatArray,  # [P] where the joint model's first training begins
        tol: float,
        max_iterations: int,
        watch: Callback | None = None,  # is shown the iterations of the joint model's trainings
        say: Callable[[str], None] = lambda words: None,  # progress
    ) -> None:
        everything = np.arange(len(offsets) - 1, dtype=np.int32)
        self._objective, self._start, self._tol, self._most = objective, start, tol, max_iterations
        self._cold = np.zeros_like(start)  # models without a fold begin here: a start could have seen it
        self._watch, self._say = watch, say
        self._joint = _Counted(objective.function.part(everything))
        self._folds = [
            _Fold(
                _Counted(objective.function.part(np.setdiff1d(everything, fold))),
                ValidationConstraints(
                    objective, Spans.of_sequences([fold], offsets), gradient="envelope", margin=margin
                ),
            )
            for fold in folds
        ]
        self.positions = Spans.of_sequences(folds, offsets).lengths  # [V] T_j
        self._bounds: FloatArray = tau * self.positions.astype(np.float64)
        self._known: dict[int, Node] = {}
        self.trained = 0  # models of folds that had to be trained

    @property
    def passes(self) -> float:
        """Passes over the data so far."""
        functions = (self._joint, *(fold.rest for fold in self._folds))
        return sum(f.calls * len(f.part.examples) for f in functions) / max(1, len(self._joint.part.examples))

    # ---- as functions of λ

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return f and its derivative at λ."""
        value, slope = self._interpolated(x, lambda node: np.full(1, node.f))
        return Evaluation(float(value[0]), slope, np.ones(1) if diagonal else None)

    def constraints(self, x: FloatArray) -> AtPenalty:
        """Return the constraints at λ."""
        value, slope = self._interpolated(x, lambda node: node.h)
        return AtPenalty(value - self._bounds, slope)

    def _interpolated(self, x: FloatArray, of: Callable[[Node], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return a value and its derivative by λ: Catmull-Rom's cubic, mirrored at the bounds."""
        at_x, turn = _mirrored(x)
        place = (at_x - _FIRST) / _APART
        k = min(int(place), _NODES - 2)
        t = place - k
        at = [of(self.node(min(max(i, 0), _NODES - 1))) for i in range(k - 1, k + 3)]
        first, last = (at[2] - at[0]) / (2 if k else 1), (at[3] - at[1]) / (2 if k < _NODES - 2 else 1)
        rise = at[2] - at[1]
        b, c = 3 * rise - 2 * first - last, first + last - 2 * rise
        slope = (first + t * (2 * b + 3 * c * t)) / _APART
        return at[1] + t * (first + t * (b + c * t)), turn * slope

    # ---- at one penalty

    def node(self, k: int) -> Node:
        """Return the functions at a penalty of the grid."""
        if k not in self._known:
            near = min(self._known, key=lambda i: abs(i - k), default=None)
            c2 = float(np.exp(_FIRST + k * _APART))
            start = self._start if near is None else self._known[near].x
            joint = self._train(self._joint, start, c2, self._watch)
            h = self.estimated(joint.x, c2)
            f = joint.value - c2 * dot(joint.x, joint.x)
            self._known[k] = Node(f, h, joint.x, c2, joint.value, joint.converged, False)
            self._say(f"c2 {c2:.4g}: held-out constraints estimated")
        return self._known[k]

    def latest(self) -> Node | None:
        """Return the last node that was computed, if any."""
        return self._known[next(reversed(self._known))] if self._known else None

    def certify(self, x: FloatArray) -> bool:
        """Replace the estimates at the nodes on both sides of λ by the truth; return whether any was left."""
        place = min(int((reflected(x) - _FIRST) / _APART), _NODES - 2)
        estimated = [k for k in (place, place + 1) if not self.node(k).certified]
        for k in estimated:
            node = self.node(k)
            self._say(f"c2 {node.c2:.4g}: training without each of the {len(self._folds)} folds")
            self._known[k] = node._replace(h=self.trained_without(node.c2), certified=True)
        return bool(estimated)

    def best(self, x: FloatArray) -> Node:
        """Return the better of the nodes on both sides of λ: less violated; then, less f."""
        place = min(int((reflected(x) - _FIRST) / _APART), _NODES - 2)
        return min((self.node(place), self.node(place + 1)), key=self._rank)

    def best_of_decades(self) -> FloatArray:
        """Return the λ [1] of the best of every second node, which decides between local minima.

        The largest penalty comes first: its model is soon trained.
        """
        nodes = [self.node(k) for k in range(_NODES - 1, -1, -2)]
        return np.array([np.log(min(nodes, key=self._rank).c2)])

    def _rank(self, node: Node) -> tuple[float, float]:
        return float(np.maximum(node.h - self._bounds, 0).sum()), node.f

    def estimated(self, joint: FloatArray, c2: float) -> FloatArray:
        """Return h [V] of models without their fold that are a few Newton steps away from a joint model."""
        return self._calibrated([self._left_out(fold, joint, c2) for fold in self._folds])

    def trained_without(self, c2: float) -> FloatArray:
        """Return h [V] of models that are trained without their fold, from the beginning."""
        return self._calibrated([self._train(fold.rest, self._cold, c2).x for fold in self._folds])

    def _left_out(self, fold: _Fold, joint: FloatArray, c2: float) -> FloatArray:
        """Return the model without a fold: by Newton steps from the joint model, or by training.

        One step is enough if it leaves little of the gradient. If a few steps do not, or one raises the
        objective, the model is trained, because a model on the way still knows the fold.
        """
        objective: Penalised[Any] = Penalised(fold.rest, c2)
        x, here = joint, objective(joint, diagonal=True)
        begun = norm(here.gradient)
        for _ in range(_STEPS):
            x = (
                x
                + solve_cg(
                    HessianProducts(objective, x),
                    -here.gradient,
                    diagonal=here.diagonal,
                    tol=_RESIDUAL,
                    max_products=_PRODUCTS,
                ).x
            )
            value, here = here.value, objective(x, diagonal=True)
            if not here.value <= value:
                break
            if norm(here.gradient) <= _LEFT * begun:
                return x
        self.trained += 1
        return self._train(fold.rest, self._cold, c2).x

    def _calibrated(self, models: Sequence[FloatArray]) -> FloatArray:
        """Return h [V] after the best common factor, by golden sections: Σ h is convex in it."""

        def at(log: float) -> FloatArray:
            factor = float(np.exp(log))
            return np.concatenate(
                [fold.constraints.violations(factor * x) for fold, x in zip(self._folds, models, strict=True)]
            )

        low, high = np.log(_FACTORS).tolist()
        return at(minimize_between(lambda log: float(at(log).sum()), low, high, tol=0.02))

    def _train(
        self, function: _Counted, start: FloatArray, c2: float, watch: Callback | None = None
    ) -> Result:
        found = minimize_lbfgs(
            Penalised(function, c2),
            start,
            units=self._objective.function.units(c2),
            max_iterations=self._most,
            tol=self._tol,
            n_threads=self._objective.n_threads,
            callback=watch,
        )
        if found.interrupted:
            raise KeyboardInterrupt
        return found


def reflected(x: FloatArray) -> float:
    """Return λ of x [1]: x itself, mirrored at the bounds if it lies beyond them."""
    return _mirrored(x)[0]


def _mirrored(x: FloatArray) -> tuple[float, float]:
    """Return λ of x [1], and its derivative: 1, or -1 in a mirror image."""
    low, high = _FIRST, float(np.log(LARGEST))
    turns, at = divmod(float(x[0]) - low, high - low)
    return (low + at, 1.0) if turns % 2 == 0 else (high - at, -1.0)


class AtPenalty:
    """The constraints at λ and their derivatives."""

    def __init__(self, values: FloatArray, slopes: FloatArray) -> None:
        self.values, self._slopes = values, slopes

    def pull(self, coefficients: FloatArray) -> FloatArray:
        """Return Σ_j coefficients_j · dh_j/dλ, [1]."""
        return np.full(1, dot(coefficients, self._slopes))


class _Counted:
    """The likelihood of some sequences; counts its evaluations."""

    def __init__(self, part: LinearPart) -> None:
        self.part, self.calls = part, 0

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        self.calls += 1
        return self.part(x, diagonal=diagonal)


class _Fold(NamedTuple):
    """The likelihood without a fold, and the constraint on it."""

    rest: _Counted
    constraints: ValidationConstraints
