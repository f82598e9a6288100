"""Which gradient of the constraints converges: the same problems, searched with each of them.

Three problems in which the constraints are violated at the unconstrained minimum: dice of a dishonest casino
(no model separates them, τ = 1), 200 sentences of CoNLL-2000 (c2 = 1, τ = 0.01) and 40 genes of the first
split (c2 = 3, τ = 0.01). The problem is convex: a lower objective at a feasible point is a better answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from constrained_genes import train
from gene_windows import read_splits
from results_file import Results
from tables import seconds, table
from tasks import conll2000

from crfkit import ConstrainedCRF
from crfkit.datasets import casino
from crfkit.objectives.validation import GRADIENTS


def dice(gradient: str, quick: bool) -> ConstrainedCRF:
    rolls, labels = casino(10 if quick else 60, 30, random_state=0)
    X = [
        [[f"{t - s}={row[s]}" for s in range(max(0, t - 2), t + 1)] for t in range(len(row))] for row in rolls
    ]
    crf = ConstrainedCRF(tau=1.0, gradient=gradient, n_jobs=1)
    crf.fit(X, labels)
    return crf


def chunks(gradient: str, quick: bool) -> ConstrainedCRF:
    n = 8 if quick else 200
    task = conll2000(n)
    crf = ConstrainedCRF(c2=1.0, gradient=gradient, n_jobs=1)
    crf.fit(task.X, task.y)
    return crf


def genes(gradient: str, quick: bool) -> Any:
    windows = read_splits()[0][0]
    return train(windows[: 9 if quick else 40], {"c2": 3.0, "gradient": gradient}).crf


PROBLEMS: dict[str, Callable[[str, bool], Any]] = {"casino": dice, "text": chunks, "genes": genes}


def measure(problem: str, gradient: str, quick: bool) -> dict[str, Any]:
    began = time.perf_counter()
    crf = PROBLEMS[problem](gradient, quick)
    return {
        "seconds": time.perf_counter() - began,
        "history": crf.outer_history_,
        "objective": crf.objective_,
        "violation": float(crf.violations_.max()),
        "feasible": crf.feasible_,
        "tau": crf.tau,
    }


def report(quick: bool, known: Results, plots: Path | None) -> str:
    rows = []
    for problem in PROBLEMS:
        for gradient in GRADIENTS:
            found = known.get(
                f"gradients, {problem}, {gradient}{', quick' * quick}",
                lambda p=problem, g=gradient: measure(p, g, quick),
            )
            if found is None:
                continue
            history = found["history"]
            rows.append(
                [
                    problem,
                    gradient,
                    "yes" if found["feasible"] else "no",
                    f"{found['violation']:.4g} of {found['tau']:g}",
                    f"{found['objective']:.2f}",
                    str(len(history)),
                    str(sum(record["stalled"] for record in history)),
                    f"{history[-1]['passes']:.0f}",
                    seconds(found["seconds"]),
                ]
            )
            if plots is not None:
                _draw(history, found["tau"], plots / f"constrained_{problem}_{gradient}.png")
    header = [
        "problem",
        "gradient",
        "feasible",
        "largest h",
        "objective",
        "outer steps",
        "stalled",
        "passes",
        "training",
    ]
    return "\n\n".join(["### Gradients of the constraints", table(header, rows)])


def _draw(history: list[dict[str, Any]], tau: float, path: Path) -> None:
    from crfkit.models.linear.constrained_plot import draw_search

    draw_search(history, tau).savefig(path, dpi=120)
