"""Cleaning pictures: every pixel is a node of a grid, and neighbours tend to be alike.

Black shapes on white are drawn at random, and noise covers them. Pixel by pixel a third of the labels would
be wrong; a GraphCRF learns how much to trust a pixel and how much its neighbours. Exact training is out of
reach on such a grid, so "auto" takes the tree-reweighted surrogate, whose log Z is an upper bound.
"""

import numpy as np

from crfkit import GraphCRF, grid

rng = np.random.default_rng(0)
SIZE = 16


def picture() -> np.ndarray:
    """Return a picture of a few rectangles, 0 or 1 per pixel."""
    image = np.zeros((SIZE, SIZE), int)
    for _ in range(2):
        top, left = rng.integers(0, SIZE - 6, 2)
        height, width = rng.integers(5, 9, 2)
        image[top : top + height, left : left + width] = 1
    return image


def noisy(image: np.ndarray) -> np.ndarray:
    return image + rng.normal(0, 1.0, image.shape)


clean = [picture() for _ in range(12)]
X = [grid(noisy(image)) for image in clean]
y = [image.ravel().tolist() for image in clean]
print("a picture as a graph:", X[0])

model = GraphCRF(c2=0.1).fit(X[:8], y[:8])
alone = np.mean([(graph.nodes.ravel() > 0.5) == labels for graph, labels in zip(X[8:], y[8:], strict=True)])
print(f"pixels right, each by itself: {alone:.3f}; with their neighbours: {model.score(X[8:], y[8:]):.3f}")

found = np.array(model.predict(X[8:9])[0]).reshape(SIZE, SIZE)
for seen, labels in zip(X[8].nodes.reshape(SIZE, SIZE), found, strict=True):
    shades = [" .:#"[int(np.clip(2 * value + 1, 0, 3))] for value in seen]
    print("".join(shades), "  ", "".join(" #"[label] for label in labels))

print("why the pixel in the middle:", model.explain(X[8:9])[0][SIZE * SIZE // 2 + SIZE // 2])
