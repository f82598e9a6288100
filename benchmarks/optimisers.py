"""What each part of the optimiser is worth: passes over CoNLL-2000 until the objective is near the optimum.

    python benchmarks/optimisers.py             # all of CoNLL-2000
    python benchmarks/optimisers.py --sentences 1000

Counts passes (objective and gradient over all data; a stochastic epoch counts as one), not seconds, so the
load of the machine does not matter. The scaling of L-BFGS is varied through the diagonal that the objective
reports: minimize_lbfgs starts from diag^(-1/2), so reporting its square means full diagonal scaling, and
reporting ones means none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import tasks
from crfkit_side import Loaded, load
from tables import provenance, publish, table

from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Evaluation, Step, Vector
from crfkit.optim.sgd import stochastic_start

EPOCHS = 5
LEVELS = (0.1, 0.01, 0.001)
SCALINGS: dict[str, Callable[[Vector], Vector]] = {
    "none": np.ones_like,
    "full diagonal": np.square,
    "square root": lambda diagonal: diagonal,
}


class Rescaled:
    """An objective that reports another diagonal."""

    def __init__(self, objective: PenalisedLikelihood, scaling: Callable[[Vector], Vector]) -> None:
        self._objective, self._scaling = objective, scaling

    def __call__(self, x: Vector, *, diagonal: bool = False) -> Evaluation:
        """At x."""
        here = self._objective(x, diagonal=diagonal)
        return here if here.diagonal is None else replace(here, diagonal=self._scaling(here.diagonal))


def passes_to(curve: list[tuple[float, float]], bound: float) -> str:
    """The first number of passes whose objective is at most the bound."""
    return next((f"{passes:.0f}" for passes, value in curve if value <= bound), "—")


def compare(loaded: Loaded, c1: float, c2: float, threads: int, limit: int) -> list[list[str]]:
    """A row for each way to minimise."""
    objective = loaded.objective(loaded.index(), c2, threads, c1)
    zero = np.zeros(objective.n_parameters)
    near = stochastic_start(objective, zero, epochs=EPOCHS, most_passes=1000, seed=0).x
    after = f"{EPOCHS} stochastic epochs, then L-BFGS"
    runs = [("L-BFGS, 6 pairs, scaling: none", SCALINGS["none"], 6, zero, 0)]
    runs += [(f"L-BFGS, scaling: {name}", scaling, 10, zero, 0) for name, scaling in SCALINGS.items()]
    runs += [
        (f"{after}, scaling: {name}", SCALINGS[name], 10, near, EPOCHS) for name in ("none", "square root")
    ]
    curves: list[list[tuple[float, float]]] = []
    for _, scaling, memory, start, spent in runs:
        curve: list[tuple[float, float]] = []

        def watch(step: Step, curve: list[tuple[float, float]] = curve, spent: int = spent) -> bool:
            curve.append((step.passes + spent, step.value))
            return False

        minimize_lbfgs(
            Rescaled(objective, scaling),
            start,
            l1=objective.l1,
            max_iterations=limit,
            memory=memory,
            n_threads=threads,
            callback=watch,
        )
        curves.append(curve)
    optimum = min(value for curve in curves for _, value in curve)
    return [
        [f"{c1:g}", f"{c2:g}", run[0], *(passes_to(curve, optimum * (1 + level)) for level in LEVELS)]
        for run, curve in zip(runs, curves, strict=True)
    ]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, help="use only the first sentences")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, default=400, help="iterations at most (default 400)")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    task = tasks.conll2000(options.sentences)
    loaded = load(task.X, task.y)
    rows = [
        row
        for c1, c2 in ((0.0, 0.05), (0.0, 1.0), (0.1, 0.1))
        for row in compare(loaded, c1, c2, options.threads, options.limit)
    ]
    header = ["c1", "c2", "method", *(f"passes to {level:.1%}" for level in LEVELS)]
    publish(f"{provenance('benchmarks/optimisers.py')}\n\n{table(header, rows)}", options.markdown)


if __name__ == "__main__":
    main()
