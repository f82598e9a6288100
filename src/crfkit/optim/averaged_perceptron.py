"""The averaged perceptron: every mistake adds the features of the true labelling and subtracts the others'.

Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002: x += Δ. The result is the
mean of x over all examples.
"""

from __future__ import annotations

from collections.abc import Mapping

from crfkit import parameters as rule
from crfkit.optim.online import Decides, UpdateRule, learn_from_mistakes
from crfkit.optim.problem import Callback, Result, Save, State, Vector

SETTINGS: Mapping[str, rule.Rule] = {"epsilon": rule.number(0)}


def train_averaged_perceptron(
    function: Decides,
    x: Vector,
    *,
    max_iterations: int = 100,
    seed: int | None = None,
    callback: Callback = lambda step: False,
    save: Save | None = None,
    resume: State | None = None,
    epsilon: float = 0.0,
) -> Result:
    """Train from x, until the mean share of wrong labels in an epoch is below ``epsilon``."""
    return learn_from_mistakes(
        function,
        x,
        UpdateRule(least=1.0, most=1.0, averaged=True),
        loss=lambda mistakes: mistakes.share,
        max_iterations=max_iterations,
        reached=lambda mean: mean < epsilon,
        seed=seed,
        callback=callback,
        save=save,
        resume=resume,
    )
