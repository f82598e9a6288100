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
SEEDS = (0, 1)  # of the random thirds
NUCLEOTIDE, EXON, GENE = 0, 1, 3  # rows of the scores


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
            spans = validation_spans(3, problem.sequences.offsets)
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


def path(learn: list[Window], test: list[Window], name: str) -> dict[str, Any]:
    """Scores along one training: at the shown iterations, at the end, and where h first falls below each τ."""
    estimator = _watched(ConstrainedCRF if name == BOUND else CRF)
    model = _model(learn, estimator(**_common(TOL, MOST), **SETTINGS[name], patience=10**6))
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


TOLERANCE_CASES = [Case(name, tol=tol) for name in SETTINGS for tol in TOLERANCES]
CUT_CASES = [Case(BOUND, most=most) for most in CUT]
TAU_CASES = [Case(BOUND, most=100, tau=tau) for tau in TAUS[:4]]
THIRDS_CASES = [Case(BOUND, most=100, seed=seed) for seed in SEEDS]
