"""Forecasting the direction of smoothed stock prices, and testing such forecasts honestly.

``read_prices`` reads CSV files, ``run_backtest`` walks through the days of every stock (``Plan`` says how)
and compares a CRF, plain and under the constraint of its last days, with persistence, logistic regression
and gradient boosting; ``write_report`` makes a page of it. Not financial advice: docs/stocks.md says what can
be foretold, and what not.
"""

from crfkit.apps.stocks.backtest import Backtest, Plan, StockResult, run_backtest
from crfkit.apps.stocks.features import Settings, Stock, make_stock
from crfkit.apps.stocks.forecast import Forecast, walk_forward
from crfkit.apps.stocks.forecast_table import write_forecasts
from crfkit.apps.stocks.prices import Prices, read_prices
from crfkit.apps.stocks.report import report_html, write_report
from crfkit.apps.stocks.screening import Screening
from crfkit.apps.stocks.smoothing import Smoothed, smooth
from crfkit.apps.stocks.translation import RawForecast, translate

__all__ = [
    "Backtest",
    "Forecast",
    "Plan",
    "Prices",
    "RawForecast",
    "Screening",
    "Settings",
    "Smoothed",
    "Stock",
    "StockResult",
    "make_stock",
    "read_prices",
    "report_html",
    "run_backtest",
    "smooth",
    "translate",
    "walk_forward",
    "write_forecasts",
    "write_report",
]
