"""Where the paper's gains come from: training on the gene splits, watched iteration by iteration.

Plain training, σ² = 100 and the constrained search are recorded at iterations 1, 2, 3, 4, 6, … : scores on
training and test genes, and the largest h_j of three validation sets. From these paths follow: where a search
that ended at the first feasible iteration would end, for any τ; plain training stopped at the same training
accuracy; and baselines that were stopped early. Then the constrained model for several tolerances of the
inner loop, several τ, and validation sets that are contiguous or random thirds. All train by L-BFGS from 0,
in one thread, under the grammar; nothing is chosen by test genes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from constrained_genes import levels
from gene_windows import Window, read_splits
from results_file import Results
from sklearn.model_selection import KFold
from tables import table

from crfkit import CRF, ConstrainedCRF
from crfkit.apps.genes.seven_states import SevenStateGenes
from crfkit.arrays import FloatArray
from crfkit.models.linear.steps import TrainingProblem
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.linear.validation_choice import validation_spans
from crfkit.models.training import Outcome
from crfkit.objectives.validation import ValidationConstraints

PLAIN, WEAK, BOUND = "plain", "σ² = 100", "constrained"
SETTINGS: dict[str, dict[str, Any]] = {PLAIN: {"c2": 0.0}, WEAK: {"c2": 0.005}, BOUND: {"c2": 0.0}}
TOL, MOST = 1e-3, 300  # of the paths, and iterations of a training (or inner loop) at most
TOLERANCES = (1e-2, 1e-3, 1e-4)
CUT = (50, 100, 150)  # iterations at which an inner loop is cut off instead
TAUS = (0.01, 1.0, 10.0, 100.0, 1000.0)
HIGHER = (1.0, 100.0)  # τ of whole searches
SEEDS = (0, 1)  # of the random thirds
EXON, GENE = 1, 3  # rows of the scores


@dataclass
class Recorder:
    """A dev set's stand-in: it is shown the parameters of every iteration, and keeps some of them."""

    constraints: ValidationConstraints
    weights: Callable[[FloatArray], FloatArray]
    count: int = 0
    kept: list[tuple[int, FloatArray, float]] = field(default_factory=list)  # iteration, weights, largest h
    first: dict[float, tuple[int, FloatArray]] = field(default_factory=dict)  # the first with h <= τ
    last: FloatArray | None = None  # x of the last iteration

    def __call__(self, x: FloatArray) -> float:
        self.count += 1
        self.last = x.copy()
        h = float(self.constraints.violations(x).max())
        for tau in TAUS:
            if h <= tau and tau not in self.first:
                self.first[tau] = (self.count, self.weights(x))
        if self.count in _SHOWN:
            self.kept.append((self.count, self.weights(x), h))
        return float(self.count)  # always the best so far: nothing is stopped, and the last one is kept


def _schedule() -> Iterator[int]:
    at = 1.0
    while at < 20_000:
        yield int(at)
        at = max(at + 1, at * 1.3)


_SHOWN = frozenset((*_schedule(), *CUT))


def _watched(estimator: type[CRF]) -> type[CRF]:
    """The estimator, with a recorder in the place of its dev set."""

    class Watched(estimator):  # type: ignore[misc, valid-type]
        def _minimise(self, problem: TrainingProblem) -> Outcome:
            spans = validation_spans(3, problem.offsets)
            constraints = ValidationConstraints(problem.objective, spans)
            self.recorder = Recorder(constraints, problem.objective.weights)
            return super()._minimise(replace(problem, dev=self.recorder))

    Watched.__init__ = estimator.__init__  # type: ignore[method-assign]
    return Watched


def _model(windows: list[Window], crf: CRF) -> SevenStateGenes:
    model = SevenStateGenes(c2=0.0)
    model.crf = crf
    return model.fit([w.sequence for w in windows], [w.exons for w in windows])


def _common(tol: float, most: int) -> dict[str, Any]:
    return {
        "all_possible_states": True,
        "algorithm": "lbfgs",
        "tol": tol,
        "max_iterations": most,
        "n_jobs": 1,
        "verbose": False,
    }


def path(learn: list[Window], test: list[Window], name: str, most: int = MOST) -> dict[str, Any]:
    """Scores along a training: at the shown iterations, at the end, and where h first falls below each τ."""
    estimator = _watched(ConstrainedCRF if name == BOUND else CRF)
    model = _model(learn, estimator(**_common(TOL, most), **SETTINGS[name], patience=10**6))
    crf: Any = model.crf
    tagger, recorder = crf.tagger_, crf.recorder

    def at(iteration: int, weights: FloatArray, h: float | None = None) -> dict[str, Any]:
        crf.tagger_ = LinearTagger(tagger.classes, tagger.encoder, tagger.potential.index, weights, 1)
        found = {"iteration": iteration, "test": levels(model, test), "training": levels(model, learn)}
        return found if h is None else {**found, "h": h}

    passes = {k + 1: record["passes"] for k, record in enumerate(crf.history_)}
    result = {
        "path": [{**at(*kept), "passes": passes[kept[0]]} for kept in recorder.kept],
        "first": {str(tau): at(*found) for tau, found in recorder.first.items()},
        "end": at(recorder.count, tagger.potential.weights.vector),
    }
    if name == BOUND:
        result["outer"] = [record["iterations"] for record in crf.outer_history_]
    return result


@dataclass(frozen=True)
class Case:
    """A training that is judged by its last model alone."""

    name: str
    tol: float = TOL
    most: int = MOST
    tau: float = 0.01
    seed: int | None = None  # of random thirds; None: contiguous ones

    def measure(self, learn: list[Window], test: list[Window]) -> dict[str, Any]:
        settings: dict[str, Any] = {**_common(self.tol, self.most), **SETTINGS[self.name]}
        crf = CRF(**settings)
        if self.name == BOUND:
            crf = ConstrainedCRF(**settings, tau=self.tau)
            if self.seed is not None:
                crf.validation = KFold(3, shuffle=True, random_state=self.seed)
        began = time.process_time()
        model = _model(learn, crf)
        return {
            "seconds": time.process_time() - began,
            "test": levels(model, test),
            "training": levels(model, learn),
            "iterations": len(crf.history_),
            "outer": len(getattr(crf, "outer_history_", [])),
            "feasible": bool(getattr(crf, "feasible_", True)),
        }


CASES = {
    **{f"constrained, inner loops of at most {n} iterations": Case(BOUND, most=n) for n in CUT},
    **{f"constrained, tolerance {tol:g}": Case(BOUND, tol=tol) for tol in TOLERANCES},
    **{f"constrained, τ = {tau:g}, at most {CUT[1]}": Case(BOUND, most=CUT[1], tau=tau) for tau in HIGHER},
    **{
        f"constrained, random thirds, seed {seed}, at most {CUT[1]}": Case(BOUND, most=CUT[1], seed=seed)
        for seed in SEEDS
    },
}


def report(quick: bool, known: Results, plots: Path | None) -> str:
    splits = read_splits()
    if quick:
        splits = [(learn[:9], test[:3]) for learn, test in splits[:1]]
    small = ", quick" * quick
    paths = {
        name: {
            k: found
            for k in range(len(splits))
            if (
                found := known.get(
                    f"explained, path, {name}, split {k}{small}",
                    lambda name=name, k=k: path(*splits[k], name, 12 if quick else MOST),
                )
            )
        }
        for name in SETTINGS
    }
    cases = {
        name: {
            k: found
            for k in range(len(splits))
            if (
                found := known.get(
                    f"explained, {case}, split {k}{small}", lambda case=case, k=k: case.measure(*splits[k])
                )
            )
        }
        for name, case in list(CASES.items())[: 1 if quick else None]
    }
    if plots is not None:
        _draw(paths, cases, plots / "constrained_explained.png")
    return "\n\n".join(
        [
            "### The constraint as early stopping",
            'Means over the splits (by split in brackets) of Sn and Sp on test genes, in percent. "Stopped": '
            "plain training and σ² = 100 at the first iteration at which the largest h_j of three contiguous "
            "thirds is at most τ, or at the first shown one that decodes training exons as well as the "
            "constrained model does in the end (to 0.5 points).",
            table(["training", "iterations", "exon", "gene", "training exons"], _stopping_rows(paths)),
            "### The constrained model by inner loop, τ and validation sets",
            table(["model", "iterations", "outer steps", "feasible", "exon", "gene"], _case_rows(cases)),
        ]
    )


def _mean(levels: list[list[float]], level: int) -> float:
    """The mean of Sn and Sp at a level."""
    return sum(levels[level]) / 2


def _cells(found: dict[int, dict[str, Any]], part: str, level: int) -> str:
    """Mean over the splits, and each of them."""
    each = [_mean(one[part], level) for one in found.values()]
    return f"{np.mean(each):.1f} ({', '.join(f'{value:.1f}' for value in each)})"


def _row(name: str, found: dict[int, dict[str, Any]], n: int) -> list[str]:
    some = "" if len(found) == n else f" (splits {', '.join(map(str, found))})"
    return [
        name + some,
        ", ".join(str(one["iteration"]) for one in found.values()),
        _cells(found, "test", EXON),
        _cells(found, "test", GENE),
        _cells(found, "training", EXON),
    ]


def _stopping_rows(paths: dict[str, dict[int, dict[str, Any]]]) -> list[list[str]]:
    """Each path at its end, and plain paths stopped earlier."""
    rows = []
    n = max(map(len, paths.values()))
    for name, by_split in paths.items():
        rows.append(_row(f"{name}, to the end", {k: one["end"] for k, one in by_split.items()}, n))
    for name in (PLAIN, WEAK):
        for tau in TAUS:
            found = {k: one["first"][str(tau)] for k, one in paths[name].items() if str(tau) in one["first"]}
            if found:
                rows.append(_row(f"{name}, stopped at h <= {tau:g}", found, n))
        same = {}
        for k, one in paths[name].items():
            if k in paths[BOUND]:
                goal = _mean(paths[BOUND][k]["end"]["training"], EXON)
                reached = (at for at in one["path"] if _mean(at["training"], EXON) >= goal - 0.5)
                same[k] = next(reached, one["end"])
        rows.append(_row(f"{name}, stopped at the constrained model's training accuracy", same, n))
    return [row for row in rows if row[1]]


def _case_rows(cases: dict[str, dict[int, dict[str, Any]]]) -> list[list[str]]:
    n = max(map(len, cases.values()))
    return [
        [
            name if len(found) == n else f"{name} (splits {', '.join(map(str, found))})",
            ", ".join(str(one["iterations"]) for one in found.values()),
            ", ".join(str(one["outer"]) for one in found.values()),
            f"{sum(one['feasible'] for one in found.values())} of {len(found)}",
            _cells(found, "test", EXON),
            _cells(found, "test", GENE),
        ]
        for name, found in cases.items()
        if found
    ]


def _draw(
    paths: dict[str, dict[int, dict[str, Any]]], cases: dict[str, dict[int, dict[str, Any]]], file: Path
) -> None:
    """Test exons, training exons and the largest h over iterations; where searches with cut loops end."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(12.6, 3.9), layout="constrained")
    test, training, largest = figure.subplots(1, 3)
    for i, (name, by_split) in enumerate(paths.items()):
        style: dict[str, Any] = {"color": f"C{i}", "linestyle": "--" if name == BOUND else "-"}
        every = sorted({point["iteration"] for one in by_split.values() for point in one["path"]})
        lines: dict[str, list[list[float]]] = {"test": [], "training": [], "h": []}
        for one in by_split.values():
            points = {point["iteration"]: point for point in one["path"]}
            known = [
                max(x for x in points if x <= at) for at in every
            ]  # after its end a training stands still
            for part in ("test", "training"):
                lines[part].append([_mean(points[x][part], EXON) for x in known])
            lines["h"].append([max(points[x]["h"], 1e-3) for x in known])
            n = sum(x <= max(points) for x in every)
            test.plot(every[:n], lines["test"][-1][:n], linewidth=0.6, alpha=0.5, **style)
            largest.plot(every[:n], lines["h"][-1][:n], linewidth=0.6, alpha=0.5, **style)
        wide = 4 if name == PLAIN else 2
        for ax, part in ((test, "test"), (training, "training")):
            ax.plot(every, np.mean(lines[part], axis=0), linewidth=wide, label=name, **style)
        largest.plot(every, np.median(lines["h"], axis=0), linewidth=wide, **style)
    for most, mark in zip(CUT, "sD^", strict=True):
        found = cases.get(f"constrained, inner loops of at most {most} iterations", {})
        if len(found) == len(paths[BOUND]):
            x = np.mean([one["iterations"] for one in found.values()])
            y = np.mean([_mean(one["test"], EXON) for one in found.values()])
            test.plot(x, y, mark, color="C2", markersize=7, label=f"constrained, loops of {most}")
    largest.axhline(0.01, color="C3", linewidth=1, linestyle=":", label="τ = 0.01")
    largest.set_yscale("log")
    for ax, title in (
        (test, "test exons, % (mean; thin: splits)"),
        (training, "training exons, % (mean)"),
        (largest, "largest h of three sets (median)"),
    ):
        ax.set_title(title)
        ax.set_xscale("log")
        ax.set_xlim(left=5)
        ax.set_xlabel("iterations")
        ax.set_xticks([5, 10, 20, 50, 100, 200], labels=["5", "10", "20", "50", "100", "200"])
        ax.xaxis.set_minor_formatter(NullFormatter())
    test.legend(fontsize=8, loc="lower right")
    largest.legend(fontsize=8)
    figure.savefig(file, dpi=120)
