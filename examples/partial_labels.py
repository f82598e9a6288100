"""Learn from sequences of which only some tokens are labelled.

A label may be missing (None), or several may be possible (a set). Nothing is guessed in their place: training
sums over all labellings that agree with what is known.
"""

import random

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_scores

tokens, labels = addresses(900, random_state=0)
X = [token_features(address) for address in tokens]
X_test, y_test = X[600:], labels[600:]

# Two thirds of the labels get lost; of some of the others we know only the field, not whether it begins here.
chance = random.Random(0)


def forget(label: str) -> str | set[str] | None:
    fate = chance.random()
    if fate < 0.66:
        return None
    if fate < 0.8 and label != "O":
        return {f"B-{label[2:]}", f"I-{label[2:]}"}
    return label


y_partial = [[forget(label) for label in sequence] for sequence in labels[:600]]
n_known = sum(isinstance(label, str) for sequence in y_partial for label in sequence)
n_tokens = sum(map(len, y_partial))
print(f"{n_tokens} tokens in 600 addresses, of which {n_known} have a certain label")

# For comparison: as many certain labels, but in addresses that are labelled from end to end.
n_whole = next(n for n in range(600) if sum(map(len, labels[:n])) >= n_known)

for name, n, y in (
    ("600 addresses with gaps", 600, y_partial),
    (f"{n_whole} addresses without gaps", n_whole, labels),
    ("600 addresses without gaps", 600, labels),
):
    model = CRF(c1=0.05, c2=0.05).fit(X[:n], y[:n])
    print(f"trained on {name:28} F1 {segment_scores(y_test, model.predict(X_test)).f1:.3f}")
