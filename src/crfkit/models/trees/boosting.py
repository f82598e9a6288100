"""Gradient tree boosting of a CRF, round by round.

Dietterich, Ashenfelter and Bulatov (ICML 2004), table 2: in each round the functional gradient at every
position (and label before it) is computed by forward-backward, and one regression tree a label is fitted to
it and added. The first rounds may climb the pseudo-likelihood. Beyond the paper: Newton's leaf values (the
sum of errors over the sum of p (1 - p)), a step size by line search, influence trimming (Friedman 2001), and
in the factored form tables of transitions that are fitted anew between rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels
from crfkit.data.tables import Table
from crfkit.inference import Lattice
from crfkit.models.trees.grouped_trees import GroupedGrower
from crfkit.models.trees.grower import GrowthSettings, Rows, TreeGrower
from crfkit.objectives.functional_gradient import (
    Errors,
    likelihood_errors,
    log_likelihood,
    pseudo_likelihood_errors,
)
from crfkit.objectives.transition_tables import TransitionLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.potentials.forest import Forest
from crfkit.potentials.tree import TransitionTables, TreePotential

# Iterations of fitting the transitions, before the first and before later rounds.
_FIRST_FIT, _NEXT_FIT = 30, 4
_LEAST_CURVATURE = 1e-6
_DRAWS = 50  # samples of rows or columns that are tried before a round counts as one that cannot split


@dataclass(frozen=True)
class BoostingSettings:
    """What ``TreeCRF`` was told."""

    joint: bool
    order: int
    window: tuple[int, int]
    newton: bool
    pseudo_iterations: int
    trim: float
    line_search: bool
    transition_c2: float
    transition_every: int
    by: int | None  # the column whose categories have trees of their own
    growth: GrowthSettings


class Scored:
    """A table whose scores grow with the trees: training data or held-out data."""

    def __init__(self, table: Table, potential: TreePotential) -> None:
        self.table = table
        self.node, self.edge = potential.blank(table)

    def add(self, forest: Forest, window: tuple[int, int], n_jobs: int | None) -> None:
        """One round's trees."""
        forest.add_scores(self.table, window, self.node, self.edge, n_jobs=n_jobs)

    def lattice(self, tables: TransitionTables | None) -> Lattice:
        """The scores as they are now."""
        if tables is None:
            return Lattice(self.node, self.edge if self.edge is not None else [], self.table.offsets)
        return Lattice(self.node, tables.edge, self.table.offsets, tables.start, tables.end, tables.edge2)


class Boosting:
    """A TreeCRF in the making."""

    def __init__(
        self,
        table: Table,
        labels: Labels,
        n_labels: int,
        categories: list[int],
        settings: BoostingSettings,
        weights: FloatArray | None = None,  # [N]
        n_jobs: int | None = None,
    ) -> None:
        self.settings, self._labels, self._weights, self._n_jobs = settings, labels, weights, n_jobs
        rows = Rows(table, settings.window, n_labels, settings.joint)
        tables = None if settings.joint else TransitionTables.zeros(n_labels, settings.order)
        empty = Forest.empty(rows.n_features, n_labels, settings.joint)
        self._blank = TreePotential(empty, settings.window, tables)
        self.tables = tables
        self.rounds: list[Forest] = []
        self.stages: list[TransitionTables | None] = []  # the tables after each round
        self._data = Scored(table, self._blank)
        self._grower: TreeGrower | GroupedGrower
        self.start = empty  # what comes before the trees of the first round
        if settings.by is None:
            self._grower = TreeGrower(rows, categories, settings.growth)
            return
        observed = labels.allowed
        if observed is None:
            observed = labels.ids[:, None] == np.arange(n_labels)
        self._grower = GroupedGrower(
            table, settings.window, observed.astype(np.float64), settings.by, categories, settings.growth
        )
        self.start = self._grower.start()
        self._data.add(self.start, settings.window, n_jobs)

    def watch(self, table: Table) -> Scored:
        """Scores of other data, to be kept up with ``Scored.add`` after each round."""
        scored = Scored(table, self._blank)
        scored.add(self.start, self.settings.window, self._n_jobs)
        return scored

    def round(self) -> dict[str, Any] | None:
        """Grow one tree a label more; None where that is no longer possible.

        The record has the objective (minus the log-likelihood) that the round began with, and its step.
        """
        number, settings = len(self.rounds), self.settings
        if self.tables is not None and number % settings.transition_every == 0:
            self._fit_tables(_FIRST_FIT if number == 0 else _NEXT_FIT)
        lattice = self._data.lattice(self.tables)
        errors, objective = self._errors(lattice, number)
        d_edges = () if errors.edge is None else (errors.edge,)
        gradient = -self._blank.backward(self._data.table, errors.node, *d_edges)  # [rows, L]
        if settings.newton:
            curved = () if errors.edge_curvature is None else (errors.edge_curvature,)
            hessian = self._blank.backward(self._data.table, errors.node_curvature, *curved)
            hessian = np.maximum(hessian, _LEAST_CURVATURE)
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
        self._data.add(forest, settings.window, self._n_jobs)
        self.rounds.append(forest)
        self.stages.append(self.tables)
        return {"iteration": number + 1, "objective": objective, "step": step}

    def potential(self, n_rounds: int | None = None) -> TreePotential:
        """The model after so many rounds; None: after all."""
        n = len(self.rounds) if n_rounds is None else n_rounds
        forest = Forest.end_to_end([self.start, *self.rounds[:n]])
        return TreePotential(forest, self.settings.window, self.stages[n - 1] if n else self.tables)

    def _grown(self, gradient: FloatArray, hessian: FloatArray) -> Forest | None:
        """The next trees. Where a round sees a sample, another one may have the split that it lacks."""
        growth = self.settings.growth
        for _ in range(_DRAWS if growth.is_sampled else 1):
            forest = self._grower.grow(gradient, hessian)
            if forest is not None:
                return forest
        return None

    def _errors(self, lattice: Lattice, number: int) -> tuple[Errors, float]:
        """What the next trees are fitted to, and minus the log-likelihood."""
        settings = self.settings
        known = self._labels.allowed is None
        if number < settings.pseudo_iterations and known and settings.order == 1:
            errors = pseudo_likelihood_errors(lattice, self._labels, self._weights)
            return errors, -self._log_likelihood(lattice)
        errors = likelihood_errors(lattice, self._labels, self._weights, self._n_jobs)
        return errors, -errors.value

    def _log_likelihood(self, lattice: Lattice) -> float:
        found = log_likelihood(lattice, self._labels, self._n_jobs)  # [N]
        return float(found.sum() if self._weights is None else found @ self._weights)

    def _fit_tables(self, iterations: int) -> None:
        if self.tables is None:
            return
        objective = TransitionLikelihood(
            self._data.node,
            self._data.table.offsets,
            self._labels,
            self.settings.order,
            self.settings.transition_c2,
            self._weights,
            self._n_jobs,
        )
        found = minimize_lbfgs(objective, self.tables.to_vector(), max_iterations=iterations, tol=1e-4)
        self.tables = TransitionTables.from_vector(found.x, self._data.node.shape[1], self.settings.order)

    def _line_search(self, forest: Forest) -> float:
        """The step along the new trees that is best for the likelihood, to within a factor of √2."""
        data, h = self._data, Scored(self._data.table, self._blank)
        h.add(forest, self.settings.window, self._n_jobs)

        def value(step: float) -> float:
            trial = Scored.__new__(Scored)
            trial.table, trial.node = data.table, data.node + step * h.node
            trial.edge = None if data.edge is None or h.edge is None else data.edge + step * h.edge
            return self._log_likelihood(trial.lattice(self.tables))

        return best_step(value)


def best_step(value: Callable[[float], float]) -> float:
    """The best of the steps … 1/2, 1/√2, 1, √2, 2 … found by walking uphill from 1."""
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
    """Rows that together hold only this share of all influence have no say (Friedman 2001, section 4.5).

    A row counts as much as its errors, labels taken together.
    """
    influence = np.abs(gradient).sum(axis=1)  # [rows]
    order = np.argsort(influence)
    mass = np.cumsum(influence[order])
    out = order[: int(np.searchsorted(mass, share * mass[-1]))]
    gradient[out] = 0.0
    hessian[out] = _LEAST_CURVATURE
