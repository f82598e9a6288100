"""Training on a Dask cluster: two worker processes against two threads, bytes per evaluation, weak scaling.

The data is CoNLL-2000, each copy with some words replaced by others and, with ``--new``, by new ones, which
make rare features. The objective in this process (two threads) and the one on the cluster (two processes, one
thread each) take turns; the least of several rounds counts. Bytes are what passes the loopback interface
during an evaluation: weights, gradients, and all that Dask says besides; the least of several.
``simulation.py`` says what more workers would take. With ``--plot``, a picture of it is written. With
``--fit``, a model is trained in both ways, and the objectives at the end are compared.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import dask
import numpy as np
import tasks
from scale_parts.simulation import Costs, draw, efficiencies, evaluation

import distributed
from crfkit import CRF
from crfkit.data.vocabulary import Vocabulary
from crfkit.distributed.cluster_sum import ClusterSum
from crfkit.distributed.parts import Part, Partial
from crfkit.features.template import Template
from crfkit.io import read_columns
from crfkit.models.linear.source import Given, open_source

_REPLACED = 0.02  # share of words
_WIRE = Path("/sys/class/net/lo/statistics/rx_bytes")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tokens", type=float, default=1e6)
    parser.add_argument("--new", type=float, default=0.0, help="share of words that are replaced by new ones")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fit", type=float, metavar="TOL", help="train in both ways, with this tolerance")
    parser.add_argument("--plot", type=Path, help="a file for the picture of weak scaling")


def copy(path: str, seed: int, new: float) -> tuple[Any, list[list[str]]]:
    """Return the data with some words replaced: a partition."""
    table = read_columns(path)
    random = np.random.default_rng(seed)
    ids, cells = table.ids.copy(), table.cells
    changed = random.random(len(ids)) < _REPLACED
    ids[changed, 0] = random.choice(ids[:, 0], changed.sum())
    fresh = np.flatnonzero(random.random(len(ids)) < new)
    if len(fresh):
        ids[fresh, 0] = len(cells) + np.arange(len(fresh))
        cells = Vocabulary([*cells.strings(), *(f"w{seed}.{k}" for k in range(len(fresh)))])
    noisy = type(table)(cells, ids, table.offsets, table.lines, table.source)
    return noisy.without(-1), noisy.column(-1)


def joined(path: str, n: int, new: float) -> tuple[list[Any], list[list[str]]]:
    """Return n copies in one list."""
    parts = [copy(path, seed, new) for seed in range(n)]
    return [x for X, _ in parts for x in X], [y for _, ys in parts for y in ys]


def run(arguments: argparse.Namespace) -> None:
    """Print milliseconds, bytes and the simulated efficiency of more workers."""
    path = str(tasks.data_directory("conll2000") / "train.txt")
    n = max(2, round(arguments.tokens / 211_727))
    crf = CRF(template=Template.read(Path(__file__).parents[1] / "chunking.template"), n_jobs=2)
    together = joined(path, n, arguments.new)
    here = open_source(crf, Given(*together, None, None, None, None))
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        parts = [dask.delayed(copy)(path, seed, arguments.new) for seed in range(n)]
        crf.set_params(n_jobs=1)
        there = open_source(crf, Given(parts, None, None, None, None, None))
        w = np.random.default_rng(0).normal(0, 0.1, sum(here.index.sizes))
        points = [source.function.parameters(w) for source in (here, there)]
        function: Any = there.function
        calls = {
            "threads": lambda: here.function(points[0]),
            "processes": lambda: function(points[1]),
            "messages": lambda: function.summed(_echo, function._parts, points[1]),
        }
        least, wire = _least(calls, arguments.rounds)
        values = calls["threads"]().value, calls["processes"]().value
        sizes = [len(places) for places in function._places]
        tasks_s = _tasks(function)
        formula = function.bytes_sent * 2
        costs = Costs(least["threads"], max(0.0, least["messages"] - tasks_s(2)) / formula, tasks_s)
        simulated = evaluation(costs, 2, sum(sizes) // 2, network=False)
        figures = {
            "part": "cluster",
            "tokens": int(here.offsets[-1]),
            "weights": function.n_parameters,
            "weights_of_parts": sizes,
            **{f"{name}_ms": round(1e3 * least[name], 1) for name in calls},
            "ratio": round(least["processes"] / least["threads"], 3),
            "value_differs": abs(values[1] / values[0] - 1),
            "bytes": wire["processes"],
            "bytes_of_formula": formula,
            "bytes_ratio": round(wire["processes"] / formula, 3),
            "simulated_ms": round(1e3 * simulated, 1),
            "simulated_ratio": round(simulated / least["processes"], 3),
            "ns_per_byte": round(1e9 * costs.byte_s, 3),
            "ms_of_tasks": {k: round(1e3 * tasks_s(k), 1) for k in (2, 16, 64)},
        }
        print(json.dumps(figures), flush=True)
        curves = {f"{f:,} weights": efficiencies(costs, f) for f in (10**5, 10**6, 10**7)}
        for name, curve in curves.items():
            print(json.dumps({"part": "weak scaling", "weights": name, "efficiency": curve}), flush=True)
        if arguments.fit:
            model = CRF(template=crf.template, c2=0.1, tol=arguments.fit, n_jobs=2)
            ends = [model.fit(*data).objective_ for data in (together, (parts,))]
            print(json.dumps({"part": "optimum", "objectives": ends, "differ": ends[1] / ends[0] - 1}))
        if arguments.plot:
            draw(curves, arguments.plot)


def _least(calls: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, int]]:
    """Return the least seconds, and the least bytes on the loopback interface, of calls that take turns."""
    seconds, wire = dict.fromkeys(calls, np.inf), dict.fromkeys(calls, 1 << 62)
    for _ in range(rounds + 1):
        for name, call in calls.items():
            before, began = int(_WIRE.read_text()), time.perf_counter()
            call()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
            wire[name] = min(wire[name], int(_WIRE.read_text()) - before)
    return seconds, wire


def _echo(part: Part, sent: tuple[Any, ...]) -> Partial:
    """Return the weights that came, in place of a gradient: an evaluation without its computation."""
    return Partial(np.zeros(1), sent[0])


def _tasks(function: ClusterSum) -> Callable[[int], float]:
    """Return a function of n: the seconds of n tasks with next to no data."""
    cluster = function._cluster

    @cache
    def tasks_s(n: int) -> float:
        homes = [function._homes[k % 2] for k in range(n)]
        times = []
        for _ in range(10):
            began = time.perf_counter()
            sent = cluster.sent([np.zeros(1)] * n, homes)
            cluster.client.gather([cluster.client.submit(_nothing, x, pure=False) for x in sent], direct=True)
            times.append(time.perf_counter() - began)
        return min(times)

    return tasks_s


def _nothing(_: Any) -> None:
    return None
