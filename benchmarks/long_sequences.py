"""Memory and time of training on one long sequence.

    python benchmarks/long_sequences.py --positions 1000000 --labels 20 --pairs
    python benchmarks/long_sequences.py --compare   # passes in pieces beside passes at once

Each position has three of 50 attributes; with ``--pairs`` every attribute scores every pair of labels.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex, rows_of
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs

ATTRIBUTES, EACH = 50, 3
AT_ONCE = 1 << 40  # positions


def peak() -> float:
    """Return the most memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def objective(positions: int, labels: int, *, pairs: bool, threads: int) -> LinearLikelihood:
    """Return the objective of random data."""
    rng, A = np.random.default_rng(0), ATTRIBUTES
    data = Sequences(
        np.array([0, positions]),
        np.arange(0, EACH * positions + 1, EACH),
        rng.integers(0, A, EACH * positions).astype(np.int32),
        None,
        A,
    )
    y = Labels(rng.integers(0, labels, positions).astype(np.int32), None)
    on_pairs = rows_of(np.arange(A * labels**2), labels**2, A) if pairs else ()
    states = rows_of(np.arange(A * labels), labels, A)
    index = FeatureIndex(labels, *states, np.ones((labels, labels), bool), None, *on_pairs)
    print(f"data of {positions:,} positions: {peak():.0f} MB")
    return LinearLikelihood(data, y, index, n_threads=threads)


def train(arguments: argparse.Namespace) -> None:
    """Train, and print time and memory."""
    settings = {"pairs": arguments.pairs, "threads": arguments.threads}
    function = objective(arguments.positions, arguments.labels, **settings)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize_lbfgs(
            function.penalised(c2=1.0), np.zeros(function.n_parameters), max_iterations=arguments.iterations
        )
    seconds = time.perf_counter() - began
    cost = f"{found.iterations} iterations, {seconds:.1f} s"
    print(f"{cost}, objective {found.value:.6g}: {peak():.0f} MB in all")


def compare() -> None:
    """Print the time of passes in pieces in units of passes at once, in alternating rounds."""
    for labels, pairs, positions in ((5, False, 200_000), (20, True, 3_000)):
        function = objective(positions, labels, pairs=pairs, threads=1)
        x = np.random.default_rng(1).normal(size=function.n_parameters) * 0.3
        best = dict.fromkeys((AT_ONCE, 2000 if pairs else 20_000), np.inf)
        for _ in range(20):
            for whole in best:
                function.native.cut_sequences(whole, 64)
                began = time.perf_counter()
                function(x)
                best[whole] = min(best[whole], time.perf_counter() - began)
        at_once, in_pieces = best.values()
        print(f"{labels} labels{', label pairs' if pairs else ''}: {in_pieces / at_once:.2f} times as long")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--positions", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--pairs", action="store_true", help="attributes on label pairs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--compare", action="store_true", help="pieces beside passes at once")
    given = parser.parse_args()
    if given.compare:
        compare()
    else:
        train(given)
