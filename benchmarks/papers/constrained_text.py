"""Text with little data: CoNLL-2000 with 50 to 800 training sentences, F1 on the whole test file.

Then τ and validation sets: ten draws of 200 sentences with c2 = 1, where the constraints bind.

Tuned: c2 by five-fold cross-validation on the training sentences (F1). What other constraints do: with a
margin, one a sentence, and on a third of the sentences that the likelihood does not see. Nothing is chosen by
the test file.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from results_file import Results
from sklearn.model_selection import KFold
from tables import seconds, table
from tasks import Task, conll2000

from crfkit import CRF, ConstrainedCRF
from crfkit.metrics import segment_scores

SIZES = (50, 100, 200, 400, 800)
PENALTIES = (0.001, 0.01, 0.1, 0.3, 1.0, 3.0)
TUNED = "CRF, c2 tuned by cross-validation"
HELD_OUT = "c2 = 1, a third held out of the likelihood"
MODELS: dict[str, dict[str, Any]] = {
    "plain CRF": {"c2": 0.0},
    "CRF, σ² = 100": {"c2": 0.005},
    "CRF, c2 = 1": {"c2": 1.0},
    TUNED: {},
    "ConstrainedCRF": {"validation": 3},
    "… c2 the largest feasible": {"validation": 3, "c2": "largest"},
    "… c2 = 1": {"validation": 3, "c2": 1.0},
    "… c2 = 1, margin 1": {"validation": 3, "c2": 1.0, "margin": 1.0},
    "… c2 = 1, a constraint a sentence": {"validation": "sequences", "c2": 1.0},
    f"… {HELD_OUT}": {"c2": 1.0},
}


DRAWN, DRAWS = 200, 10
PLAIN = "CRF, c2 = 1"
SETS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "constrained, contiguous thirds": {"validation": 3},
    "constrained, random thirds": {"validation": KFold(3, shuffle=True, random_state=0)},
    **{f"constrained, τ = {tau:g}": {"validation": 3, "tau": tau} for tau in (1.0, 10.0, 100.0)},
}


def estimator(settings: dict[str, Any]) -> CRF:
    return (ConstrainedCRF if "validation" in settings else CRF)(n_jobs=1, **settings)


def f1(crf: CRF, X: Any, y: Any) -> float:
    return 100 * float(segment_scores(y, crf.predict(X)).f1)


def tuned(task: Task, n: int, folds: int = 5) -> float:
    """The penalty that is best on held-out sentences."""
    part = np.arange(n) % folds
    held = dict.fromkeys(PENALTIES, 0.0)
    for c2 in PENALTIES:
        for k in range(folds):
            learn, rest = np.flatnonzero(part != k), np.flatnonzero(part == k)
            crf = CRF(c2=c2, n_jobs=1).fit([task.X[i] for i in learn], [task.y[i] for i in learn])
            held[c2] += f1(crf, [task.X[i] for i in rest], [task.y[i] for i in rest])
    return max(held, key=lambda c2: held[c2])


def measure(task: Task, n: int, name: str) -> dict[str, Any]:
    """One model of the first n sentences."""
    began = time.perf_counter()
    settings, weights = dict(MODELS[name]), None
    if name == TUNED:
        settings["c2"] = tuned(task, n)
    if HELD_OUT in name:
        settings["validation"] = [list(range(0, n, 3))]
        weights = (np.arange(n) % 3 != 0).astype(float)
    crf = estimator(settings).fit(task.X[:n], task.y[:n], weights)
    spent = time.perf_counter() - began
    return {
        "seconds": spent,
        "c2": getattr(crf, "c2_", settings.get("c2", 0.0)),
        "outer": len(crf.outer_history_) if isinstance(crf, ConstrainedCRF) else 0,
        "feasible": bool(getattr(crf, "feasible_", True)),
        "f1": f1(crf, task.X_test, task.y_test),
    }


def report(quick: bool, known: Results, plots: Path | None) -> str:
    sizes = (8, 12) if quick else SIZES
    task = conll2000(30 if quick else None)
    rows, facts = [], []
    for name in MODELS:
        found = [
            known.get(
                f"text, {name}, {n} sentences{', quick' * quick}",
                lambda n=n, name=name: measure(task, n, name),
            )
            for n in sizes
        ]
        if None in found:
            continue
        rows.append([name, *(f"{f['f1']:.2f}" for f in found)])
        facts.append(
            [
                name,
                ", ".join(f"{f['c2']:.2g}" for f in found),
                ", ".join(str(f["outer"]) for f in found) if found[0]["outer"] else "",
                f"{sum(f['feasible'] for f in found)} of {len(found)}" if found[0]["outer"] else "",
                seconds(found[-1]["seconds"]),
            ]
        )
    if plots is not None:
        draw(task, 12 if quick else 200, plots / "constrained_accuracy.png")
    return "\n\n".join(
        [
            "### Text with little data, under validation constraints",
            "F1 on the test file of CoNLL-2000 by number of training sentences (19 templates):",
            table(["model", *map(str, sizes)], rows),
            "c2, outer steps and feasibility by number of sentences, and seconds (with tuning) for the most:",
            table(["model", "c2", "outer steps", "feasible", "training"], facts),
            f"τ and validation sets: {DRAWN} sentences, c2 = 1, {DRAWS} draws, F1 and differences by draw:",
            table(
                ["model", "F1", "against plain ± standard error", "outer steps"], set_rows(task, known, quick)
            ),
        ]
    )


def set_rows(task: Task, known: Results, quick: bool) -> list[list[str]]:
    """F1 with other τ and validation sets, and differences to the plain model by draw."""

    def one(settings: dict[str, Any], draw: int) -> dict[str, Any]:
        some = np.random.default_rng(draw).permutation(len(task.X))[: 12 if quick else DRAWN]
        crf = estimator({"c2": 1.0, **settings}).fit([task.X[i] for i in some], [task.y[i] for i in some])
        return {"f1": f1(crf, task.X_test, task.y_test), "outer": len(getattr(crf, "outer_history_", []))}

    found = {
        name: [
            known.get(
                f"explained, text, {name}, draw {k}{', quick' * quick}",
                lambda settings=settings, k=k: one(settings, k),
            )
            for k in range(2 if quick else DRAWS)
        ]
        for name, settings in SETS.items()
    }
    rows = []
    for name, each in found.items():
        pairs = [(a, b) for a, b in zip(each, found[PLAIN], strict=True) if a and b]
        if pairs:
            gains = np.array([a["f1"] - b["f1"] for a, b in pairs])
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            gain, steps = "", ""
            if name != PLAIN:
                gain, steps = (
                    f"{gains.mean():+.3f} ± {error:.3f}",
                    ", ".join(str(a["outer"]) for a, _ in pairs),
                )
            rows.append([name, f"{np.mean([a['f1'] for a, _ in pairs]):.2f}", gain, steps])
    return rows


def draw(task: Task, n: int, path: Path) -> None:
    """Accuracy over passes: on the training sentences, on others of the training file, on the test file."""
    import matplotlib

    matplotlib.use("Agg")
    from crfkit.models.linear.constrained_plot import draw_accuracies

    data = {
        f"training ({n} sentences, the validation sets)": (task.X[:n], task.y[:n]),
        "held out": (task.X[-1000:], task.y[-1000:]),
        "test": (task.X_test[:1000], task.y_test[:1000]),
    }
    models = {
        "plain": {"c2": 0.0},
        "L2, c2 = 1": {"c2": 1.0},
        "constrained, c2 = 1": {"validation": 3, "c2": 1.0},
        "constrained, largest c2": {"validation": 3, "c2": "largest"},
    }
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, (X, y) in data.items():
        for name, settings in models.items():  # the same training each time, watched on other data
            crf = estimator({**settings, "patience": 10**6}).fit(task.X[:n], task.y[:n], None, X, y)
            curves.setdefault(title, {})[name] = [(r["passes"], r["dev_accuracy"]) for r in crf.history_]
    draw_accuracies(curves).savefig(path, dpi=120)
