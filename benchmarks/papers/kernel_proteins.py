"""RS126 with few training chains: kernel CRFs against an SVM, logistic regression and the linear CRF.

Inputs, the same for all: square roots of the profile's shares (and the share of gaps), windows of 13, each
position of the window times 1 - |offset| / 8, so that near residues count more. All settings are chosen by
5-fold cross-validation on the training chains of each trial: what is best in Q3. Where boundaries have a gain
in decoding, it is the largest whose Q3 in that cross-validation is within half a point of the best. The
variants of the kernel CRF take over what was chosen for vertex cliques. Cliques come with all labellings.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache as cache_once
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from results_file import Results
from rs126 import Chain, few_chains, profile, q3, read_chains, transition_accuracy, windows
from tables import seconds, table

from crfkit import CRF, KernelCRF
from crfkit.inference import Lattice, max_expected_gain
from crfkit.kernels import GraphKernel, median_gamma
from crfkit.kernels.graph_map import GraphMap

FloatArray = npt.NDArray[np.float64]
Arrays = list[FloatArray]
LabelLists = list[list[str]]

WIDTH = 13
GAINS = (0.0, 0.5, 1.0, 1.5)
TOLERANCE = 0.5  # points of Q3 that boundaries may cost, in cross-validation
BANDWIDTHS = (0.5, 1.0)  # factors of the median heuristic
REGULARISATION = (0.1, 0.3, 1.0)
COSTS = (0.3, 1.0, 3.0, 10.0)
SETTINGS = f"window {WIDTH}, gains {GAINS} within {TOLERANCE}, γ {BANDWIDTHS}, λ {REGULARISATION}, C {COSTS}"


def inputs(chain: Chain) -> FloatArray:
    """What all methods see of a chain [T, 13 · 22]."""
    shares = profile(chain)
    shares[:, :20] = np.sqrt(shares[:, :20])
    offsets = np.arange(WIDTH) - WIDTH // 2
    near = 1.0 - np.abs(offsets) / (WIDTH // 2 + 2.0)  # [13]
    return windows(shares, WIDTH) * np.repeat(near, shares.shape[1] + 1)


@dataclass(frozen=True)
class Fold:
    """Chains to learn from and chains to try on."""

    X: Arrays
    y: LabelLists
    X_held: Arrays
    y_held: LabelLists


@dataclass(frozen=True)
class Method:
    """How a method is fitted and what it says: probabilities, or labels alone."""

    name: str
    grid: Sequence[dict[str, Any]]
    run: Callable[[Fold, dict[str, Any]], dict[float, LabelLists]]  # decoded labels for each gain
    gains: bool = False  # whether boundaries may have a gain in decoding


def decode(lattice: Lattice, classes: Sequence[str], gains: Iterable[float]) -> dict[float, LabelLists]:
    """Labels for every gain of boundaries."""
    bounds = lattice.offsets[1:-1]
    names = np.array(classes)
    return {
        gain: [part.tolist() for part in np.split(names[max_expected_gain(lattice, gain, n_jobs=1)], bounds)]
        for gain in gains
    }


def kernel_crf(fold: Fold, settings: dict[str, Any]) -> dict[float, LabelLists]:
    model = KernelCRF(**settings, n_jobs=1).fit(fold.X, fold.y)
    lattice = model.tagger_.scored(fold.X_held).lattice
    return decode(lattice, model.classes_, GAINS)


def linear_crf(fold: Fold, settings: dict[str, Any]) -> dict[float, LabelLists]:
    model = CRF(**settings, all_possible_states=True, all_possible_transitions=True, n_jobs=1)
    with_one = [np.hstack([x, np.ones((len(x), 1))]) for x in fold.X]
    held = [np.hstack([x, np.ones((len(x), 1))]) for x in fold.X_held]
    model.fit(with_one, fold.y)
    lattice = model.tagger_.scored(held).lattice
    return decode(lattice, model.classes_, GAINS)


def classifier(make: Callable[..., Any]) -> Callable[[Fold, dict[str, Any]], dict[float, LabelLists]]:
    def run(fold: Fold, settings: dict[str, Any]) -> dict[float, LabelLists]:
        model = make(**settings).fit(np.vstack(fold.X), np.concatenate([np.array(y) for y in fold.y]))
        return {0.0: [model.predict(x).tolist() for x in fold.X_held]}

    return run


def svm(gamma: float) -> Method:
    from sklearn.svm import SVC

    grid = [{"C": c, "gamma": gamma * g} for c, g in product((1.0, 3.0, 10.0), BANDWIDTHS)]
    return Method("SVC, RBF", grid, classifier(SVC))


def logistic() -> Method:
    from sklearn.linear_model import LogisticRegression

    grid = [{"C": c, "max_iter": 300} for c in COSTS]
    return Method("logistic regression", grid, classifier(LogisticRegression))


def score(y: LabelLists, found: LabelLists) -> tuple[float, float]:
    return q3(y, found), transition_accuracy(y, found)


def inner_folds(X: Arrays, y: LabelLists, k: int = 5) -> list[Fold]:
    """Chain i of the training chains is held out in fold i mod k."""
    k = min(k, len(X))
    parts = [
        ([i for i in range(len(X)) if i % k != f], [i for i in range(len(X)) if i % k == f]) for f in range(k)
    ]
    return [
        Fold([X[i] for i in a], [y[i] for i in a], [X[i] for i in b], [y[i] for i in b]) for a, b in parts
    ]


@dataclass(frozen=True)
class Choice:
    """What cross-validation has chosen."""

    settings: dict[str, Any]
    gain: float


def choose(method: Method, folds: Sequence[Fold]) -> Choice:
    """The best settings in Q3, and the largest gain of boundaries that costs less than half a point of it."""
    held = [labels for fold in folds for labels in fold.y_held]
    best: tuple[float, dict[str, Any], dict[float, float]] | None = None
    for settings in method.grid:
        found = [method.run(fold, settings) for fold in folds]
        scores = {gain: q3(held, [labels for part in found for labels in part[gain]]) for gain in found[0]}
        if best is None or scores[0.0] > best[0]:
            best = scores[0.0], settings, scores
    if best is None:
        raise SystemExit(f"{method.name} has no settings to choose from")
    _, settings, scores = best
    top = max(scores.values())
    return Choice(settings, max(gain for gain, value in scores.items() if value >= top - TOLERANCE))


@dataclass(frozen=True)
class Task:
    """All chains, ready."""

    X: Arrays
    y: LabelLists

    @classmethod
    def read(cls) -> Task:
        """RS126."""
        chains = read_chains()
        return cls([inputs(chain) for chain in chains], [list(chain.structure) for chain in chains])

    def graph(self, quick: bool) -> GraphMap:
        """Over the windows of all chains, whose structures it does not see."""
        kernel = GraphKernel(10, n_eigenvectors=20 if quick else 100, epsilon=0.05)
        return kernel.build(np.vstack(self.X))[0]


def trial(task: Task, n_learn: int, seed: int, graph: GraphMap, quick: bool) -> dict[str, list[float]]:
    """{method: [Q3, transition accuracy, seconds of the last fit and prediction]}."""
    learn, held = few_chains(len(task.X), n_learn, seed)
    X, y = [task.X[i] for i in learn], [task.y[i] for i in learn]
    fold = Fold(X, y, [task.X[i] for i in held], [task.y[i] for i in held])
    gamma, inner = median_gamma(np.vstack(X)), inner_folds(X, y)
    results: dict[str, list[float]] = {}

    def record(method: Method, choice: Choice) -> None:
        began = time.perf_counter()
        found = method.run(fold, choice.settings)
        spent = time.perf_counter() - began
        results[method.name] = [*score(fold.y_held, found[0.0]), spent]
        if method.gains:
            results[f"{method.name}, boundaries"] = [*score(fold.y_held, found[choice.gain]), spent]

    for method in (
        svm(gamma),
        logistic(),
        Method("linear CRF", [{"c2": c2} for c2 in (0.1, 0.3, 1.0, 3.0)], linear_crf, gains=True),
    ):
        record(method, choose(method, inner))
    few = {
        "n_cliques": 20 if quick else 200,
        "per_round": 20,
        "all_labelings": True,
        "bias": True,
        "transition_reg": 0.1,
        "tol": 1e-4,
    }
    grid = [{**few, "gamma": gamma * g, "reg": reg} for g, reg in product(BANDWIDTHS, REGULARISATION)]
    vertex = Method("KCRF(v)", grid[:2] if quick else grid, kernel_crf, gains=True)
    chosen = choose(vertex, inner)
    record(vertex, chosen)
    # The others take over bandwidth, λ and gain.
    both: dict[str, Any] = {"kernel": ["rbf", graph], "turns": "alternate"}
    both["n_cliques"] = 2 * few["n_cliques"]
    edge = {"cliques": "vertex+edge"}
    for name, more in (
        ("KCRF(v+e)", edge),
        ("KCRF(v) + graph", both),
        ("KCRF(v+e) + graph", {**both, **edge}),
        ("KCRF(v), all cliques", {"n_cliques": None}),
    ):
        record(Method(name, [], kernel_crf, gains=True), Choice({**chosen.settings, **more}, chosen.gain))
    return results


def report(arguments: Namespace) -> str:
    task = Task.read()
    quick: bool = arguments.quick
    cache: Path | None = arguments.cache
    sizes, seeds = ([3], 1) if quick else (arguments.sizes, arguments.trials or 10)
    results = Results(cache)
    graph = cache_once(lambda: task.graph(quick))
    texts = []
    for n_learn in sizes:
        trials = []
        for seed in range(seeds):
            key = f"proteins, {n_learn} chains, trial {seed}, {SETTINGS}{', quick' if quick else ''}"
            measure = partial(lambda n, s: trial(task, n, s, graph(), quick), n_learn, seed)
            trials.append(results.get(key, measure))
        rows = []
        for name in trials[0]:
            values = np.array([found[name] for found in trials])  # [trials, 3]
            mean = values.mean(axis=0)
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * mean
            rows.append(
                [name, f"{mean[0]:.1f} ± {error[0]:.1f}", f"{mean[1]:.1f} ± {error[1]:.1f}", seconds(mean[2])]
            )
        texts.append(
            f"### RS126, {n_learn} training chains, mean of {len(trials)} trials ± standard error\n\n"
            + table(["method", "Q3, %", "transitions, %", "fit and predict"], rows)
            + "\n\nRows with a graph are transductive: it sees the windows of the chains that are tested."
        )
    if arguments.plots is not None:
        draw(task, arguments.plots / "kernel-proteins.png", 20 if quick else 300)
    return "\n\n".join(texts)


def draw(task: Task, file: Path, n_cliques: int) -> None:
    """The paper's figure: risk, test log-likelihood and accuracy against cliques, of one trial."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    learn, held = few_chains(len(task.X), min(5, len(task.X) - 1), 0)
    X, y = [task.X[i] for i in learn], [task.y[i] for i in learn]
    gamma = 0.5 * median_gamma(np.vstack(X))
    figure, panes = plt.subplots(1, 3, figsize=(12.5, 3.6), layout="constrained")
    for cliques, style in (("vertex", "C0"), ("vertex+edge", "C3")):
        model = KernelCRF(
            cliques=cliques,
            gamma=gamma,
            reg=0.3,
            transition_reg=0.1,
            n_cliques=n_cliques,
            per_round=10,
            n_jobs=1,
        )
        model.fit(X, y, X_dev=[task.X[i] for i in held], y_dev=[task.y[i] for i in held])
        for pane in model.plot_path(list(panes)):
            pane.lines[-1].set(color=style, marker="", label=cliques)
    titles = ("regularised risk", "test log-likelihood a position", "test accuracy")
    for pane, title in zip(panes, titles, strict=True):
        pane.set_title(title, fontsize=10)
    panes[0].legend(frameon=False)
    figure.suptitle("RS126, 5 training chains, seed 0: labelled cliques, ten a round", fontsize=11)
    figure.savefig(file, dpi=110)
    plt.close(figure)
