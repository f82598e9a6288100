"""The casino's dice have the probabilities given in its docstring."""

import numpy as np
import pytest
from refusals import refuses

from crfkit.datasets import casino


def test_shapes_and_seed():
    rolls, dice = casino(4, 7, random_state=0)
    assert [len(r) for r in rolls] == [len(d) for d in dice] == [7] * 4
    assert (rolls, dice) == casino(4, 7, random_state=0)
    assert (rolls, dice) != casino(4, 7, random_state=1)
    assert all(type(roll) is int for roll in rolls[0])
    assert casino(0, 5) == ([], [])
    assert casino(1, 0) == ([[]], [[]])


def test_probabilities():
    rolls, dice = casino(200, 1000, random_state=0)
    roll, fake = np.array(rolls), np.array(dice) == "fake"
    assert set(np.unique(np.array(dice))) == {"real", "fake"}
    assert fake.mean() == pytest.approx(1 / 3, abs=0.01)
    assert fake[:, 0].mean() == pytest.approx(1 / 3, abs=0.1)
    for die, stay, six in ((fake, 0.9, 0.5), (~fake, 0.95, 1 / 6)):
        assert die[:, 1:][die[:, :-1]].mean() == pytest.approx(stay, abs=0.005)
        frequencies = np.bincount(roll[die], minlength=7)[1:] / die.sum()
        np.testing.assert_allclose(frequencies, [(1 - six) / 5] * 5 + [six], atol=0.01)


def test_bad_arguments():
    refuses("got -1 and 3", casino, -1, 3)
    refuses("two probabilities below 1", casino, 1, 3, stay=(0.5, 1.0))


def test_another_casino():
    _, dice = casino(200, 500, stay=(0.6, 0.8), random_state=0)
    fake = np.array(dice) == "fake"
    assert fake.mean() == pytest.approx(2 / 3, abs=0.02)
    assert fake[:, 1:][fake[:, :-1]].mean() == pytest.approx(0.8, abs=0.01)
