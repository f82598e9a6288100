"""A penalty that costs nothing: how good can a constant c2 be, or one that depends on the size of the data?

    python benchmarks/papers/penalty_rules.py [--sizes 30 100 300 1000] [--draws 3] [--results FILE]

Trains on parts of four data sets (those of penalty_scales.py: English chunks, Spanish names, generated
addresses, phonemes) with each c2 of a grid and with c2="auto", and scores other data. Then rules are chosen
on three data sets and scored on the fourth: the best constant c2, and the best c2 = a·N^b for N sequences.
The loss of a choice is the score of the best c2 of the grid minus that of the choice, averaged over data
sets, sizes and draws.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from penalty_scales import TASKS, measured  # noqa: E402
from results_file import Results  # noqa: E402
from tables import provenance, publish, table  # noqa: E402

from crfkit.exceptions import ConvergenceWarning, InputWarning  # noqa: E402

GRID = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SLOPES = (0.0, 0.25, 0.5, 0.75, 1.0)  # b of c2 = a·N^b
AT_100 = tuple(10 ** (k / 4) for k in range(-14, 3))  # a·100^b
Scores = dict[tuple[str, int, int], dict[str, float]]  # by task, size and draw; of each c2, and of "auto"


def all_scores(sizes: list[int], draws: int, known: Results) -> tuple[Scores, Scores]:
    """Scores and processor seconds of every c2."""
    scores: Scores = {}
    spent: Scores = {}
    for n in sizes:
        for title, task in TASKS.items():
            for draw in range(draws):
                for c2 in (*GRID, "auto"):
                    value = known.get(
                        f"{title}, {n}, draw {draw}, c2={c2}",
                        lambda t=task, d=draw, n=n, c2=c2: measured(t, n, d, {"c2": c2}),
                    )
                    if value is not None:
                        scores.setdefault((title, n, draw), {})[str(c2)] = value["score"]
                        spent.setdefault((title, n, draw), {})[str(c2)] = value["seconds"]
    complete = {key: row for key, row in scores.items() if len(row) == len(GRID) + 1}
    return complete, spent


def at(row: dict[str, float], c2: float) -> float:
    """The score at a c2 between those of the grid: interpolated along its logarithm."""
    return float(np.interp(np.log(c2), np.log(GRID), [row[str(c)] for c in GRID]))


def loss(scores: Scores, rule: Callable[[int], float]) -> float:
    """How much a rule loses to the best c2 of the grid: the mean over data sets of their means."""
    by_task: dict[str, list[float]] = {}
    for (title, n, _), row in scores.items():
        by_task.setdefault(title, []).append(max(row[str(c)] for c in GRID) - at(row, rule(n)))
    return float(np.mean([np.mean(losses) for losses in by_task.values()]))


def rule_of(at_100: float, slope: float) -> Callable[[int], float]:
    return lambda n: float(np.clip(at_100 * (n / 100) ** slope, GRID[0], GRID[-1]))


def best_rule(scores: Scores, slopes: tuple[float, ...]) -> tuple[float, float]:
    """The rule, a·100^b and b, with the least loss."""
    rules = [(a, b) for b in slopes for a in AT_100]
    return min(rules, key=lambda rule: loss(scores, rule_of(*rule)))


def report(scores: Scores, spent: Scores) -> str:
    titles = list(dict.fromkeys(title for title, _, _ in scores))
    sizes = sorted({n for _, n, _ in scores})
    mean_rows = []
    for title in titles:
        for n in sizes:
            rows = [row for (t, size, _), row in scores.items() if (t, size) == (title, n)]
            if rows:
                means = [np.mean([row[str(c)] for row in rows]) for c in (*GRID, "auto")]
                mean_rows.append([title, str(n), *(f"{m:.2f}" for m in means)])
    first = table(["data", "sequences", *map(str, GRID), "auto"], mean_rows)
    loss_rows = []
    for title in titles:
        own = {key: row for key, row in scores.items() if key[0] == title}
        others = {key: row for key, row in scores.items() if key[0] != title} or own
        constant, (a, b) = best_rule(others, (0.0,))[0], best_rule(others, SLOPES)
        auto = float(np.mean([max(r[str(c)] for c in GRID) - r["auto"] for r in own.values()]))
        loss_rows.append(
            [
                title,
                f"{loss(own, lambda n: 1.0):.2f}",
                f"{loss(own, lambda n: 0.1):.2f}",
                f"{loss(own, rule_of(constant, 0.0)):.2f} (c2 = {constant:.2g})",
                f"{loss(own, rule_of(a, b)):.2f} (c2 = {a:.2g}·(N/100)^{b:g})",
                f"{auto:.2f}",
            ]
        )
    second = table(
        [
            "data left out",
            "c2 = 1",
            "c2 = 0.1",
            "best constant of the others",
            "best rule of the others",
            "auto",
        ],
        loss_rows,
    )
    names = [*map(str, GRID), "auto"]
    time_rows = []
    for n in sizes:
        rows = [row for (_, size, _), row in spent.items() if size == n and len(row) == len(names)]
        if rows:
            time_rows.append([str(n), *(f"{np.median([r[c] / r['1.0'] for r in rows]):.1f}" for c in names)])
    third = table(["sequences", *names], time_rows)
    return (
        f"Scores:\n\n{first}\n\nLoss against the best c2 of the grid:\n\n{second}\n\nTime in fits:\n\n{third}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=[30, 100, 300, 1000], help="sequences")
    parser.add_argument("--draws", type=int, default=3, help="samples of each size")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep finished trainings here")
    parser.add_argument("--known", action="store_true", help="the table of what --results has; train nothing")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table goes here as well")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)
    scores, spent = all_scores(
        arguments.sizes, arguments.draws, Results(arguments.results, closed=arguments.known)
    )
    publish(
        f"{report(scores, spent)}\n\n{provenance('benchmarks/papers/penalty_rules.py')}", arguments.markdown
    )


if __name__ == "__main__":
    main()
