"""Baselines for the forecasts: they use the same information, and are retrained during the backtest.

The learners see the numbers that the CRF sees, of the last three days: the change ratios, or with
``observe="distance"`` the distances of the price to its threshold, in units of what the price has moved in a
day. Where the CRF has ranges alone, they see what these are made of. They are trained less often than the
CRF, which is trained every day.

- persistence: tomorrow as today. No learning; hard to beat (see ``smoothing.py``).
- the unchanged price: the smoothed price as it would go if tomorrow's price were today's. For ema the same.
- logistic regression: a model a stock, fitted every 5 days.
- gradient boosting: one model for all stocks, which sees what they have in common, fitted every 20 days.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.apps.stocks.features import RAISE, Stock, earlier_days
from crfkit.apps.stocks.forecast import Forecast
from crfkit.arrays import FloatArray
from crfkit.optional import needed

_LAGS = 3  # as many days as the paper's features
LOGISTIC_EVERY, BOOSTING_EVERY = 5, 20  # days between trainings


def persistence(stock: Stock, start: int) -> Forecast:
    """Forecast the direction of today for tomorrow."""
    today = stock.labels[start - 1 : -1]
    return Forecast(start, (today == RAISE).astype(np.float64))


def unchanged_price(stock: Stock, start: int) -> Forecast:
    """Forecast as if the price did not change: Raise if today's price is above the threshold."""
    above = stock.prices.close[start - 1 : -1] > stock.smoothed.threshold[start - 1 : -1]
    return Forecast(start, above.astype(np.float64))


def logistic_regression(stock: Stock, start: int, *, every: int = LOGISTIC_EVERY) -> Forecast:
    """Forecast by logistic regression on the last three days, refitted every ``every`` days."""
    learners = needed("sklearn.linear_model", "the baseline of logistic regression")
    began = time.perf_counter()
    X, y = _observed(stock, start), stock.labels
    probability = np.empty(stock.n_days - start)
    with _one_thread():  # more threads do not help with so little data
        for day in range(start, stock.n_days, every):
            known = slice(stock.first, day)
            block = slice(day, min(day + every, stock.n_days))
            into = slice(block.start - start, block.stop - start)
            if len(np.unique(y[known])) < 2:
                probability[into] = float(y[stock.first])
                continue
            model = learners.LogisticRegression().fit(X[known], y[known])
            probability[into] = model.predict_proba(X[block])[:, RAISE]
    return Forecast(start, probability, time.perf_counter() - began)


def gradient_boosting(
    stocks: Sequence[Stock], starts: Sequence[int], *, every: int = BOOSTING_EVERY
) -> list[Forecast]:
    """Forecast by boosted trees on the last three days of all stocks, refitted every ``every`` days."""
    learners = needed("sklearn.ensemble", "the baseline of gradient boosting")
    began = time.perf_counter()
    X = np.concatenate(
        [_observed(stock, start)[stock.first :] for stock, start in zip(stocks, starts, strict=True)]
    )
    y = np.concatenate([stock.labels[stock.first :] for stock in stocks])
    dates = np.concatenate([stock.prices.dates[stock.first :] for stock in stocks])
    ends = np.cumsum([stock.n_days - stock.first for stock in stocks])
    wanted = np.zeros(len(y), np.bool_)
    for stock, start, end in zip(stocks, starts, ends.tolist(), strict=True):
        wanted[end - (stock.n_days - start) : end] = True
    probability = np.full(len(y), np.nan)
    calendar = np.unique(dates[wanted])
    with _one_thread():
        for i in range(0, len(calendar), every):
            known = dates < calendar[i]
            block = wanted & (dates >= calendar[i])
            if i + every < len(calendar):
                block &= dates < calendar[i + every]
            if len(np.unique(y[known])) < 2:
                probability[block] = 0.5
                continue
            model = learners.HistGradientBoostingClassifier(
                max_iter=60,
                learning_rate=0.1,
                max_leaf_nodes=8,
                min_samples_leaf=50,
                early_stopping=False,
                random_state=0,
            )
            model.fit(X[known], y[known])
            probability[block] = model.predict_proba(X[block])[:, RAISE]
    seconds = (time.perf_counter() - began) / len(stocks)
    return [
        Forecast(start, probability[end - (stock.n_days - start) : end], seconds)
        for stock, start, end in zip(stocks, starts, ends.tolist(), strict=True)
    ]


def _one_thread() -> Any:
    """Return a context in which numerical libraries use one thread."""
    return needed("threadpoolctl", "a baseline").threadpool_limits(1)


def _observed(stock: Stock, start: int) -> FloatArray:
    """Return the numbers of the days before [D, 3]; if the model has only ranges, the values behind them."""
    if stock.settings.numbers:
        return earlier_days(stock.scaled, _LAGS)
    spread = float(stock.observed[stock.first : start].std()) or 1.0
    return earlier_days(stock.observed / spread, _LAGS)
