"""
Which label follows which
=========================

The weights of label pairs that a tagger of addresses has learnt. Red pairs are favoured, blue ones avoided.
"""

import matplotlib.pyplot as plt
import numpy as np

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features

tokens, labels = addresses(300, random_state=0)
model = CRF(extractor=token_features, c2=0.1, all_possible_transitions=True).fit(tokens, labels)

names = [name for name in model.classes_ if name.startswith("B-") or name == "O"]
weights = np.array([[model.transition_features_.get((a, b), 0.0) for b in names] for a in names])
limit = np.abs(weights).max()

fig, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
image = ax.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
ax.set_xticks(range(len(names)), names, rotation=60, ha="right")
ax.set_yticks(range(len(names)), names)
ax.set(xlabel="next label", ylabel="label")
fig.colorbar(image, label="weight")
plt.show()
