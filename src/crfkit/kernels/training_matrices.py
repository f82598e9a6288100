"""Fitting the kernels of an estimator: one matrix between the training positions per kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.labelled_positions import TrainingSet
from crfkit.data.positions import Rows, stack_rows, take_rows
from crfkit.exceptions import InputError, InputWarning
from crfkit.kernels.bandwidth import warn_of_constant_rows
from crfkit.kernels.checks import check_square, warn_of_no_kernel
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel, Precomputed, as_kernel
from crfkit.warn import warn


def as_kernels(
    given: Any, graph: GraphKernel | None, *, gamma: float | str, degree: float, coef0: float
) -> list[MercerKernel]:
    """Return the kernels that an estimator's parameters name; none for a graph alone."""
    if given is None:
        if graph is None:
            raise InputError("kernel=None leaves nothing to compare positions with: give a kernel or a graph")
        return []
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise InputError("kernel is an empty list: give at least one")
    found = [as_kernel(one, gamma=gamma, degree=degree, coef0=coef0) for one in several]
    precomputed = any(isinstance(one, Precomputed) for one in found)
    if len(found) > 1 and precomputed:
        raise InputError("kernel='precomputed' cannot be combined with other kernels: X has one kind of rows")
    if graph is not None and graph.affinity is None and precomputed:
        raise InputError(
            "with kernel='precomputed' X has kernel values but no features to find neighbours with: give the "
            "GraphKernel an affinity="
        )
    return found


def take_objects(kernels: Sequence[MercerKernel]) -> bool:
    """Return whether positions may be any objects, because all kernels are user functions."""
    return bool(kernels) and all(isinstance(k, Kernel) and callable(k.function) for k in kernels)


def kernel_matrices(
    data: TrainingSet,
    kernels: Sequence[MercerKernel],
    graph: GraphKernel | None,
    *,
    n_candidates: int | None,
    limit: float,  # bytes
    seed: int,
) -> list[KernelMatrix]:
    """Fit the kernels; return their matrices on the training positions, followed by those of the dev set."""
    if graph is None:
        _warn_of_unused(data)
    rows, n = data.learn.rows, len(data.places)
    if not any(isinstance(kernel, Precomputed) for kernel in kernels):
        warn_of_constant_rows(rows)
    candidates = np.arange(n)
    if n_candidates is not None and n_candidates < n:
        candidates = np.sort(np.random.default_rng(seed).choice(n, n_candidates, replace=False))
    matrices: list[KernelMatrix] = []
    share = limit / (len(kernels) + (graph is not None))
    for kernel in kernels:
        own = None
        if isinstance(kernel, Precomputed):
            check_square(data.everything.n_positions, data.everything.width)
            own = data.places
        fitted = kernel.fitted(rows, seed) if isinstance(kernel, Kernel) else kernel
        all_rows = _with_dev(fitted.represent(rows), fitted, data)
        matrices.append(KernelMatrix(fitted, all_rows, candidates, n_learn=n, limit=share, own=own))
        if isinstance(kernel, Precomputed) or (isinstance(kernel, Kernel) and callable(kernel.function)):
            warn_of_no_kernel(matrices[-1], seed)
    if graph is not None:
        matrices.append(_graph_matrix(data, graph, candidates, share))
    return matrices


def _with_dev(rows: Rows, kernel: MercerKernel, data: TrainingSet) -> Rows:
    """Return the represented rows of training, followed by those of the dev set."""
    if data.dev is None or data.dev.positions.n_positions == 0:
        return rows
    return stack_rows([rows, kernel.represent(data.dev.positions.rows)])


def _graph_matrix(
    data: TrainingSet,
    graph: GraphKernel,
    candidates: IntArray,
    limit: float,
) -> KernelMatrix:
    rows = data.everything.rows
    if data.unlabeled is not None:
        rows = stack_rows([rows, data.unlabeled.rows])
    fitted, component = graph.build(rows)
    _warn_of_unlabelled_components(component, data.places[data.labelled])
    represented = take_rows(fitted.training, data.places)
    rows = _with_dev(represented, fitted, data)
    return KernelMatrix(fitted, rows, candidates, n_learn=data.learn.n_positions, limit=limit)


def _warn_of_unused(data: TrainingSet) -> None:
    """Warn if there are sequences without a label: without a graph nothing is learnt from them."""
    n = int((np.diff(data.everything.offsets) > 0).sum()) - len(data.numbers)
    n += 0 if data.unlabeled is None else data.unlabeled.n_sequences
    if n:
        warn(
            f"{n:,} sequences have no label, and without a graph nothing is learnt from them: give "
            "graph=GraphKernel(), or leave them out",
            InputWarning,
        )


def _warn_of_unlabelled_components(component: IntArray, labelled: IntArray) -> None:
    sizes = np.bincount(component)
    empty = np.setdiff1d(np.arange(len(sizes)), component[labelled])
    empty = empty[sizes[empty] > 1]  # the graph itself has warned about single positions
    if len(empty):
        warn(
            f"{len(empty):,} of the graph's {len(sizes):,} components have no labelled position "
            f"({int(sizes[empty].sum()):,} of {len(component):,} positions): nothing is learnt about them "
            "from the graph. Use more neighbours, or label some of them",
            InputWarning,
        )
