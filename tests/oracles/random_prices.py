"""Random walks as prices, for tests."""

import numpy as np

from crfkit.apps.stocks.prices import Prices


def random_prices(n=420, seed=0, ticker="AAA", drift=0.0003):
    rng = np.random.default_rng(seed)
    close = 50 * np.exp(np.cumsum(drift + 0.015 * rng.standard_normal(n)))
    dates = np.datetime64("2003-01-02") + np.arange(n) * np.timedelta64(1, "D")
    return Prices(ticker, dates.astype("datetime64[D]"), np.round(close, 2))
