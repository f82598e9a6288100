"""
How sure the model is, word by word
===================================

A tagger of addresses gives every word a probability for each label. Dark cells are sure; a row with several
grey cells is where the model hesitates.
"""

import matplotlib.pyplot as plt
import numpy as np

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features

tokens, labels = addresses(300, random_state=0)
model = CRF(extractor=token_features, c2=0.1).fit(tokens, labels)

words = ["Foster", "&", "Sons", "12", "Lakewood", "Ave", "Apt", "4,", "Brookfield", "TX", "75201"]
probabilities = model.predict_marginals([words], as_arrays=True)[0]  # [words, labels]
seen = np.flatnonzero(probabilities.max(axis=0) > 0.05)

fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
image = ax.imshow(probabilities[:, seen], cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(len(seen)), [model.classes_[k] for k in seen], rotation=40, ha="right")
ax.set_yticks(range(len(words)), words)
fig.colorbar(image, label="probability")
plt.show()
