"""``CRF.partial_fit``: training goes on with new data, at the cost of the new data.

    minimise   -Σ weight · log p(y | x; w) + Σ_j (c2 + h_j)·(w_j - w₀_j)² + c1·‖w - w₀‖₁

over the features of the batch's attributes and labels (``local_problem.py``); w₀ are the weights so far, 0
for new features, and h_j says how firmly all data before holds a weight (``curvature.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.features.labelled import read_labelled
from crfkit.models.blocks import Blocks
from crfkit.models.checkpoint import Checkpoint
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.first_training import Trained, advice
from crfkit.models.linear.growth import grown
from crfkit.models.linear.local_problem import local_problem, localised
from crfkit.models.linear.scales import value_range, warn_of_constants
from crfkit.models.linear.steps import (
    IndexSettings,
    TrainingProblem,
    beginning,
    dev_step,
    encode_step,
    identity,
    index_step,
    warn_of_nothing,
)
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.training import Outcome
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.methods import find_method
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF


def continued(
    estimator: CRF,
    old: LinearTagger,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_dev: Any,
    y_dev: Any,
    lengths: Any,
    checkpoint: Checkpoint | None,
    minimise: Callable[[TrainingProblem], Outcome],
) -> Trained:
    """Return the model ``old`` trained further on X and y, with the estimator's parameters."""
    if old.index.order != estimator.order:
        raise InputError(f"the fitted model has order {old.index.order}, not {estimator.order}")
    if not find_method(estimator.algorithm)[0].centre:
        raise InputError(f"partial_fit cannot use algorithm={estimator.algorithm!r}: take 'auto' or 'lbfgs'")
    if isinstance(X, Blocks):
        raise InputError("partial_fit takes sequences, not blocks: fit blocks, or give it the new sequences")
    settings, n_jobs = IndexSettings.of(estimator), estimator.n_jobs
    batch = read_labelled(
        X,
        y,
        template=estimator.template,
        extractor=estimator.extractor if old.extraction is None else old.extraction,
        lengths=lengths,
        vocabulary=old.vocabulary.copy(),
        classes=old.classes,
        sample_weight=sample_weight,
        class_weight=estimator.class_weight,
        n_jobs=n_jobs,
    )
    whole, encoder = encode_step(
        X, batch, miner=estimator.associations, features=estimator.features, previous=old, n_jobs=n_jobs
    )
    attributes, data, encoded = localised(batch, whole)
    warn_of_constants(encoded.sequences, data.vocabulary)
    local = local_problem(old, data, index_step(encoded, data, settings), attributes)
    if not old.index.has_pairs or not len(local.index.state_labels):
        warn_of_nothing(local.index, encoded, data, settings)
    function = LinearLikelihood(
        encoded.sequences,
        data.labels,
        local.index,
        n_threads=thread_count(n_jobs),
        weights=data.weights,
        class_weights=data.class_weights,
        c2=estimator._l2,
        apart=True,
    )
    objective = function.penalised(c2=estimator._l2, c1=estimator._l1, centre=local.start, hold=local.hold)
    dev = None
    if X_dev is not None:

        def scores(sequences: Any, x: FloatArray) -> Any:
            model = grown(old, encoder, data.classes, local, objective.weights(x))
            return model.potential.scores(sequences, n_jobs=n_jobs)

        dev = dev_step(X_dev, y_dev, encoder, data.classes, scores, n_jobs)
    free = np.flatnonzero(function.parameters(local.free.astype(np.float64)))
    start = np.zeros(objective.n_parameters)
    saving = None
    if checkpoint is not None:
        deciding = identity(encoded, data, local.index, None)
        saving = checkpoint.begin(estimator, deciding | beginning(start, objective, dev, free))
    outcome = minimise(TrainingProblem(encoded.sequences.offsets, objective, start, dev, saving, free))
    h = np.zeros(sum(local.index.sizes))
    if not outcome.interrupted:
        h = function.curvature(objective.whole(outcome.x))
    tagger = grown(
        old,
        encoder,
        data.classes,
        local,
        objective.weights(outcome.x),
        Curvature.of(local.index, h),
        sparse=estimator._leaves_out,
    )
    range_of = partial(value_range, encoded.sequences)
    words = advice(outcome, objective, local.index, data.vocabulary, data.classes, range_of)
    return Trained(tagger, outcome, words, saving)
