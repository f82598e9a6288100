"""Galaxy: RBF against graph kernel, kernel CRF against kernel logistic regression, from few labels to many.

100 sequences of 20 points; some are labelled, the error is that on the others. The graph kernel sees the
points of all (transductive). Bandwidth, λ and the graph's parameters are chosen on data of other seeds, for
the kernel CRF; kernel logistic regression takes them over.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tables import table

from crfkit import KernelCRF, KernelLogisticRegression
from crfkit.datasets import galaxy
from crfkit.inference import Lattice, max_marginal
from crfkit.kernels import GraphKernel

SIZES = (2, 3, 5, 10, 20, 50)  # labelled sequences
NOTES = {"RBF": "", "graph": " (transductive)"}
CORE, STAY = 0.4, 0.9
GRID = {
    "RBF": [{"gamma": gamma, "reg": reg} for gamma, reg in product((0.5, 2.0, 8.0), (0.03, 0.1, 0.3))],
    "graph": [
        {"kernel": None, "graph": GraphKernel(k, n_eigenvectors=m, epsilon=0.01), "reg": reg}
        for k, m, reg in product((6, 10), (50, 100), (0.03, 0.1, 0.3))
    ],
}
Sequences = tuple[list[npt.NDArray[np.float64]], list[list[str]]]


def error_of(model: str, settings: dict[str, Any], data: Sequences, n: int) -> float:
    """Share of the points of unlabelled sequences that get the wrong label, in %."""
    X, y = data
    common = {**settings, "n_cliques": None, "n_jobs": 1}
    beside = {"X_unlabeled": X[n:]} if "graph" in settings else {}
    if model == "KCRF":
        return 100 - 100 * KernelCRF(**common).fit(X[:n], y[:n], **beside).score(X[n:], y[n:])
    if beside:
        beside = {"X_unlabeled": np.vstack(X[n:])}
    fitted = KernelLogisticRegression(**common).fit(np.vstack(X[:n]), np.concatenate(y[:n]), **beside)
    return 100 - 100 * float(fitted.score(np.vstack(X[n:]), np.concatenate(y[n:])))


def with_the_chain(data: Sequences) -> float:
    """The error of one who knows the chain and the arms: only the core is left to guess."""
    X, y = data
    points, truth = np.vstack(X), np.concatenate(y) == "b"
    node = np.zeros((len(points), 2))
    arm = np.linalg.norm(points, axis=1) > 0.65
    node[arm, 1 - truth[arm].astype(int)] = -np.inf
    edge = np.log([[STAY, 1 - STAY], [1 - STAY, STAY]])
    found = max_marginal(Lattice(node, edge, np.arange(0, len(points) + 1, len(X[0])))).labels
    return 100 * float((found != truth).mean())


def tuned(kernel: str, quick: bool) -> dict[str, Any]:
    """The settings with the smallest error of the kernel CRF on other data, from 10 labelled sequences."""
    sets = [galaxy(100, 20, core=CORE, stay=STAY, random_state=1000 + k) for k in range(1 if quick else 3)]
    grid = GRID[kernel][:1] if quick else GRID[kernel]
    errors = [np.mean([error_of("KCRF", settings, data, 10) for data in sets]) for settings in grid]
    return grid[int(np.argmin(errors))]


def report(arguments: Namespace) -> str:
    quick: bool = arguments.quick
    sizes = SIZES[:2] if quick else SIZES
    trials = 2 if quick else arguments.trials or 20
    chosen = {kernel: tuned(kernel, quick) for kernel in GRID}
    data = [galaxy(100, 20, core=CORE, stay=STAY, random_state=seed) for seed in range(trials)]
    errors = {
        (model, kernel): np.array([[error_of(model, chosen[kernel], one, n) for one in data] for n in sizes])
        for model, kernel in product(("KLR", "KCRF"), GRID)
    }  # [sizes, trials]
    floor = float(np.mean([with_the_chain(one) for one in data]))
    rows = [
        [
            str(n),
            *(f"{e[i].mean():.1f} ± {_standard_error(e[i]):.1f}" for e in errors.values()),
        ]
        for i, n in enumerate(sizes)
    ]
    if arguments.plots is not None:
        draw(data[0], sizes, errors, floor, arguments.plots / "kernel-galaxy.png")
    return (
        f"### Galaxy: error on the other sequences, %, mean of {trials} trials ± standard error\n\n"
        + table(["labelled sequences", *(f"{m}, {k}{NOTES[k]}" for m, k in errors)], rows)
        + f"\n\nThe Bayes error without the chain is {50 * CORE:.0f} %, with it {floor:.1f} %. Chosen: "
        + "; ".join(f"{kernel} {_words(settings)}" for kernel, settings in chosen.items())
        + ". They were chosen for KCRF; KLR runs with the same."
    )


def _standard_error(values: npt.NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)


def draw(
    data: Sequences,
    sizes: Sequence[int],
    errors: dict[tuple[str, str], npt.NDArray[np.float64]],
    floor: float,
    path: Path,
) -> None:
    """The paper's figure: the data, kernel logistic regression, the kernel CRF."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, *others) = plt.subplots(1, 3, figsize=(12.5, 4), layout="constrained")
    points, labels = np.vstack(data[0]), np.concatenate(data[1])
    for label, colour in (("a", "C0"), ("b", "C3")):
        left.plot(*points[labels == label].T, ".", color=colour, markersize=2.5)
    left.set_aspect("equal")
    left.set_title("galaxy: two arms, one core")
    for pane, model, title in zip(
        others, ("KLR", "KCRF"), ("kernel logistic regression", "kernel CRF"), strict=True
    ):
        for kernel, colour in (("RBF", "C1"), ("graph", "C2")):
            found = errors[model, kernel]
            bars = [_standard_error(row) for row in found]
            pane.errorbar(sizes, found.mean(axis=1), bars, color=colour, marker=".", capsize=2, label=kernel)
        pane.axhline(50 * CORE, color="0.5", linestyle="--", linewidth=1, label="Bayes, without the chain")
        if model == "KCRF":
            pane.axhline(floor, color="0.5", linestyle=":", linewidth=1, label="Bayes, with the chain")
        pane.set_xscale("log")
        pane.set_xticks(sizes, [str(n) for n in sizes])
        pane.minorticks_off()
        pane.set_ylim(0, 52)
        pane.set_xlabel("labelled sequences of 20 points")
        pane.set_ylabel("error, %")
        pane.set_title(title)
        pane.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
