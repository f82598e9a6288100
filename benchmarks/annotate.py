"""Labelling with a model in the loop: how many sentences and tokens each order of `crfkit annotate` needs.

    python benchmarks/annotate.py --results annotate.jsonl --plot annotate.png
    python benchmarks/annotate.py --penalties                                   # the learner's c2
    python benchmarks/annotate.py --quick                                       # does it run?

The annotator is simulated: the labels of CoNLL-2000's training file are the answers, and there is no model at
the beginning. Pool, learner, store and session are those of the page; a fit follows every ten answers. Every
tenth sentence belongs to the random sample, whatever the order, and counts. The target is 98 % of the F1 of
a model of all training sentences (the better of c2 = 1 and the learner's c2).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tasks
from results_file import Results
from tables import provenance, publish, table

from crfkit import CRF
from crfkit.annotate.curve import curve
from crfkit.annotate.learner import C2, Learner, new_model
from crfkit.annotate.pool import ORDERS
from crfkit.annotate.session import EVERY, Session
from crfkit.annotate.store import Store
from crfkit.annotate.tag_set import TagSet
from crfkit.data.columns import Columns
from crfkit.features.default_features import default_features
from crfkit.io.columns import read_columns
from crfkit.metrics import segment_f1, token_accuracy

SHARE = 0.98  # of the full model's F1
LIMITS = {"total": 1000, "token": 1500, "random": 2500}  # sentences to label
STEP = 50  # sentences between two measurements
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # of Student's distribution, for the mean of so many runs

Data = tuple[Columns, list[list[str]]]


def features() -> Any:
    """What the command uses for a column of words and one of classes."""
    return default_features([0], [1])


def read(name: str, most: int | None) -> Data:
    sentences = read_columns(tasks.data_directory("conll2000") / name)[:most]
    return sentences.without(2), sentences.column(2)


def scores(model: CRF, test: Data) -> tuple[float, float]:
    """F1 and the share of right labels, in points."""
    found = model.predict(test[0])
    return 100 * segment_f1(test[1], found), 100 * token_accuracy(test[1], found)


def full_f1(train: Data, test: Data) -> list[float]:
    """F1 of models of all sentences, for c2 = 1 and for the learner's c2."""
    return [scores(CRF(c2=c2, extractor=features()).fit(*train), test)[0] for c2 in (1.0, C2)]


def simulate(train: Data, test: Data, order: str, seed: int, limit: int, step: int) -> list[list[float]]:
    """Label sentences with their true labels; return a row per measurement.

    A row has sentences, tokens, F1, accuracy on the test file, and the page's two accuracies.
    """
    x, y = train
    tags = TagSet.of_labels(sorted({label for labels in y for label in labels}))
    rows: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(os.path.join(folder, "answers.jsonl"), tags, seed)
        # A random order does not depend on the fits between measurements.
        every = step if order == "random" else EVERY
        session = Session(x, Learner(new_model(features(), None), tags.scheme), store, order, every)
        n_tokens = 0
        for n in range(1, min(limit, len(x)) + 1):
            now = session.current()
            if now is None:
                break
            session.answer(now.number, tags.marks(y[now.number]))
            n_tokens += len(now.rows)
            if session.due or n % step == 0:
                session.refit()
            if n % step == 0:
                f1, accuracy = scores(session.learner.model, test)
                page = [curve(store.answers, sampled=sampled)[-1].accuracy for sampled in (False, True)]
                rows.append([n, n_tokens, f1, accuracy, *(100 * value for value in page)])
        store.close()
    return rows


def penalties(train: Data, n_held: int, sizes: tuple[int, ...]) -> str:
    """F1 on held-out training sentences by penalty and number of random sentences, mean of three draws."""
    x, y = train
    rng = np.random.default_rng(5)
    order = rng.permutation(len(x))
    held, rest = order[:n_held], order[n_held:]
    test = x.subset(held), [y[i] for i in held]
    values, rows = (0.03, 0.1, 0.3, 1.0), []
    for size in sizes:
        draws = [rng.permutation(rest)[:size] for _ in range(3)]
        row = [f"{size:,}"]
        for c2 in values:
            models = [
                CRF(c2=c2, extractor=features()).fit(x.subset(ids), [y[i] for i in ids]) for ids in draws
            ]
            row.append(f"{np.mean([scores(model, test)[0] for model in models]):.2f}")
        rows.append(row)
    return table(["sentences", *(f"c2 = {c2:g}" for c2 in values)], rows)


def spread(values: Iterable[float], form: str = ",.0f") -> str:
    """The mean, and half the width of its 95 % interval."""
    found = np.array(list(values))
    if len(found) < 2:
        return f"{found[0]:{form}}" if len(found) else "not reached"
    half = T_95[len(found)] * found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():{form}} ± {half:{form}}"


def reached(rows: list[list[float]], target: float, column: int) -> float | None:
    """The first number of sentences or tokens (a column) with this F1."""
    return next((row[column] for row in rows if row[2] >= target), None)


def report(runs: dict[str, list[list[list[float]]]], full: list[float]) -> str:
    """The tables: what each order needs, the curves, and the accuracies that the page shows."""
    targets = [91.8, SHARE * max(full)]
    lines = [
        f"All training sentences: F1 {full[0]:.2f} with c2 = 1, {full[1]:.2f} with c2 = {C2:g}; "
        f"98 % of the better one is {targets[1]:.2f}. Mean of {len(runs['total'])} runs ± 95 % interval.",
    ]
    head = ["order", *(f"{what} to F1 {t:.2f}" for t in targets for what in ("sentences", "tokens"))]
    rows = []
    for order, several in runs.items():
        row = [order]
        for target in targets:
            for column in (0, 1):
                found = [value for run in several if (value := reached(run, target, column)) is not None]
                row.append(spread(found) if len(found) == len(several) else f"in {len(found)} runs")
        rows.append(row)
    lines.append(table(head, rows))
    rows = []
    for n in (50, 100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 2500):
        row = [f"{n:,}"]
        for several in runs.values():
            here = [r for run in several for r in run if r[0] == n]
            row += [spread((r[2] for r in here), ".2f"), spread(r[1] for r in here)] if here else ["–", "–"]
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    lines.append(table(["sentences", *(f"{o}: {w}" for o in runs for w in ("F1", "tokens"))], rows))
    rows = []
    for order, several in runs.items():
        for n in (500, 1000):
            here = [r for run in several for r in run if r[0] == n]
            if here:
                rows.append([order, f"{n:,}", *(spread((r[k] for r in here), ".1f") for k in (4, 5, 3))])
    names = ["order", "sentences", "just corrected", "random sample", "test file"]
    lines += ["Share of right labels, %: what the page shows, and the truth", table(names, rows)]
    return "\n\n".join(lines)


def plot(runs: dict[str, list[list[list[float]]]], target: float, path: Path) -> None:
    """Draw F1 against sentences and against tokens, one thin line per run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for column, (axis, name) in enumerate(zip(axes, ("sentences", "tokens"), strict=True)):
        for colour, (order, several) in zip(("C0", "C1", "0.5"), runs.items(), strict=True):
            for k, run in enumerate(several):
                points = np.array(run)
                label = order if k == 0 else None
                axis.plot(points[:, column], points[:, 2], color=colour, linewidth=0.9, label=label)
        axis.axhline(target, color="0.3", linewidth=0.8, linestyle=":")
        axis.set(xlabel=f"labelled {name}", ylim=(84, 94), xlim=(0, None))
    axes[0].set_ylabel("F1 on the test file")
    axes[1].legend(frameon=False, loc="lower right", title="order")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="40 sentences, two runs")
    parser.add_argument("--runs", type=int, default=5, choices=range(1, 6), help="runs with other seeds")
    parser.add_argument("--penalties", action="store_true", help="only compare penalties, without test data")
    parser.add_argument("--results", type=Path, help="keep finished runs in this file, and go on from there")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    most = 40 if options.quick else None
    train, test = read("train.txt", most), read("test.txt", most)
    if options.penalties:
        found = penalties(train, *((10, (5, 20)) if options.quick else (900, (50, 200, 800))))
        publish(f"{found}\n\n{provenance('benchmarks/annotate.py')}", options.markdown)
        return
    results = Results(options.results)
    full = results.get("full", lambda: full_f1(train, test))
    runs: dict[str, list[list[list[float]]]] = {order: [] for order in ORDERS}
    for seed in range(2 if options.quick else options.runs):
        for order, several in runs.items():
            limit, step = (30, 10) if options.quick else (LIMITS[order], STEP)
            several.append(
                results.get(
                    f"{order} {seed}",
                    lambda o=order, s=seed, n=limit, k=step: simulate(train, test, o, s, n, k),
                )
            )
    if options.plot:
        plot(runs, SHARE * max(full), options.plot)
    publish(f"{report(runs, full)}\n\n{provenance('benchmarks/annotate.py')}", options.markdown)


if __name__ == "__main__":
    main()
