"""The state of a search for features: the chosen features, their model, the records of the rounds."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.features.conjunctions import Occurrences, expand
from crfkit.features.index import FeatureIndex
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.potentials.linear import LinearPotential
from crfkit.selection.candidates import Candidates
from crfkit.selection.pool import Pool
from crfkit.selection.refit import NOTHING_KNOWN, Refitted, refit
from crfkit.selection.selected import Feature


@dataclass(frozen=True)
class Held:
    """Held-out sequences over the attributes of the pool, before conjunctions, and their labels."""

    sequences: Encoded
    y: Any


@dataclass(frozen=True)
class SearchSettings:
    """When to stop, and how to train in between."""

    n_features: int | None  # largest number of chosen features
    least_drop: float  # smallest decrease of the objective per feature of a round; 0: no limit
    patience: int  # rounds without a better dev accuracy
    c2: float
    refit_tol: float
    n_threads: int
    n_jobs: int | None
    verbose: bool


class Search:
    """The chosen features, their weights, and the records of all rounds. Selectors add to it each round."""

    def __init__(self, pool: Candidates, settings: SearchSettings, held: Held | None) -> None:
        self.settings = settings
        self.records: list[dict[str, Any]] = []
        self.features: list[Feature] = []  # in the order of choice, as in ``chosen``
        self.chosen: IntArray = np.zeros(0, np.int64)
        self.interrupted = False
        self.stopped_because = "every candidate is chosen"
        self._held = held
        self._curvature = NOTHING_KNOWN
        self._n_given = 0
        self._best: tuple[float, int] | None = None  # dev accuracy, place in records
        self._kept: list[tuple[list[Feature], FloatArray]] = []  # per record, if there is a dev set
        self._began = time.perf_counter()
        self._adopt(pool)
        self.weights: FloatArray = np.zeros(pool.n_candidates)

    # ---- the pool

    def _adopt(self, pool: Candidates) -> None:
        self.pool = pool
        self._objective: PenalisedLikelihood[Any] | None = None
        self._occurrences: Occurrences | None = None
        self._dev: DevSet | None = None
        if self._held is not None:
            encoded = expand(self._held.sequences, pool.conjunctions)
            self._dev_sequences = encoded.sequences
            try:
                self._dev = DevSet.of(
                    self._held.y,
                    pool.classes,
                    encoded.sequences.offsets,
                    forced=encoded.forced(pool.classes),
                    n_jobs=self.settings.n_jobs,
                )
            except InputError as error:
                raise InputError(f"in the dev set: {error}") from error

    def grow(self, pool: Pool) -> None:
        """Continue with a larger pool, whose first candidates are those of the current pool."""
        if pool is not self.pool:
            more = pool.n_candidates - len(self.weights)
            self._adopt(pool)
            self.weights = np.concatenate((self.weights, np.zeros(more)))

    @property
    def local(self) -> Pool:
        """The pool with its sequences, which must be in this process."""
        if not isinstance(self.pool, Pool):
            raise InputError("this search needs all sequences in one place, and they are in parts elsewhere")
        return self.pool

    @property
    def occurrences(self) -> Occurrences:
        """The positions of each attribute."""
        if self._occurrences is None:
            self._occurrences = Occurrences(self.local.sequences)
        return self._occurrences

    @property
    def model(self) -> tuple[FeatureIndex, FloatArray]:
        """The chosen features and their weights."""
        chosen = np.sort(self.chosen)
        index = self.pool.index_of(chosen)
        w = np.zeros(sum(index.sizes))
        w[index.places] = self.weights[chosen]
        return index, w

    def gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective at weights [K], and its derivative by the weight of every candidate [K].

        It takes one pass over the data: expected minus observed counts, plus the gradient of the penalty.
        """
        if self._objective is None:
            likelihood = self.pool.likelihood(self.settings.n_threads)
            self._objective = likelihood.penalised(c2=self.settings.c2)
        objective = self._objective
        here = objective(objective.parameters(self.pool.vector(weights)))
        return here.value, self.pool.numbers(objective.weights(here.gradient))

    # ---- rounds

    @property
    def round(self) -> int:
        """The number of the current round."""
        return len(self.records)

    @property
    def room(self) -> int:
        """How many more features may be chosen."""
        left = self.pool.n_candidates - len(self.chosen)
        limit = self.settings.n_features
        return left if limit is None else min(left, limit - (len(self.chosen) - self._n_given))

    def begin(self, given: IntArray) -> None:
        """Do round 0 with the features that are in the model from the start, often none."""
        self._n_given = len(given)
        features = self.pool.features(given, 0, np.full(len(given), np.nan))
        if len(given):
            found = self._refit(given, self.weights)
        else:
            found = Refitted(self.weights, self.gradient(self.weights)[0], False)
        self._record(given, features, features, float("nan"), found)

    def step(self, picked: IntArray, scores: FloatArray, starts: FloatArray | None = None) -> bool:
        """Add features, train and record. Return False to stop, without the features if they are useless."""
        features = self.pool.features(picked, self.round, scores)
        start = self.weights.copy()
        if starts is not None:
            start[picked] = starts
        chosen = np.concatenate((self.chosen, picked))
        return self.replace(chosen, [*self.features, *features], features, float(scores.max()), start)

    def replace(
        self,
        chosen: IntArray,
        features: list[Feature],
        new: list[Feature],
        score: float,
        start: FloatArray,
    ) -> bool:
        """Do a round that may also drop features; ``start`` [K]. Return as ``step`` does."""
        found = self._refit(chosen, start)
        drop = self.objective - found.objective
        least = self.settings.least_drop * max(1, len(chosen) - len(self.chosen))
        if self.settings.least_drop > 0 and drop < least and not found.interrupted:
            self.stopped_because = f"the objective fell by {drop:.4g}, less than the {least:.4g} asked for"
            return False
        self._record(chosen, features, new, score, found)
        if found.interrupted:
            self.interrupted, self.stopped_because = True, "it was interrupted"
            return False
        if self._best is not None and self.round - 1 - self._best[1] >= self.settings.patience:
            self.stopped_because = (
                f"no better dev accuracy than {self._best[0]:.4f} in {self.settings.patience} rounds"
            )
            return False
        if self.room <= 0:
            if self.settings.n_features is not None:
                self.stopped_because = f"n_features={self.settings.n_features} are chosen"
            return False
        return True

    @property
    def objective(self) -> float:
        """The objective of the last round."""
        return float(self.records[-1]["objective"])

    def _refit(self, chosen: IntArray, start: FloatArray) -> Refitted:
        settings = self.settings
        found = refit(
            self.pool,
            chosen,
            start,
            c2=settings.c2,
            tol=settings.refit_tol,
            n_threads=settings.n_threads,
            curvature=self._curvature,
        )
        self._curvature = found.curvature
        return found

    def _record(
        self, chosen: IntArray, features: list[Feature], new: list[Feature], score: float, found: Refitted
    ) -> None:
        self.chosen, self.features, self.weights = chosen, features, found.weights
        record: dict[str, Any] = {
            "round": self.round,
            "features": new,
            "n_features": len(features),
            "score": score,
            "objective": found.objective,
            "seconds": time.perf_counter() - self._began,
        }
        if self._dev is not None:
            potential = LinearPotential(self.pool.index, self.pool.vector(self.weights))
            accuracy = self._dev.accuracy(potential.scores(self._dev_sequences, n_jobs=self.settings.n_jobs))
            record["dev_accuracy"] = accuracy
            if self._best is None or accuracy > self._best[0]:
                self._best = accuracy, self.round
            self._kept.append((features, found.weights[chosen]))
        self.records.append(record)
        if self.settings.verbose:
            self._say(record)

    def _say(self, record: dict[str, Any]) -> None:
        words = f"round {record['round']:4}  {record['n_features']:6,} features"
        words += f"  objective {record['objective']:.2f}"
        if record["round"]:
            words += f"  score {record['score']:.4g}"
        if "dev_accuracy" in record:
            words += f"  dev accuracy {record['dev_accuracy']:.4f}"
        words += f"  {record['seconds']:.1f} s"
        if record["features"]:
            shown = record["features"][:3]
            words += f"  {', '.join(map(str, shown))}{', …' if len(record['features']) > 3 else ''}"
        sys.stderr.write(words + "\n")
        sys.stderr.flush()

    def outcome(self) -> tuple[list[Feature], FloatArray, int]:
        """Return features, weights and round of the result: the last round, or the best on the dev set."""
        if self._best is None:
            return self.features, self.weights[self.chosen], len(self.records) - 1
        place = self._best[1]
        return *self._kept[place], place
