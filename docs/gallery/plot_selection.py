"""
Choosing features one by one
============================

The dishonest casino: a fair die, now and then swapped for a loaded one. Three features, chosen by the
gradient of the likelihood, are as good as all sixteen.
"""

import matplotlib.pyplot as plt

from crfkit import CRF
from crfkit.datasets import casino
from crfkit.selection import GradientSelector

rolls, dice = casino(60, 200, random_state=0)
X = [[[str(roll)] for roll in game] for game in rolls]
selector = GradientSelector(n_features=8, c2=0.0).fit(X[:40], dice[:40], X_dev=X[40:], y_dev=dice[40:])
path = selector.path_[1:]
everything = CRF(c2=0.01).fit(X[:40], dice[:40]).score(X[40:], dice[40:])

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.axhline(100 * everything, color="0.6", lw=1, label="all features")
ax.plot([record["n_features"] for record in path], [100 * record["dev_accuracy"] for record in path], "o-")
for record in path[:4]:
    name = ", ".join(map(str, record["features"]))
    at = (record["n_features"], 100 * record["dev_accuracy"])
    ax.annotate(name, at, textcoords="offset points", xytext=(6, -12))
ax.set(xlabel="features", ylabel="rolls right, %")
ax.legend(loc="lower right")
plt.show()
