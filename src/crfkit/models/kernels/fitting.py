"""Steps of fitting a kernel model: the dev set, and the results that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labelled_positions import TrainingSet
from crfkit.data.labels import label_set
from crfkit.data.positions import Positions, stack_rows
from crfkit.exceptions import InputError
from crfkit.inference import Lattice
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.graph_map import GraphMap, OwnPositions
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.cliques import Clique, CliqueLister
from crfkit.models.kernels.risk import KernelRisk
from crfkit.models.kernels.training import HeldOut, KernelOutcome, Rounds
from crfkit.objectives.dev_set import DevSet
from crfkit.potentials.kernel import KernelPotential
from crfkit.potentials.kernel_expansion import Stretch


@dataclass(frozen=True)
class FittedKernels:
    """The results of training that an estimator keeps."""

    data: TrainingSet
    potential: KernelPotential
    outcome: KernelOutcome
    cliques: list[Clique]
    path: list[dict[str, Any]]
    dual: FloatArray | None  # [ΣT, L] of all vertices, if all cliques were taken
    dual_edge: FloatArray | None  # [ΣT, L, L] of all edges
    whole: Lattice | None  # of all given sequences, if the graph is a matrix (others cannot be scored)


def dev_step(data: TrainingSet, **decoding: Any) -> HeldOut | None:
    """Return the dev set, whose rows follow those of training."""
    if data.dev is None:
        return None
    (positions, y), classes = data.dev, data.classes
    try:
        labelled = not set(label_set(y)).isdisjoint(classes)
        labels = DevSet.of(y, classes, positions.offsets, **decoding) if labelled else None
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error
    if labels is None:
        raise InputError(
            f"the dev set has no label that training has ({classes!r:.80}): there is nothing to score. "
            "Give labels in y_dev, or leave X_dev and y_dev out"
        )
    return HeldOut(Stretch(len(data.places), positions.offsets), labels)


def kernel_identity(
    data: TrainingSet, costs: FloatArray | None, matrices: Sequence[KernelMatrix]
) -> dict[str, Any]:
    """Return everything but the settings that decides the model, for the fingerprint of a checkpoint.

    Kernels may be functions of any objects, so they are asked for some of their values.
    """
    values = [(m.candidates, m.diagonal(m.candidates), m.columns(m.candidates[:1])) for m in matrices]
    return {
        "training data": (data.learn.offsets, data.weights, values),
        "labels": (data.classes, data.labels, costs),
        "dev data": None if data.dev is None else (data.dev.positions.offsets, repr(data.dev.y)),
    }


def keep_step(
    data: TrainingSet,
    matrices: Sequence[KernelMatrix],
    risk: KernelRisk,
    rounds: Rounds,
    outcome: KernelOutcome,
    graph: GraphKernel | None,
) -> FittedKernels:
    """Convert the trained expansion into coefficients on positions and named cliques."""
    names = [matrix.name for matrix in matrices]
    potential, places = risk.expansion.fitted(matrices)
    dual = dual_edge = None
    if rounds.n_cliques is None and all(len(m.candidates) == len(data.places) for m in matrices):
        # At the minimum of the risk, λα = observed - expected, for every labelling of every clique.
        residuals = risk.residuals()
        L = len(data.classes)
        dual = -residuals.vertex / risk.reg
        dual_edge = -residuals.edge.reshape(-1, L, L) / risk.reg if rounds.edge_cliques else None
    lister = CliqueLister(data, names, potential, places)
    cliques = [lister.clique(pick) for pick in outcome.picks]
    path = [_path_record(record, lister) for record in outcome.history]
    whole = None
    if graph is not None and graph.affinity is not None:
        whole = _whole_lattice(potential, data.everything, data.unlabeled)
    return FittedKernels(data, potential, outcome, cliques, path, dual, dual_edge, whole)


def _path_record(record: dict[str, Any], lister: CliqueLister) -> dict[str, Any]:
    """Return a round of training as a record of ``path_``."""
    rest: dict[str, Any] = {
        key: record[key]
        for key in ("log_loss", "dev_log_likelihood", "dev_accuracy", "seconds")
        if key in record
    }
    return {
        "round": record["iteration"],
        "n_cliques": record["n_cliques"],
        "derivative": record["gradient_norm"],
        "risk": record["objective"],
        **rest,
        "cliques": [lister.name(pick) for pick in record["picks"]],
    }


def _whole_lattice(potential: KernelPotential, given: Positions, unlabeled: Positions | None) -> Lattice:
    """Return the scores of all positions of the graph: the sequences of X, then those without labels."""
    if unlabeled is not None:
        offsets = np.concatenate([given.offsets, given.offsets[-1] + unlabeled.offsets[1:]])
        given = Positions(stack_rows([given.rows, unlabeled.rows]), offsets)
    terms = [
        replace(term, kernel=OwnPositions(term.kernel)) if isinstance(term.kernel, GraphMap) else term
        for term in potential.terms
    ]
    return KernelPotential(potential.n_labels, terms, potential.transitions, potential.bias).scores(given)
