"""The common model: one CRF trained on all stocks, the starting point of each stock's model.

A single stock has a few hundred training days, too few to estimate the weights of its numbers and
conjunctions; all stocks together have many thousands. So a CRF is trained once on all stocks, on the days
before any prediction. The penalty then pulls the weights w of a stock towards its weights w₀ instead of 0:

    -log p(labels | attributes; w) + c2 · ‖w - w₀‖².

Each stock has its own ranges and spreads, fitted to the same days.
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

_C2 = 1.0  # with so many days its value hardly matters
_TOL, _ITERATIONS = 1e-4, 300


def common_weights(prices: Sequence[Prices], settings: Settings, before: np.datetime64) -> FloatArray | None:
    """Return w₀, trained on the days of all stocks before a date; None if only one has enough days."""
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
