"""RS126 whole, in 7-fold cross-validation: the kernel CRF against the linear CRF and stored predictions.

Inputs as in kernel_proteins.py. Bandwidth, λ and the gain of boundaries are chosen in each fold on 16 and 8
of its training chains with few cliques; then all training chains are learnt from. With the graph kernel,
which sees the windows of all chains, learning is transductive. The stored predictors may have seen these
chains in their own training.
"""

from __future__ import annotations

import time
from argparse import Namespace
from functools import cache as cache_once
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from kernel_proteins import GAINS, TOLERANCE, WIDTH, Fold, Method, Task, choose, kernel_crf, linear_crf, score
from results_file import Results
from rs126 import PREDICTORS, folds, read_chains
from tables import seconds, table

from crfkit.kernels import median_gamma
from crfkit.kernels.graph_map import GraphMap

N_CLIQUES, N_CANDIDATES = 800, 3000
SETTINGS = f"window {WIDTH}, gains {GAINS} within {TOLERANCE}, {N_CLIQUES} of {N_CANDIDATES}"


def one_fold(fold: Fold, graph: GraphMap, number: int, quick: bool) -> dict[str, Any]:
    """{method: labels of the held-out chains}, and under "notes" and "seconds" how they came about."""
    n_learn, n_held = (3, 2) if quick else (16, 8)
    order = np.random.default_rng(number).permutation(len(fold.X))[: n_learn + n_held].tolist()
    few, held = order[:n_learn], order[n_learn:]
    part = Fold(
        [fold.X[i] for i in few],
        [fold.y[i] for i in few],
        [fold.X[i] for i in held],
        [fold.y[i] for i in held],
    )
    gamma = median_gamma(np.vstack(fold.X))
    common = {"all_labelings": True, "bias": True, "transition_reg": 0.1, "tol": 1e-4}
    small: dict[str, Any] = {**common, "n_cliques": 20 if quick else 200, "per_round": 50}
    grid = [{**small, "gamma": gamma * g, "reg": reg} for g, reg in product((0.5, 1.0), (0.3, 1.0))]
    linear = choose(Method("linear CRF", [{"c2": c2} for c2 in (0.3, 1.0, 3.0)], linear_crf), [part])
    vertex = choose(Method("KCRF(v)", grid[:1] if quick else grid, kernel_crf), [part])
    gain = vertex.gain
    settings = vertex.settings | {
        "n_cliques": 30 if quick else N_CLIQUES,
        "per_round": 100,
        "n_candidates": N_CANDIDATES,
    }
    both = {**settings, "kernel": ["rbf", graph], "turns": "alternate"}
    results: dict[str, Any] = {}
    spent = []
    for name, run, own, worth in (
        ("linear CRF", linear_crf, linear.settings, linear.gain),
        ("KCRF(v)", kernel_crf, settings, gain),
        ("KCRF(v) + graph", kernel_crf, both, gain),
    ):
        began = time.perf_counter()
        found = run(fold, own)
        spent.append(time.perf_counter() - began)
        results[name] = found[0.0]
        results[f"{name}, boundaries"] = found[worth]
    notes = f"{settings['gamma'] / gamma:g}, {settings['reg']:g}, {gain:g}"
    return {"labels": results, "notes": notes, "seconds": spent[1]}


def report(arguments: Namespace) -> str:
    quick: bool = arguments.quick
    cache: Path | None = arguments.cache
    chains, task = read_chains(), Task.read()
    results = Results(cache)
    graph = cache_once(lambda: task.graph(quick))
    known: list[dict[str, Any]] = []
    labels: dict[str, dict[int, list[str]]] = {}
    n_folds = 1 if quick else arguments.trials or 7
    for number, (learn, held) in enumerate(folds(len(chains))[:n_folds]):
        if quick:
            learn, held = learn[:5], held[:3]
        fold = Fold(*([source[i] for i in ids] for ids in (learn, held) for source in (task.X, task.y)))
        key = f"folds, fold {number}, {SETTINGS}{', quick' if quick else ''}"
        measure = partial(lambda fold, k: one_fold(fold, graph(), k, quick), fold, number)
        known.append(results.get(key, measure))
        for name, found in known[-1]["labels"].items():
            labels.setdefault(name, {}).update(zip(held, found, strict=True))
    tested = sorted(labels["KCRF(v)"])
    truth = [task.y[i] for i in tested]
    rows = []
    for name, by_chain in labels.items():
        rows.append([name, *(f"{value:.1f}" for value in score(truth, [by_chain[i] for i in tested]))])
    for name in PREDICTORS:
        stored = [list(chains[i].predicted[name]) for i in tested]
        rows.append([f"stored: {name}", *(f"{value:.1f}" for value in score(truth, stored))])
    spent = float(np.mean([found["seconds"] for found in known]))
    return (
        f"### RS126, 7-fold cross-validation ({len(tested)} chains)\n\n"
        + table(["method", "Q3, %", "transitions, %"], rows)
        + f"\n\n{N_CLIQUES:,} cliques with all labels, chosen among {N_CANDIDATES:,} positions a fold; fit "
        f"and prediction of a fold took {seconds(spent)}. Chosen in the folds (bandwidth over median, λ, "
        "gain): " + "; ".join(found["notes"] for found in known) + ". Rows with a graph are transductive."
    )
