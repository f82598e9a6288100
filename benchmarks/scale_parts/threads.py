"""One pass over the data with one thread and with two, for more and more features.

Both objectives are in one process and take turns; the least of several rounds counts. On a machine with other
work, the wall clock says little about two threads. So the processor time of all threads is there too: half of
it is the least wall time of a pass with two threads that have a core each.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex, build_index
from crfkit.objectives.linear_likelihood import LinearLikelihood

L, ATTRIBUTES, LENGTH = 22, 20, 25  # labels, attributes per position, positions per sequence


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--features", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--rounds", type=int, default=9)


def problem(n_features: int, dense: bool) -> tuple[Sequences, Labels, FeatureIndex]:
    """Return data with about so many features: rare attributes with few labels, or all with all labels."""
    random = np.random.default_rng(0)
    T = max(LENGTH * 40, n_features // (100 if dense else 10) // LENGTH * LENGTH)
    if dense:
        drawn = (random.pareto(0.5, (T, ATTRIBUTES)) * 5).astype(np.int64) % (n_features // L)
    else:
        common = (random.pareto(0.6, (T, ATTRIBUTES // 2)) * 3).astype(np.int64) % 50_000
        rare = 50_000 + random.integers(0, n_features, (T, ATTRIBUTES // 2))
        drawn = np.concatenate([common, rare], axis=1)
    _, first, ids = np.unique(drawn, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))  # as readers number attributes: in order of appearance
    rows = np.sort(number[ids.reshape(T, ATTRIBUTES)], axis=1)
    kept = np.ones_like(rows, np.bool_)
    kept[:, 1:] = rows[:, 1:] != rows[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    n_attributes = n_features // L if dense else len(first)
    found = Sequences(np.arange(0, T + 1, LENGTH), indptr, rows[kept].astype(np.int32), None, n_attributes)
    labels = Labels(np.repeat(random.integers(0, L, T // 5 + 1), 5)[:T].astype(np.int32), None)
    return found, labels, build_index(found, labels, L, all_possible_states=dense)


def run(arguments: argparse.Namespace) -> None:
    """Print milliseconds of a pass."""
    for n in arguments.features:
        for dense in (False, True):
            sequences, labels, index = problem(int(n), dense)
            both = [LinearLikelihood(sequences, labels, index, n_threads=k, apart=True) for k in (1, 2)]
            x = np.random.default_rng(1).normal(0, 0.1, both[0].n_parameters)
            wall, own = np.full(2, np.inf), np.full(2, np.inf)
            for _ in range(arguments.rounds + 1):
                for k, function in enumerate(both):
                    began, spent = time.perf_counter(), time.process_time()
                    function(x)
                    wall[k] = min(wall[k], time.perf_counter() - began)
                    own[k] = min(own[k], time.process_time() - spent)
            figures = {
                "part": "threads",
                "rows": "dense" if dense else "lists",
                "features": both[0].n_parameters,
                "positions": sequences.n_positions,
                "wall_ms": (1e3 * wall).round(2).tolist(),
                "processor_ms": (1e3 * own).round(2).tolist(),
                "ratio_wall": round(wall[1] / wall[0], 3),
                "ratio_processor": round(own[1] / own[0], 3),
            }
            print(json.dumps(figures), flush=True)
