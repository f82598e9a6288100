"""What a pass and a training run cost against labels, features, tokens, threads and order.

    python benchmarks/scaling.py                 # all tables; minutes
    python benchmarks/scaling.py --quick         # tiny sizes: does it run?
    python benchmarks/scaling.py --only nettalk  # one table

Generated data, with one size varied at a time, and NETtalk with more than 160 labels of phoneme and stress.
python-crfsuite runs beside crfkit on the same features, in turns; it has no order 2.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import crfkit_side
import crfsuite_side
import numpy as np
import tasks
from crfkit_side import Loaded
from measure import seconds_of
from tables import provenance, publish, ratio, seconds, table

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.features.index import build_index
from crfkit.metrics import token_accuracy
from crfkit.threads import thread_count

C2 = 1.0
ALL_CORES = thread_count(None)


@dataclass(frozen=True)
class Size:
    """Of generated data."""

    labels: int = 22
    tokens: int = 40_000
    attributes: int = 40_000
    all_states: bool = False  # a weight for every attribute and label, seen together or not


@dataclass(frozen=True)
class Effort:
    """How often things are repeated, and where they are cut off."""

    passes: int = 5  # of crfkit for each number of threads, and of CRFsuite
    iterations: int | None = None  # of crfkit's training
    largest_second_order: int = 50  # labels


@dataclass(frozen=True)
class Cost:
    """Seconds, by what was measured."""

    labels: int
    tokens: int
    features: int
    one_thread: float
    all_threads: float
    crfsuite: float | None
    second_order: float | None
    training: float
    training_passes: float


def measure(task: tasks.Task, effort: Effort, all_states: bool = False) -> tuple[Cost, CRF]:
    """One pass of each kind, and crfkit's training to its own end with all cores; and what was trained."""
    loaded = crfkit_side.load(task.X, task.y)
    L = len(loaded.classes)
    index = build_index(
        loaded.sequences, loaded.labels, L, all_possible_transitions=True, all_possible_states=all_states
    )
    objectives = {n: loaded.objective(index, C2, n) for n in sorted({1, ALL_CORES})}
    x = np.random.default_rng(0).normal(scale=0.1, size=objectives[1].n_parameters)
    times: dict[int, list[float]] = {n: [] for n in objectives}

    def passes() -> None:
        for n, objective in objectives.items():
            times[n].append(seconds_of(lambda objective=objective: objective(x)))

    trainer = crfsuite_side.load(task.X, task.y)
    with tempfile.TemporaryDirectory() as folder:
        crfsuite_side.fit(
            trainer,
            Path(folder) / "model",
            c1=0.0,
            c2=C2,
            max_iterations=effort.passes,
            all_states=all_states,
            between=passes,
        )
    theirs = statistics.median(trainer.durations)
    second = _second_order_pass(loaded, effort) if effort.largest_second_order >= L else None
    model = CRF(
        c2=C2, all_possible_transitions=True, all_possible_states=all_states, max_iterations=effort.iterations
    )
    took = seconds_of(lambda: _quietly_fit(model, task))
    found = {n: statistics.median(values) for n, values in times.items()}
    cost = Cost(
        labels=L,
        tokens=task.n_tokens,
        features=index.n_features,
        one_thread=found[1],
        all_threads=found[max(found)],
        crfsuite=theirs,
        second_order=second,
        training=took,
        training_passes=model.history_[-1]["passes"],
    )
    return cost, model


def _second_order_pass(loaded: Loaded, effort: Effort) -> float:
    objective = loaded.objective(loaded.index(order=2), C2, ALL_CORES)
    x = np.random.default_rng(0).normal(scale=0.1, size=objective.n_parameters)
    return statistics.median(seconds_of(lambda: objective(x)) for _ in range(max(1, effort.passes // 2)))


def _quietly_fit(model: CRF, task: tasks.Task) -> None:
    with warnings.catch_warnings():
        if model.max_iterations is not None:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(task.X, task.y)


HEADER = (
    "labels",
    "tokens",
    "features",
    "pass, 1 thread",
    f"pass, {ALL_CORES} threads",
    "CRFsuite's pass",
    "ratio",
    f"order 2, {ALL_CORES} threads",
    "`CRF.fit`",
)


def vary(title: str, sizes: Sequence[Size], effort: Effort) -> tuple[str, list[Cost]]:
    """A table with one row a size."""
    costs = []
    for size in sizes:
        task = tasks.generated(size.tokens, size.labels, size.attributes)
        costs.append(measure(task, effort, size.all_states)[0])
        print(title, costs[-1], file=sys.stderr, flush=True)
    rows = [
        [
            f"{c.labels}",
            f"{c.tokens:,}",
            f"{c.features:,}",
            seconds(c.one_thread),
            seconds(c.all_threads),
            seconds(c.crfsuite),
            ratio(c.all_threads, c.crfsuite),
            seconds(c.second_order),
            f"{seconds(c.training)} ({c.training_passes:.0f} passes)",
        ]
        for c in costs
    ]
    return f"### Against {title}\n\n{table(HEADER, rows)}\n", costs


def nettalk(effort: Effort, words: int | None, their_iterations: int | None) -> str:
    """More than 160 labels: passes, training, accuracy on held-out words."""
    task = tasks.nettalk().head(words)
    cost, model = measure(task, replace(effort, passes=3, largest_second_order=0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer = crfsuite_side.load(task.X, task.y)
        curve = crfsuite_side.fit(trainer, path, c1=0.0, c2=C2, max_iterations=their_iterations)
        tagger = crfsuite_side.tagger(path)
        theirs = [tagger.tag(items) for items in task.X_test]
    ours = model.predict(task.X_test)
    cut = "" if curve.converged else f" (cut off after {len(curve.points)} iterations)"
    rows = [
        [
            "one pass, 1 thread",
            seconds(cost.one_thread),
            seconds(cost.crfsuite),
            ratio(cost.one_thread, cost.crfsuite),
        ],
        [
            f"one pass, {ALL_CORES} threads",
            seconds(cost.all_threads),
            "",
            ratio(cost.all_threads, cost.crfsuite),
        ],
        [
            "training to its own end",
            f"{seconds(cost.training)} ({cost.training_passes:.0f} passes)",
            f"{seconds(curve.seconds)}{cut}",
            ratio(cost.training, curve.seconds) if curve.converged else "–",
        ],
        ["objective at the end", f"{model.objective_:.1f}", f"{curve.objective:.1f}", ""],
        ["letters right, held-out words", _percent(task.y_test, ours), _percent(task.y_test, theirs), ""],
    ]
    title = (
        f"### NETtalk: {cost.labels} labels, {cost.tokens:,} letters, {cost.features:,} features, c2 = {C2:g}"
    )
    return f"{title}\n\n{table(['', 'crfkit', 'python-crfsuite', 'ratio'], rows)}\n"


def _percent(true: tasks.LabelLists, found: tasks.LabelLists) -> str:
    return f"{100 * token_accuracy(true, found):.2f}%"


def plot(panels: dict[str, list[Cost]], path: Path) -> str:
    """One panel a table, both axes logarithmic; needs matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return "No plot: matplotlib is not installed."
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    for axis, (name, costs) in zip(axes[0], panels.items(), strict=True):
        across = [getattr(cost, name) for cost in costs]
        lines = {
            "crfkit, 1 thread": [c.one_thread for c in costs],
            f"crfkit, {ALL_CORES} threads": [c.all_threads for c in costs],
            f"crfkit, order 2, {ALL_CORES} threads": [c.second_order for c in costs],
            "python-crfsuite": [c.crfsuite for c in costs],
        }
        for label, values in lines.items():
            axis.plot(across, [np.nan if v is None else v for v in values], marker="o", label=label)
        axis.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds a pass")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return f"Plot: {path}"


def main() -> None:
    tables = ("labels", "features", "tokens", "nettalk")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", nargs="+", choices=tables, default=tables, help="which tables to make")
    parser.add_argument(
        "--crfsuite-iterations", type=int, default=50, help="cut CRFsuite off on NETtalk; 0 lets it finish"
    )
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    default_plot = Path(tempfile.gettempdir()) / "crfkit-scaling.png"
    parser.add_argument("--plot", type=Path, default=default_plot, help=f"where to draw ({default_plot})")
    options = parser.parse_args()
    quick = options.quick
    effort = Effort(passes=2, iterations=5, largest_second_order=5) if quick else Effort()
    grids = {
        "labels": [Size(labels=n) for n in (2, 5, 10, 22, 50, 100, 140)],
        "features": [
            Size(tokens=150_000, attributes=n, all_states=True) for n in (1_000, 10_000, 100_000, 10_000_000)
        ],
        "tokens": [Size(tokens=n) for n in (10_000, 30_000, 100_000, 300_000)],
    }
    if quick:
        grids = {"labels": [Size(n, 2000, 500) for n in (2, 5)], "features": [Size(3, 1000, 2000, True)]}
    parts, panels = [], {}
    for name, sizes in grids.items():
        if name in options.only:
            text, panels[name] = vary(name, sizes, effort)
            parts.append(text)
    if "nettalk" in options.only:
        iterations = 5 if quick else options.crfsuite_iterations or None
        parts.append(nettalk(effort, 50 if quick else None, iterations))
    if panels:
        parts.append(plot(panels, options.plot) + "\n")
    publish("\n".join([*parts, provenance("benchmarks/scaling.py")]), options.markdown)


if __name__ == "__main__":
    main()
