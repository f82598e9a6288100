"""Selection along an L1 path: as c1 falls, more and more features get a weight.

At each c1 the model is trained by grafting (Perkins, Lacker and Theiler, JMLR 3, 2003): a candidate without a
weight can gain one only if |∂O/∂w| > c1, so the trained set grows by those that do, until none is left.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.selection.base import BaseSelector
from crfkit.selection.refit import refit
from crfkit.selection.search import Search
from crfkit.selection.selected import Feature

_MOST_TURNS = 20  # of grafting at one c1
_SLACK = 1e-3  # share of c1 by which a gradient may exceed it


class L1PathSelector(BaseSelector):
    """A selector of the features that have a weight under an L1 penalty, for a decreasing c1.

    Parameters are those of :class:`crfkit.selection.GradientSelector` (without ``batch`` and
    ``conjunctions``), and

    ratio
        The factor from each c1 to the next; the first is the largest at which any feature has a weight.
    c1_min
        The last c1. None: only the other stopping rules apply.

    A round is one c1; a feature's score is the c1 that added it. After each round the model is trained
    without the L1 penalty, as in the other selectors, for ``path_``.
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        **BaseSelector._rules,
        "ratio": ("a number between 0 and 1", lambda v: isinstance(v, float) and 0 < v < 1),
        "c1_min": rule.optional(rule.number(0)),
    }

    def __init__(
        self,
        n_features: int | None = None,
        *,
        ratio: float = 0.7,
        c1_min: float | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_features, **shared)
        self.ratio = ratio
        self.c1_min = c1_min

    def _select(self, search: Search) -> None:
        given = search.chosen
        came: dict[int, Feature] = dict(zip(given.tolist(), search.features, strict=True))
        weights, active = search.weights.copy(), given
        _, gradient = search.gradient(weights)
        gradient[given] = 0
        c1 = float(np.abs(gradient).max()) * self.ratio
        while c1 > max(self.c1_min or 0.0, 1e-9):
            weights, active, interrupted = self._graft(search, weights, active, c1)
            alive = np.union1d(np.flatnonzero(weights), given)
            new = np.array([k for k in alive.tolist() if k not in came], dtype=np.int64)
            new = new[np.argsort(-np.abs(weights[new]), kind="stable")]
            if self.n_features is not None:
                new = new[: max(0, self.n_features + len(given) - (len(alive) - len(new)))]
            features = search.pool.features(new, search.round, np.full(len(new), c1))
            came |= dict(zip(new.tolist(), features, strict=True))
            kept = [k for k in came if weights[k] != 0 or came[k].round == 0]
            if len(new):
                start = search.weights.copy()
                start[new] = weights[new]
                go_on = search.replace(
                    np.array(kept, dtype=np.int64), [came[k] for k in kept], features, c1, start
                )
                if not go_on:
                    return
            if interrupted:
                raise KeyboardInterrupt
            c1 *= self.ratio
        search.stopped_because = f"c1 fell to {c1:.3g}"

    def _graft(
        self, search: Search, weights: FloatArray, active: IntArray, c1: float
    ) -> tuple[FloatArray, IntArray, bool]:
        """Return the optimal weights [K] for c1, the trained candidates, and whether it was interrupted."""
        settings = search.settings
        for _ in range(_MOST_TURNS):
            _, gradient = search.gradient(weights)
            gradient[active] = 0
            more = np.flatnonzero(np.abs(gradient) > c1 * (1 + _SLACK))
            if not len(more):
                break
            active = np.union1d(active, more)
            found = refit(
                search.pool,
                active,
                weights,
                c1=c1,
                c2=settings.c2,
                tol=settings.refit_tol,
                n_threads=settings.n_threads,
            )
            weights = found.weights
            if found.interrupted:
                return weights, active, True
        return weights, np.flatnonzero(weights), False
