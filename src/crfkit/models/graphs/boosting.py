"""Gradient tree boosting of graphs, round by round.

As ``models/trees/boosting.py`` for chains: in each round the functional gradient at every node and edge,
expected minus observed, is computed by the structure (or from the pseudo-likelihood), and one tree per label
of nodes and per pair of labels of edges is fitted to it and added. Tables of label pairs for each type of
edge are fitted again between rounds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.inference.graph_scores import GraphGradient, GraphScores
from crfkit.models.graphs.training import GraphTask, Trained
from crfkit.models.graphs.tree_part import GraphColumns, TreePart
from crfkit.models.training import Outcome, Watch, interruption, run_rounds
from crfkit.models.trees.boosting import LEAST_CURVATURE, table_iterations
from crfkit.models.trees.grower import TrainingRows, TreeGrower
from crfkit.models.trees.steps import growth_settings
from crfkit.models.trees.tree_crf import TreeCRF
from crfkit.objectives.likelihood import Likelihood, Residuals, expected_minus_observed, log_likelihood
from crfkit.objectives.pseudo_likelihood import PseudoLikelihood, pseudo_likelihood_residuals
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised
from crfkit.potentials.edge_tables import EdgeTables
from crfkit.potentials.forest import Forest
from crfkit.potentials.graph_table import GraphTable
from crfkit.potentials.graph_trees import GraphTrees, TreeScores
from crfkit.progress import Progress
from crfkit.threads import thread_count

_LEAST_STEP = 2.0**-10


class GraphBoosting:
    """The state of boosting."""

    def __init__(self, task: GraphTask, own: GraphColumns, batch: GraphTable, settings: TreeCRF) -> None:
        self._task, self._settings, self._structure = task, settings, task.structure
        L = self.n_labels = len(task.classes)
        growth = growth_settings(settings, thread_count(task.estimator.n_jobs))
        of_nodes, of_edges = own.categories()
        self._nodes = TreeGrower(TrainingRows(batch.nodes, (0, 0), L, False), of_nodes, growth)
        self._edges: TreeGrower | None = None
        if batch.edge_rows is not None and len(batch.edge_rows.values):
            rows = TrainingRows(batch.edge_rows, (0, 0), L * L, False)
            self._edges = TreeGrower(rows, batch.edge_categories(of_nodes, of_edges), growth)
        self.tables = EdgeTables(np.zeros((batch.layout.n_types, L, L)))
        self.scores = TreeScores.zeros(batch, L)
        self.rounds: list[tuple[Forest | None, Forest | None, EdgeTables]] = []
        self.n_features = own.n_on_edges

    def round(self) -> dict[str, Any] | None:
        """Grow the trees of one more round; return its record, or None if nothing can be split."""
        number, settings = len(self.rounds), self._settings
        if number % settings.transition_every == 0:
            self._fit_tables(table_iterations(number))
        targets, value = self._targets()
        node = self._nodes.grow(*targets[0], number)
        edge = None if self._edges is None else self._edges.grow(*targets[1], number)
        if node is None and edge is None:
            return None
        step = self._move(node, edge, value)
        if step is None:
            return None
        self.rounds.append((_scaled(node, step), _scaled(edge, step), self.tables))
        return {"iteration": number + 1, "objective": value, "step": step}

    def _move(self, node: Forest | None, edge: Forest | None, value: float) -> float | None:
        """Add new trees with the largest step 1, 1/2, … that lowers the objective; return it, or None.

        Newton's leaves of nodes and edges are computed as if the others stood still. Where nearly all
        probabilities are 0 or 1 they are far too large, and without this check training would diverge.
        """
        direction = TreeScores.zeros(self.scores.batch, self.n_labels)
        direction.add(node, edge, n_jobs=self._task.estimator.n_jobs)
        step = 1.0
        while step > _LEAST_STEP:
            trial = self.scores.moved(step, direction)
            if self._value(trial) < value:
                self.scores = trial
                return step
            step /= 2
        return None

    def _value(self, scores: TreeScores) -> float:
        """Return the objective with other scores of trees."""
        task, found = self._task, self._graph_scores(scores)
        if task.is_pseudo:
            log_p = pseudo_likelihood_residuals(found, task.labels).log_p
        else:
            log_p = log_likelihood(self._structure, found, task.labels, task.estimator.n_jobs)
        return -float(log_p.sum() if task.weights is None else log_p @ task.weights)

    def potential(self, n_rounds: int) -> GraphTrees:
        """Return the model after this many rounds."""
        kept, L = self.rounds[:n_rounds], self.n_labels
        n_nodes = self.scores.batch.nodes.values.shape[1]
        nodes = [Forest.empty(n_nodes, L, False), *(node for node, _, _ in kept if node is not None)]
        edges = None
        if self.n_features:
            grown = [edge for _, edge, _ in kept if edge is not None]
            edges = Forest.end_to_end([Forest.empty(self.n_features, L * L, False), *grown])
        return GraphTrees(Forest.end_to_end(nodes), edges, kept[-1][2] if kept else self.tables)

    def objective(self) -> float:
        """Return minus the log-likelihood (or its surrogate) of the trees so far."""
        return self._value(self.scores)

    def _graph_scores(self, trees: TreeScores) -> GraphScores:
        scores = self.tables.scores(trees.given)
        if self._task.class_weights is None:
            return scores
        return self._structure.raise_wrong(scores, self._task.labels, np.log(self._task.class_weights))

    def _targets(self) -> tuple[list[tuple[FloatArray, FloatArray]], float]:
        """Return gradient and second derivatives of the rows of nodes and of edges, and the objective."""
        task, scores = self._task, self._graph_scores(self.scores)
        found: Residuals[GraphGradient]
        if task.is_pseudo:
            found = pseudo_likelihood_residuals(scores, task.labels)
        else:
            how: Any = {"expected": True, "n_jobs": task.estimator.n_jobs}
            found = expected_minus_observed(self._structure, scores, task.labels, **how)
        expected, batch = found.expected or found.observed, self.scores.batch
        targets = [self._target(found.d_scores.node, expected.node, batch.layout.offsets)]
        if self._edges is not None:
            both = self._target(found.d_scores.edge, expected.edge, batch.layout.edge_offsets)
            targets.append((batch.per_row(both[0]), batch.per_row(both[1])))
        total = found.log_p.sum() if task.weights is None else found.log_p @ task.weights
        return targets, -float(total)

    def _target(self, error: FloatArray, p: FloatArray, offsets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return errors, and p (1 - p) for Newton's steps, times the weights of their graphs."""
        curvature = np.maximum(p * (1 - p), LEAST_CURVATURE) if self._settings.newton else np.ones_like(p)
        if self._task.weights is None:
            return error, curvature
        share = np.repeat(self._task.weights, np.diff(offsets)).reshape(-1, *[1] * (error.ndim - 1))
        return error * share, curvature * share

    def _fit_tables(self, iterations: int) -> None:
        """Fit the tables to the trees so far, starting from their current values."""
        if not self.tables.n_parameters:
            return
        task, kind = self._task, PseudoLikelihood if self._task.is_pseudo else Likelihood
        function = kind(
            self.tables,
            self.scores.given,
            task.labels,
            structure=self._structure,
            weights=task.weights,
            class_weights=task.class_weights,
            n_jobs=task.estimator.n_jobs,
        )
        penalised = Penalised(function, float(self._settings.transition_c2))
        start = self.tables.tables.reshape(-1)
        found = minimize_lbfgs(penalised, start, max_iterations=iterations, tol=1e-4)
        if found.interrupted:
            raise KeyboardInterrupt
        self.tables = EdgeTables(found.x.reshape(self.tables.tables.shape))


def _scaled(forest: Forest | None, step: float) -> Forest | None:
    return forest if forest is None or step == 1.0 else forest.scaled(step)


def train_trees(task: GraphTask, settings: TreeCRF) -> Trained:
    """Return a model of boosted trees; with a dev set, with the number of rounds that is best on it."""
    own, batch = GraphColumns.learn(task.graphs, task.names)
    boosting = GraphBoosting(task, own, batch, settings)
    progress = Progress(task.estimator.verbose, settings.n_iterations)
    watch: Watch[int] = Watch(progress, task.estimator.patience)
    dev = task.encoded_dev(own.encode)
    held = None if dev is None else TreeScores.zeros(dev, boosting.n_labels)
    tagger, began = task.tagger(TreePart(own, boosting.potential(0))), time.perf_counter()

    def dev_accuracy() -> float | None:
        if held is None or task.dev is None:
            return None
        node, edge, tables = boosting.rounds[-1]
        held.add(node, edge, n_jobs=tagger.n_jobs)
        return task.dev[1].share_right(tagger.decode(tables.scores(held.given)).labels)

    def advance() -> str | None:
        record = boosting.round()
        if record is None:
            return f"no split reduces the objective after {len(boosting.rounds)} rounds"
        record["seconds"] = time.perf_counter() - began
        score = dev_accuracy()
        if score is not None:
            record["dev_accuracy"] = score
        if watch.note(record, score, lambda: len(boosting.rounds)) and watch.best is not None:
            return f"no better dev accuracy than {watch.best[0]:.4f} in {task.estimator.patience} rounds"
        return f"{settings.n_iterations} rounds" if len(boosting.rounds) >= settings.n_iterations else None

    message, complete = run_rounds(advance)
    if not complete:
        message = interruption(len(boosting.rounds), "rounds")
    progress.close(f"training is complete: {message}" if complete else message)
    kept = len(boosting.rounds) if watch.best is None else watch.best[1]
    value = boosting.objective()
    outcome = Outcome(np.zeros(0), value, complete, message, watch.history, not complete)
    part = TreePart(own, boosting.potential(kept))
    return Trained(task.tagger(part), outcome, None, task.maximised(part.scores(batch)))
