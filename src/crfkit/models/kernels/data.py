"""What a kernel CRF is trained on: labelled sequences, kernels fitted to them, unlabelled ones for graphs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.positions import Positions, Rows, n_rows, stack_rows, take_rows
from crfkit.exceptions import InputError, InputWarning
from crfkit.kernels.bandwidth import warn_of_constant_rows
from crfkit.kernels.checks import check_square, warn_of_no_kernel
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel, Precomputed


def labels_with_gaps(y: Any, positions: Positions) -> list[Sequence[Any]]:
    """y as lists of labels; a sequence that is None as a whole has None at each of its positions."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise InputError(f"y must be a list of sequences of labels, got {type(y).__name__}")
    given = list(y)
    if len(given) != positions.n_sequences:
        raise InputError(f"X has {positions.n_sequences} sequences but y has {len(given)}")
    lengths = np.diff(positions.offsets).tolist()
    return label_lists(
        [[None] * n if labels is None else labels for labels, n in zip(given, lengths, strict=True)]
    )


@dataclass(frozen=True)
class TrainingSet:
    """Sequences with at least one label, and all the positions that there are."""

    everything: Positions  # what fit was given as X
    numbers: IntArray  # [N] which of its sequences have labels
    learn: Positions  # these
    places: IntArray  # [ΣT] of their positions among everything's
    labels: Labels
    classes: list[Any]

    @classmethod
    def of(cls, positions: Positions, y: list[Sequence[Any]]) -> TrainingSet:
        """From X and y with gaps."""
        if positions.n_sequences == 0:
            raise InputError("there is nothing to train on: X has no sequences")
        if positions.n_positions == 0:
            raise InputError("there is nothing to train on: every sequence of X is empty")
        classes = label_set(y)
        if not classes:
            raise InputError("there is nothing to learn: every label in y is None")
        labels = encode_labels(y, classes, positions.offsets)
        known = labels.ids >= 0  # [ΣT]
        if labels.allowed is not None:
            known |= ~labels.allowed.all(axis=1)
        bounds = np.concatenate(([0], np.cumsum(known)))[positions.offsets]  # [N+1]
        numbers = np.flatnonzero(np.diff(bounds) > 0)
        learn = positions.subset(numbers)
        lengths = np.diff(positions.offsets)[numbers]
        starts = positions.offsets[numbers]
        places = np.arange(int(lengths.sum())) + np.repeat(starts - learn.offsets[:-1], lengths)
        labels = labels.subset(numbers, positions.offsets)
        if labels.allowed is not None and (labels.ids >= 0).all():
            labels = Labels(labels.ids, None)
        return cls(positions, numbers, learn, places.astype(np.int64), labels, classes)

    @property
    def labelled(self) -> BoolArray:
        """Which positions of ``learn`` have a label (or some that are ruled out) [ΣT]."""
        known: BoolArray = self.labels.ids >= 0
        if self.labels.allowed is not None:
            known = known | ~self.labels.allowed.all(axis=1)
        return known


def kernel_matrices(
    data: TrainingSet,
    kernels: Sequence[MercerKernel],
    graph: GraphKernel | None,
    unlabeled: Positions | None,
    dev: Positions | None,
    *,
    n_candidates: int | None,
    limit: float,
    seed: int,
) -> list[KernelMatrix]:
    """The kernels, fitted, on the positions of training and, behind them, of the dev set."""
    n = data.learn.n_positions
    candidates = np.arange(n)
    if n_candidates is not None and n_candidates < n:
        candidates = np.sort(np.random.default_rng(seed).choice(n, n_candidates, replace=False))
    matrices: list[KernelMatrix] = []
    share = limit / (len(kernels) + (graph is not None))
    own = None
    for kernel in kernels:
        fitted: MercerKernel
        if isinstance(kernel, Precomputed):
            check_square(data.everything.n_positions, data.everything.width)
            fitted, own = kernel, data.places
        else:
            fitted, own = kernel.fitted(data.learn.rows, seed) if isinstance(kernel, Kernel) else kernel, None
        held = None if dev is None else fitted.represent(dev.rows)
        rows = _with_dev(fitted.represent(data.learn.rows), held)
        matrices.append(KernelMatrix(fitted, rows, candidates, n_learn=n, limit=share, own=own))
        if isinstance(kernel, Precomputed) or (isinstance(kernel, Kernel) and callable(kernel.function)):
            warn_of_no_kernel(matrices[-1], seed)
    if not any(isinstance(kernel, Precomputed) for kernel in kernels):
        warn_of_constant_rows(data.learn.rows)
    if graph is not None:
        matrices.append(_graph_matrix(data, graph, unlabeled, dev, candidates, share))
    return matrices


def _with_dev(rows: Rows, dev: Rows | None) -> Rows:
    return rows if dev is None or n_rows(dev) == 0 else stack_rows([rows, dev])


def _graph_matrix(
    data: TrainingSet,
    graph: GraphKernel,
    unlabeled: Positions | None,
    dev: Positions | None,
    candidates: IntArray,
    limit: float,
) -> KernelMatrix:
    rows = data.everything.rows
    if unlabeled is not None:
        rows = stack_rows([rows, unlabeled.rows])
    fitted, component = graph.build(rows)
    _warn_of_unlabelled_components(component, data.places[data.labelled])
    represented = take_rows(fitted.training, data.places)
    held = None if dev is None else fitted.represent(dev.rows)
    return KernelMatrix(
        fitted, _with_dev(represented, held), candidates, n_learn=data.learn.n_positions, limit=limit
    )


def _warn_of_unlabelled_components(component: IntArray, labelled: IntArray) -> None:
    sizes = np.bincount(component)
    empty = np.setdiff1d(np.arange(len(sizes)), component[labelled])
    empty = empty[sizes[empty] > 1]  # of single positions the graph itself has warned
    if len(empty):
        warnings.warn(
            f"{len(empty):,} of the graph's {len(sizes):,} components have no labelled position "
            f"({int(sizes[empty].sum()):,} of {len(component):,} positions): nothing is learnt about them "
            "from the graph. Take more neighbours, or label some of them",
            InputWarning,
            stacklevel=4,
        )
