"""Missing values, which the paper left to future work: accuracy against the share of values removed.

Lines of FAQ documents (own line and one on either side) and profiles of every second protein of RS126 (five
residues on either side), two thirds of the sequences to learn from, one to test on; values are removed in
both alike: any, or (up to half of all) only those above the column's median. Trees send missing values where
the training data says; the rivals are the same model, and a linear CRF, with the column's mean in their
place. Settings are not tuned.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rs126 import profile, q3, read_chains
from tables import table
from treecrf_faq import read_documents

from crfkit import CRF, TreeCRF

SHARES = (0.0, 0.1, 0.3, 0.5, 0.7)
Tables = list[np.ndarray]


def removed(X: Tables, share: float, seed: int, large: bool) -> Tables:
    """Without a share of the values: any, or with ``large`` those above the column's median only."""
    rng = np.random.default_rng(seed)
    medians = np.nanmedian(np.concatenate(X), axis=0)
    return [
        np.where(
            (rng.random(x.shape) < (2 * share if large else share)) & ((x > medians) | (not large)), np.nan, x
        )
        for x in X
    ]


def imputed(X: Tables, means: np.ndarray) -> Tables:
    return [np.where(np.isnan(x), means, x) for x in X]


def windows(X: Tables, reach: int) -> Tables:
    """For the linear CRF: the rows around each row, standardised, and a bias."""
    found = []
    for x in X:
        padded = np.zeros((len(x) + 2 * reach, x.shape[1]))
        padded[reach : reach + len(x)] = x
        parts = [padded[k : k + len(x)] for k in range(2 * reach + 1)]
        found.append(np.hstack([*parts, np.ones((len(x), 1))]))
    return found


def faq_tables() -> tuple[Tables, list[list[str]]]:
    X, y = read_documents()
    return [
        np.array([[np.nan if v is None else float(v) for v in line.values()] for line in x]) for x in X
    ], y


def scores(
    X: Tables,
    y: list[list[str]],
    learn: list[int],
    held: list[int],
    share: float,
    reach: int,
    large: bool,
    **settings: Any,
) -> list[float]:
    """Trees with missing values, trees and linear CRF with means."""
    gaps = removed(X, share, 0, large)
    stacked = np.concatenate([gaps[i] for i in learn])
    means, spread = np.nanmean(stacked, axis=0), np.nanstd(stacked, axis=0) + 1e-9
    filled = imputed(gaps, means)
    yl, yh = [y[i] for i in learn], [y[i] for i in held]
    found = []
    for data in (gaps, filled):
        model = TreeCRF(window=2 * reach + 1, n_jobs=1, **settings)
        model.fit([data[i] for i in learn], yl)
        found.append(q3(yh, model.predict([data[i] for i in held])))
    standard = windows([(x - means) / spread for x in filled], reach)
    linear = CRF(c2=1.0, tol=1e-4, n_jobs=1).fit([standard[i] for i in learn], yl)
    found.append(q3(yh, linear.predict_posterior([standard[i] for i in held])))
    return found


def report(arguments: argparse.Namespace) -> str:
    quick: dict[str, Any] = {"n_iterations": 3} if arguments.quick else {}
    shares = SHARES[:2] if arguments.quick else SHARES
    chains = read_chains()[:: 12 if arguments.quick else 2]
    lines, labels = faq_tables()
    if arguments.quick:
        lines, labels = [x[:150] for x in lines[:4]], [found[:150] for found in labels[:4]]
    tasks = {
        "FAQ lines": (lines, labels, 1, {"n_iterations": 40, "potentials": "factored"}),
        "profiles": (
            [profile(c) for c in chains],
            [list(c.structure) for c in chains],
            5,
            {
                "n_iterations": 60,
                "potentials": "factored",
                "colsample": 0.3,
                "min_samples_leaf": 20,
                "lightgbm_params": {"max_bin": 63},
            },
        ),
    }
    rows = []
    curves: dict[str, list[list[float]]] = {}
    for name, (X, y, reach, settings) in tasks.items():
        held = list(range(0, len(X), 3))
        learn = [i for i in range(len(X)) if i % 3]
        for how, large in (("any", False), ("large ones", True)):
            task = f"{name}, {how}"
            if arguments.only and arguments.only not in task:
                continue
            for share in [s for s in shares if not large or 0 < s <= 0.5]:
                found = scores(X, y, learn, held, share, reach, large, **{**settings, **quick})
                curves.setdefault(task, []).append([share, *found])
                rows.append([name, how, f"{100 * share:.0f} %", *(f"{value:.1f}" for value in found)])
                print(rows[-1], file=sys.stderr, flush=True)
    if arguments.plots is not None:
        _plot(curves, arguments.plots / "treecrf_missing.png")
    return "### Missing values\n\nAccuracy on a third of the sequences.\n\n" + table(
        [
            "data",
            "which",
            "values removed",
            "TreeCRF, missing as missing",
            "TreeCRF, means",
            "linear CRF, means",
        ],
        rows,
    )


def _plot(curves: dict[str, list[list[float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(curves), figsize=(3.6 * len(curves), 3.8), squeeze=False)
    names = ["TreeCRF, missing as missing", "TreeCRF, means filled in", "linear CRF, means filled in"]
    for axes, (task, found) in zip(panels[0], curves.items(), strict=True):
        for k, name in enumerate(names, 1):
            axes.plot([100 * row[0] for row in found], [row[k] for row in found], "o-", label=name)
        axes.set_title(task, fontsize=10)
        axes.set_xlabel("values removed, %")
    panels[0][0].set_ylabel("accuracy, %")
    panels[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
