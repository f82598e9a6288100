"""RS126 whole, in 7-fold cross-validation: the kernel CRF against the linear CRF and stored predictions.

Inputs as in kernel_proteins.py. Bandwidth, λ and the gain of boundaries are chosen in each fold on 16 and 8
of its training chains with few cliques; then all training chains are learnt from. With the graph kernel,
which sees the windows of all chains, learning is transductive. The stored predictors may have seen these
chains in their own training.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from kernel_proteins import GAINS, TOLERANCE, Fold, LabelLists, Task, kernel_crf, linear_crf, score
from rs126 import PREDICTORS, folds, q3, read_chains
from tables import seconds, table

from crfkit.kernels import median_gamma
from crfkit.kernels.graph_map import GraphMap

N_CLIQUES, N_CANDIDATES = 800, 3000
Run = Callable[[Fold, dict[str, Any]], dict[float, LabelLists]]


def chosen(run: Run, grid: list[dict[str, Any]], part: Fold) -> tuple[dict[str, Any], float]:
    """The best settings in Q3, and the largest gain of boundaries that costs less than half a point of it."""
    scored = []
    for settings in grid:
        decoded = run(part, settings)
        scored.append((settings, {gain: q3(part.y_held, decoded[gain]) for gain in GAINS}))
    settings, by_gain = max(scored, key=lambda one: one[1][0.0])
    top = max(by_gain.values())
    return settings, max(gain for gain, value in by_gain.items() if value >= top - TOLERANCE)


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
    linear, linear_gain = chosen(linear_crf, [{"c2": c2} for c2 in (0.3, 1.0, 3.0)], part)
    settings, gain = chosen(kernel_crf, grid[:1] if quick else grid, part)
    settings |= {"n_cliques": 30 if quick else N_CLIQUES, "per_round": 100, "n_candidates": N_CANDIDATES}
    both = {**settings, "kernel": ["rbf", graph], "turns": "alternate"}
    results: dict[str, Any] = {}
    spent = []
    for name, run, own, worth in (
        ("linear CRF", linear_crf, linear, linear_gain),
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
    known: dict[str, Any] = {}
    if cache is not None and cache.exists():
        known = json.loads(cache.read_text(encoding="utf-8"))
    graph = None
    labels: dict[str, dict[int, list[str]]] = {}
    n_folds = 1 if quick else arguments.trials or 7
    for number, (learn, held) in enumerate(folds(len(chains))[:n_folds]):
        if quick:
            learn, held = learn[:5], held[:3]
        key = f"fold {number}"
        if key not in known:
            graph = task.graph(quick) if graph is None else graph
            fold = Fold(*([source[i] for i in ids] for ids in (learn, held) for source in (task.X, task.y)))
            known[key] = one_fold(fold, graph, number, quick)
            if cache is not None:
                cache.write_text(json.dumps(known), encoding="utf-8")
        for name, found in known[key]["labels"].items():
            labels.setdefault(name, {}).update(zip(held, found, strict=True))
    tested = sorted(labels["KCRF(v)"])
    truth = [task.y[i] for i in tested]
    rows = []
    for name, by_chain in labels.items():
        rows.append([name, *(f"{value:.1f}" for value in score(truth, [by_chain[i] for i in tested]))])
    for name in PREDICTORS:
        stored = [list(chains[i].predicted[name]) for i in tested]
        rows.append([f"stored: {name}", *(f"{value:.1f}" for value in score(truth, stored))])
    spent = float(np.mean([found["seconds"] for found in known.values()]))
    return (
        f"### RS126, 7-fold cross-validation ({len(tested)} chains)\n\n"
        + table(["method", "Q3, %", "transitions, %"], rows)
        + f"\n\n{N_CLIQUES:,} cliques with all labels, chosen among {N_CANDIDATES:,} positions a fold; fit "
        f"and prediction of a fold took {seconds(spent)}. Chosen in the folds (bandwidth over median, λ, "
        "gain): " + "; ".join(found["notes"] for found in known.values()) + "."
    )
