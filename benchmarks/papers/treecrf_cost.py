"""What a round costs: time and memory against positions, labels and window.

Generated data: sequences of 100 positions with three columns of numbers, two of which tell the label in part.
Every line is measured in a process of its own, for a peak cannot be taken back. The largest case is trained
for 100 rounds; of the others a few are timed, the transition tables being fitted in every fifth round, and
100 are worked out from them (≈). The largest alone, on a quiet machine:

    python benchmarks/papers/treecrf.py cost --only 200,000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent)]  # its lines run as processes of their own

from measure import peak_megabytes, reset_peak, resident_megabytes  # noqa: E402
from tables import seconds, table  # noqa: E402

from crfkit import TreeCRF  # noqa: E402

ALL_ROUNDS = 100
FEW_ROUNDS = 11  # behind the first come ten, in two of which the tables are fitted
# positions, labels, window, potentials, rounds
CASES = [
    (10_000, 3, 11, "joint", FEW_ROUNDS),
    (50_000, 3, 11, "joint", FEW_ROUNDS),
    (50_000, 10, 11, "joint", FEW_ROUNDS),
    (50_000, 3, 21, "joint", FEW_ROUNDS),
    (50_000, 3, 11, "factored", FEW_ROUNDS),
    (50_000, 20, 11, "factored", FEW_ROUNDS),
    (50_000, 100, 11, "factored", FEW_ROUNDS),
    (200_000, 20, 11, "factored", ALL_ROUNDS),
]


def generated(n_positions: int, n_labels: int) -> tuple[list[np.ndarray], list[list[int]]]:
    """Sequences of 100 positions with three columns of numbers."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(n_positions // 100):
        labels = np.cumsum(rng.random(100) < 0.2) * 7 % n_labels
        X.append(
            np.column_stack(
                [labels + rng.normal(scale=n_labels / 4, size=100), labels % 3, rng.normal(size=100)]
            )
        )
        y.append(labels.tolist())
    return X, y


def measure(n_positions: int, n_labels: int, window: int, potentials: str, rounds: int) -> dict[str, float]:
    X, y = generated(n_positions, n_labels)
    TreeCRF(n_iterations=1, n_jobs=1).fit(X[:2], y[:2])  # LightGBM is loaded
    before = resident_megabytes()
    reset_peak()
    began = time.perf_counter()
    model = TreeCRF(
        window=window, potentials=potentials, n_iterations=rounds, n_jobs=1, n_leaves=16, transition_every=5
    ).fit(X, y)
    total = time.perf_counter() - began
    times = [record["seconds"] for record in model.history_]
    each = (times[-1] - times[0]) / max(1, len(times) - 1)
    return {
        "first": total - each * (len(times) - 1),
        "round": each,
        "total": total,
        "rounds": len(times),
        "peak": peak_megabytes() - before,
    }


def report(arguments: argparse.Namespace) -> str:
    rows = []
    cases = [(500, 3, 3, "joint", 2), (500, 3, 3, "factored", ALL_ROUNDS)] if arguments.quick else CASES
    for case in cases:
        n_positions, n_labels, window, potentials, rounds = case
        name = f"{n_positions:,} positions, {n_labels} labels, window {window}, {potentials}"
        if arguments.only and arguments.only not in name:
            continue
        print(f"{name}: {rounds} rounds", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, __file__, json.dumps(case)], stdout=subprocess.PIPE, text=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
        whole = found["rounds"] == ALL_ROUNDS
        estimate = found["first"] + (ALL_ROUNDS - 1) * found["round"]
        rows.append(
            [
                f"{n_positions:,}",
                str(n_labels),
                str(window),
                potentials,
                seconds(found["first"]),
                seconds(found["round"]),
                seconds(found["total"]) if whole else f"≈ {seconds(estimate)}",
                f"{found['peak']:,.0f} MB",
            ]
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return (
        "### Cost\n\nThree columns, 16 leaves, one thread; memory beyond what Python, LightGBM and the data "
        "hold before; ≈ is worked out from ten rounds, other times are measured.\n\n"
        + table(
            [
                "positions",
                "labels",
                "window",
                "potentials",
                "preparation and first round",
                "each other round",
                "100 rounds",
                "peak memory",
            ],
            rows,
        )
    )


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
