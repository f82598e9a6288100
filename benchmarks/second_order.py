"""A second-order CRF on CoNLL-2000 with the 19 templates: label trigrams beside bigrams.

    python benchmarks/second_order.py                # choose c1 and c2 on the training file, then one report
    python benchmarks/second_order.py --quick        # 400 sentences: does it run?

All choices are made on the training file: folds of it are held out in turn and the settings with the best
mean F1 win, for each order by itself. Only then are the two winners trained on the whole training file and
the test file is opened, once. An order for which only one setting is given is not cross-validated.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tasks
from tables import provenance, publish, seconds, table

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.metrics import segment_f1

HEADER = ("order", "c1", "c2", "min_freq", "transitions")


@dataclass(frozen=True)
class Setting:
    """What is chosen by cross-validation."""

    order: int
    c1: float
    c2: float
    min_freq: int
    all_transitions: bool

    def model(self, max_iterations: int | None) -> CRF:
        """An unfitted model."""
        return CRF(
            c1=self.c1,
            c2=self.c2,
            order=self.order,
            min_freq=self.min_freq,
            all_possible_transitions=self.all_transitions,
            max_iterations=max_iterations,
        )

    @property
    def cells(self) -> list[str]:
        """For tables."""
        transitions = "all" if self.all_transitions else "observed"
        return [str(self.order), f"{self.c1:g}", f"{self.c2:g}", str(self.min_freq), transitions]


@dataclass(frozen=True)
class Checked:
    """F1 on each fold, and how long its training took."""

    setting: Setting
    f1: list[float]
    seconds: float  # mean of the folds

    @property
    def mean(self) -> float:
        """Over the folds."""
        return sum(self.f1) / len(self.f1)


def fit(setting: Setting, X: Any, y: Any, max_iterations: int | None) -> tuple[CRF, float]:
    """A trained model and the time it took, from Python objects."""
    model = setting.model(max_iterations)
    began = time.perf_counter()
    with warnings.catch_warnings():
        if max_iterations is not None:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model, time.perf_counter() - began


def check(setting: Setting, task: tasks.Task, n_folds: int, used: int, max_iterations: int | None) -> Checked:
    """F1 on the first ``used`` of ``n_folds`` folds of the training file; fold k is every n-th sentence."""
    found, times = [], []
    for fold in range(used):
        learn = [i for i in range(len(task.X)) if i % n_folds != fold]
        held = [i for i in range(len(task.X)) if i % n_folds == fold]
        model, took = fit(setting, [task.X[i] for i in learn], [task.y[i] for i in learn], max_iterations)
        found.append(segment_f1([task.y[i] for i in held], model.predict([task.X[i] for i in held])))
        times.append(took)
    return Checked(setting, found, sum(times) / len(times))


def grid(order: int, options: argparse.Namespace) -> list[Setting]:
    """The settings to choose from."""
    return [
        Setting(order, c1, c2, min_freq, transitions == "all")
        for min_freq in options.min_freq
        for transitions in options.transitions
        for c1 in options.c1
        for c2 in options.c2
    ]


def choose(task: tasks.Task, options: argparse.Namespace, most: int | None) -> tuple[str, list[Setting]]:
    """The table of the held-out folds, and the best setting of each order; where there is one, it is it."""
    chosen, rows = [], []
    for order in options.orders:
        candidates = grid(order, options)
        if len(candidates) == 1:
            chosen += candidates
            continue
        checked = []
        for setting in candidates:
            checked.append(check(setting, task, options.folds, options.use, most))
            f1 = " ".join(f"{100 * value:.2f}" for value in checked[-1].f1)
            rows.append([*setting.cells, f"{100 * checked[-1].mean:.2f}", f1, seconds(checked[-1].seconds)])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
        chosen.append(max(checked, key=lambda c: c.mean).setting)
    if not rows:
        return "", chosen
    title = f"### Held-out parts of the training file ({options.use} of {options.folds})"
    return f"{title}\n\n{table([*HEADER, 'mean F1', 'F1 by fold', 'training'], rows)}\n\n", chosen


def test(task: tasks.Task, chosen: list[Setting], most: int | None) -> str:
    """The table of the test file."""
    rows = []
    for setting in chosen:
        model, took = fit(setting, task.X, task.y, most)
        rows.append(
            [
                *setting.cells,
                f"{100 * segment_f1(task.y_test, model.predict(task.X_test)):.2f}",
                f"{model.objective_:.2f}",
                f"{model.tagger_.index.n_features:,}",
                f"{model.history_[-1]['passes']:.0f}",
                seconds(took),
            ]
        )
    title = "### The chosen settings, trained on the whole training file, on the test file"
    header = [*HEADER, "test F1", "objective", "features", "passes", "training"]
    return f"{title}\n\n{table(header, rows)}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="400 sentences, few iterations")
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--c1", type=float, nargs="+", default=[0.0, 0.2, 0.4])
    parser.add_argument("--c2", type=float, nargs="+", default=[0.05, 0.2])
    parser.add_argument("--min-freq", type=int, nargs="+", default=[0])
    kinds = ["all", "observed"]
    parser.add_argument(
        "--transitions", nargs="+", choices=kinds, default=["all"], help="which have a weight"
    )
    parser.add_argument("--folds", type=int, default=5, help="the training file is cut into so many parts")
    parser.add_argument("--use", type=int, default=2, help="so many of them are held out in turn")
    parser.add_argument("--no-test", action="store_true", help="cross-validation only")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    most = 5 if options.quick else None
    if options.quick:
        options.use = 1
    task = tasks.conll2000(400 if options.quick else None)
    text, chosen = choose(task, options, most)
    if not options.no_test:
        text += test(task, chosen, most)
    publish(text + provenance("benchmarks/second_order.py"), options.markdown)


if __name__ == "__main__":
    main()
