"""KernelCRF with its defaults against the best of a grid over gamma and reg by 3-fold cross-validation.

Galaxy: 20 sequences of 20 points to learn from, 200 others to test on, several seeds. NETtalk: the first
1,000 words of the order of treecrf_nettalk.py after its 5,000 words to test on, of which 2,000 are used; a
position is seven letters, one column for each letter at each place. The grid's models have the default's
numbers of cliques. Seconds are processor time of fit, for the grid of the whole search.
"""

from __future__ import annotations

import time
from argparse import Namespace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tables import table
from treecrf_nettalk import TEST, read_words, window_of

from crfkit import KernelCRF
from crfkit.datasets import galaxy
from crfkit.kernels import median_gamma

FOLDS = 3
Rows = list[npt.NDArray[np.float64]]
Labels = list[list[str]]


class Task(NamedTuple):
    """Data to learn from, data to test on, and the grid: multiples of the median's gamma, and reg."""

    X: Rows
    y: Labels
    X_test: Rows
    y_test: Labels
    factors: tuple[float, ...]
    regs: tuple[float, ...]


class Outcome(NamedTuple):
    """A model's accuracy on test data, its settings and the processor time."""

    accuracy: float  # %
    gamma: float
    reg: float
    seconds: float


def galaxy_task(seed: int) -> Task:
    X, y = galaxy(220, 20, random_state=seed)
    factors, regs = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
    return Task(X[:20], y[:20], X[20:], y[20:], factors, regs)


def nettalk_task(quick: bool) -> Task:
    words, y = read_words(stress=False)
    letters = sorted({letter for word in words for letter in word} | {"#"})
    unit = dict(zip(letters, np.eye(len(letters)), strict=True))
    learn = slice(40, 80) if quick else slice(TEST, TEST + 1000)
    test = slice(0, 40 if quick else 2000)
    X, X_test = (
        [
            np.array([np.concatenate([unit[c] for c in row]) for row in window_of(word)])
            for word in words[part]
        ]
        for part in (learn, test)
    )
    return Task(X, y[learn], X_test, y[test], (0.5, 1.0, 2.0), (0.01, 0.03, 0.1))


def default(task: Task) -> Outcome:
    began = time.process_time()
    model = KernelCRF(verbose=False).fit(task.X, task.y)
    spent = time.process_time() - began
    return Outcome(100 * model.score(task.X_test, task.y_test), model.gamma_, model.reg_, spent)


def best_of_grid(task: Task) -> Outcome:
    """Choose by the accuracy of the folds, then fit all data."""
    began = time.process_time()
    middle = median_gamma(np.vstack(task.X))
    fold = np.random.default_rng(0).permutation(len(task.X)) % FOLDS
    settings = [{"gamma": middle * f, "reg": reg} for f, reg in product(task.factors, task.regs)]
    hits = [sum(_right(one, task, fold, k) for k in range(FOLDS)) for one in settings]
    chosen: dict[str, Any] = settings[int(np.argmax(hits))]
    model = KernelCRF(**chosen, verbose=False).fit(task.X, task.y)
    spent = time.process_time() - began
    return Outcome(100 * model.score(task.X_test, task.y_test), model.gamma_, model.reg_, spent)


def _right(settings: dict[str, Any], task: Task, fold: npt.NDArray[np.int64], k: int) -> float:
    """Number of right labels in a fold."""
    learn, held = np.flatnonzero(fold != k).tolist(), np.flatnonzero(fold == k).tolist()
    model = KernelCRF(**settings, verbose=False).fit([task.X[i] for i in learn], [task.y[i] for i in learn])
    y = [task.y[i] for i in held]
    return model.score([task.X[i] for i in held], y) * sum(map(len, y))


def report(arguments: Namespace) -> str:
    quick: bool = arguments.quick
    trials = 1 if quick else arguments.trials or 10
    rows = []
    tasks = {f"galaxy, {trials} seeds": [galaxy_task(seed) for seed in range(trials)]}
    tasks["NETtalk, 1,000 words"] = [nettalk_task(quick)]
    for name, of_name in tasks.items():
        for method, run in (("default", default), (f"grid, {FOLDS} folds", best_of_grid)):
            found = [run(task) for task in of_name]
            means = np.mean([(one.accuracy, one.seconds) for one in found], axis=0)
            chosen = "; ".join(f"{one.gamma:.3g}, {one.reg:.2g}" for one in found[:3])
            rows.append([name, method, f"{means[0]:.2f}", f"{means[1]:.1f}", chosen])
    return "### Defaults against a grid: accuracy on test data, %\n\n" + table(
        ["data", "gamma and reg by", "accuracy, %", "CPU seconds", "gamma, reg (the first three)"], rows
    )
