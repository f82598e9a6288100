"""All forecasts of a back-test as a CSV file, one row per stock and day."""

from __future__ import annotations

import csv
import io
import os

import numpy as np

from crfkit.apps.stocks.backtest import CONSTRAINED, PLAIN, Backtest
from crfkit.apps.stocks.features import LABELS
from crfkit.io.writing import open_output

_SHORT = {PLAIN: "crf", CONSTRAINED: "constrained"}


def write_forecasts(backtest: Backtest, path: str | os.PathLike[str]) -> None:
    """Ticker, date, p(Raise) by each method, the price above which it is one, what came, and the price.

    Prices are those of the file: where they were adjusted for splits, that is undone; both are in shares of
    the row's day.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [_SHORT.get(method, method.replace(" ", "_")) for method in backtest.methods]
    writer.writerow(["ticker", "date", *(f"p_{name}" for name in names), "raise_above", "came", "price"])
    for result in backtest.results:
        stock, start = result.stock, result.start
        probabilities = np.column_stack([f.probability for f in result.forecasts.values()])  # [n, methods]
        factor = stock.prices.factor  # [D]
        for day in range(start, stock.n_days):
            writer.writerow(
                [
                    stock.ticker,
                    stock.prices.dates[day],
                    *(f"{p:.4f}" for p in probabilities[day - start]),
                    f"{stock.smoothed.threshold[day - 1] / factor[day]:.10g}",
                    LABELS[stock.labels[day]],
                    f"{stock.prices.close[day] / factor[day]:.10g}",
                ]
            )
    with open_output(path) as file:
        file.write(text.getvalue().encode("utf-8"))
