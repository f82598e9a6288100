"""The steps from X and y to a training problem, one function per step: encode, index, objective, dev set.

``CRF.fit`` calls them in this order; the step before them, reading, is in ``features/labelled.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import label_lists
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.training_data import cut_as
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import EDGE
from crfkit.features.index import FeatureIndex, build_index
from crfkit.features.labelled import LabelledInput
from crfkit.inference import Lattice, PermittedPairs
from crfkit.mining.miner import AssociationMiner
from crfkit.models.checkpoint import Saving
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.training import Outcome, train
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.optim.methods import find_method
from crfkit.optim.restricted import Restricted
from crfkit.selection.selected import Selection
from crfkit.warn import warn


@dataclass(frozen=True)
class LinearDev:
    """Held-out data, encoded once: a function that computes the accuracy of parameters on it."""

    sequences: Sequences
    labels: DevSet
    scores: Callable[[Sequences, FloatArray], Lattice]  # of encoded data at parameters [P]

    def __call__(self, x: FloatArray) -> float:
        return self.labels.accuracy(self.scores(self.sequences, x))


@dataclass(frozen=True)
class TrainingProblem:
    """The objective, the starting point, and where sequences begin and end."""

    offsets: IntArray  # [N+1]
    objective: PenalisedLikelihood[Any]
    start: FloatArray  # [P]
    dev: LinearDev | None
    saving: Saving | None  # the checkpoint
    free: IntArray | None = None  # the parameters that may move; None: all

    def minimised(self, algorithm: str, **settings: Any) -> Outcome:
        """Minimise the objective in the free parameters; ``settings`` are those of ``train``."""
        settings |= {"algorithm": algorithm, "saving": self.saving}
        if self.free is None or not find_method(algorithm)[0].restricted:
            return train(self.objective, self.start, dev=self.dev, **settings)
        part = Restricted(self.objective, self.free, len(self.start))
        dev = self.dev
        score = None if dev is None else lambda z: dev(part.widened(z))
        found = train(part, self.start[self.free], dev=score, **settings)
        stuck_at = None if found.stuck_at is None else int(self.free[found.stuck_at])
        return replace(found, x=part.widened(found.x), stuck_at=stuck_at)


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
    """Return the features of the data that get a weight."""
    kinds = data.kinds(settings.edge_attributes)
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
    return index if own is None else index.speaking_for(own)


def warn_of_nothing(
    index: FeatureIndex, encoded: Encoded, data: LabelledInput, settings: IndexSettings
) -> None:
    """Warn if no attribute is an edge attribute, or if the model has no feature of the data's attributes."""
    kinds = data.kinds(settings.edge_attributes)
    if settings.edge_attributes is not None and kinds is not None and not (kinds & EDGE).any():
        warn(
            f"no attribute begins with a prefix of edge_attributes={settings.edge_attributes!r}",
        )
    nothing = len(index.state_labels) == 0 and not index.has_pairs
    if settings.features is None and nothing and encoded.sequences.indices.size:
        warn(
            f"no attribute occurs min_freq={settings.min_freq:g} times with a label, so the model ignores "
            "X: lower min_freq",
        )


def identity(
    encoded: Encoded, data: LabelledInput, index: FeatureIndex, permitted: PermittedPairs | None
) -> dict[str, Any]:
    """Return what of the data decides the weights, for the fingerprint of a checkpoint."""
    names = data.vocabulary.to_arrays()
    return {
        "training data": (encoded.sequences, names["arena"], names["offsets"], data.weights),
        "labels": (data.classes, data.labels, data.class_weights, permitted),
        "features": index,
    }


def beginning(
    start: FloatArray,  # [P]
    objective: PenalisedLikelihood[Any],
    dev: LinearDev | None,
    free: IntArray | None = None,
) -> dict[str, Any]:
    """Return what else decides the weights, except the settings."""
    held = None if dev is None else (dev.sequences, dev.labels.right, dev.labels.given, dev.labels.forced)
    return {"weights to start from": (start, objective.centre, objective.hold, free), "dev data": held}


def dev_step(
    X: Any,
    y: Any,
    encoder: InputEncoder,
    classes: list[Any],
    scores: Callable[[Sequences, FloatArray], Lattice],
    n_jobs: int | None,
) -> LinearDev:
    """Return a function that computes the accuracy of parameters on held-out data.

    ``scores`` returns the scores of encoded data at parameters [P].
    """
    try:
        y = label_lists(y)
        encoded = encoder.encode(X, cut_as(X, y, None), n_jobs)
        sequences = encoded.sequences
        held = DevSet.of(y, classes, sequences.offsets, forced=encoded.forced(classes), n_jobs=n_jobs)
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error
    return LinearDev(sequences, held, scores)
