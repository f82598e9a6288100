"""Small generated tasks for the estimators and the selectors: X and y of each."""

import numpy as np

from crfkit.datasets import addresses, casino
from crfkit.features import token_features


def _addresses():
    """Return 80 addresses: attributes as lists of strings, and labels."""
    tokens, labels = addresses(80, random_state=1)
    return [token_features(address, window=1) for address in tokens], labels


def _casino():
    """Return 40 rounds of dice: the roll, the two before it, and a real-valued attribute of either sign."""
    rolls, dice = casino(40, 25, random_state=2)
    X = [
        [
            {
                "roll": str(roll),
                "excess": roll - 3.5,
                "before": {str(i): v for i, v in enumerate(sequence[max(0, t - 2) : t] or [0.0])},
            }
            for t, roll in enumerate(sequence)
        ]
        for sequence in rolls
    ]
    return X, dice


def _dice_words():
    """Return 60 rounds of dice with the words of up to two rolls that begin at each position."""
    rolls, labels = casino(60, 60, random_state=3)
    texts = ["".join(map(str, sequence)) for sequence in rolls]
    words = [[[text[t : t + n] for n in (1, 2) if t + n <= len(text)] for t in range(60)] for text in texts]
    return words, labels


def _tiny():
    """Return data to enumerate: three labels, attributes of any value, some repeated in a sequence."""
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


ADDRESSES, CASINO, DICE_WORDS, TINY = _addresses(), _casino(), _dice_words(), _tiny()
TASKS = {"addresses": ADDRESSES, "casino": CASINO}
