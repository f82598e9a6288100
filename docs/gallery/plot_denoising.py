"""
Cleaning a picture
==================

A grid of pixels is a graph. Each pixel alone says little; a ``GraphCRF`` learns from eight pictures how much
neighbours agree, and labels a ninth.
"""

import matplotlib.pyplot as plt
import numpy as np

from crfkit import GraphCRF, grid

rng, size = np.random.default_rng(1), 32


def picture():
    rows, columns = np.mgrid[:size, :size]
    image = np.zeros((size, size), int)
    for _ in range(3):
        (a, b), r = rng.uniform(7, size - 7, 2), rng.uniform(4, 8)
        image |= ((rows - a) ** 2 + (columns - b) ** 2 < r**2).astype(int)
    return image


clean = [picture() for _ in range(9)]
noisy = [image + rng.normal(0, 0.9, image.shape) for image in clean]
X, y = [grid(image) for image in noisy], [image.ravel() for image in clean]
model = GraphCRF(c2=0.1, tol=1e-3).fit(X[:8], y[:8])
found = np.array(model.predict(X[8:])[0]).reshape(size, size)
probability = model.predict_marginals(X[8:], as_arrays=True)[0][:, 1].reshape(size, size)

alone = 100 * ((noisy[8] > 0.5) == clean[8]).mean()
shown = [
    (noisy[8], f"seen (threshold: {alone:.0f} % right)"),
    (probability, "probability of black"),
    (found, f"labels: {100 * (found == clean[8]).mean():.0f} % right"),
    (clean[8], "true"),
]
fig, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for ax, (image, title) in zip(axes, shown, strict=True):
    ax.imshow(image, cmap="Greys", vmin=0, vmax=1)
    ax.set_title(title, fontsize=9)
    ax.set_axis_off()
plt.show()
