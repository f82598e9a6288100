"""Genes: 170 of them, four splits of 75% to 25%, 7 states, words of 6 bases, three validation sets.

Plain training, σ² = 100 (c2 = 1/(2σ²) = 0.005), c2 tuned by three-fold cross-validation on the training genes
(exon level: the mean of Sn and Sp), and training under constraints. All train under the grammar and with the
same tolerance, in one thread; test genes are looked at once. Training genes that the grammar forbids are left
out. Where plain training satisfies the constraints, no penalty is ever raised and all gradients are the same:
trained once.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from gene_windows import Window, folds, percentages, read_splits, score
from results_file import Results
from tables import seconds, table

from crfkit import CRF, ConstrainedCRF
from crfkit.apps.genes.gene_scores import LEVELS
from crfkit.apps.genes.seven_states import SevenStateGenes

PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_ENDS = (PENALTIES[0], PENALTIES[-1])
TOL, MOST = 1e-3, 150  # tolerance, and iterations at most (of an inner loop), of every training
PLAIN, WEAK, TUNED = "plain CRF", "CRF, σ² = 100", "CRF, c2 tuned by cross-validation"
SMOOTH, SLOWEST = "ConstrainedCRF, smooth", "ConstrainedCRF, flip"
MODELS: dict[str, dict[str, Any]] = {
    PLAIN: {"c2": 0.0},
    WEAK: {"c2": 0.005},
    "CRF, c2 = 1": {"c2": 1.0},
    TUNED: {},
    SMOOTH: {"gradient": "smooth"},
    "ConstrainedCRF, envelope": {"gradient": "envelope"},
    SLOWEST: {"gradient": "flip"},
    "ConstrainedCRF, σ² = 100": {"gradient": "smooth", "c2": 0.005},
    "ConstrainedCRF, c2 = 1": {"gradient": "smooth", "c2": 1.0},
    "ConstrainedCRF, c2 the largest feasible": {"c2": "largest"},
}


def train(windows: list[Window], settings: dict[str, Any]) -> SevenStateGenes:
    """A gene model with the estimator that the settings are for."""
    model = SevenStateGenes(c2=0.0)
    common = {"all_possible_states": True, "tol": TOL, "max_iterations": MOST, "n_jobs": 1}
    constrained = "gradient" in settings or settings.get("c2") == "largest"
    model.crf = ConstrainedCRF(**common, **settings) if constrained else CRF(**common, **settings)
    return model.fit([w.sequence for w in windows], [w.exons for w in windows])


def levels(model: SevenStateGenes, windows: list[Window]) -> list[list[float]]:
    """[4, 2] Sn and Sp in % by level."""
    found = score(windows, model.predict([w.sequence for w in windows]))
    return np.nan_to_num(percentages([found])).tolist()


def tuned(windows: list[Window], penalties: tuple[float, ...]) -> float:
    """The penalty that is best on held-out training genes."""
    if len(penalties) == 1:
        return penalties[0]
    held = {
        c2: np.mean([np.mean(levels(train(a, {"c2": c2}), b)[1]) for a, b in folds(windows, 3)])
        for c2 in penalties
    }
    return max(held, key=lambda c2: held[c2])


def measure(learn: list[Window], test: list[Window], name: str, quick: bool) -> dict[str, Any]:
    """One model on one split."""
    began = time.process_time()  # one thread: what other work takes does not count
    settings = dict(MODELS[name])
    if name == TUNED:
        settings["c2"] = tuned(learn, PENALTIES[:1] if quick else PENALTIES)
    tuning = time.process_time() - began
    model = train(learn, settings)
    crf = model.crf
    result = {
        "seconds": time.process_time() - began - tuning,
        "tuning": tuning,
        "passes": crf.history_[-1]["passes"],  # of all trainings of a search
        "converged": crf.converged_,
        "c2": getattr(crf, "c2_", settings.get("c2", 0.0)),
        "objective": crf.objective_,
        "test": levels(model, test),
        "training": levels(model, learn),
    }
    if isinstance(crf, ConstrainedCRF):
        result["outer"] = len(crf.outer_history_)
        result["feasible"] = crf.feasible_
        result["violations"] = crf.violations_.tolist()
    return result


def report(quick: bool, known: Results, plots: Path | None) -> str:
    splits = read_splits()
    if quick:
        splits = [(learn[:9], test[:3]) for learn, test in splits[:1]]
    rows, each = [], []

    def of(name: str, k: int) -> dict[str, Any] | None:
        if MODELS[name].get("gradient") in ("envelope", "flip"):
            smooth = of(SMOOTH, k)
            if smooth is not None and smooth["outer"] == 1:
                return smooth
        settings = f"{PENALTIES}" if name == TUNED else f"{MODELS[name]}"
        key = f"genes, {name}, {settings}, tol {TOL}, at most {MOST}, split {k}{', quick' * quick}"
        return known.get(key, lambda: measure(*splits[k], name, quick))

    for late in (False, True):  # a split after the other: half of them is half of the answer
        for k in range(len(splits)):
            for name in MODELS:
                if (name == SLOWEST) == late:
                    of(name, k)
    for name in MODELS:
        by_split = {k: f for k in range(len(splits)) if (f := of(name, k)) is not None}
        found = list(by_split.values())
        if not found:
            continue
        means = np.mean([f["test"] for f in found], axis=0)
        constrained = "outer" in found[0]
        rows.append(
            [
                name if len(found) == len(splits) else f"{name} (splits {', '.join(map(str, by_split))})",
                *(f"{sn:.1f} / {sp:.1f}" for sn, sp in means),
                f"{np.mean([f['training'][3] for f in found]):.0f}",
                seconds(float(np.mean([f["seconds"] for f in found]))),
                f"{np.mean([f['passes'] for f in found]):.0f}",
                ", ".join(str(f["outer"]) for f in found) if constrained else "",
                f"{sum(f['feasible'] for f in found)} of {len(found)}" if constrained else "",
                ", ".join(f"{f['c2']:.2g}" for f in found),
            ]
        )
        for k, f in by_split.items():
            each.append([str(k), name, *(f"{sn:.1f} / {sp:.1f}" for sn, sp in f["test"])])
    spent = [f["tuning"] for k in range(len(splits)) if (f := of(TUNED, k)) is not None]
    tuning = f" Tuning took another {seconds(float(np.mean(spent)))} a split." if spent else ""
    ends = [k for k in range(len(splits)) if (f := of(TUNED, k)) is not None and f["c2"] in _ENDS]
    if ends and not quick:
        tuning += f" In splits {', '.join(map(str, ends))} c2 is at an end of the grid {PENALTIES}."
    each.sort(key=lambda row: row[0])
    header = ["model", *LEVELS, "training genes", "training", "passes", "outer steps", "feasible", "c2"]
    return "\n\n".join(
        [
            "### Genes under validation constraints",
            "Sn / Sp on test genes in percent, means over the splits; training genes found (mean of Sn and "
            f"Sp at gene level); processor seconds and passes of one training.{tuning}",
            table(header, rows),
            "By split:",
            table(["split", "model", *LEVELS], each),
        ]
    )
