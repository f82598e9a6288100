"""Training a kernel model of graphs: matrices of nodes and of edges, then rounds of clique selection.

A clique is a node or an edge of the training graphs; ``models/kernels/clique_selection.py`` chooses them
greedily, as on chains. ``gamma`` and ``reg`` are chosen on held-out graphs by a model of single nodes; the
kernel of edges has the same multiple of the median heuristic's gamma.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.conventions import clone
from crfkit.data.labelled_positions import TrainingSet, labelled_part
from crfkit.data.positions import Positions
from crfkit.exceptions import InputError
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel, Precomputed
from crfkit.kernels.training_matrices import as_kernels, kernel_matrices
from crfkit.models.graphs.kernel_part import GraphNumbers, KernelPart
from crfkit.models.graphs.training import GraphTask, Trained
from crfkit.models.kernels.estimator import Form
from crfkit.models.kernels.risk import KernelRisk
from crfkit.models.kernels.sizes import Sizes, sizes_of
from crfkit.models.kernels.training import train_kernel
from crfkit.models.training import Outcome
from crfkit.objectives.likelihood import Likelihood
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
    if task.dev is not None:
        raise InputError("kernels on graphs take no dev set yet: leave out X_dev and y_dev")
    own = clone(settings)
    own.set_params(n_jobs=task.estimator.n_jobs, random_state=task.estimator.random_state)
    edge_cliques = own.cliques == "vertex+edge"
    names = task.names
    if edge_cliques and not names.featured:
        names = replace(names, ends=True)  # edges are compared by their nodes
    progress = Progress(task.estimator.verbose)
    numbers, everything = GraphNumbers.learn(task.graphs, names)
    data, points = _labelled(task, everything)
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
            matrices.append(_edge_matrix(kernel, scale, points, own, sizes))
    stretch = GraphStretch(points, (0, 0), n_on_vertices, edge_cliques)
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
        outcome = train_kernel(risk, matrices, own._rounds(form, sizes), None, progress, saving)
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
        patience=None,
    )


def _scale(kernel: MercerKernel, median: Any) -> float:
    """Return the chosen gamma over that of the median heuristic."""
    chosen = getattr(kernel, "gamma", None)
    if isinstance(chosen, float) and isinstance(median, float) and median > 0:
        return chosen / median
    return 1.0


def _edge_matrix(
    kernel: MercerKernel, scale: float, points: GraphPoints, own: Any, sizes: Sizes
) -> KernelMatrix:
    """Return the matrix of a kernel between the rows of edges."""
    rows, seed = (
        points.edge_rows.values if points.edge_rows is not None else np.zeros((0, 0)),
        own.random_state,
    )
    fitted = kernel
    if isinstance(kernel, Kernel):
        fitted = kernel.fitted(rows, seed or 0)
        if kernel.is_scaled and kernel.gamma == "auto":
            fitted = fitted.scaled(scale)
    candidates, n = np.arange(len(rows)), sizes.n_candidates
    if n is not None and n < len(rows):
        candidates = np.sort(np.random.default_rng(seed or 0).choice(len(rows), n, replace=False))
    represented = fitted.represent(rows)
    return KernelMatrix(fitted, represented, candidates, limit=1e6 * float(own.cache_size))
