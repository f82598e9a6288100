import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.apps.stocks.smoothing import SMOOTHERS, smooth


@pytest.mark.parametrize("method", SMOOTHERS)
@given(data=st.data())
def test_the_threshold_decides(method, data):
    """Tomorrow's smoothed price rises exactly if tomorrow's price is above today's threshold."""
    prices = data.draw(st.lists(st.floats(1, 100), min_size=30, max_size=60))
    tomorrow = data.draw(st.floats(1, 100))
    span = data.draw(st.integers(2, 12))
    now = smooth(np.array(prices), method, span)
    then = smooth(np.array([*prices, tomorrow]), method, span)
    if abs(tomorrow - now.threshold[-1]) > 1e-6:
        assert (then.values[-1] > then.values[-2]) == (tomorrow > now.threshold[-1])


@pytest.mark.parametrize("method", SMOOTHERS)
def test_causal(method):
    prices = np.exp(np.random.default_rng(1).standard_normal(80).cumsum() / 50)
    whole = smooth(prices, method, 7)
    for n in (1, 5, 40):
        part = smooth(prices[:n], method, 7)
        assert (part.values == whole.values[:n]).all()
        assert (part.threshold == whole.threshold[:n]).all()


def test_ema_by_hand():
    found = smooth(np.array([1.0, 2.0, 4.0]), "ema", 3)  # a = 1/2
    assert found.values.tolist() == [1, 1.5, 2.75]
    assert found.change[1:] == pytest.approx([0.5, 2.75 / 1.5 - 1])


def test_ema_is_that_of_pandas():
    pandas = pytest.importorskip("pandas")
    prices = np.random.default_rng(0).uniform(5, 9, 100)
    expected = pandas.Series(prices).ewm(span=10, adjust=False).mean()
    np.testing.assert_allclose(smooth(prices, "ema", 10).values, expected, rtol=1e-12)


def test_bad_input():
    refuses("one of ema, double, mean, none, got 'x'", smooth, np.ones(3), "x")
    refuses("at least 1 day, got 0", smooth, np.ones(3), "ema", 0)
    refuses("no prices", smooth, np.zeros(0))
