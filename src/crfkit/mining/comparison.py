"""Comparison of one model with each use of its rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from crfkit.conventions import clone
from crfkit.exceptions import InputError
from crfkit.metrics import mcnemar, segment_f1
from crfkit.mining.associations import USES
from crfkit.mining.miner import AssociationMiner


class UseResult(NamedTuple):
    """A model with one use of its rules, or ("none") without rules."""

    use: str
    n_rules: int
    n_features: int
    seconds: float  # of mining and training
    score: float
    p_value: float | None  # McNemar's test of its labels against those of the model without rules


def compare_uses(
    model: Any,
    miner: AssociationMiner,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    uses: Sequence[str] = USES,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    score: Callable[[Any, Any], float] = segment_f1,
) -> list[UseResult]:
    """Train the model without rules and with each use of them, and test it.

    ``model`` is a CRF. ``settings`` may set other parameters of the miner for some uses, such as
    ``{"constraints": {"min_support": 20}}``. ``score`` is called with the true and the predicted labels.
    """
    unknown = [use for use in [*uses, *(settings or {})] if use not in USES]
    if unknown:
        raise InputError(f"uses must be of {', '.join(USES)}; got {unknown[0]!r}")
    results: list[UseResult] = []
    base: list[list[Any]] = []
    for use in ("none", *uses):
        own = (
            None if use == "none" else clone(miner).set_params(use=use, **dict((settings or {}).get(use, {})))
        )
        started = time.perf_counter()
        fitted = clone(model).set_params(associations=own).fit(X, y)
        seconds = time.perf_counter() - started
        found = fitted.predict(X_test)
        base = base or found
        results.append(
            UseResult(
                use,
                0 if own is None else len(fitted.rules_),
                fitted.tagger_.index.n_features,
                seconds,
                score(y_test, found),
                None if own is None else mcnemar(y_test, base, found).p_value,
            )
        )
    return results
