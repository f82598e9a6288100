"""
The search for a feasible model
===============================

Training under validation constraints, step by step: penalties of violated constraints rise until none is
violated.
"""

import matplotlib.pyplot as plt

from crfkit import ConstrainedCRF
from crfkit.datasets import casino

rolls, dice = casino(20, 30, random_state=0)


def attributes(game):
    padded = [0, 0, 0, *game, 0, 0, 0]
    places = [(k, n) for n in (1, 2, 3) for k in range(8 - n)]
    return [[f"{k}+{n}={padded[t + k : t + k + n]}" for k, n in places] for t in range(len(game))]


model = ConstrainedCRF(c2=10.0, tau=0.01, validation=3).fit([attributes(game) for game in rolls], dice)
steps = model.outer_history_

fig, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for j in range(3):
    axes[0].plot([record["violations"][j] for record in steps], "o-", label=f"set {j + 1}")
    axes[1].plot([record["penalties"][j] for record in steps], "o-")
axes[0].axhline(0.01, color="0.6", lw=1)
axes[0].set(xlabel="outer step", ylabel="violation $h_j$", yscale="symlog")
axes[0].legend()
axes[1].set(xlabel="outer step", ylabel="penalty $\\alpha_j$")
plt.show()
