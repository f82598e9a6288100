"""``CRF.fit``, step by step: source of the data, objective, dev set, optimiser, fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex
from crfkit.inference import Lattice, PermittedPairs, PrunedShare, pruned_shares
from crfkit.models.checkpoint import Checkpoint, Saving
from crfkit.models.linear.coarse import likely_in
from crfkit.models.linear.continuation import transfer
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.penalty_search import FoundPenalties
from crfkit.models.linear.scales import steepest_words
from crfkit.models.linear.source import Given, Source, open_source
from crfkit.models.linear.steps import TrainingProblem, beginning, dev_step
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.rare_labels import spread_sequences, warn_of_unpredicted
from crfkit.models.training import Outcome
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.potentials.linear import LinearPotential

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

_POSITIONS = 5000  # for which it is computed what pruning leaves out: a pass without pruning costs far more

_INTERRUPTED = (
    "training was interrupted before its first iteration, in the search for penalties: the mean of the "
    "models of the folds is kept"
)
_IN_ORDER_1 = "training was interrupted in order 1, which says which labels are likely: its model is kept"


class Trained(NamedTuple):
    """A trained model, how training went, and what to say if it got stuck."""

    tagger: LinearTagger
    outcome: Outcome
    advice: str
    saving: Saving | None  # the checkpoint, which is no longer needed once the model is kept
    penalties: FoundPenalties | None = None  # of groups of features
    pruned: PrunedShare | None = None  # what pruning leaves out


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
    source = open_source(estimator, Given(X, y, sample_weight, lengths, permitted, together))
    classes, index, encoder, function = source.classes, source.index, source.encoder, source.function
    found = source.penalties(estimator)
    c1, c2, shares = (estimator._l1, estimator._l2, None) if found is None else found.penalties
    objective = function.penalised(c2=c2, c1=c1, shares=shares)
    first = np.zeros(objective.n_parameters)
    if source.coarse is not None:
        first = objective.parameters(source.coarse.weights)
    if found is not None and found.start is not None:
        first = found.start
    if start is not None:
        first = objective.parameters(transfer(start, encoder.vocabulary, classes, index))
    dev = None
    if X_dev is not None:
        potential = LinearPotential(index)

        def scores(sequences: Sequences, x: FloatArray) -> Lattice:
            return potential.scores(sequences, objective.weights(x), n_jobs=estimator.n_jobs)

        dev = dev_step(X_dev, y_dev, encoder, classes, scores, estimator.n_jobs)
    saving = None
    if checkpoint is not None:
        saving = checkpoint.begin(estimator, source.identity() | beginning(first, objective, dev))
    if found is not None and found.interrupted:
        outcome = Outcome(first, np.nan, False, _INTERRUPTED, [], interrupted=True)
    elif source.coarse is not None and source.coarse.left_out is None:
        outcome = Outcome(first, np.nan, False, _IN_ORDER_1, [], interrupted=True)
    else:
        outcome = minimise(TrainingProblem(source.offsets, objective, first, dev, saving))
    curvature = None
    if not outcome.interrupted:  # one more pass: not after Ctrl-C
        curvature = Curvature.of(index, function.curvature(outcome.x))
    tagger = LinearTagger(classes, encoder, index, objective.weights(outcome.x), estimator.n_jobs, curvature)
    if outcome.converged and permitted is None:
        some, labels = source.some(spread_sequences(source.offsets))
        warn_of_unpredicted(
            classes,
            labels,
            some.offsets,
            lambda chosen: tagger.decode(tagger.potential.scores(some.subset(chosen))).labels,
            source.class_weights,
        )
    pruned = None
    if source.coarse is not None and source.coarse.left_out is not None and not outcome.interrupted:
        pruned = _pruned(tagger, source, source.coarse.left_out.likely)
    tagger = tagger.compact() if estimator._leaves_out else tagger
    words = advice(outcome, objective, index, encoder.vocabulary, classes, source.value_range)
    return Trained(tagger, outcome, words, saving, found, pruned)


def _pruned(tagger: LinearTagger, source: Source, likely: npt.NDArray[np.uint8]) -> PrunedShare:
    """Return how much probability pruning leaves out in some sequences."""
    chosen = spread_sequences(source.offsets, _POSITIONS)
    if not len(chosen):
        lengths = np.diff(source.offsets)
        chosen = np.flatnonzero(lengths == lengths[lengths > 0].min())[:1]
    lattice = tagger.potential.scores(source.some(chosen)[0], n_jobs=tagger.n_jobs)
    kept = likely_in(likely, chosen, source.offsets, lattice.n_labels)
    shares = pruned_shares(lattice, kept, n_jobs=tagger.n_jobs)
    return PrunedShare(float(shares.mean()), float(shares.max()), len(shares))


def advice(
    outcome: Outcome,
    objective: PenalisedLikelihood[Any],
    index: FeatureIndex,
    vocabulary: Vocabulary,
    classes: list[Any],
    range_of: Callable[[int], tuple[float, float] | None],
) -> str:
    """Return which attribute training got stuck at; "" if at none."""
    if outcome.stuck_at is None:
        return ""
    place = objective.place_of(outcome.stuck_at)
    return f". {steepest_words(place, index, vocabulary, classes, range_of)}"
