"""What stocks have in common: one CRF of all of them, from which the model of each stock departs.

A stock alone has a few hundred days to learn from, too few to tell what its numbers and conjunctions are
worth; all stocks together have many thousands. So a CRF is trained on all of them, once, on the days before
any prediction, and the weights w of a stock are held to its weights w₀ instead of to 0:

    -log p(labels | attributes; w) + c2 · ‖w - w₀‖².

Ranges and spreads are each stock's own, fitted to the same days.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.apps.stocks.daily_model import feature_index
from crfkit.apps.stocks.features import Settings, make_stock
from crfkit.apps.stocks.prices import Prices
from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs

_C2 = 1.0  # with so many days it hardly matters
_TOL, _ITERATIONS = 1e-4, 300


def common_weights(prices: Sequence[Prices], settings: Settings, before: np.datetime64) -> FloatArray | None:
    """w₀, from the days of all stocks before a date; None if only one has days enough."""
    days = [int(np.searchsorted(p.dates, before)) for p in prices]
    stocks = [
        make_stock(p.until(n), settings, n) for p, n in zip(prices, days, strict=True) if n > settings.first
    ]
    if len(stocks) < 2:
        return None
    objective = LinearLikelihood(
        Sequences.end_to_end([stock.sequences() for stock in stocks], settings.n_attributes),
        Labels(np.concatenate([stock.labels[stock.first :] for stock in stocks]), None),
        feature_index(settings),
        n_threads=1,
        as_given=True,
    ).penalised(c2=_C2)
    found = minimize_lbfgs(objective, np.zeros(objective.n_parameters), tol=_TOL, max_iterations=_ITERATIONS)
    if found.interrupted:
        raise KeyboardInterrupt
    return objective.weights(found.x)
