"""A second-order CRF on CoNLL-2000 with the 19 templates: label trigrams beside bigrams.

    python benchmarks/second_order.py                # choose c2 on the training file, then one report
    python benchmarks/second_order.py --quick        # 400 sentences: does it run?

All choices are made on the training file: folds of it are held out in turn and the settings with the best
mean F1 win, for each order by itself. Only then are the two winners trained on the whole training file and
the test file is opened, once.
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


@dataclass(frozen=True)
class Setting:
    """What is chosen by cross-validation."""

    order: int
    c2: float
    min_freq: int
    all_transitions: bool

    def model(self, max_iterations: int | None) -> CRF:
        """An unfitted model."""
        return CRF(
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
        return [str(self.order), f"{self.c2:g}", str(self.min_freq), transitions]


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


def settings(options: argparse.Namespace) -> list[Setting]:
    """The grid."""
    return [
        Setting(order, c2, min_freq, transitions == "all")
        for order in options.orders
        for min_freq in options.min_freq
        for transitions in options.transitions
        for c2 in options.c2
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="400 sentences, one penalty, few iterations")
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--c2", type=float, nargs="+", default=[0.1, 0.3, 1.0])
    parser.add_argument("--min-freq", type=int, nargs="+", default=[0])
    kinds = ["all", "observed"]
    parser.add_argument("--transitions", nargs="+", choices=kinds, default=kinds, help="which have a weight")
    parser.add_argument("--folds", type=int, default=5, help="the training file is cut into so many parts")
    parser.add_argument("--use", type=int, default=3, help="so many of them are held out in turn")
    parser.add_argument("--no-test", action="store_true", help="cross-validation only")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    if options.quick:
        options.c2, options.use = options.c2[:1], 1
    most = 10 if options.quick else None
    task = tasks.conll2000(400 if options.quick else None)

    checked = []
    for setting in settings(options):
        checked.append(check(setting, task, options.folds, options.use, most))
        f1 = " ".join(f"{100 * value:.2f}" for value in checked[-1].f1)
        print(" ".join(setting.cells), f1, seconds(checked[-1].seconds), file=sys.stderr, flush=True)
    header = ["order", "c2", "min_freq", "transitions"]
    rows = [
        [
            *c.setting.cells,
            f"{100 * c.mean:.2f}",
            " ".join(f"{100 * f:.2f}" for f in c.f1),
            seconds(c.seconds),
        ]
        for c in checked
    ]
    parts = [
        f"### Held-out parts of the training file ({options.use} of {options.folds})\n",
        table([*header, "mean F1", "F1 by fold", "training"], rows) + "\n",
    ]
    if not options.no_test:
        rows = []
        for order in options.orders:
            best = max((c for c in checked if c.setting.order == order), key=lambda c: c.mean)
            model, took = fit(best.setting, task.X, task.y, most)
            f1 = segment_f1(task.y_test, model.predict(task.X_test))
            rows.append(
                [
                    *best.setting.cells,
                    f"{100 * f1:.2f}",
                    f"{model.objective_:.2f}",
                    f"{model.tagger_.index.n_features:,}",
                    f"{model.history_[-1]['passes']:.0f}",
                    seconds(took),
                ]
            )
        parts += [
            "### The chosen settings, trained on the whole training file, on the test file\n",
            table([*header, "test F1", "objective", "features", "passes", "training"], rows) + "\n",
        ]
    publish("\n".join([*parts, provenance("benchmarks/second_order.py")]), options.markdown)


if __name__ == "__main__":
    main()
