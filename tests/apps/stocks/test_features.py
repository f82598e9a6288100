import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_prices import random_prices
from refusals import refuses

from crfkit.apps.stocks.features import Settings, make_stock, range_limits
from crfkit.apps.stocks.prices import Prices


def test_about_two_thousand_features():
    assert 2 * Settings(orders=(3,), training="chain", numbers=0).n_attributes == 2000
    assert 2 * Settings(training="chain", numbers=0).n_attributes == 2220
    assert 2 * Settings().n_attributes == 2230


@given(st.lists(st.floats(-1, 1), min_size=1), st.sampled_from([2, 4, 10]))
def test_limits(ratios, ranges):
    limits = range_limits(np.array(ratios), ranges)
    assert len(limits) == ranges - 1
    assert (np.diff(limits) >= 0).all()
    assert limits[ranges // 2 - 1] == 0


def test_conjunctions_by_hand():
    settings = Settings(ranges=4, orders=(1, 2), training="chain", numbers=0)
    stock = make_stock(random_prices(200), settings, 150)
    change = stock.smoothed.change
    ranges = [sum(r > limit for limit in stock.limits) for r in change]
    for day in (stock.first, 60, 199):
        one, two = stock.attributes[day]
        assert one == ranges[day - 1]
        assert two == 4 + ranges[day - 1] * 4 + ranges[day - 2]
    assert (stock.labels[1:] == (np.diff(stock.smoothed.values) > 0)).all()


def test_each_range_has_its_days():
    stock = make_stock(random_prices(600), Settings(orders=(1,)), 600)
    counts = np.bincount(stock.attributes[stock.first :, 0], minlength=10)
    assert counts.min() > 30


def test_numbers_by_hand():
    settings = Settings(ranges=4, orders=(1, 2), numbers=3)
    stock = make_stock(random_prices(200), settings, 150)
    close, change = stock.prices.close, stock.smoothed.change
    moves = np.log(close[1:] / close[:-1])

    def number(day):
        weights = (1 - 2 / 61) ** np.arange(day)[::-1]
        return change[day] / np.sqrt(np.average(moves[:day] ** 2, weights=weights))

    spread = np.std([number(day) for day in range(stock.first, 150)])
    for day in (stock.first, 60, 199):
        assert stock.attributes[day, 2:].tolist() == [20, 21, 22, 23 + stock.labels[day - 1]]
        expected = [0.1, 0.03, *(number(day - ago) / spread for ago in (1, 2, 3)), 1]
        np.testing.assert_allclose(stock.values[day], expected)
    assert stock.first == 10 + 3
    assert Settings(orders=(1,), numbers=7).first == 10 + 7


def test_numbers_of_a_price_that_stays():
    """A constant price has no spread and no change: the numbers are 0, not 0/0."""
    still = random_prices(200)
    still.close[:] = 50.0
    assert (make_stock(still, Settings(), 150).scaled == 0).all()


@pytest.mark.parametrize("observe", ["change", "distance"])
def test_nothing_of_the_future(observe):
    prices = random_prices(400)
    settings = Settings(observe=observe)
    whole, part = make_stock(prices, settings, 300), make_stock(prices.until(330), settings, 300)
    assert (whole.attributes[:330] == part.attributes).all()
    assert (whole.values[:330] == part.values).all()
    # The day itself does not count either: another price on day 320 leaves the features of day 320 unchanged.
    other = Prices(prices.ticker, prices.dates, prices.close * np.where(np.arange(400) < 320, 1, 1.5))
    changed = make_stock(other, settings, 300)
    assert (changed.values[:321] == whole.values[:321]).all()
    assert (changed.values[321] != whole.values[321]).any()
    assert (whole.labels[:330] == part.labels).all()


def test_change_and_distance_are_the_same_for_ema():
    """Except for rounding at the limits of ranges, and for the factor p(t) / s(t-1)."""
    prices = random_prices(800)
    a = make_stock(prices, Settings(orders=(1,)), 600)
    b = make_stock(prices, Settings(orders=(1,), observe="distance"), 600)
    assert (a.attributes == b.attributes)[a.first :].mean() > 0.95


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ranges": 5}, "even number"),
        ({"orders": ()}, "orders must be"),
        ({"orders": (1, 1)}, "orders must be"),
        ({"orders": (7,)}, "take fewer"),
        ({"smoothing": "x"}, "one of ema, double"),
        ({"span": 0}, "at least 1 day"),
        ({"training": "x"}, "'chain' or 'day'"),
        ({"numbers": -1}, "numbers must be 0 to 250 days, got -1"),
        ({"numbers": 251}, "numbers must be 0 to 250 days, got 251"),
        ({"observe": "x"}, "'change' or 'distance'"),
    ],
)
def test_bad_settings(wrong, message):
    refuses(message, Settings, **wrong)


def test_too_short():
    refuses("AAA has 30 days, 12 of them to learn from", make_stock, random_prices(30), Settings(), 12)
