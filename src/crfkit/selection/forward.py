"""Forward selection: score every candidate, choose the best, train, and repeat.

After Chen, Chen, Brent and Tenney, "Gradient-based feature selection for conditional random fields and
its applications in computational genetics", figure 1. Methods differ in the score.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.selection.base import BaseSelector
from crfkit.selection.search import Search

PROPOSALS = 1000  # conjunctions per round, if no number is given


class Scorer(Protocol):
    """A function that scores the candidates of a search."""

    def __call__(self, search: Search) -> tuple[FloatArray, FloatArray | None]:
        """Return scores [K], -inf for candidates that cannot be chosen, and initial weights [K] or None."""


class ForwardSelector(BaseSelector):
    """Base class of selectors that choose the best candidates of a scorer, round by round."""

    _rules: ClassVar[dict[str, rule.Rule]] = {
        **BaseSelector._rules,
        "batch": rule.either(
            rule.whole_number(1),
            ("a number between 0 and 1", lambda v: isinstance(v, float) and 0 < v < 1),
        ),
    }

    def __init__(self, n_features: int | None = None, *, batch: int | float = 1, **shared: Any) -> None:
        super().__init__(n_features, **shared)
        self.batch = batch

    @abstractmethod
    def _scorer(self, search: Search) -> Scorer:
        """Return the scorer of the candidates."""

    def _select(self, search: Search) -> None:
        scorer = self._scorer(search)
        proposals = self._n_proposals()
        while search.room > 0:
            scores, starts = scorer(search)
            scores[search.chosen] = -np.inf
            picked = pick(scores, self.batch, search.room)
            if not len(picked):
                search.stopped_because = "no candidate is left that could change the model"
                return
            # Each initial weight is for a feature that is added alone.
            begin = None if starts is None or len(picked) > 1 else starts[picked]
            if not search.step(picked, scores[picked], begin):
                return
            if proposals:
                from crfkit.selection.induction import propose

                search.grow(search.local.with_conjunctions(propose(search, proposals)))


def pick(scores: FloatArray, batch: int | float, room: int) -> IntArray:
    """Return the best candidates, best first, ties by number: ``batch`` of them, at most ``room``.

    A float ``batch`` is a share of the best score: all candidates above it. -inf: cannot be chosen.
    """
    best = scores.max(initial=-np.inf)
    if room <= 0 or not best > -np.inf:
        return np.zeros(0, np.int64)
    if isinstance(batch, float):
        room = min(room, int((scores >= batch * best).sum()))
    else:
        room = min(room, int(batch), int((scores > -np.inf).sum()))
    # Only candidates at least as good as the last one taken need to be sorted.
    border = np.partition(scores, len(scores) - room)[len(scores) - room]
    places = np.flatnonzero(scores >= border)
    chosen: IntArray = places[np.argsort(-scores[places], kind="stable")][:room]
    return chosen
