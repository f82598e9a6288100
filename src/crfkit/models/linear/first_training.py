"""``CRF.fit``, step by step: read, encode, index, objective, dev set, optimiser, fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.sequences import Encoded, Sequences
from crfkit.features.index import FeatureIndex
from crfkit.features.labelled import LabelledInput, read_labelled
from crfkit.inference import Lattice, PermittedPairs
from crfkit.models.checkpoint import Checkpoint, Saving
from crfkit.models.linear.continuation import transfer
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.penalty_search import FoundPenalties
from crfkit.models.linear.penalty_step import penalty_step
from crfkit.models.linear.scales import steepest_words, warn_of_constants
from crfkit.models.linear.steps import (
    IndexSettings,
    TrainingProblem,
    dev_step,
    encode_step,
    identity,
    index_step,
    warn_of_nothing,
)
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.rare_labels import warn_of_unpredicted
from crfkit.models.training import Outcome
from crfkit.objectives.linear_likelihood import LinearLikelihood, PenalisedLikelihood
from crfkit.potentials.linear import LinearPotential
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF


class Trained(NamedTuple):
    """A trained model, how training went, and what to say if it got stuck."""

    tagger: LinearTagger
    outcome: Outcome
    advice: str
    saving: Saving | None  # the checkpoint, which is no longer needed once the model is kept
    penalties: FoundPenalties | None = None  # of groups of features


def trained(
    estimator: CRF,
    start: LinearTagger | None,  # begin with the weights of this model
    X: Any,
    y: Any,
    sample_weight: Any,
    X_dev: Any,
    y_dev: Any,
    lengths: Any,
    checkpoint: Checkpoint | None,
    permitted: PermittedPairs | None,
    minimise: Callable[[TrainingProblem], Outcome],
    together: Any = None,  # one group per sequence, which the folds of c2="auto" keep together
) -> Trained:
    """Return a model trained on X and y alone, with the estimator's parameters."""
    n_jobs, c2, settings = estimator.n_jobs, estimator._l2, IndexSettings.of(estimator)
    data = read_labelled(
        X,
        y,
        template=estimator.template,
        extractor=estimator.extractor,
        lengths=lengths,
        sample_weight=sample_weight,
        class_weight=estimator.class_weight,
        n_jobs=n_jobs,
    )
    encoded, encoder = encode_step(
        X, data, miner=estimator.associations, features=estimator.features, previous=None, n_jobs=n_jobs
    )
    names, classes = data.vocabulary, data.classes
    warn_of_constants(encoded.sequences, names)
    index = index_step(encoded, data, settings)
    warn_of_nothing(index, encoded, data, settings)
    function = LinearLikelihood(
        encoded.sequences,
        data.labels,
        index,
        n_threads=thread_count(n_jobs),
        weights=data.weights,
        class_weights=data.class_weights,
        permitted=permitted,
        c2=c2,
        apart=bool(estimator.c1 > 0) and estimator.penalty_groups is not None,
    )
    found = penalty_step(estimator, encoded, data, index, function, permitted, together)
    l2, shares = (c2, None) if found is None else (found.l2, found.shares)
    objective = function.penalised(c2=l2, c1=float(estimator.c1), shares=shares)
    first = np.zeros(objective.n_parameters)
    if found is not None and found.start is not None:
        first = found.start
    if start is not None:
        first = objective.parameters(transfer(start, names, classes, index))
    dev = None
    if X_dev is not None:
        potential = LinearPotential(index)

        def scores(sequences: Sequences, x: FloatArray) -> Lattice:
            return potential.scores(sequences, objective.weights(x), n_jobs=n_jobs)

        dev = dev_step(X_dev, y_dev, encoder, classes, scores, n_jobs)
    saving = None
    if checkpoint is not None:
        deciding = identity(encoded, data, index, permitted, first, objective, dev)
        saving = checkpoint.begin(estimator, deciding)
    outcome = minimise(TrainingProblem(encoded.sequences, data.labels, objective, first, dev, saving))
    curvature = None
    if not outcome.interrupted:  # one more pass: not after Ctrl-C
        curvature = Curvature.of(index, function.curvature(outcome.x))
    tagger = LinearTagger(classes, encoder, index, objective.weights(outcome.x), n_jobs, curvature)
    if outcome.converged and permitted is None:
        warn_of_unpredicted(
            classes,
            data.labels,
            encoded.sequences.offsets,
            lambda some: tagger.decode(tagger.potential.scores(encoded.sequences.subset(some))).labels,
            data.class_weights,
        )
    tagger = tagger.compact() if estimator._leaves_out else tagger
    return Trained(tagger, outcome, advice(outcome, objective, index, encoded, data), saving, found)


def advice(
    outcome: Outcome,
    objective: PenalisedLikelihood,
    index: FeatureIndex,
    encoded: Encoded,
    data: LabelledInput,
) -> str:
    """Return which attribute training got stuck at; "" if at none."""
    if outcome.stuck_at is None:
        return ""
    place = objective.place_of(outcome.stuck_at)
    return f". {steepest_words(place, index, encoded.sequences, data.vocabulary, data.classes)}"
