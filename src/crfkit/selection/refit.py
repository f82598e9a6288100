"""Training of the weights of the chosen features, starting from those of the previous round.

While there are few features, the curvature is also kept from round to round: then a new feature costs only a
few passes over the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.optim.bfgs import minimize_bfgs
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Evaluation, Smooth
from crfkit.selection.candidates import Candidates

_MOST = 2000  # features whose inverse Hessian is kept in full


def _few(n_positions: int) -> int:
    """Return the limit of features for this: a step on n² numbers should cost less than a data pass."""
    return min(_MOST, isqrt(10 * n_positions))


@dataclass(frozen=True)
class Curvature:
    """The inverse Hessian with respect to the weights of some candidates."""

    candidates: IntArray  # [n] ascending
    inverse: FloatArray  # [n, n]

    def of(self, candidates: IntArray) -> FloatArray:
        """Return the inverse Hessian of other candidates (ascending); NaN: not known."""
        n = len(candidates)
        out = np.full((n, n), np.nan)
        known, here, there = np.intersect1d(candidates, self.candidates, return_indices=True)
        if len(known):
            out[np.ix_(here, here)] = self.inverse[np.ix_(there, there)]
        return out


NOTHING_KNOWN = Curvature(np.zeros(0, np.int64), np.zeros((0, 0)))


@dataclass(frozen=True)
class Refitted:
    """Weights of all candidates, 0 for those not chosen."""

    weights: FloatArray  # [K]
    objective: float
    interrupted: bool
    curvature: Curvature = NOTHING_KNOWN


def refit(
    pool: Candidates,
    chosen: IntArray,
    start: FloatArray,
    *,
    c2: float,
    tol: float,
    n_threads: int,
    c1: float = 0.0,
    curvature: Curvature = NOTHING_KNOWN,
) -> Refitted:
    """Minimise the objective over the weights of ``chosen`` (any order), from ``start`` [K]."""
    chosen = np.sort(chosen)
    index, likelihood = pool.likelihood_of(chosen, n_threads, c2)
    objective = likelihood.penalised(c2=c2, c1=c1)
    weights = np.zeros(pool.n_candidates)
    P = objective.n_parameters
    if c1 == 0 and P == len(chosen) <= _few(pool.n_positions):
        places = objective.weights(np.arange(P, dtype=np.float64))[index.places].astype(np.int64)
        curved = minimize_bfgs(_Reordered(objective, places), start[chosen], curvature.of(chosen), tol=tol)
        result = curved.result
        weights[chosen] = result.x
        curvature = Curvature(chosen, curved.inverse)
    else:
        first = np.zeros(sum(index.sizes))
        first[index.places] = start[chosen]
        result = minimize_lbfgs(
            objective,
            objective.parameters(first),
            l1=objective.l1,
            units=objective.units,
            tol=tol,
            n_threads=objective.n_threads,
        )
        weights[chosen] = objective.weights(result.x)[index.places]
        curvature = NOTHING_KNOWN
    return Refitted(weights, result.value, result.interrupted, curvature)


class _Reordered:
    """The objective with its variables in the order of the candidates."""

    def __init__(self, objective: Smooth, places: IntArray) -> None:
        self._objective, self._places = objective, places  # [P] where each variable stands in θ

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        theta = np.empty_like(x)
        theta[self._places] = x
        here = self._objective(theta, diagonal=diagonal)
        return Evaluation(
            here.value,
            here.gradient[self._places],
            None if here.diagonal is None else here.diagonal[self._places],
        )
