"""Training a kernel model of graphs: matrices of nodes and of edges, then rounds of clique selection.

A clique is a node or an edge of the training graphs; ``models/kernels/clique_selection.py`` chooses them
greedily, as on chains. ``gamma`` and ``reg`` are chosen on held-out graphs by a model of single nodes; the
kernel of edges has the same multiple of the median heuristic's gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.conventions import clone
from crfkit.data.labelled_positions import LabelledPositions, TrainingSet, labelled_part
from crfkit.data.labels import Labels
from crfkit.data.positions import Positions
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores
from crfkit.inference.graphs import Graphs
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel, Precomputed
from crfkit.kernels.training_matrices import as_kernels, kernel_matrices
from crfkit.models.graphs.kernel_part import GraphNumbers, KernelPart
from crfkit.models.graphs.training import GraphTask, Trained
from crfkit.models.kernels.estimator import Form
from crfkit.models.kernels.risk import KernelRisk
from crfkit.models.kernels.sizes import Sizes, sizes_of
from crfkit.models.kernels.training import HeldOut, train_kernel
from crfkit.models.training import Outcome
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.likelihood import Likelihood, log_likelihood
from crfkit.objectives.pseudo_likelihood import PseudoLikelihood
from crfkit.optional import needed
from crfkit.potentials.graph_kernels import GraphKernels, GraphStretch
from crfkit.potentials.graph_table import GraphPoints
from crfkit.potentials.kernel_expansion import KernelExpansion
from crfkit.progress import Progress
from crfkit.threads import threads_of_products


def train_kernels(task: GraphTask, settings: Any) -> Trained:
    """Return a model with the settings of a ``KernelCRF``."""
    needed("scipy.linalg", "training with kernels", "kernels")
    own = clone(settings)
    if task.dev is not None and own.patience is None:
        own.set_params(patience=task.estimator.patience)
    own.set_params(n_jobs=task.estimator.n_jobs, random_state=task.estimator.random_state)
    edge_cliques = own.cliques == "vertex+edge"
    names = task.names
    if edge_cliques and not names.featured:
        names = replace(names, ends=True)  # edges are compared by their nodes
    progress = Progress(task.estimator.verbose)
    numbers, everything = GraphNumbers.learn(task.graphs, names)
    data, points = _labelled(task, everything)
    held = task.encoded_dev(numbers.encode)
    if held is not None:
        data = replace(data, dev=LabelledPositions(Positions(held.nodes.values, held.offsets), []))
    kernels = as_kernels(own.kernel, own.graph, gamma=own.gamma, degree=own.degree, coef0=own.coef0)
    if any(isinstance(kernel, Precomputed) for kernel in kernels):
        raise InputError("kernel='precomputed' does not go with graphs: give features and a kernel of them")
    L = len(task.classes)
    sizes = _sizes(own, points.n_positions, L, edge_cliques)
    matrices = kernel_matrices(
        data,
        kernels,
        own.graph,
        n_candidates=sizes.n_candidates,
        limit=1e6 * float(own.cache_size),
        seed=own.random_state or 0,
    )
    medians = [getattr(matrix.kernel, "gamma", None) for matrix in matrices]
    form = Form(edge_cliques=edge_cliques)
    with threads_of_products(0, own.n_jobs):
        matrices = own._choose(form, data, kernels, matrices, None, progress)
    n_on_vertices = len(matrices)
    if edge_cliques and points.edge_rows is not None and len(points.edge_rows.values):
        for kernel, matrix, median in zip(kernels, list(matrices), medians, strict=False):
            scale = _scale(matrix.kernel, median)
            matrices.append(_edge_matrix(kernel, scale, points, held, own, sizes))
    stretch = GraphStretch(points, (0, 0), n_on_vertices, edge_cliques)
    dev = None
    if held is not None and task.dev is not None:
        first = points.n_positions, len(_edge_rows(points))
        of_dev = GraphStretch(held, first, n_on_vertices, edge_cliques)
        dev = HeldOut(of_dev, _HeldOutLabels(task.dev[1], task.structure, own.n_jobs))
    expansion = KernelExpansion(
        L, edge_cliques=edge_cliques, transitions=points.layout.n_types, bias=bool(own.bias)
    )
    kind = PseudoLikelihood if task.is_pseudo else Likelihood
    loss = kind(
        expansion,
        stretch,
        data.labels,
        structure=task.structure,
        weights=data.weights,
        class_weights=task.class_weights,
        n_jobs=own.n_jobs,
    )
    reg = own.reg_ if own.transition_reg is None else float(own.transition_reg)
    risk = KernelRisk(expansion, stretch, loss, own.reg_, reg)
    saving = task.saving(everything.layout, everything.nodes, everything.of_edges)
    with threads_of_products(points.n_positions * (sizes.n_cliques or points.n_positions), own.n_jobs):
        outcome = train_kernel(risk, matrices, own._rounds(form, sizes), dev, progress, saving)
    terms, _ = expansion.terms(matrices)
    part = KernelPart(numbers, GraphKernels(terms, *expansion.parametric()))
    history = [{key: value for key, value in record.items() if key != "picks"} for record in outcome.history]
    how = Outcome(
        expansion.w, outcome.value, outcome.converged, outcome.message, history, outcome.interrupted
    )
    return Trained(task.tagger(part), how, saving, task.maximised(expansion.scores(stretch)))


def _labelled(task: GraphTask, everything: GraphPoints) -> tuple[TrainingSet, GraphPoints]:
    """Return the nodes of graphs that have a label (and of all graphs), and these graphs."""
    positions = Positions(everything.nodes.values, everything.offsets)
    data = labelled_part(positions, task.labels, task.classes)
    weights = None if task.weights is None else task.weights[data.numbers]
    points = everything.subset(data.numbers)
    return replace(data, weights=weights), points


def _sizes(own: Any, n_positions: int, n_labels: int, edge_cliques: bool) -> Sizes:
    return sizes_of(
        n_positions,
        n_labels,
        n_cliques=own.n_cliques,
        per_round=own.per_round,
        n_candidates=own.n_candidates,
        all_labelings=own.all_labelings,
        edge_cliques=edge_cliques,
        patience=own.patience,
    )


def _scale(kernel: MercerKernel, median: Any) -> float:
    """Return the chosen gamma over that of the median heuristic."""
    chosen = getattr(kernel, "gamma", None)
    if isinstance(chosen, float) and isinstance(median, float) and median > 0:
        return chosen / median
    return 1.0


def _edge_rows(points: GraphPoints) -> FloatArray:
    return np.zeros((0, 0)) if points.edge_rows is None else points.edge_rows.values


@dataclass(frozen=True)
class _HeldOutLabels:
    """Labels of held-out graphs (``ScoredLabels``)."""

    labels: DevSet
    structure: Graphs
    n_jobs: int | None

    def accuracy(self, scores: GraphScores) -> float:
        node = self.structure.expectations(scores, n_jobs=self.n_jobs)[1].node
        return self.labels.share_right(node.argmax(axis=1).astype(np.int32))

    def log_likelihood(self, scores: GraphScores) -> float:
        known = np.logical_or.reduce(self.labels.right, axis=1)  # [ΣV]
        open_labels = Labels(np.full(len(known), -1, np.int32), self.labels.right | ~known[:, None])
        total = log_likelihood(self.structure, scores, open_labels, self.n_jobs).sum()
        return float(total) / max(1, int(known.sum()))


def _edge_matrix(
    kernel: MercerKernel,
    scale: float,
    points: GraphPoints,
    held: GraphPoints | None,
    own: Any,
    sizes: Sizes,
) -> KernelMatrix:
    """Return the matrix of a kernel between the rows of edges; those of held-out graphs follow."""
    rows, seed = _edge_rows(points), own.random_state
    fitted = kernel
    if isinstance(kernel, Kernel):
        fitted = kernel.fitted(points.untyped_edge_rows, seed or 0)
        if kernel.is_scaled and kernel.gamma == "auto":
            fitted = fitted.scaled(scale)
    candidates, n = np.arange(len(rows)), sizes.n_candidates
    if n is not None and n < len(rows):
        candidates = np.sort(np.random.default_rng(seed or 0).choice(len(rows), n, replace=False))
    every = rows if held is None else np.concatenate([rows, _edge_rows(held)])
    limit = 1e6 * float(own.cache_size)
    return KernelMatrix(fitted, fitted.represent(every), candidates, n_learn=len(rows), limit=limit)
