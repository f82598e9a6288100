"""Qian and Sejnowski's proteins: 111 chains to learn from, 17 to test on, three classes.

Chains of the training file that are related must not be on both sides of a cross-validation: two are,
where their best local alignment (2 for a match, -1 for a mismatch, -2 for a gap) scores 20 or more. Half
of all pairs score 7 and 95 of 100 at most 10; those that are related up to 398. Related to one and the
same is related.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rs126 import q3
from tables import seconds, table
from tasks import data_directory

from crfkit import CRF, TreeCRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.models.tree_validation import fold_numbers

Chains = list[list[str]]
Predictions = dict[str, Chains]  # by decoding

FOLDS = 5
RELATED = 20  # score of an alignment
# Chosen by hand with the table's own cross-validation on training chains, which favours them a little.
# --tune compares them with CANDIDATES in folds that are drawn otherwise. The rivals have no such comparison.
SETTINGS: dict[str, Any] = {
    "potentials": "factored",
    "n_leaves": 8,
    "n_iterations": 60,
    "learning_rate": 0.1,
    "min_samples_leaf": 30,
    "transition_every": 5,
    "lightgbm_params": {"cat_smooth": 20.0, "cat_l2": 10.0},
}
# The paper's: leaves are mean errors, every tree counts in full; 28 iterations were best on its test set.
PAPER: dict[str, Any] = {
    "potentials": "joint",
    "newton": False,
    "learning_rate": 1.0,
    "n_leaves": 30,
    "n_iterations": 60,
}
WINDOWS = (11, 13, 17)
QUICK: dict[str, Any] = {"n_iterations": 3, "min_samples_leaf": 1}  # tiny data has no larger leaves
CHOSEN = 17  # of these, by cross-validation: the one whose test accuracy counts
CANDIDATES: list[dict[str, Any]] = [
    {},
    {"window": 11},
    {"window": 13},
    {"n_leaves": 4},
    {"n_leaves": 16},
    {"n_iterations": 100},
    {"min_samples_leaf": 10},
    {"potentials": "joint", "n_iterations": 100},
]


def read_chains(part: str) -> tuple[Chains, Chains]:
    """Residues and structures."""
    path = data_directory("protein_qs88") / f"protein-secondary-structure.{part}"
    X: Chains = [[]]
    y: Chains = [[]]
    for line in path.read_text(encoding="ascii").splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] in ("<>", "end", "<end>"):
            X.append([])
            y.append([])
            continue
        X[-1].append(words[0])
        y[-1].append(words[1])
    return [chain for chain in X if chain], [chain for chain in y if chain]


def alignment_score(a: Sequence[str], b: Sequence[str]) -> float:
    """The best local alignment, by Smith and Waterman."""
    letters = np.array(list(b))
    gaps = 2.0 * np.arange(len(b) + 1)
    row, best = np.zeros(len(b) + 1), 0.0
    for letter in a:
        new = np.maximum(row - 2.0, 0.0)
        new[1:] = np.maximum(new[1:], row[:-1] + np.where(letters == letter, 2.0, -1.0))
        row = np.maximum.accumulate(new + gaps) - gaps
        best = max(best, float(row.max()))
    return best


def related(X: Chains) -> list[int]:
    """A number for each chain, the same for chains that are related."""
    group = list(range(len(X)))
    for i in range(len(X)):
        for j in range(i):
            if group[i] != group[j] and alignment_score(X[i], X[j]) >= RELATED:
                group = [group[j] if g == group[i] else g for g in group]
    return group


# ---- models: what they predict for each way of decoding


def tree_crf(window: int, **settings: Any) -> Callable[[Chains, Chains, Chains], Predictions]:
    def run(X: Chains, y: Chains, Xt: Chains) -> Predictions:
        model = TreeCRF(window=window, n_jobs=1, **settings).fit(X, y)
        by_marginals = model.predict_posterior(Xt)
        model.set_params(decode="viterbi")
        return {"FB": by_marginals, "V": model.predict(Xt)}

    return run


def attributes(chain: Sequence[str], window: int, pairs: bool) -> list[list[str]]:
    half = window // 2
    padded = ["#"] * half + list(chain) + ["#"] * half
    items = []
    for t in range(len(chain)):
        around = [f"{k}{letter}" for k, letter in enumerate(padded[t : t + window])]
        if pairs:
            around += [f"{a}|{b}" for i, a in enumerate(around) for b in around[i + 1 :]]
        items.append(around)
    return items


def linear(window: int, pairs: bool) -> Callable[[Chains, Chains, Chains], Predictions]:
    """The linear CRF (crfkit's, which reaches CRFsuite's optimum): with all pairs or single residues."""

    def run(X: Chains, y: Chains, Xt: Chains) -> Predictions:
        c2 = 8.0 if pairs else 1.0
        model = CRF(c2=c2, tol=1e-4, n_jobs=1).fit([attributes(x, window, pairs) for x in X], y)
        items = [attributes(x, window, pairs) for x in Xt]
        return {"FB": model.predict_posterior(items), "V": model.predict(items)}

    return run


def _codes(X: Chains, letters: list[str], window: int) -> np.ndarray:
    code = {letter: k for k, letter in enumerate(letters)} | {"#": len(letters)}
    half = window // 2
    rows = []
    for chain in X:
        padded = ["#"] * half + list(chain) + ["#"] * half
        rows += [[code.get(c, np.nan) for c in padded[t : t + window]] for t in range(len(chain))]
    return np.array(rows)


def sliding_lightgbm(window: int) -> Callable[[Chains, Chains, Chains], Predictions]:
    def run(X: Chains, y: Chains, Xt: Chains) -> Predictions:
        import lightgbm

        letters = sorted({c for x in X for c in x})
        model = lightgbm.LGBMClassifier(
            n_estimators=150, learning_rate=0.05, num_leaves=8, n_jobs=1, verbose=-1
        )
        places = list(range(window))
        labels = np.array([label for chain in y for label in chain])
        model.fit(_codes(X, letters, window), labels, categorical_feature=places)
        return {"FB": _cut(model.predict(_codes(Xt, letters, window)), Xt)}

    return run


def logistic(window: int) -> Callable[[Chains, Chains, Chains], Predictions]:
    def run(X: Chains, y: Chains, Xt: Chains) -> Predictions:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import OneHotEncoder

        letters = sorted({c for x in X for c in x})
        encoder = OneHotEncoder(handle_unknown="ignore").fit(_codes(X, letters, window))
        model = LogisticRegression(C=0.05, max_iter=500)
        model.fit(encoder.transform(_codes(X, letters, window)), [label for c in y for label in c])
        return {"FB": _cut(model.predict(encoder.transform(_codes(Xt, letters, window))), Xt)}

    return run


def _cut(labels: np.ndarray, X: Chains) -> Chains:
    return [labels[a:b].tolist() for a, b in pairwise(np.cumsum([0, *map(len, X)]).tolist())]


def models(quick: bool) -> dict[str, Callable[[Chains, Chains, Chains], Predictions]]:
    few = QUICK if quick else {}
    rows: dict[str, Callable[[Chains, Chains, Chains], Predictions]] = {
        "logistic regression, window 13": logistic(13),
        "LightGBM, sliding window 13": sliding_lightgbm(13),
        "LightGBM, sliding window 17": sliding_lightgbm(17),
        "linear CRF, window 13": linear(13, False),
        "linear CRF, window 13, all pairs": linear(13, True),
        "TreeCRF as in the paper, window 11": tree_crf(11, **{**PAPER, "n_iterations": 28, **few}),
    }
    for window in WINDOWS:
        chosen = " (chosen by the folds)" if window == CHOSEN else ""
        rows[f"TreeCRF, window {window}{chosen}"] = tree_crf(window, **{**SETTINGS, **few})
    joint = {**SETTINGS, "potentials": "joint", "n_iterations": 100, **few}
    rows["TreeCRF, joint, window 17"] = tree_crf(17, **joint)
    return rows


def standard_error(y: Chains, found: Chains) -> float:
    """Of the accuracy, chains being drawn as a whole (1,000 bootstrap samples)."""
    right = np.array([sum(a == b for a, b in zip(t, p, strict=True)) for t, p in zip(y, found, strict=True)])
    lengths = np.array([len(t) for t in y])
    draws = np.random.default_rng(0).integers(len(y), size=(1000, len(y)))
    return 100 * float(np.std(right[draws].sum(axis=1) / lengths[draws].sum(axis=1)))


def cross_validated(
    run: Callable[[Chains, Chains, Chains], Predictions], X: Chains, y: Chains, fold: Sequence[int]
) -> Predictions:
    found: Predictions = {}
    for k in sorted(set(fold)):
        learn = [i for i, f in enumerate(fold) if f != k]
        held = [i for i, f in enumerate(fold) if f == k]
        predicted = run([X[i] for i in learn], [y[i] for i in learn], [X[i] for i in held])
        for way, chains in predicted.items():
            labels = found.setdefault(way, [[] for _ in X])
            for i, chain in zip(held, chains, strict=True):
                labels[i] = chain
    return found


def tune(arguments: argparse.Namespace) -> str:
    """Candidates in other folds of the training chains than those of the table."""
    X, y = read_chains("train")
    few: dict[str, Any] = {}
    if arguments.quick:
        X, y, few = X[:8], y[:8], QUICK
    lengths = np.array([len(x) for x in X])
    fold = fold_numbers(lengths, related(X), 2 if arguments.quick else FOLDS, 1, "folds").tolist()
    rows = []
    for changes in CANDIDATES[:2] if arguments.quick else CANDIDATES:
        name = str(changes or "as chosen")
        if arguments.only and arguments.only not in name:
            continue
        found = cross_validated(tree_crf(**{"window": CHOSEN, **SETTINGS, **changes, **few}), X, y, fold)
        error = standard_error(y, found["FB"])
        rows.append([name, f"{q3(y, found['FB']):.1f} ± {error:.1f}", f"{q3(y, found['V']):.1f}"])
        print(rows[-1], file=sys.stderr, flush=True)
    return (
        "### Proteins: candidates\n\nGrouped cross-validation in other folds of the training chains than "
        "those of the table.\n\n" + table(["settings", "FB", "V"], rows)
    )


def table_of_models(arguments: argparse.Namespace) -> str:
    X, y = read_chains("train")
    Xt, yt = read_chains("test")
    if arguments.quick:
        X, y, Xt, yt = X[:8], y[:8], Xt[:2], yt[:2]
    groups = related(X)
    lengths = np.array([len(x) for x in X])
    fold = fold_numbers(lengths, groups, 2 if arguments.quick else FOLDS, 0, "folds").tolist()
    rows = []
    for name, run in models(arguments.quick).items():
        if arguments.only and arguments.only not in name:
            continue
        found = cross_validated(run, X, y, fold)
        cells = [f"{q3(y, found[way]):.1f}" if way in found else "" for way in ("FB", "V")]
        began = time.perf_counter()
        tested = run(X, y, Xt)
        spent = time.perf_counter() - began
        for way in ("FB", "V"):
            error = f" ± {standard_error(yt, tested[way]):.1f}" if way in tested else ""
            cells.append(f"{q3(yt, tested[way]):.1f}{error}" if way in tested else "")
        rows.append([name, *cells, seconds(spent)])
        print(rows[-1], file=sys.stderr, flush=True)
    return (
        f"{len(set(groups))} groups of related chains, {max(fold) + 1} folds. The paper, chosen on the test "
        "set: TreeCRF-FB 64.7 (28 iterations, 1,980 s), Qian and Sejnowski's network 64.5, Mallet-V 62.9.\n\n"
        + table(
            ["model", "grouped CV, FB", "grouped CV, V", "test, FB", "test, V", "time to train and test"],
            rows,
        )
    )


def table_of_windows(quick: bool) -> str:
    """Time an iteration against the window, as in the paper's table 3."""
    X, y = read_chains("train")
    if quick:
        X, y = X[:4], y[:4]
    rows = []
    for window in (1, 3, 5, 7, 9, 11, 13, 17, 21):
        began = time.perf_counter()
        n = 2 if quick else 10
        few = {"n_iterations": n, **({"min_samples_leaf": 1} if quick else {})}
        TreeCRF(window=window, n_jobs=1, **{**SETTINGS, **few}).fit(X, y)
        trees = (time.perf_counter() - began) / n
        cells = [str(window), seconds(trees)]
        if window <= (3 if quick else 13):
            items = [attributes(x, window, True) for x in X]
            began = time.perf_counter()
            model = CRF(c2=8.0, max_iterations=n, algorithm="lbfgs", n_jobs=1)
            with warnings.catch_warnings():  # ten iterations do not converge
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(items, y)
            passes = (time.perf_counter() - began) / n
            cells += [seconds(passes), f"{len(model.state_features_):,}"]
        else:
            cells += ["", ""]
        rows.append(cells)
    return "Time an iteration, one thread, features and all (the paper's table 3).\n\n" + table(
        ["window", "TreeCRF", "linear CRF with all pairs", "its features"], rows
    )


def curves(arguments: argparse.Namespace) -> str:
    """Test accuracy against iterations, for both ways of decoding."""
    X, y = read_chains("train")
    Xt, yt = read_chains("test")
    n = 60
    if arguments.quick:
        X, y, Xt, yt, n = X[:4], y[:4], Xt[:2], yt[:2], 3
    lines: dict[str, list[float]] = {}
    times: dict[str, float] = {}
    for name, settings in (("as in the paper", PAPER), ("Newton leaves", SETTINGS)):
        began = time.perf_counter()
        few = QUICK if arguments.quick else {"n_iterations": n}
        model = TreeCRF(window=11, n_jobs=1, **{**settings, **few}).fit(X, y)
        times[name] = (time.perf_counter() - began) * min(1.0, 28 / n)
        for way, decode in (("FB", "marginal"), ("V", "viterbi")):
            model.decode = decode
            lines[f"TreeCRF-{way}, {name}"] = [q3(yt, found) for found in model.staged_predict(Xt)]
    chosen = [k for k in (1, 5, 10, 20, 28, 40, 60) if k <= n]
    linear_lines = linear_curves(X, y, Xt, yt, chosen)
    if arguments.plots is not None:
        _plot(lines, linear_lines, chosen, arguments.plots / "treecrf_proteins.png")
    rows = [[name, *(f"{line[k - 1]:.1f}" for k in chosen)] for name, line in lines.items()]
    rows += [[name, *(f"{value:.1f}" for value in line)] for name, line in linear_lines.items()]
    took = ", ".join(f"{name} {seconds(spent)}" for name, spent in times.items())
    return (
        "Test accuracy against iterations, window 11 (a look at the curve, no choice was made by it). Time "
        f"to 28 iterations: {took}; the paper's 1,980 s.\n\n" + table(["iterations", *map(str, chosen)], rows)
    )


def linear_curves(
    X: Chains, y: Chains, Xt: Chains, yt: Chains, iterations: list[int]
) -> dict[str, list[float]]:
    """Test accuracy of the linear CRF after so many iterations of L-BFGS."""
    items, tested = [attributes(x, 11, False) for x in X], [attributes(x, 11, False) for x in Xt]
    lines: dict[str, list[float]] = {"linear CRF-FB": [], "linear CRF-V": []}
    for k in iterations:
        model = CRF(c2=1.0, algorithm="lbfgs", max_iterations=k, n_jobs=1)
        with warnings.catch_warnings():  # it is stopped on purpose
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(items, y)
        lines["linear CRF-FB"].append(q3(yt, model.predict_posterior(tested)))
        lines["linear CRF-V"].append(q3(yt, model.predict(tested)))
    return lines


def _plot(
    lines: dict[str, list[float]], linear_lines: dict[str, list[float]], iterations: list[int], path: Path
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, line in lines.items():
        style = "-" if "paper" in name else "--"
        axes.plot(range(1, len(line) + 1), line, style, label=name)
    for name, line in linear_lines.items():
        axes.plot(iterations, line, ":", label=name)
    axes.axhline(64.7, color="grey", linewidth=0.8)
    axes.text(1, 64.8, "published: 64.7 after 28 iterations", fontsize=8, color="grey")
    axes.set_xlabel("iterations")
    axes.set_ylabel("test residues right, %")
    axes.set_ylim(50, 66.5)  # the first Viterbi paths lie below
    axes.set_title("Qian-Sejnowski proteins, window 11")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def report(arguments: argparse.Namespace) -> str:
    if arguments.tune:
        return tune(arguments)
    pieces = ["### Proteins", table_of_models(arguments)]
    if not arguments.only:
        pieces += [curves(arguments), table_of_windows(arguments.quick)]
    return "\n\n".join(pieces)
