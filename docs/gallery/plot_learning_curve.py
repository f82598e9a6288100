"""
More addresses, or better features?
===================================

Segment F1 on other addresses against the number of addresses to learn from. What the model sees of each word
is worth as much as three times the data.
"""

import matplotlib.pyplot as plt

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_f1

tokens, labels = addresses(600, random_state=0)
test = slice(400, 600)


def words_alone(words):
    return [[f"word={word.lower()}"] for word in words]


fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
sizes = [50, 100, 200, 400]
for name, features in (("the word alone", words_alone), ("token_features", token_features)):
    scores = []
    for n in sizes:
        model = CRF(extractor=features, c2=0.05).fit(tokens[:n], labels[:n])
        scores.append(100 * segment_f1(labels[test], model.predict(tokens[test])))
    ax.plot(sizes, scores, "o-", label=name)
ax.set(xscale="log", xlabel="addresses to learn from", ylabel="segment F1, %")
ax.set_xticks(sizes, map(str, sizes))
ax.minorticks_off()
ax.legend()
plt.show()
