"""Gradient tree boosting of a CRF, round by round.

Dietterich, Ashenfelter and Bulatov (ICML 2004), table 2: in each round the functional gradient at every
position (and previous label) is computed by forward-backward, and one regression tree per label is fitted to
it and added. The first rounds may use the pseudo-likelihood. Additions to the paper: Newton's leaf values
(the sum of errors over the sum of p (1 - p)), a step size by line search, influence trimming (Friedman 2001),
and in the factored form tables of transitions that are fitted again between rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labelled_table import LabelledTable
from crfkit.exceptions import InputError
from crfkit.inference.chain import CHAIN, TransitionsOnly
from crfkit.inference.lattice import Lattice
from crfkit.models.trees.grouped_trees import GroupedGrower
from crfkit.models.trees.grower import GrowthSettings, TrainingRows, TreeGrower
from crfkit.objectives.functional_gradient import (
    likelihood_errors,
    minus_log_likelihood,
    pseudo_likelihood_errors,
)
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import State
from crfkit.potentials.forest import Forest
from crfkit.potentials.transitions import NodeScores, TransitionPotential, TransitionTables
from crfkit.potentials.tree import GrowingScores, TreePotential

LEAST_CURVATURE = 1e-6
_DRAWS = 50  # samples of rows or columns to try before concluding that a round cannot split


@dataclass(frozen=True)
class BoostingSettings:
    """The parameters of ``TreeCRF`` for given data."""

    joint: bool
    order: int
    window: tuple[int, int]
    newton: bool
    pseudo_iterations: int
    trim: float
    line_search: bool
    transition_c2: float
    transition_every: int
    by: int | None  # the column with separate trees for each category
    growth: GrowthSettings

    def continuing(self, before: TreePotential) -> BoostingSettings:
        """Return the settings for training a model further: its form, and the likelihood from the start."""
        order = self.order if before.tables is None else before.tables.order
        if (before.tables is None) != self.joint or order != self.order:
            form = "joint" if before.tables is None else f"factored potentials of order {order}"
            raise InputError(
                f"the fitted model has {form}: partial_fit needs the potentials, order and by of its training"
            )
        return replace(self, pseudo_iterations=0)


class Boosting:
    """The state of boosting a TreeCRF."""

    def __init__(
        self,
        data: LabelledTable,
        settings: BoostingSettings,
        n_jobs: int | None = None,
        before: TreePotential | None = None,  # a model that is trained further
    ) -> None:
        self.settings, self._n_jobs, self._data = settings, n_jobs, data
        self._labels, self._weights = data.labels, data.weights
        table, window, n_labels = data.table, settings.window, len(data.classes)
        rows = TrainingRows(table, window, n_labels, settings.joint)
        n_features = rows.n_features
        self._grower: TreeGrower | GroupedGrower
        if settings.by is None:
            self._grower = TreeGrower(rows, data.categories, settings.growth)
            start = Forest.empty(n_features, n_labels, settings.joint)
        else:
            observed = data.labels.permitted(n_labels).astype(np.float64)
            self._grower = GroupedGrower(
                table, window, observed, settings.by, data.categories, settings.growth
            )
            start = self._grower.start()
        self.tables = None if settings.joint else TransitionTables.zeros(n_labels, settings.order)
        if before is not None:
            start, self.tables = before.forest, before.tables
        self.start = TreePotential(start, window, self.tables)  # the model before the first round
        self.rounds: list[Forest] = []
        self._draws = 0  # of samples of rows and columns
        self.stages: list[TransitionTables | None] = []  # the tables after each round
        self._scores = self.start.growing(table, n_jobs=n_jobs)
        self._transitions = None
        if self.tables is not None:
            potential, batch = TransitionPotential(self.tables), NodeScores(self._scores.node, table.offsets)
            likelihood = Likelihood(
                potential,
                batch,
                data.labels,
                structure=TransitionsOnly(),
                weights=data.weights,
                class_weights=data.class_weights,
                n_jobs=n_jobs,
            )
            centre = None if before is None else self.tables.vector
            self._transitions = Penalised(likelihood, settings.transition_c2, centre=centre)

    def round(self) -> dict[str, Any] | None:
        """Grow one more tree per label; return the record of the round, or None if nothing can be split.

        The record has the objective (minus the log-likelihood) before the round, and the step.
        """
        number, settings = len(self.rounds), self.settings
        if number % settings.transition_every == 0:
            self._fit_tables(table_iterations(number))
        known = self._labels.allowed is None
        pseudo = number < settings.pseudo_iterations and known and settings.order == 1
        errors_of = pseudo_likelihood_errors if pseudo else likelihood_errors
        errors = errors_of(self._lattice(self._scores), self._labels, self._weights, self._n_jobs)
        table = self._scores.table
        gradient = self.start.targets(table, errors.node, errors.edge)  # [rows, L]
        if settings.newton:
            hessian = self.start.targets(table, errors.node_curvature, errors.edge_curvature)
            hessian = np.maximum(hessian, LEAST_CURVATURE)
        else:
            hessian = np.ones_like(gradient)
        if settings.trim > 0:
            _trim(gradient, hessian, settings.trim)
        forest = self._grown(gradient, hessian)
        if forest is None:
            return None
        step = self._line_search(forest) if settings.line_search else 1.0
        if step != 1.0:
            forest = forest.scaled(step)
        self._scores.add(forest, n_jobs=self._n_jobs)
        self.rounds.append(forest)
        self.stages.append(self.tables)
        return {"iteration": number + 1, "objective": errors.objective, "step": step}

    def saved(self) -> State:
        """Return the rounds so far for a checkpoint."""
        return {
            "rounds": [forest.parts() for forest in self.rounds],
            "stages": [None if tables is None else tables.vector for tables in self.stages],
            "draws": self._draws,
        }

    def resume(self, saved: State) -> None:
        """Continue from the rounds of a checkpoint."""
        start = self.tables
        self.rounds = [Forest(*parts) for parts in saved["rounds"]]
        self.stages = [
            None if start is None else start.at(vector)
            for vector, _ in zip(saved["stages"], saved["rounds"], strict=True)
        ]
        self.tables, self._draws = [start, *self.stages][-1], saved["draws"]
        for forest in self.rounds:
            self._scores.add(forest, n_jobs=self._n_jobs)

    def _grown(self, gradient: FloatArray, hessian: FloatArray) -> Forest | None:
        """Grow the next trees. If rows or columns are sampled, try several samples to find a split."""
        growth = self.settings.growth
        for _ in range(_DRAWS if growth.is_sampled else 1):
            forest = self._grower.grow(gradient, hessian, self._draws)
            self._draws += 1
            if forest is not None:
                return forest
        return None

    def _lattice(self, scores: GrowingScores) -> Lattice:
        return with_costs(scores.lattice(self.tables), self._data)

    def _fit_tables(self, iterations: int) -> None:
        """Fit the tables to the trees so far, starting from their current values."""
        if self.tables is None or self._transitions is None:
            return
        centre = self._transitions.centre
        start = self.tables.vector if centre is None else self.tables.vector - centre
        found = minimize_lbfgs(self._transitions, start, max_iterations=iterations, tol=1e-4)
        if found.interrupted:
            raise KeyboardInterrupt
        self.tables = self.tables.at(self._transitions.whole(found.x))

    def _line_search(self, forest: Forest) -> float:
        """Return the step along the new trees that is best for the likelihood, within a factor of √2."""
        direction = self.start.without_trees(self._scores.table)
        direction.add(forest, n_jobs=self._n_jobs)

        def value(step: float) -> float:
            lattice = self._lattice(self._scores.moved(step, direction))
            return -minus_log_likelihood(lattice, self._labels, self._weights, self._n_jobs)

        return best_step(value)


def table_iterations(number: int) -> int:
    """Return the iterations of fitting tables of label pairs before a round: more before the first one."""
    return 30 if number == 0 else 4


def with_costs(lattice: Lattice, data: LabelledTable) -> Lattice:
    """Return the scores with the margin of the class weights, as ``objectives/likelihood.py`` adds it."""
    if data.class_weights is None:
        return lattice
    return CHAIN.raise_wrong(lattice, data.labels, np.log(data.class_weights))


def best_step(value: Callable[[float], float]) -> float:
    """Return the best of the steps … 1/2, 1/√2, 1, √2, 2 … found by walking uphill from 1."""
    ratio = float(np.sqrt(2))
    best, height = 1.0, value(1.0)
    for factor in (ratio, 1 / ratio):
        step = best * factor
        while 2.0**-10 < step < 2.0**10 and (found := value(step)) > height:
            best, height = step, found
            step *= factor
        if best != 1.0:
            break
    return best


def _trim(gradient: FloatArray, hessian: FloatArray, share: float) -> None:
    """Remove the rows that together have only this share of all influence (Friedman 2001, section 4.5).

    The influence of a row is the sum of its absolute errors over the labels.
    """
    influence = np.abs(gradient).sum(axis=1)  # [rows]
    order = np.argsort(influence)
    mass = np.cumsum(influence[order])
    out = order[: int(np.searchsorted(mass, share * mass[-1]))]
    gradient[out] = 0.0
    hessian[out] = LEAST_CURVATURE
