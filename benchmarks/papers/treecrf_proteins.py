"""Qian and Sejnowski's proteins: 111 chains to learn from, 17 to test on, three classes.

Chains of the training file that are related (``protein_chains``) must not be on both sides of a
cross-validation.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from protein_chains import Chains, family_weights, read_chains, related, standard_error
from residues import ResidueColumns
from rs126 import q3
from tables import seconds, table

from crfkit import CRF, TreeCRF
from crfkit.data.folds import fold_numbers
from crfkit.exceptions import ConvergenceWarning

Predictions = dict[str, Chains]  # by decoding

FOLDS = 5
# Chosen by hand with the table's own cross-validation on training chains, which favours them a little.
# --tune compares them with others in folds that are drawn otherwise. The rivals have no such comparison.
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
    "min_samples_leaf": 5,
    "lightgbm_params": None,
}
WINDOWS = (11, 13, 17)
QUICK: dict[str, Any] = {"n_iterations": 3, "min_samples_leaf": 1}  # tiny data has no larger leaves
CHOSEN = 17  # of these, by cross-validation


@dataclass(frozen=True)
class Member:
    """One TreeCRF: what differs from SETTINGS, and what it sees."""

    window: int = CHOSEN
    settings: Mapping[str, Any] = field(default_factory=dict)
    properties: bool = False  # numbers beside the letters
    weighted: bool = False  # n related training chains count as much as √n

    def changed(self, **changes: Any) -> Member:
        """The same with other settings."""
        return replace(self, settings={**self.settings, **changes})


SLOW: dict[str, Any] = {"learning_rate": 0.05, "n_iterations": 120, "colsample": 0.5, "subsample": 0.7}
# Chosen in the first draw of the folds of --tune: two that see numbers as well, two that see letters alone.
MEAN = [
    Member(17, {**SLOW, "random_state": 0}, properties=True, weighted=True),
    Member(13, {**SLOW, "random_state": 1}, properties=True, weighted=True),
    Member(17, {"colsample": 0.7, "random_state": 2}, weighted=True),
    Member(13, {"colsample": 0.7, "random_state": 3}, weighted=True),
]
CANDIDATES: dict[str, list[Member]] = {
    "factored, window 17": [Member()],
    "window 11": [Member(11)],
    "window 13": [Member(13)],
    "4 leaves": [Member(settings={"n_leaves": 4})],
    "16 leaves": [Member(settings={"n_leaves": 16})],
    "100 iterations": [Member(settings={"n_iterations": 100})],
    "leaves of 10 or more": [Member(settings={"min_samples_leaf": 10})],
    "joint, 100 iterations": [Member(settings={"potentials": "joint", "n_iterations": 100})],
    "families weighted": [Member(weighted=True)],
    "families weighted, sampled, slower": [Member(settings=SLOW, weighted=True)],
    "properties": [Member(properties=True)],
    "properties, families weighted, sampled, slower": MEAN[:1],
    "mean of two with letters alone": MEAN[2:],
    "mean of four": MEAN,
}


# ---- models: what they predict for each way of decoding


def tree_crfs(members: Sequence[Member]) -> Callable[[Chains, Chains, Chains], Predictions]:
    """One model or the mean of the marginals of several. Of one, by Viterbi as well."""

    def run(X: Chains, y: Chains, Xt: Chains) -> Predictions:
        total: Any = 0.0  # [ΣT, L]
        for member in members:
            window = 1 if member.properties else member.window  # the columns have the letters around
            model = TreeCRF(**{**SETTINGS, **member.settings, "window": window, "n_jobs": 1})
            columns = ResidueColumns(X, y, member.window) if member.properties else list
            weights = family_weights(X) if member.weighted else None
            model.fit([columns(x) for x in X], y, sample_weight=weights)
            tested = [columns(x) for x in Xt]
            total += np.concatenate(model.predict_marginals(tested, as_arrays=True))
        found = {"FB": _cut(np.array(model.classes_)[total.argmax(axis=1)], Xt)}
        if len(members) == 1:
            model.set_params(decode="viterbi")
            found["V"] = model.predict(tested)
        return found

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
    paper = {**PAPER, "n_iterations": 28, **few}
    rows: dict[str, Callable[[Chains, Chains, Chains], Predictions]] = {
        "logistic regression, window 13": logistic(13),
        "LightGBM, sliding window 13": sliding_lightgbm(13),
        "LightGBM, sliding window 17": sliding_lightgbm(17),
        "linear CRF, window 13": linear(13, False),
        "linear CRF, window 13, all pairs": linear(13, True),
        "TreeCRF as in the paper, window 11": tree_crfs([Member(11, paper)]),
    }
    for window in WINDOWS:
        rows[f"TreeCRF, window {window}"] = tree_crfs([Member(window, few)])
    joint = {"potentials": "joint", "n_iterations": 100, **few}
    rows["TreeCRF, joint, window 17"] = tree_crfs([Member(17, joint)])
    rows["TreeCRF, mean of four (chosen by the folds)"] = tree_crfs([m.changed(**few) for m in MEAN])
    return rows


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
    lengths, groups = np.array([len(x) for x in X]), related(X)
    n_folds = 2 if arguments.quick else FOLDS
    rows = []
    names = ["window 11", "mean of four"] if arguments.quick else list(CANDIDATES)
    for name in names:
        members = CANDIDATES[name]
        if arguments.only and arguments.only not in name:
            continue
        found = []
        for seed in (1, 2):
            fold = fold_numbers(lengths, groups, n_folds, seed, "folds").tolist()
            run = tree_crfs([member.changed(**few) for member in members])
            found.append(cross_validated(run, X, y, fold)["FB"])
        right = [q3(y, labels) for labels in found]
        error = np.mean([standard_error(y, labels) for labels in found])
        rows.append([name, *(f"{r:.1f}" for r in right), f"{np.mean(right):.1f} ± {error:.1f}"])
        print(rows[-1], file=sys.stderr, flush=True)
    return (
        "### Proteins: candidates\n\nGrouped cross-validation in other folds of the training chains than "
        "those of the table, drawn twice; by marginals.\n\n"
        + table(["settings", "first draw", "second draw", "mean"], rows)
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
