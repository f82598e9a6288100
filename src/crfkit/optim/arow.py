"""AROW, adaptive regularisation of weights: a weight that has been seen often changes less.

Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors", NIPS 2009; Mejer and Crammer,
"Confidence in structured-prediction using confidence-weighted models", EMNLP 2010. Each weight has a variance
σ, and with loss = S(ŷ) - S(y) + wrong labels:

    x += α σ Δ,    α = loss / (Σ σ Δ² + gamma),    1/σ += Δ² / gamma
"""

from __future__ import annotations

from collections.abc import Mapping

from crfkit import parameters as rule
from crfkit.optim.online import OnlineTrainer, UpdateRule

SETTINGS: Mapping[str, rule.Rule] = {
    "variance": rule.positive(),
    "gamma": rule.positive(),
    "epsilon": rule.number(0),
}


def trainer(variance: float = 1.0, gamma: float = 1.0, epsilon: float = 0.0) -> OnlineTrainer:
    """Return the trainer that ends when the mean loss in an epoch is at most ``epsilon``.

    ``variance`` is σ at the start; a smaller ``gamma`` trusts each example more.
    """
    return OnlineTrainer(
        UpdateRule(slack=gamma, power=1.0, variance=variance),
        loss=lambda mistakes: mistakes.loss,
        reached=lambda mean: mean <= epsilon,
    )
