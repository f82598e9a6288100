"""Penalties chosen during training, beside one penalty chosen by cross-validation.

``CRF(c2="auto")`` with one penalty and with one per group of features, without and with L1, and
``ConstrainedCRF(validation="held-out")``, on draws of CoNLL-2000 (chunking_rich.template, segment F1), of
Spanish names (token_features, segment F1), of NETtalk (phonemes, letters right), of protein chains (residues
right) and on the gene splits (words of 1 to 6 bases, mean of Sn and Sp of exons). The reference is one c2
chosen by five-fold cross-validation of the score itself on the training data. Nothing is chosen by test data.

    python benchmarks/papers/validation.py text names proteins [--draws 10] [--results FILE] [--known]
    python benchmarks/papers/validation.py text --sizes 100 300
    python benchmarks/papers/validation.py genes --against "σ² = 100"       # without the cross-validation

Differences are paired by draw, with their standard errors. Times are processor seconds of one thread, as
multiples of one fit with the reference's c2.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from paired_genes import LEVELS, differences, in_words  # noqa: E402
from results_file import Results  # noqa: E402
from tables import provenance, publish, table  # noqa: E402
from validation_tasks import TASKS, Draw, Task  # noqa: E402

from crfkit import CRF, ConstrainedCRF  # noqa: E402
from crfkit.data.folds import fold_numbers  # noqa: E402
from crfkit.exceptions import ConvergenceWarning, InputWarning  # noqa: E402

FOLDS = 5
TUNED = f"one c2, {FOLDS}-fold CV of the score"


def _auto(draw: Draw) -> CRF:
    return CRF(c2="auto", n_jobs=1, **draw.settings)


def _grouped(draw: Draw) -> CRF:
    return CRF(c2="auto", penalty_groups=draw.penalty_groups, n_jobs=1, **draw.settings)


def _elastic(draw: Draw) -> CRF:
    return CRF(c1="auto", c2="auto", n_jobs=1, **draw.settings)


def _elastic_groups(draw: Draw) -> CRF:
    return _elastic(draw).set_params(penalty_groups=draw.penalty_groups)


def _held_out(draw: Draw) -> CRF:
    return ConstrainedCRF(validation="held-out", n_jobs=1, **draw.settings)


@dataclass(frozen=True)
class Row:
    """A way to choose penalties."""

    make: Callable[[Draw], CRF]
    families: bool = False  # keep families of sequences together in folds; only if the task has them


ROWS: dict[str, Row] = {
    "σ² = 100": Row(lambda draw: CRF(c2=0.005, n_jobs=1, **draw.settings)),
    "c2 = 1": Row(lambda draw: CRF(c2=1.0, n_jobs=1, **draw.settings)),
    'c2="auto"': Row(_auto),
    'c2="auto", families together': Row(_auto, families=True),
    'c2="auto", groups': Row(_grouped),
    'c2="auto", groups, families together': Row(_grouped, families=True),
    'c1="auto", c2="auto"': Row(_elastic),
    'c1="auto", c2="auto", groups': Row(_elastic_groups),
    'validation="held-out"': Row(_held_out),
}


@dataclass
class Spent:
    """Processor seconds and how many fits they were."""

    seconds: float = 0.0
    fits: int = 0
    c2: float = field(default=0.0)


def tuned(draw: Draw, grid: Iterable[float]) -> Spent:
    """The penalty that is best on held-out training data by the score itself."""
    began, n = time.process_time(), len(draw.X)
    fold = fold_numbers([len(x) for x in draw.y], draw.families, FOLDS, 0, "folds")
    held = dict.fromkeys(grid, 0.0)
    for c2 in held:
        for k in range(FOLDS):
            learn, rest = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            crf = CRF(c2=c2, n_jobs=1, **draw.settings)
            draw.fit(crf, learn)
            held[c2] += draw.score(crf, rest) * len(rest) / n
    return Spent(time.process_time() - began, len(held) * FOLDS, max(held, key=lambda c2: held[c2]))


def reference(draw: Draw, task: Task, quick: bool) -> dict[str, Any]:
    """The tuned c2, its score, and the time of tuning and of one fit."""
    spent = tuned(draw, task.grid[1:5:3] if quick else task.grid)
    crf = CRF(c2=spent.c2, n_jobs=1, **draw.settings)
    began = time.process_time()
    draw.fit(crf)
    return {
        "fit": time.process_time() - began,
        "seconds": spent.seconds,
        "c2": spent.c2,
        "score": draw.test(crf),
        **draw.counts(),
    }


def measure(draw: Draw, name: str) -> dict[str, Any]:
    """One way on one draw."""
    row = ROWS[name]
    crf, began = row.make(draw), time.process_time()
    draw.fit(crf, together=row.families)
    spent = time.process_time() - began
    c2 = float(getattr(crf, "c2_", crf._l2))
    return {"seconds": spent, "c2": c2, "score": draw.test(crf), **draw.counts()}


def report(task: str, size: int, draws: int, known: Results, options: argparse.Namespace) -> str:
    """The table of a task and size."""
    make, quick, against, without = TASKS[task].make, options.quick, options.against, options.without
    name = f"validation, {task}, {size}{', quick' * quick}"
    made: dict[int, Draw] = {}

    def drawn(k: int) -> Draw:
        if k not in made:
            made.clear()
            made[k] = make(size, k, quick)
        return made[k]

    rows = [row for row in ROWS if TASKS[task].has_families or not ROWS[row].families]
    rows = [row for row in rows if row != against and not any(words in row for words in without)]
    found: dict[str, dict[int, Any]] = {row: {} for row in (against, *rows)}
    for k in range(draws):
        for row in found:
            measured = known.get(
                f"{name}, {row}, draw {k}",
                lambda row=row, k=k: (
                    reference(drawn(k), TASKS[task], quick) if row == TUNED else measure(drawn(k), row)
                ),
            )
            if measured is not None:
                found[row][k] = measured
    lines = []
    base = found[against]
    for row, by_draw in found.items():
        pairs = [k for k in by_draw if k in base]
        if not pairs:
            continue
        scores = np.array([by_draw[k]["score"] for k in pairs])
        gains = scores - [base[k]["score"] for k in pairs]
        error = f" ± {gains.std(ddof=1) / np.sqrt(len(gains)):.2f}" if len(gains) > 1 else ""
        cost = np.mean([by_draw[k]["seconds"] / base[k].get("fit", base[k]["seconds"]) for k in pairs])
        lines.append(
            [
                row,
                str(len(pairs)),
                f"{scores.mean():.2f}",
                "" if row == against else f"{gains.mean():+.2f}{error}",
                f"{cost:.1f}",
                ", ".join(f"{by_draw[k]['c2']:.2g}" for k in pairs),
            ]
        )
    title = f"#### {TASKS[task].title}, {size} {TASKS[task].unit}"
    header = ["penalties", "draws", "score", "difference", "time in fits", "c2 (groups: their mean)"]
    return f"{title}\n\n{table(header, lines)}{paired(found, against)}"


def paired(found: dict[str, dict[int, Any]], against: str) -> str:
    """Paired intervals against each of the references, where test windows were counted."""
    lines = []
    for base in (against, *(row for row in (TUNED, "σ² = 100") if row != against and found.get(row))):
        for row, by_draw in found.items():
            known = [k for k in by_draw if k in found[base] and "counts" in by_draw[k]]
            if row == base or not known:
                continue
            counts = [[results[k]["counts"] for k in known] for results in (found[base], by_draw)]
            by_level = differences(*counts)
            lines.append([row, base, str(len(known)), *(in_words(by_level[level]) for level in LEVELS)])
    if not lines:
        return ""
    return "\n\n" + table(["penalties", "against", "splits", *(f"{level}s" for level in LEVELS)], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []], help="which tasks (default: text)")
    parser.add_argument("--sizes", type=int, nargs="*", help="sequences to train on (default: the task's)")
    parser.add_argument("--draws", type=int, default=10, help="how many draws, at most (default: 10)")
    parser.add_argument("--against", choices=[TUNED, *ROWS], default=TUNED, help="the reference")
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        metavar="WORDS",
        help="leave out rows with these words in their name",
    )
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep finished trainings here")
    parser.add_argument("--known", action="store_true", help="tables of what --results has; train nothing")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables go here as well")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)
    known = Results(arguments.results, closed=arguments.known)
    pieces = []
    for task in arguments.tasks or ["text"]:
        sizes = (TASKS[task].quick,) if arguments.quick else arguments.sizes or TASKS[task].sizes
        draws = min(arguments.draws, TASKS[task].draws)
        for size in sizes:
            number = 1 if arguments.quick else draws
            pieces.append(report(task, size, number, known, arguments))
    pieces.append(provenance("benchmarks/papers/validation.py"))
    publish("\n\n".join(pieces), arguments.markdown)


if __name__ == "__main__":
    main()
