"""
Where is the snake's head?
==========================

Each cell of a snake has the colour of the direction in which the snake goes on; the label is its place from
head (1) to tail (10). No cell can tell its place alone, or from its neighbours: the whole snake decides. On
the left a grid as the model sees it, then the predicted places without edges and with edges.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from crfkit import Graph, GraphCRF, grid
from crfkit.datasets import snakes

cells, labels = snakes(61, random_state=4)


def features(grid_of_letters):
    """The colours of a cell and of the four cells beside it."""
    padded = np.pad(grid_of_letters, 1, constant_values="b")
    beside = [padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    return np.concatenate([np.stack([one == c for c in "rgyc"], axis=-1) for one in beside], axis=-1)


X, y = [grid(features(one).astype(float)) for one in cells], [one.ravel() for one in labels]
alone = [Graph(graph.nodes, []) for graph in X]
models = [
    (GraphCRF(c2=0.1).fit(alone[:60], y[:60]), alone),
    (
        GraphCRF(c2=0.03, training="tree-reweighted", ends=True, decode="best", tol=1e-3).fit(X[:60], y[:60]),
        X,
    ),
]

fig, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
shape, true = cells[60].shape, y[60]
colours = ListedColormap(["#e8e8f0", "#e07060", "#70b070", "#e0c050", "#60b0c0"])
axes[0].imshow(np.vectorize("brgyc".index)(cells[60]), cmap=colours, vmin=0, vmax=4)
axes[0].set_title("colours", fontsize=10)
for ax, (model, graphs), name in zip(axes[1:], models, ("cells alone", "with edges"), strict=True):
    found = np.array(model.predict(graphs[60:])[0])
    ax.imshow((found == true).reshape(shape), cmap=ListedColormap(["#f0b0a0", "white"]), vmin=0, vmax=1)
    for place in np.flatnonzero(found):
        row, column = divmod(int(place), shape[1])
        ax.text(column, row, str(found[place]), ha="center", va="center", fontsize=9)
    ax.set_title(f"{name}: {(found == true)[true > 0].sum()} of 10 right", fontsize=10)
for ax in axes:
    ax.set_xticks(np.arange(shape[1]) - 0.5, [])
    ax.set_yticks(np.arange(shape[0]) - 0.5, [])
    ax.grid(color="#b0b0b0", lw=0.5)
    ax.tick_params(length=0)
plt.show()
