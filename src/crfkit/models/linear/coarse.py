"""The step before training with ``prune``: a model of order 1 says which labels are likely where.

Coarse to fine (Mueller, Schmid and Schütze, "Efficient higher-order CRFs for morphological tagging", EMNLP
2013). A label whose probability at a position is below ``prune`` in the trained model of order 1 is left out
there; labels of the training data stay. The sets do not change while the higher order is trained, so that a
pass costs only what the likely labels cost, and training begins with the weights w₁ of order 1.

Nothing would hold back the weights of labels that are left out. So log Z is not replaced by log Z_P, the sum
over likely labels, alone, but by

    log Z_P(w) + r(w₁) + ∇r(w₁)·(w - w₁),    r = log Z - log Z_P in order 1

which has the value and, for the weights of order 1, the gradient of log Z at w₁, and is convex. With partial
labels the same is done to the sum over labellings that agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError
from crfkit.features.index import NO_NGRAMS, FeatureIndex
from crfkit.features.labelled import LabelledInput
from crfkit.inference import likely_labels
from crfkit.inference.chain import CHAIN
from crfkit.models.training import train
from crfkit.objectives.likelihood import expected_minus_observed
from crfkit.objectives.linear_likelihood import LeftOut, LinearLikelihood
from crfkit.potentials.linear import LinearPotential
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

_AT_ONCE = 1 << 22  # probabilities
_TOL = 1e-4  # of the model of order 1: a start, not a result


@dataclass(frozen=True)
class Coarse:
    """A model of order 1 as the start of a higher one, and what that one leaves out."""

    weights: FloatArray  # w₁ of all features of the higher order: 0 for its n-grams
    left_out: LeftOut | None  # None: interrupted before it was known


def coarse_step(estimator: CRF, data: LabelledInput, sequences: Sequences, index: FeatureIndex) -> Coarse:
    """Train a model of order 1, and find the likely labels."""
    _check(estimator)
    first, threads = replace(index, ngrams=NO_NGRAMS), thread_count(estimator.n_jobs)
    objective = LinearLikelihood(
        sequences,
        data.labels,
        first,
        n_threads=threads,
        weights=data.weights,
        class_weights=data.class_weights,
        c2=estimator._l2,
    ).penalised(c2=estimator._l2)
    outcome = train(
        objective,
        np.zeros(objective.n_parameters),
        algorithm="auto",
        max_iterations=estimator.max_iterations,
        tol=max(_TOL, float(estimator.tol)),
        dev=None,
        patience=1,
        seed=estimator.random_state,
        verbose=estimator.verbose,
    )
    weights = objective.weights(outcome.x)
    start = _of_higher_order(weights, index)
    if outcome.interrupted:
        return Coarse(start, None)
    potential = LinearPotential(first, weights)
    rows, rest, slope = [], 0.0, np.zeros(len(weights))
    for begin, end in pairwise(_cuts(sequences.offsets, _AT_ONCE // potential.scores_per_position)):
        chosen = np.arange(begin, end)
        some = sequences.subset(chosen)
        lattice = potential.scores(some, n_jobs=threads)
        likely = likely_labels(lattice, float(estimator.prune), n_jobs=threads)
        labels = data.labels.subset(chosen, sequences.offsets)
        known = labels.permitted(index.n_labels)
        likely |= known & ~known.all(axis=1, keepdims=True)
        rows.append(np.packbits(likely, axis=1, bitorder="little"))
        # log Z - log Z_P is the loss of the labels being among the likely ones.
        among = Labels(np.full(some.n_positions, -1, np.int32), likely)
        own = None if data.weights is None else data.weights[chosen]
        terms = [(1.0, lattice)]
        if labels.allowed is not None:  # labels that are not known are pruned, too
            terms.append((-1.0, CHAIN.permit(lattice, labels)))
        for sign, scores in terms:
            found = expected_minus_observed(CHAIN, scores, among, weights=own, n_jobs=threads)
            rest -= sign * float(found.log_p.sum() if own is None else found.log_p @ own)
            slope += sign * potential.backward(some, found.d_scores)
    constant = rest - float(slope @ weights)
    return Coarse(start, LeftOut(np.concatenate(rows), _of_higher_order(slope, index), constant))


def likely_in(
    bits: npt.NDArray[np.uint8], sequences: IntArray, offsets: IntArray, n_labels: int
) -> BoolArray:
    """Return the likely labels of some sequences [positions, L]; ``bits`` are those of all sequences."""
    rows = np.concatenate([bits[offsets[i] : offsets[i + 1]] for i in sequences.tolist()])
    return np.unpackbits(rows, axis=1, count=n_labels, bitorder="little").view(np.bool_)


def _check(estimator: CRF) -> None:
    if estimator.algorithm not in ("auto", "lbfgs"):
        raise InputError(
            f"prune= works with algorithm='auto' or 'lbfgs', got {estimator.algorithm!r}: stochastic steps "
            "and learning from mistakes do not know what is left out"
        )
    if estimator.c2 == "auto":
        raise InputError(
            "prune= needs a number c2: find one in order 1, for example CRF(c2='auto').fit(X, y).c2_"
        )


def _of_higher_order(numbers: FloatArray, index: FeatureIndex) -> FloatArray:
    """Return the numbers of all features: 0 for the n-grams, which order 1 does not have."""
    return np.insert(numbers, index.sizes[0], np.zeros(len(index.ngrams)))


def _cuts(offsets: IntArray, size: int) -> list[int]:
    """Return the first sequences of batches of about ``size`` positions, then N."""
    places = np.searchsorted(offsets, np.arange(0, offsets[-1], max(1, size)))
    cuts: list[int] = np.unique([*places.tolist(), len(offsets) - 1]).tolist()
    return cuts
