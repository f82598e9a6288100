"""RS126 whole, in 7-fold cross-validation: the kernel CRF against the linear CRF and stored predictions.

Inputs as in kernel_proteins.py. Bandwidth, λ and the gain of boundaries are chosen in each fold on 24 and 12
of its training chains with few cliques; then all training chains are learnt from. The stored predictors may
have seen these chains in their own training.
"""

from __future__ import annotations

import time
from argparse import Namespace
from itertools import product
from typing import Any

import numpy as np
from kernel_proteins import GAINS, TOLERANCE, Fold, LabelLists, Task, kernel_crf, linear_crf, score
from rs126 import PREDICTORS, folds, q3, read_chains
from tables import seconds, table

from crfkit.kernels import median_gamma

N_CLIQUES = 1000
Outcome = dict[str, LabelLists]


def chosen(
    fold: Fold, gamma: float, seed: int, quick: bool
) -> tuple[dict[str, Any], float, dict[str, Any], float]:
    """Settings and gain of the kernel CRF, and of the linear CRF, from a part of the training chains."""
    order = np.random.default_rng(seed).permutation(len(fold.X))[:36]
    few, held = order[:24].tolist(), order[24:].tolist()
    if quick:
        few, held = order[:3].tolist(), order[3:5].tolist()
    part = Fold(
        [fold.X[i] for i in few],
        [fold.y[i] for i in few],
        [fold.X[i] for i in held],
        [fold.y[i] for i in held],
    )
    kernel = [
        {"gamma": gamma * g, "reg": reg, "n_cliques": 300, "per_round": 50, "all_labelings": True}
        | {"bias": True, "transition_reg": 0.1, "tol": 1e-4}
        for g, reg in product((0.5, 1.0), (0.1, 0.3, 1.0))
    ]
    linear: list[dict[str, Any]] = [{"c2": c2} for c2 in (0.3, 1.0, 3.0)]
    found = []
    for run, grid in ((kernel_crf, kernel), (linear_crf, linear)):
        scored = []
        for settings in grid[:1] if quick else grid:
            decoded = run(part, settings)
            scored.append((settings, {gain: q3(part.y_held, decoded[gain]) for gain in GAINS}))
        settings, by_gain = max(scored, key=lambda one: one[1][0.0])
        top = max(by_gain.values())
        found += [settings, max(gain for gain, value in by_gain.items() if value >= top - TOLERANCE)]
    return found[0], found[1], found[2], found[3]


def report(arguments: Namespace) -> str:
    quick: bool = arguments.quick
    chains, task = read_chains(), Task.read()
    labels: dict[str, dict[int, list[str]]] = {}
    spent = []
    notes = []
    for number, (learn, held) in enumerate(folds(len(chains))):
        if quick and number:
            break
        if quick:
            learn, held = learn[:5], held[:3]
        fold = Fold(*([source[i] for i in ids] for ids in (learn, held) for source in (task.X, task.y)))
        gamma = median_gamma(np.vstack(fold.X))
        settings, gain, linear, linear_gain = chosen(fold, gamma, number, quick)
        began = time.perf_counter()
        more = {"n_cliques": 50 if quick else N_CLIQUES, "per_round": 100, "n_candidates": 6000}
        if quick:
            more |= {"per_round": 25}
        kernel = kernel_crf(fold, {**settings, **more})
        spent.append(time.perf_counter() - began)
        plain = linear_crf(fold, linear)
        notes.append(f"{settings['gamma'] / gamma:g}, {settings['reg']:g}, {gain:g}")
        for name, found in (
            ("linear CRF", plain[0.0]),
            ("linear CRF, boundaries", plain[linear_gain]),
            ("KCRF(v)", kernel[0.0]),
            ("KCRF(v), boundaries", kernel[gain]),
        ):
            labels.setdefault(name, {}).update(zip(held, found, strict=True))
    tested = sorted(labels["KCRF(v)"])
    truth = [task.y[i] for i in tested]
    rows = []
    for name, by_chain in labels.items():
        rows.append([name, *(f"{value:.1f}" for value in score(truth, [by_chain[i] for i in tested]))])
    for name in PREDICTORS:
        stored = [list(chains[i].predicted[name]) for i in tested]
        rows.append([f"stored: {name}", *(f"{value:.1f}" for value in score(truth, stored))])
    return (
        f"### RS126, 7-fold cross-validation ({len(tested)} chains)\n\n"
        + table(["method", "Q3, %", "transitions, %"], rows)
        + f"\n\n{N_CLIQUES:,} cliques with all labels, chosen among 6,000 positions a fold; fit and "
        f"prediction of a fold took {seconds(float(np.mean(spent)))}. Chosen in the folds (bandwidth over "
        "median, λ, gain): " + "; ".join(notes) + "."
    )
