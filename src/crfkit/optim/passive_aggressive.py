"""Passive-aggressive updates: the smallest change that gives the true labelling a margin over the best one.

Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006), with
loss = S(ŷ) - S(y) + cost:

    PA      τ = loss / ‖Δ‖²                type=0
    PA-I    τ = min(c, loss / ‖Δ‖²)        type=1
    PA-II   τ = loss / (‖Δ‖² + 1/(2 c))    type=2
"""

from __future__ import annotations

from collections.abc import Mapping

from crfkit import parameters as rule
from crfkit.optim.online import OnlineTrainer, UpdateRule

SETTINGS: Mapping[str, rule.Rule] = {
    "type": rule.one_of(0, 1, 2),
    "c": rule.number(0),
    "error_sensitive": rule.flag(),
    "averaging": rule.flag(),
    "epsilon": rule.number(0),
}


def trainer(
    type: int = 1,
    c: float = 1.0,
    error_sensitive: bool = True,
    averaging: bool = True,
    epsilon: float = 0.0,
) -> OnlineTrainer:
    """Return the trainer that ends when the mean loss in an epoch is below ``epsilon``.

    The cost is the square root of the number of wrong labels, or 1 without ``error_sensitive``. With
    ``averaging`` the result is the mean of x over all examples.
    """
    return OnlineTrainer(
        UpdateRule(
            most=c if type == 1 else float("inf"),
            slack=1 / max(2 * c, 1e-300) if type == 2 else 0.0,
            power=0.5 if error_sensitive else 0.0,
            averaged=averaging,
        ),
        loss=lambda mistakes: mistakes.loss,
        reached=lambda mean: mean < epsilon,
    )
