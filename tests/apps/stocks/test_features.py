import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_prices import random_prices

from crfkit.apps.stocks.features import Settings, make_stock, range_limits
from crfkit.exceptions import InputError


def test_about_two_thousand_features():
    assert 2 * Settings(orders=(3,)).n_attributes == 2000
    assert 2 * Settings().n_attributes == 2220


@given(st.lists(st.floats(-1, 1), min_size=1), st.sampled_from([2, 4, 10]))
def test_limits(ratios, ranges):
    limits = range_limits(np.array(ratios), ranges)
    assert len(limits) == ranges - 1
    assert (np.diff(limits) >= 0).all()
    assert limits[ranges // 2 - 1] == 0


def test_conjunctions_by_hand():
    settings = Settings(ranges=4, orders=(1, 2))
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


@pytest.mark.parametrize("observe", ["change", "distance"])
def test_nothing_of_the_future(observe):
    prices = random_prices(400)
    settings = Settings(observe=observe)
    whole, part = make_stock(prices, settings, 300), make_stock(prices.until(330), settings, 300)
    assert (whole.attributes[:330] == part.attributes).all()
    assert (whole.labels[:330] == part.labels).all()


def test_change_and_distance_are_the_same_for_ema():
    """But for rounding at the limits of ranges, and for the factor p(t) / s(t-1)."""
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
        ({"observe": "x"}, "'change' or 'distance'"),
    ],
)
def test_bad_settings(wrong, message):
    with pytest.raises(InputError, match=message):
        Settings(**wrong)


def test_too_short():
    with pytest.raises(InputError, match="AAA has 30 days, 12 of them to learn from"):
        make_stock(random_prices(30), Settings(), 12)
