"""The steps from X and y to a training problem, one function per step: encode, index, objective, dev set.

``CRF.fit`` calls them in this order; the step before them, reading, is in ``features/labelled.py``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels, label_lists
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.training_data import cut_as
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import EDGE
from crfkit.features.index import FeatureIndex, build_index
from crfkit.features.labelled import LabelledInput
from crfkit.inference import PermittedPairs
from crfkit.mining.miner import AssociationMiner
from crfkit.models.checkpoint import Saving
from crfkit.models.linear.continuation import transfer
from crfkit.models.linear.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.linear_likelihood import LinearLikelihood, PenalisedLikelihood
from crfkit.potentials.linear import LinearPotential
from crfkit.selection.selected import Selection


@dataclass(frozen=True)
class LinearDev:
    """Held-out data, encoded once: a function that computes the accuracy of parameters on it."""

    sequences: Sequences
    labels: DevSet
    index: FeatureIndex
    objective: PenalisedLikelihood

    def __call__(self, x: FloatArray) -> float:
        weights, n_jobs = self.objective.weights(x), self.labels.n_jobs
        return self.labels.accuracy(
            LinearPotential(self.index).scores(self.sequences, weights, n_jobs=n_jobs)
        )


@dataclass(frozen=True)
class TrainingProblem:
    """The encoded training data, the objective, and the starting point."""

    sequences: Sequences
    labels: Labels
    objective: PenalisedLikelihood
    start: FloatArray  # [P]
    dev: LinearDev | None
    saving: Saving | None  # the checkpoint


@dataclass(frozen=True)
class IndexSettings:
    """Settings of the feature index: the parameters of ``CRF`` with the same names."""

    order: int
    min_freq: float
    all_possible_states: bool
    all_possible_transitions: bool
    edge_attributes: Any
    features: Selection | None

    @classmethod
    def of(cls, estimator: Any) -> IndexSettings:
        """Return the settings of an estimator that has all these parameters."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})


def encode_step(
    X: Any,
    data: LabelledInput,
    *,
    miner: AssociationMiner | None,
    features: Selection | None,
    previous: LinearTagger | None,
    n_jobs: int | None,
) -> tuple[Encoded, InputEncoder]:
    """Return the training data with conjunctions and rules applied, and the encoder for all other data.

    The encoder extends that of a ``previous`` model, and keeps its rules.
    """
    encoder = InputEncoder(data.vocabulary, data.template, extraction=data.extraction)
    if previous is not None:
        encoder = previous.encoder.over(data.vocabulary, data.classes)
        encoder = encoder.with_template(data.template).with_extraction(data.extraction)
    if features is not None:
        encoder = encoder.with_conjunctions(features.conjunctions)
    if encoder.associations is not None:
        miner = None
    if features is not None and miner is not None and miner.use != "constraints":
        raise InputError(
            f"features= cannot be combined with associations of use {miner.use!r}: a selection fixes the "
            "features; select from the result of the miner's transform of X instead"
        )
    return encoder.learn(X, data.sequences, data.labels, data.classes, miner, n_jobs)


def index_step(encoded: Encoded, data: LabelledInput, settings: IndexSettings) -> FeatureIndex:
    """Return the features that the model gets a weight for."""
    kinds = data.kinds(settings.edge_attributes)
    if settings.edge_attributes is not None and kinds is not None and not (kinds & EDGE).any():
        warnings.warn(
            f"no attribute begins with a prefix of edge_attributes={settings.edge_attributes!r}", stacklevel=5
        )
    if settings.features is not None:
        index = settings.features.feature_index(data.vocabulary, data.classes, order=settings.order)
    else:
        index = build_index(
            encoded.sequences,
            data.labels,
            len(data.classes),
            order=settings.order,
            min_freq=settings.min_freq,
            all_possible_states=settings.all_possible_states,
            all_possible_transitions=settings.all_possible_transitions,
            kinds=kinds,
            transitions=data.has_transitions,
        )
    own = None if encoded.hints is None else encoded.hints.own_among(data.classes)
    index = index if own is None else index.speaking_for(own)
    if settings.features is None and len(index.state_labels) == 0 and encoded.sequences.indices.size:
        warnings.warn(
            f"no attribute occurs min_freq={settings.min_freq:g} times with a label, so the model ignores "
            "X: lower min_freq",
            stacklevel=5,
        )
    return index


def objective_step(
    encoded: Encoded,
    data: LabelledInput,
    index: FeatureIndex,
    *,
    c1: float,
    c2: float,
    centre: LinearTagger | None,
    permitted: PermittedPairs | None,
    n_threads: int,
) -> PenalisedLikelihood:
    """Return what training minimises; ``centre`` is the model whose weights the penalties pull towards."""
    return LinearLikelihood(
        encoded.sequences,
        data.labels,
        index,
        n_threads=n_threads,
        weights=data.weights,
        class_weights=data.class_weights,
        permitted=permitted,
        c2=c2,
    ).penalised(
        c2=c2,
        c1=c1,
        centre=None if centre is None else transfer(centre, data.vocabulary, data.classes, index),
    )


def start_step(
    previous: LinearTagger | None, data: LabelledInput, index: FeatureIndex, objective: PenalisedLikelihood
) -> FloatArray:
    """Return the parameters from which training starts: 0, or those of a previous model."""
    if previous is None:
        return np.zeros(objective.n_parameters)
    return objective.parameters(transfer(previous, data.vocabulary, data.classes, index))


def identity(
    encoded: Encoded,
    data: LabelledInput,
    index: FeatureIndex,
    permitted: PermittedPairs | None,
    start: FloatArray,  # [P]
    objective: PenalisedLikelihood,
    dev: LinearDev | None,
) -> dict[str, Any]:
    """Return everything but the settings that decides the weights, for the fingerprint of a checkpoint."""
    names = "\0".join(data.vocabulary.strings())
    held = None if dev is None else (dev.sequences, dev.labels.right, dev.labels.given, dev.labels.forced)
    return {
        "training data": (encoded.sequences, names, data.weights),
        "labels": (data.classes, data.labels, data.class_weights, permitted),
        "features": index,
        "weights to start from": (start, objective.centre),
        "dev data": held,
    }


def dev_step(
    X: Any,
    y: Any,
    encoder: InputEncoder,
    classes: list[Any],
    index: FeatureIndex,
    objective: PenalisedLikelihood,
    n_jobs: int | None,
) -> LinearDev:
    """Return a function that computes the accuracy of parameters on held-out data."""
    try:
        y = label_lists(y)
        encoded = encoder.encode(X, cut_as(X, y, None), n_jobs)
        sequences = encoded.sequences
        held = DevSet.of(y, classes, sequences.offsets, forced=encoded.forced(classes), n_jobs=n_jobs)
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error
    return LinearDev(sequences, held, index, objective)
