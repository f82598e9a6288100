import numpy as np
import pytest
from random_prices import random_prices

from crfkit.apps.stocks.backtest import PLAIN, Plan, run_backtest
from crfkit.apps.stocks.common import common_weights
from crfkit.apps.stocks.daily_model import DailyCRF
from crfkit.apps.stocks.features import Settings, make_stock
from crfkit.apps.stocks.forecast import walk_forward
from crfkit.apps.stocks.screening import Screening

SETTINGS = Settings(ranges=4, orders=(1, 2))


@pytest.fixture(scope="module")
def stocks():
    return [random_prices(430, seed, f"S{seed}") for seed in range(4)]


def test_logistic_regression_of_all_stocks(stocks):
    """With training by day, the result is scikit-learn's on the days of all stocks together."""
    from sklearn.linear_model import LogisticRegression

    n = 250
    found = common_weights(stocks, SETTINGS, stocks[0].dates[n])
    columns, labels = [], []
    for p in stocks:
        stock = make_stock(p.until(n), SETTINGS, n)
        dense = np.zeros((n, SETTINGS.n_attributes))
        np.put_along_axis(dense, stock.attributes.astype(int), stock.values, axis=1)
        columns.append(dense[stock.first :])
        labels.append(stock.labels[stock.first :])
    X, y = np.concatenate(columns), np.concatenate(labels)
    rival = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=2000).fit(X, y)
    node = found[4:].reshape(-1, 2)  # after the transitions
    ours = 1 / (1 + np.exp(X @ (node[:, 0] - node[:, 1])))
    np.testing.assert_allclose(ours, rival.predict_proba(X)[:, 1], atol=2e-3)


@pytest.mark.parametrize("training", ["chain", "day"])
def test_nothing_from_the_date_on(stocks, training):
    """Cutting off the future changes nothing, bit for bit: neither labels nor ranges and spreads."""
    settings = Settings(ranges=4, orders=(1, 2), training=training)
    before = stocks[0].dates[250]
    whole = common_weights(stocks, settings, before)
    part = common_weights([p.until(250) for p in stocks], settings, before)
    assert (whole == part).all()


@pytest.mark.parametrize("training", ["chain", "day"])
def test_a_strong_penalty_leaves_what_is_common(stocks, training):
    settings = Settings(ranges=4, orders=(1, 2), training=training)
    centre = common_weights(stocks, settings, stocks[0].dates[250])
    stock = make_stock(stocks[0], settings, 250)
    held = DailyCRF(stock, c2=1e9, centre=centre)
    before = held.raise_probability(300)
    held.learn(299)
    assert held.raise_probability(300) == pytest.approx(before, abs=1e-4)
    free = DailyCRF(stock, c2=1.0, centre=centre)
    free.learn(299)
    assert abs(free.raise_probability(300) - before) > 1e-3


def test_no_look_ahead(stocks):
    """Cutting off the future does not change forecasts with common weights, plain or constrained."""
    centre = common_weights(stocks, SETTINGS, stocks[0].dates[250])
    for tau in (None, 5.0):
        whole = walk_forward(
            make_stock(stocks[0], SETTINGS, 250), 250, c2=30, tau=tau, last=60, centre=centre
        )
        part = make_stock(stocks[0].until(320), SETTINGS, 250)
        early = walk_forward(part, 250, c2=30, tau=tau, last=60, centre=centre)
        assert (whole.probability[:70] == early.probability).all()


def test_stocks_that_begin_later(stocks):
    """Weights are from before the earliest first prediction, when some stocks may have too few days."""
    late = random_prices(430, 7, "LATE")
    late = type(late)("LATE", late.dates + np.timedelta64(250, "D"), late.close)
    settings = Settings(ranges=4, orders=(1, 2))
    before = stocks[0].dates[250]
    with_it = common_weights([*stocks, late], settings, before)
    assert (with_it == common_weights(stocks, settings, before)).all()
    plan = Plan(settings, c2=30.0, constrained=False, learners=False, screening=Screening(least_days=200))
    found = run_backtest([*stocks, late], plan)
    alone = run_backtest(stocks, plan)
    for a, b in zip(alone.results, found.results, strict=False):
        assert (a.forecasts[PLAIN].probability == b.forecasts[PLAIN].probability).all()


def test_a_single_stock_has_nothing_in_common(stocks):
    assert common_weights(stocks[:1], SETTINGS, stocks[0].dates[250]) is None
    plan = Plan(SETTINGS, c2=3.0, constrained=False, learners=False)
    (found,) = run_backtest(stocks[:1], plan).results
    (alone,) = run_backtest(stocks[:1], Plan(**{**vars(plan), "common": False})).results
    assert (found.forecasts[PLAIN].probability == alone.forecasts[PLAIN].probability).all()
