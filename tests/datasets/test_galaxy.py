"""Galaxy and Gaussian mixtures: shapes, chains, and the same data for the same seed."""

from itertools import pairwise

import numpy as np
import pytest
from refusals import refuses

from crfkit.datasets import galaxy, gaussian_mixtures


@pytest.mark.parametrize(("make", "stay"), [(galaxy, 0.9), (gaussian_mixtures, 0.8)])
def test_sequences(make, stay):
    X, y = make(300, 15, random_state=4)
    assert len(X) == len(y) == 300
    assert {x.shape for x in X} == {(15, 2)}
    assert {len(labels) for labels in y} == {15}
    stays = np.mean([a == b for labels in y for a, b in pairwise(labels)])
    assert stays == pytest.approx(stay, abs=0.02)
    shares = [
        np.mean([label == kind for labels in y for label in labels])
        for kind in {label for labels in y for label in labels}
    ]
    assert shares == pytest.approx([1 / len(shares)] * len(shares), abs=0.05)
    again, _ = make(300, 15, random_state=4)
    np.testing.assert_array_equal(np.array(again), np.array(X))
    assert make(0, 5, random_state=0) == ([], [])
    refuses("must be 0 or more", make, -1, 5)
    refuses("stay must be a probability", make, 1, 5, stay=2)


def test_the_core_is_shared_and_the_arms_are_not():
    X, y = galaxy(200, 20, core=0.4, random_state=0)
    points, labels = np.vstack(X), np.concatenate(y)
    radius = np.linalg.norm(points, axis=1)
    core = radius < 0.6
    assert core.mean() == pytest.approx(0.4, abs=0.03)
    assert (labels[core] == "a").mean() == pytest.approx(0.5, abs=0.05)
    from sklearn.neighbors import KNeighborsClassifier

    arms = points[~core], labels[~core]
    assert KNeighborsClassifier(1).fit(arms[0][::2], arms[1][::2]).score(arms[0][1::2], arms[1][1::2]) > 0.99
    refuses("core must be a share", galaxy, 1, 1, core=2)
    refuses("noise must be", galaxy, 1, 1, noise=-1)


def test_worlds():
    one, _ = gaussian_mixtures(200, 30, world=0, random_state=1)
    other, _ = gaussian_mixtures(200, 30, world=5, random_state=1)
    same, _ = gaussian_mixtures(200, 30, world=0, random_state=2)
    assert np.linalg.norm(np.vstack(one).mean(0) - np.vstack(same).mean(0)) < 0.2
    assert np.linalg.norm(np.vstack(one).mean(0) - np.vstack(other).mean(0)) > 0.2
    refuses("at least 2 states", gaussian_mixtures, 1, 1, n_states=1)
