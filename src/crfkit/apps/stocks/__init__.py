"""Forecasting the direction of smoothed stock prices, and testing such forecasts honestly.

``read_prices`` reads CSV files, ``run_backtest`` walks through the days of every stock (``Plan`` says how)
and compares a CRF, plain and under the constraint of its last days, with persistence, logistic regression
and gradient boosting; ``write_report`` makes a page of it. Not financial advice: docs/stocks.md says what can
be foretold, and what not.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
