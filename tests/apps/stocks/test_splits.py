import numpy as np
import pytest
from random_prices import random_prices

from crfkit.apps.stocks.prices import Prices
from crfkit.apps.stocks.splits import adjust_splits


@pytest.mark.parametrize("shares", [2, 1.5, 3, 0.5, 0.1])
def test_a_split_is_undone(shares):
    p = random_prices(100)
    close = p.close.copy()
    close[60:] /= shares
    found, splits, jumps = adjust_splits(Prices("A", p.dates, close))
    np.testing.assert_allclose(found.close, p.close, rtol=1e-12)
    assert len(splits) == 1
    assert splits[0].startswith("A goes from ")
    assert str(p.dates[60]) in splits[0]
    assert jumps == []


def test_the_past_stays_as_it_was():
    p = random_prices(100)
    close = p.close.copy()
    close[60:] /= 1.5
    found, _, _ = adjust_splits(Prices("A", p.dates, close))
    for n in (40, 60, 61, 80):
        part, _, _ = adjust_splits(Prices("A", p.dates[:n], close[:n]))
        assert (part.close == found.close[:n]).all()


def test_what_is_no_split():
    p = random_prices(100)
    assert adjust_splits(p) == (p, [], [])
    close = p.close.copy()
    close[50] *= 0.5  # a wrong price, corrected on the next day
    found, splits, jumps = adjust_splits(Prices("A", p.dates, close))
    assert len(splits) == 1  # on the day itself it looks like a split
    assert len(jumps) == 1
    np.testing.assert_allclose(found.close, p.close, rtol=1e-12)
    close = p.close.copy()
    close[50] *= 0.62
    found, splits, jumps = adjust_splits(Prices("A", p.dates, close))
    assert (found.close == close).all()
    assert splits == []
    assert len(jumps) == 2


def test_back_to_the_prices_of_the_file():
    p = random_prices(100)
    close = p.close.copy()
    close[40:] /= 2
    close[60:] /= 1.5
    found, splits, _ = adjust_splits(Prices("A", p.dates, close))
    assert len(splits) == 2
    assert sorted(set(found.factor)) == [1, 2, 3]
    np.testing.assert_allclose(found.close / found.factor, close, rtol=1e-12)
    part = found.until(50)
    np.testing.assert_allclose(part.close / part.factor, close[:50], rtol=1e-12)
    assert (p.factor == 1).all()


def test_adjusted_prices_are_left_alone():
    p = random_prices(100)
    close = p.close.copy()
    close[60:] /= 2
    crash = Prices("A", p.dates, close, adjusted=True)
    found, splits, jumps = adjust_splits(crash)
    assert found is crash
    assert splits == []
    assert len(jumps) == 1
    assert found.until(50).adjusted
