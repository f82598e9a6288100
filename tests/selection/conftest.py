"""Small tasks for the selectors."""

import numpy as np
import pytest

from crfkit.datasets import casino


def rolls_as_words(rolls, order):
    """E(x_t), E(x_t x_t+1), …: the words of up to order + 1 rolls that begin at each position."""
    texts = ["".join(map(str, sequence)) for sequence in rolls]
    return [
        [[text[t : t + n + 1] for n in range(order + 1) if t + n < len(text)] for t in range(len(text))]
        for text in texts
    ]


@pytest.fixture(scope="session")
def dice():
    """30 rounds of dice with words of up to two rolls, and 30 to test on."""
    rolls, labels = casino(60, 60, random_state=3)
    X = rolls_as_words(rolls, 1)
    return X[:30], labels[:30], X[30:], labels[30:]


@pytest.fixture(scope="session")
def tiny():
    """Short enough to enumerate: three labels, attributes of any value, some often in a sequence."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for length in (4, 1, 5, 3):
        X.append(
            [
                {name: float(rng.choice([1, 1, -0.5, 2])) for name in "abc" if rng.random() < 0.6}
                for _ in range(length)
            ]
        )
        y.append([str(rng.choice(list("xyz"))) for _ in range(length)])
    y[0][:3] = "xyz"
    return X, y
