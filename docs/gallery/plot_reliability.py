"""
Are the probabilities true?
===========================

A model with hardly any penalty is too sure of itself: of the segments that it gives 0.95, fewer than that are
right. One temperature, fitted to held-out addresses, mends it.
"""

import matplotlib.pyplot as plt

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import reliability, segment_outcomes

tokens, labels = addresses(900, noise=0.8, random_state=0)
train, held_out, test = slice(0, 200), slice(200, 500), slice(500, 900)
model = CRF(c2=0.0005, extractor=token_features).fit(tokens[train], labels[train])

fig, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot([0.4, 1], [0.4, 1], color="0.6", lw=1)
for name in ("as trained", "calibrated"):
    outcomes = segment_outcomes(labels[test], model.predict_segments(tokens[test]))
    found = reliability(*outcomes, n_bins=6)
    ax.plot(found.probability, found.accuracy, "o-", label=f"{name}: error {100 * found.ece:.1f} %")
    model.calibrate(tokens[held_out], labels[held_out])
ax.set(xlabel="mean probability of a segment", ylabel="share that is right", xlim=(0.4, 1.02))
ax.legend()
plt.show()
