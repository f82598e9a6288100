"""Gaussian mixtures: how many vertices are enough, and what the chain adds.

100 sequences of 30 points from a chain of 3 states; 20 to learn from, 80 to test on; an RBF kernel, vertices
with all their labels. Bandwidth and λ are chosen on data of another seed, for the kernel CRF; kernel logistic
regression takes them over.
"""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tables import table

from crfkit import KernelCRF, KernelLogisticRegression
from crfkit.datasets import gaussian_mixtures

SIZES = (2, 5, 10, 20, 50)
N_LEARN, N_VERTICES = 20, 60
SHOWN = (0, 1, 2, 3, 5, 10, 15, 20, 30, 40, 60)
FloatArray = npt.NDArray[np.float64]


def sample(seed: int) -> tuple[list[FloatArray], list[list[int]]]:
    return gaussian_mixtures(100, 30, random_state=seed)


def path_of(seed: int, n_vertices: int, settings: dict[str, Any]) -> FloatArray:
    """Risk a position, test log-likelihood a position, test accuracy in %: [3, vertices + 1]."""
    X, y = sample(seed)
    model = KernelCRF(n_cliques=n_vertices, all_labelings=True, n_jobs=1, **settings)
    model.fit(X[:N_LEARN], y[:N_LEARN], X_dev=X[N_LEARN:], y_dev=y[N_LEARN:])
    factors = {"risk": 1 / (30 * N_LEARN), "dev_log_likelihood": 1.0, "dev_accuracy": 100.0}
    return np.array([[factor * r[key] for r in model.path_] for key, factor in factors.items()])


def accuracies(seed: int, n: int, settings: dict[str, Any]) -> tuple[float, float]:
    """Of kernel logistic regression and of the kernel CRF from n sequences, in %."""
    X, y = sample(seed)
    common = {"n_cliques": min(20, 30 * n), "all_labelings": True, "n_jobs": 1, **settings}
    points = KernelLogisticRegression(**common).fit(np.vstack(X[:n]), np.concatenate(y[:n]))
    chain = KernelCRF(**common).fit(X[:n], y[:n])
    held = X[50:], y[50:]
    return (
        100 * float(points.score(np.vstack(held[0]), np.concatenate(held[1]))),
        100 * chain.score(*held),
    )


def tuned(quick: bool) -> dict[str, Any]:
    grid = [{"gamma": gamma, "reg": reg} for gamma, reg in product((0.1, 0.3, 1.0), (0.1, 0.3, 1.0))]
    X, y = sample(1000)
    scores = [
        KernelCRF(n_cliques=None, n_jobs=1, **settings).fit(X[:N_LEARN], y[:N_LEARN]).score(X[50:], y[50:])
        for settings in (grid[:1] if quick else grid)
    ]
    return grid[int(np.argmax(scores))]


def report(arguments: Namespace) -> str:
    quick: bool = arguments.quick
    trials = 2 if quick else arguments.trials or 20
    settings = tuned(quick)
    n_vertices = 5 if quick else N_VERTICES
    paths = np.array([path_of(seed, n_vertices, settings) for seed in range(trials)])  # [trials, 3, vertices]
    mean, error = paths.mean(axis=0), paths.std(axis=0, ddof=1) / np.sqrt(trials)
    last = mean[2, -1]
    enough = int(np.flatnonzero(mean[2] >= last - 0.5)[0])
    sizes = SIZES[:1] if quick else SIZES
    by_size = np.array([[accuracies(seed, n, settings) for seed in range(trials)] for n in sizes])
    if arguments.plots is not None:
        draw(paths, by_size, sizes, arguments.plots / "kernel-mixtures.png")
    rows = [
        [
            str(k),
            f"{mean[0, k]:.3f}",
            f"{mean[1, k]:.3f} ± {error[1, k]:.3f}",
            f"{mean[2, k]:.1f} ± {error[2, k]:.1f}",
        ]
        for k in SHOWN
        if k <= n_vertices
    ]
    spread = by_size.std(axis=1, ddof=1) / np.sqrt(trials)  # [sizes, 2]
    more = [
        [str(n), *(f"{by_size[i, :, k].mean():.1f} ± {spread[i, k]:.1f}" for k in (0, 1))]
        for i, n in enumerate(sizes)
    ]
    return (
        f"### Gaussian mixtures: selected vertices, mean of {trials} trials ± standard error\n\n"
        + table(["vertices", "risk a position", "test log-likelihood a position", "test accuracy, %"], rows)
        + f"\n\n{enough} vertices are within half a point of {n_vertices} ({last:.1f} %). With 20 vertices, "
        "by the number of training sequences, test accuracy in %:\n\n"
        + table(["sequences", "kernel logistic regression", "kernel CRF"], more)
        + f"\n\nChosen: gamma={settings['gamma']}, reg={settings['reg']}, for the kernel CRF; kernel "
        "logistic regression runs with the same."
    )


def draw(paths: FloatArray, by_size: FloatArray, sizes: tuple[int, ...], file: Path) -> None:
    """The data, both models against training size, and the path of the selection."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    trials = len(paths)
    figure, panes = plt.subplots(1, 5, figsize=(19, 3.8), layout="constrained")
    X, y = sample(0)
    points, labels = np.vstack(X[:30]), np.concatenate(y[:30])
    for state in range(3):
        panes[0].plot(*points[labels == state].T, ".", markersize=3)
    panes[0].set_aspect("equal")
    panes[0].set_title("Gaussian mixtures, 3 states")
    for k, (name, colour) in enumerate((("kernel logistic regression", "C1"), ("kernel CRF", "C0"))):
        bars = by_size[:, :, k].std(axis=1, ddof=1) / np.sqrt(trials)
        panes[1].errorbar(
            sizes, by_size[:, :, k].mean(axis=1), bars, marker=".", capsize=2, color=colour, label=name
        )
    panes[1].set_xscale("log")
    panes[1].set_xticks(sizes, [str(n) for n in sizes])
    panes[1].minorticks_off()
    panes[1].set_xlabel("training sequences")
    panes[1].set_title("test accuracy, %")
    panes[1].legend(fontsize=8, frameon=False)
    titles = ("risk a position", "test log-likelihood a position", "test accuracy, %")
    for pane, title, values in zip(panes[2:], titles, paths.transpose(1, 0, 2), strict=True):
        mean, bars = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(trials)
        pane.plot(mean, color="C0")
        pane.fill_between(range(len(mean)), mean - bars, mean + bars, color="C0", alpha=0.25, linewidth=0)
        pane.set_xlabel("selected vertices")
        pane.set_title(title)
    figure.savefig(file, dpi=110)
    plt.close(figure)
