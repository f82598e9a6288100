"""Text: chunking CoNLL-2000 with 19 templates, F1 against the number of features.

Features are selected on nine tenths of the training file. The last tenth says how many are enough: the
smallest number whose F1 there is within 0.1 of the full model's. Models with the first n features are
then trained on the whole training file and tested on the test file; nothing is chosen by those numbers.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from tables import seconds, table
from tasks import conll2000

from crfkit import CRF
from crfkit.data import Encoded, Vocabulary, encode
from crfkit.exceptions import InputWarning
from crfkit.metrics import segment_scores
from crfkit.selection import GainSelector, GradientSelector, L1PathSelector, MutualInformationSelector

SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 50_000)
C2 = 1.0
CLOSE = 0.1  # F1 points

SETTINGS: dict[str, Any] = {"c2": C2, "refit_tol": 1e-4}
METHODS: dict[str, Any] = {
    "gradient": lambda n, verbose: GradientSelector(n, batch=0.5, verbose=verbose, **SETTINGS),
    "gain (McCallum's)": lambda n, verbose: GainSelector(
        n, method="approximate", batch=0.5, verbose=verbose, **SETTINGS
    ),
    "mutual information": lambda n, verbose: MutualInformationSelector(
        n, batch=10_000, verbose=verbose, **SETTINGS
    ),
    "L1 path": lambda n, verbose: L1PathSelector(n, ratio=0.6, verbose=verbose, **SETTINGS),
}


def f1(crf: CRF, X: Encoded, y: list[list[str]]) -> float:
    """Segment F1 in percent."""
    return 100 * float(segment_scores(y, crf.predict(X)).f1)


def report(quick: bool, plots: Path | None, verbose: bool) -> str:
    task = conll2000(30 if quick else None)
    sizes = (50, 100, 200) if quick else SIZES
    n_learn = len(task.X) * 9 // 10
    vocabulary = Vocabulary()
    train = encode(task.X, vocabulary, grow=True)
    learn = Encoded(train.subset(range(n_learn)), vocabulary)
    held = Encoded(train.subset(range(n_learn, len(task.X))), vocabulary)
    whole = Encoded(train, vocabulary)
    test = Encoded(encode(task.X_test, vocabulary, grow=False), vocabulary)
    y_learn, y_held = task.y[:n_learn], task.y[n_learn:]
    warnings.simplefilter("ignore", InputWarning)  # copies among rare attributes

    full = CRF(c2=C2).fit(learn, y_learn)
    full_held, n_full = f1(full, held, y_held), full.tagger_.index.n_features
    full_test = f1(CRF(c2=C2).fit(whole, task.y), test, task.y_test)
    rows, headlines, curves = [], [], {}
    for name, make in METHODS.items():
        began = time.perf_counter()
        selector = make(max(sizes), verbose).fit(learn, y_learn)
        spent = time.perf_counter() - began
        ten = next((r["seconds"] for r in selector.path_ if r["n_features"] >= min(10_000, max(sizes))), None)
        on_held: dict[int, float] = {}
        on_test: dict[int, float] = {}
        for n in sizes:
            if n <= len(selector.selected_):
                few = selector.selected_[:n]
                on_held[n] = f1(CRF(c2=C2, features=few).fit(learn, y_learn), held, y_held)
                on_test[n] = f1(CRF(c2=C2, features=few).fit(whole, task.y), test, task.y_test)
        curves[name] = on_test
        rows.append([name, *(f"{on_held[n]:.2f} / {on_test[n]:.2f}" if n in on_held else "" for n in sizes)])
        enough = next((n for n in sizes if on_held.get(n, 0) >= full_held - CLOSE), None)
        headlines.append(
            [
                name,
                seconds(ten),
                f"{seconds(spent)} ({len(selector.path_) - 1} rounds)",
                "–" if enough is None else f"{enough:,} ({100 * enough / n_full:.1f} %)",
                "" if enough is None else f"{on_held[enough]:.2f}",
                "" if enough is None else f"{on_test[enough]:.2f}",
            ]
        )
    if plots is not None:
        _draw(curves, full_test, n_full, plots / "text.png")
    return "\n\n".join(
        [
            "### Text: CoNLL-2000, 19 templates",
            f"The full model has {n_full:,} features; F1 {full_held:.2f} held out, {full_test:.2f} on "
            f"the test file (c2 = {C2:g}). F1 held out / on the test file, by number of features:",
            table(["method", *(f"{n:,}" for n in sizes)], rows),
            f"The smallest of these numbers within {CLOSE} of the full model, by the held-out tenth:",
            table(
                [
                    "method",
                    f"time to {min(10_000, max(sizes)):,}",
                    f"time to {max(sizes):,}",
                    "features (of all)",
                    "F1 held out",
                    "F1 test",
                ],
                headlines,
            ),
        ]
    )


def _draw(curves: dict[str, dict[int, float]], full: float, n_full: int, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for i, (name, curve) in enumerate(curves.items()):
        ax.plot(list(curve), list(curve.values()), marker="o", markersize=4, color=f"C{i}", label=name)
    ax.axhline(full, color="0.4", linestyle="--", linewidth=1, label=f"all {n_full:,} features")
    ax.set_xscale("log")
    ax.set_xlabel("features")
    ax.set_ylabel("F1 on the test file")
    ax.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
