"""Small generated tasks for the estimators."""

import pytest

from crfkit.datasets import addresses, casino
from crfkit.features import token_features


@pytest.fixture(scope="session")
def address_data():
    """80 addresses: attributes as lists of strings, and labels."""
    tokens, labels = addresses(80, random_state=1)
    return [token_features(address, window=1) for address in tokens], labels


@pytest.fixture(scope="session")
def casino_data():
    """40 rounds of dice: the roll, the two before it, and a real-valued attribute of either sign."""
    rolls, dice = casino(40, 25, random_state=2)
    X = [
        [
            {"roll": str(roll), "excess": roll - 3.5, "before": sequence[max(0, t - 2) : t] or [0.0]}
            for t, roll in enumerate(sequence)
        ]
        for sequence in rolls
    ]
    for sequence in X:
        for item in sequence:
            item["before"] = {str(i): v for i, v in enumerate(item["before"])}
    return X, dice
