"""The averaged perceptron: every mistake adds the features of the true labelling and subtracts the others'.

Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002: x += Δ. The result is the
mean of x over all examples.
"""

from __future__ import annotations

from collections.abc import Mapping

from crfkit import parameters as rule
from crfkit.optim.online import OnlineTrainer, UpdateRule

SETTINGS: Mapping[str, rule.Rule] = {"epsilon": rule.number(0)}


def trainer(epsilon: float = 0.0) -> OnlineTrainer:
    """Return the trainer that ends when the mean share of wrong labels in an epoch is below ``epsilon``."""
    return OnlineTrainer(
        UpdateRule(least=1.0, most=1.0, averaged=True),
        loss=lambda mistakes: mistakes.share,
        reached=lambda mean: mean < epsilon,
    )
