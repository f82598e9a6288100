"""Selection by gradient: the score of a candidate is |observed - expected count| under the current model.

    |∂O/∂w_j| at w_j = 0

(Chen, Chen, Brent and Tenney, equations 5 and 6; for other models Perkins, Lacker and Theiler, "Grafting",
JMLR 3, 2003.) One forward-backward pass scores the whole pool.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray
from crfkit.selection.forward import PROPOSALS, ForwardSelector, Scorer
from crfkit.selection.search import Search


def gradient_scores(search: Search) -> tuple[FloatArray, FloatArray | None]:
    """Return |∂O/∂w| of every candidate [K]."""
    scores = np.abs(search.gradient(search.weights)[1])
    scores[scores == 0] = -np.inf  # its weight would stay 0
    return scores, None


class GradientSelector(ForwardSelector):
    """A selector of features by the gradient of the objective: fast, and the method to try first.

    Parameters
    ----------
    n_features
        Stop at this number of features; None: stop by ``tol``.
    batch
        Features per round: a number, or all with a score above this share (such as 0.5) of the best score.
    tol
        Stop when a round's features lower the objective by less than this each: "aic" (by 1), "bic" (by
        ½ log ΣT), or a number, as a share of the empty model's objective. None: "bic", or 0 if ``n_features``
        is given.
    c2
        L2 penalty of the model that is trained each round.
    candidates
        "all"; or "state" (all transitions are in the model from the start), or "transitions" (all state
        features are).
    order, min_freq, all_possible_states, all_possible_transitions, template, edge_attributes
        Which features are candidates: as in :class:`crfkit.CRF`.
    conjunctions
        Feature induction: after each round the most promising conjunctions of a chosen attribute and another
        one are added to the candidates. True, or how many per round.
    refit_tol
        Tolerance of the training in each round, as ``tol`` of the CRF.
    patience
        With a dev set: stop after this number of rounds without a better accuracy.
    n_jobs, verbose
        Threads; one line per round on stderr.

    Attributes
    ----------
    selected_ : Selection
        The chosen features by name, in order.
    weights_ : array
        Their weights in the model of the last round kept.
    path_ : list of dict
        One record per round (round 0 is the start): round, features (the new ones), n_features, score (the
        best), objective, seconds, dev_accuracy.
    objective_, classes_, n_candidates_, n_duplicates_, stopped_because_
        The objective at the end, the labels, the number of candidates, the number of attributes left out as
        copies of others, and why the search ended.

    Examples
    --------
    >>> from crfkit.datasets import casino
    >>> rolls, dice = casino(20, 100, random_state=0)
    >>> X = [[[str(roll)] for roll in sequence] for sequence in rolls]
    >>> for feature in GradientSelector(n_features=3, c2=0.0).fit(X, dice).selected_: print(feature)
    T(real, real)
    T(fake, fake)
    E(fake, 6)
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        **ForwardSelector._rules,
        "conjunctions": rule.either(rule.flag(), rule.whole_number(1)),
    }

    def __init__(
        self, n_features: int | None = None, *, conjunctions: bool | int = False, **shared: Any
    ) -> None:
        super().__init__(n_features, **shared)
        self.conjunctions = conjunctions

    def _scorer(self, search: Search) -> Scorer:
        return gradient_scores

    def _n_proposals(self) -> int:
        return PROPOSALS if self.conjunctions is True else int(self.conjunctions)
