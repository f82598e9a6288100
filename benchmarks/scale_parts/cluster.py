"""Training on a Dask cluster: two worker processes against two threads, bytes per evaluation, weak scaling.

The data is CoNLL-2000, each copy with 2 % of its words replaced. The objective in this process (two threads)
and the one on the cluster (two processes, one thread each) take turns; the least of several rounds counts.
Bytes are those of the messages after serialisation. The simulation of more workers uses the measured time of
a pass and of an empty message, and a network of 10 Gbit/s and 0.2 ms; every link carries one message at a
time. With ``--plot``, a picture of it is written.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
import tasks
from distributed.protocol import serialize

import distributed
from crfkit import CRF
from crfkit.distributed.cluster_sum import FAN_IN, TRANSPORT, ClusterSum
from crfkit.features.template import Template
from crfkit.io import read_columns
from crfkit.models.linear.source import Given, open_source

_BANDWIDTH, _DELAY = 1.25e9, 2e-4  # bytes per second; seconds


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tokens", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--plot", help="a file for the picture of weak scaling")


def copy(path: str, seed: int) -> tuple[Any, list[list[str]]]:
    """Return the data with some words replaced: a partition."""
    table = read_columns(path)
    random = np.random.default_rng(seed)
    ids = table.ids.copy()
    changed = random.random(len(ids)) < 0.02
    ids[changed, 0] = random.choice(ids[:, 0], changed.sum())
    noisy = type(table)(table.cells, ids, table.offsets, table.lines, table.source)
    return noisy.without(-1), noisy.column(-1)


def joined(path: str, n: int) -> tuple[list[Any], list[list[str]]]:
    """Return n copies in one list."""
    parts = [copy(path, seed) for seed in range(n)]
    return [x for X, _ in parts for x in X], [y for _, ys in parts for y in ys]


def run(arguments: argparse.Namespace) -> None:
    """Print milliseconds, bytes and the simulated efficiency of more workers."""
    path = str(tasks.data_directory("conll2000") / "train.txt")
    n = max(2, round(arguments.tokens / 211_727))
    crf = CRF(template=Template.read(Path(__file__).parents[1] / "chunking.template"), n_jobs=2)
    here = open_source(crf, Given(*joined(path, n), None, None, None, None))
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        parts = [dask.delayed(copy)(path, seed) for seed in range(n)]
        crf.set_params(n_jobs=1)
        there = open_source(crf, Given(parts, None, None, None, None, None))
        w = np.random.default_rng(0).normal(0, 0.1, sum(here.index.sizes))
        points = [source.function.parameters(w) for source in (here, there)]
        least = np.full(2, np.inf)
        for _ in range(arguments.rounds + 1):
            for k, source in enumerate((here, there)):
                began = time.perf_counter()
                source.function(points[k])
                least[k] = min(least[k], time.perf_counter() - began)
        one, other = (source.function(x) for source, x in zip((here, there), points, strict=True))
        function: Any = there.function
        found = {
            "part": "cluster",
            "tokens": int(here.offsets[-1]),
            "features": function.n_parameters,
            "threads_ms": round(1e3 * least[0], 1),
            "processes_ms": round(1e3 * least[1], 1),
            "ratio": round(least[1] / least[0], 3),
            "value_differs": abs(other.value / one.value - 1),
            **_bytes(function, points[1]),
        }
        latency = _latency(function, points[1])
    sizes = [len(places) for places in function._places]
    found["simulated_ms"] = round(1e3 * _simulated(least[0], latency, 2, max(sizes)), 1)
    print(json.dumps(found), flush=True)
    _simulate(least[0], latency, sizes, arguments)


def _bytes(function: ClusterSum, x: Any) -> dict[str, Any]:
    """Return the bytes of the messages of an evaluation, and those of the formula 8 · Σ F_s."""
    w = function.weights(x)
    slices = [w[places].astype(TRANSPORT) for places in function._places]
    counted = 2 * sum(sum(len(memoryview(frame).cast("B")) for frame in serialize(one)[1]) for one in slices)
    formula = 8 * sum(map(len, slices))
    return {"bytes": counted, "bytes_of_formula": formula, "bytes_ratio": round(counted / formula, 3)}


def _latency(function: ClusterSum, x: Any) -> float:
    """Return the seconds that an evaluation needs beside the computation of the parts."""
    client = function._cluster.client
    times = []
    for _ in range(10):
        began = time.perf_counter()
        sent = function._cluster.sent([np.zeros(1)] * len(function._parts), function._homes)
        client.gather([client.submit(_nothing, one, pure=False) for one in sent], direct=True)
        times.append(time.perf_counter() - began)
    return min(times)


def _nothing(_: Any) -> None:
    return None


def _simulated(pass_of_two: float, latency: float, workers: int, features: int) -> float:
    """Return the seconds of an evaluation: the pass, messages to workers, and sums in a tree."""
    message = 4 * features / _BANDWIDTH + _DELAY
    groups = -(-workers // FAN_IN) if workers > FAN_IN else 0
    up = min(workers, FAN_IN) + groups  # to the worker that sums eight, and from each of these to the client
    return pass_of_two + latency + (workers + up) * message


def _simulate(pass_of_two: float, latency: float, sizes: list[int], arguments: argparse.Namespace) -> None:
    """Print the efficiency of 1 to 64 workers, each with as much data as one of the two real ones."""
    curves: dict[str, list[float]] = {}
    counts = [1, 2, 4, 8, 16, 32, 64]
    for features in (max(sizes), 1_000_000, 10_000_000):
        curve = []
        for workers in counts:
            curve.append(round(pass_of_two / _simulated(pass_of_two, latency, workers, features), 3))
        curves[f"{features:,} weights per worker"] = curve
        figures = {
            "part": "weak scaling",
            "weights": features,
            **dict(zip(map(str, counts), curve, strict=True)),
        }
        print(json.dumps(figures | {"latency_ms": round(1e3 * latency, 1)}), flush=True)
    if arguments.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(6, 4))
        for name, curve in curves.items():
            axes.plot(counts, curve, marker="o", label=name)
        axes.set(
            xscale="log",
            xlabel="workers",
            ylabel="efficiency",
            ylim=(0, 1.05),
            title="Weak scaling (simulated)",
        )
        axes.legend()
        figure.savefig(arguments.plot)
