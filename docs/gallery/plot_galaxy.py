"""
Five labelled sequences, and a graph of the others
==================================================

Two spiral arms around a common core. Five labelled sequences (circles) say little about them; a graph over
all points, labelled or not, shows where they run. Points are coloured by the predicted label, errors are
crosses.
"""

import matplotlib.pyplot as plt
import numpy as np

from crfkit import KernelCRF
from crfkit.datasets import galaxy
from crfkit.kernels import GraphKernel

X, y = galaxy(80, 20, random_state=1)
few = KernelCRF(gamma=2.0, reg=0.1, n_cliques=40).fit(X[:5], y[:5])
graph = GraphKernel(n_neighbors=8, n_eigenvectors=60)
joined = KernelCRF(kernel=None, graph=graph, n_cliques=40, reg=0.1).fit(X, [*y[:5], *[None] * 75])

points, true = np.vstack(X[5:]), np.concatenate(y[5:])
first = true[0]
fig, axes = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, model, name in zip(axes, (few, joined), ("5 sequences", "5 sequences and a graph"), strict=True):
    found = np.concatenate(model.predict(X[5:]))
    for label in sorted(set(true)):
        mine, wrong = found == label, found != true
        colour = "tab:blue" if label == first else "tab:orange"
        ax.scatter(*points[mine & ~wrong].T, s=8, color=colour)
        ax.scatter(*points[mine & wrong].T, s=22, color=colour, marker="x")
    ax.scatter(*np.vstack(X[:5]).T, s=40, facecolors="none", edgecolors="black", lw=0.8)
    ax.set_title(f"{name}: {100 * (found != true).mean():.0f} % wrong")
plt.show()
