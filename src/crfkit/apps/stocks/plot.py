"""Plots of a backtest: the paper's Figure 6, and a stock with its forecasts. Needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.apps.stocks.backtest import CONSTRAINED, PERSISTENCE, PLAIN, Backtest, StockResult
from crfkit.optional import needed

_COLOURS = {PLAIN: "#7c8aa5", CONSTRAINED: "#2f5d9b", PERSISTENCE: "#c2702a"}


def plot_categories(backtest: Backtest, by: str | None = None, title: str | None = None) -> Any:
    """Plot the mean accuracy with and without constraints, by the accuracy of the plain CRF (Figure 6)."""
    plots = needed("matplotlib.figure", "a plot")
    by = by or backtest.methods[0]
    found = backtest.categories(by)
    figure = plots.Figure(figsize=(7.5, 3.9), layout="constrained")
    axes = figure.subplots()
    shown = [method for method in (PLAIN, CONSTRAINED) if method in backtest.methods]
    width = 0.8 / len(shown)
    places = np.arange(len(found))
    for i, method in enumerate(shown):
        heights = [100 * means[method] for _, _, means in found]
        at = places + (i - (len(shown) - 1) / 2) * width
        bars = axes.bar(at, heights, 0.92 * width, color=_COLOURS[method], label=method)
        axes.bar_label(bars, [f"{h:.1f}" for h in heights], fontsize=8, padding=1)
    for i, (_, _, means) in enumerate(found):
        axes.hlines(
            100 * means[PERSISTENCE],
            i - 0.44,
            i + 0.44,
            colors=_COLOURS[PERSISTENCE],
            linewidth=2,
            label=PERSISTENCE if i == 0 else "",
        )
    axes.set_xticks(places, [f"{name}\n{n} stocks" if n > 1 else f"{name}\n1 stock" for name, n, _ in found])
    axes.set_xlabel(f"accuracy of the {by}, by stock")
    axes.set_ylabel("mean accuracy, %")
    lowest = min(min(means[m] for m in (*shown, PERSISTENCE)) for _, _, means in found)
    axes.set_ylim(max(0, 5 * np.floor(20 * lowest) - 5), 100)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=3, loc="upper left")
    axes.set_title(
        title or "Direction of the smoothed price, before and after adding constraints", fontsize=10
    )
    return figure


def plot_stock(result: StockResult, method: str, days: int = 120) -> Any:
    """Plot the last days of a stock: price, smoothed price, and wrong forecasts.

    Prices are per share of the last day: as in the file, but without jumps at splits.
    """
    plots = needed("matplotlib.figure", "a plot")
    stock, forecast = result.stock, result.forecasts[method]
    n = min(days, len(forecast.probability))
    shown = slice(stock.n_days - n, stock.n_days)
    dates, factor = stock.prices.dates[shown], stock.prices.factor[-1]
    close, smoothed = stock.prices.close[shown] / factor, stock.smoothed.values[shown] / factor
    wrong = ~forecast.correct(stock)[-n:]
    figure = plots.Figure(figsize=(7.5, 4.2), layout="constrained")
    top, bottom = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    top.plot(dates, close, color="#9aa3b2", linewidth=1, label="price")
    top.plot(dates, smoothed, color="#2f5d9b", linewidth=1.6, label="smoothed price")
    top.plot(dates[wrong], smoothed[wrong], "o", color="#c23b22", markersize=4, label="wrong forecast")
    top.legend(frameon=False, fontsize=8)
    title = f"{stock.ticker}, the last {n} days: {method}"
    top.set_title(title, fontsize=10, parse_math=False)  # a dollar sign in a ticker is no formula
    bottom.fill_between(dates, 0.5, forecast.probability[-n:], color="#2f5d9b", alpha=0.5, step="mid")
    bottom.set_ylim(0, 1)
    bottom.set_ylabel("p(Raise)", fontsize=8)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure
