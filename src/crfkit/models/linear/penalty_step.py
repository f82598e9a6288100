"""The step of training that finds the penalties: given ones, or those of ``c2="auto"``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.data.folds import fold_numbers, group_numbers
from crfkit.data.sequences import Encoded
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.general_scales import GENERAL, general_scales
from crfkit.features.index import FeatureIndex, places_of
from crfkit.features.labelled import LabelledInput
from crfkit.features.penalty_groups import FeatureGroups, PenaltyScales, feature_groups
from crfkit.inference import PermittedPairs
from crfkit.models.linear.penalty_search import FoundPenalties, HeldOutSearch
from crfkit.models.linear.steps import IndexSettings, index_step
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.grouped_penalty import GroupedPenalty
from crfkit.objectives.held_out import FoldIds
from crfkit.objectives.linear_function import LinearFunction
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.methods import find_method
from crfkit.potentials.linear import LinearPotential

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

AUTO = "auto"
_ALL = "all features"
_ENOUGH = 10_000  # held-out positions that tell penalties apart: folds beyond them are not trained


def check_penalties(estimator: CRF) -> None:
    """Raise if parameters of the penalties contradict each other or the algorithm."""
    searched, groups = estimator.c2 == AUTO, estimator.penalty_groups
    if estimator.c1 == AUTO and not searched:
        raise InputError(f"c1='auto' is found together with c2='auto', got c2={estimator.c2!r}")
    if not searched and groups is None:
        return
    if not searched and groups != GENERAL and PenaltyScales.of(groups) is None:
        raise InputError(
            f"penalty_groups={groups!r} needs c2='auto', which finds the penalty of each group; with a "
            "number c2, give scales: {group: factor}"
        )
    method, _ = find_method(estimator.algorithm)
    if method.tol_factor is None:
        raise InputError(
            f"algorithm={estimator.algorithm!r} has no penalties: leave out c2='auto' and penalty_groups, or "
            "take algorithm='auto'"
        )
    if (groups is not None or estimator.c1 == AUTO) and not method.l1:
        raise InputError(
            f"algorithm={estimator.algorithm!r} has one L2 penalty for all features: leave out "
            "penalty_groups and c1='auto', or take algorithm='auto'"
        )


def penalty_step(
    estimator: CRF,
    encoded: Encoded,
    data: LabelledInput,
    index: FeatureIndex,
    function: LinearLikelihood,
    permitted: PermittedPairs | None,
    together: Any,  # one group per sequence, which folds keep together; or None
) -> FoundPenalties | None:
    """Return the penalties of groups of features, found or given; None: there is one number, c2."""
    if estimator.c2 != AUTO:
        return given_penalties(estimator, data.vocabulary, data.classes, index, function)
    groups, factors = _groups(estimator, data.vocabulary, data.classes, index)
    penalty = _penalty(estimator, groups, function)
    folds = held_out_folds(estimator, encoded, data, index, function, together)
    errors = None if permitted is not None else _Errors(encoded, data, index, function, estimator.n_jobs)
    return HeldOutSearch(function, folds, errors, verbose=estimator.verbose).run(groups, penalty, factors)


def given_penalties(
    estimator: CRF, vocabulary: Vocabulary, classes: list[Any], index: FeatureIndex, function: LinearFunction
) -> FoundPenalties | None:
    """Return the penalties that scales of groups of features give; None: there is one number, c2."""
    if estimator.penalty_groups is None:
        return None
    groups, factors = _groups(estimator, vocabulary, classes, index)
    if factors is None or not estimator.c2:
        raise InputError("scales multiply c2, which is 0: give a c2 above 0")
    logs, scales = np.log(float(estimator.c2)), np.log(factors)
    return FoundPenalties(groups, scales + logs, _penalty(estimator, groups, function), float(scales.mean()))


def _penalty(estimator: CRF, groups: FeatureGroups, function: LinearFunction) -> GroupedPenalty:
    tied = estimator.c1 == AUTO
    c1 = 1.0 if tied else float(estimator.c1)
    return GroupedPenalty(function, groups.of, len(groups.names), c1=c1, tied=tied)


def _groups(
    estimator: CRF, vocabulary: Vocabulary, classes: list[Any], index: FeatureIndex
) -> tuple[FeatureGroups, FloatArray | None]:
    """Return the groups of features, and the factors of their penalties if the estimator has scales."""
    scales = PenaltyScales.of(estimator.penalty_groups)
    how = estimator.penalty_groups if scales is None else scales.groups
    how = "templates" if how == GENERAL else how
    groups = FeatureGroups([_ALL], np.zeros(sum(index.sizes), np.int64))
    if how is not None:
        groups = feature_groups(how, index, vocabulary, classes)
    if estimator.penalty_groups == GENERAL:
        scales = PenaltyScales(general_scales(groups.names))
    if scales is None:
        return groups, None
    return groups, np.array([scales.factors.get(name, 1.0) for name in groups.names])


def held_out_folds(
    estimator: CRF,
    encoded: Encoded,
    data: LabelledInput,
    index: FeatureIndex,
    function: LinearLikelihood,
    together: Any,
) -> list[FoldIds]:
    """Return folds of a partition; a fold has the features that its own training part would give a model.

    Large data needs two of them: what a penalty changes shows in as few as ``_ENOUGH`` held-out positions.
    """
    sequences, settings = encoded.sequences, IndexSettings.of(estimator)
    _, n_groups = group_numbers(together, sequences.n_sequences)
    n_folds = min(estimator.penalty_folds, n_groups)
    if n_folds < 2:
        raise InputError(
            f"c2='auto' needs at least 2 {'sequences' if together is None else 'groups'}, to hold some of "
            f"them out, got {n_groups}: give a number c2"
        )
    fold = fold_numbers(sequences.lengths, together, n_folds, estimator.random_state or 0, "penalty_folds")
    needed = int(np.ceil(_ENOUGH / max(1, sequences.n_positions / n_folds)))
    found = []
    for k in range(min(n_folds, max(2, needed))):
        train, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        free: BoolArray | None = None
        if settings.features is None:
            part = replace(data, labels=data.labels.subset(train, sequences.offsets))
            own = index_step(replace(encoded, sequences=sequences.subset(train)), part, settings)
            free = function.parameters(_shared(index, own).astype(np.float64)) > 0
        found.append(FoldIds(train.astype(np.int32), held.astype(np.int32), free))
    return found


def _shared(index: FeatureIndex, own: FeatureIndex) -> BoolArray:
    """Return which of the features of an index another one has, in the order of ``FeatureIndex.sizes``."""
    edges = [own.edges.ravel(), places_of(index.ngrams, own.ngrams) >= 0]
    pairs = np.isin(index.pair_keys(), own.pair_keys(), assume_unique=True)
    states = np.isin(index.state_keys(), own.state_keys(), assume_unique=True)
    return np.concatenate([*edges, pairs, states])


class _Errors:
    """How many labels of sequences a model gets wrong."""

    def __init__(
        self,
        encoded: Encoded,
        data: LabelledInput,
        index: FeatureIndex,
        function: LinearLikelihood,
        n_jobs: int | None,
    ) -> None:
        self._encoded, self._data, self._function, self._n_jobs = encoded, data, function, n_jobs
        self._potential = LinearPotential(index)
        self._forced = encoded.forced(data.classes)

    def __call__(self, x: FloatArray, ids: IdArray) -> FloatArray:
        """Return the number of wrong labels of each of these sequences at the parameters x [P]."""
        part, n_labels = self._encoded.sequences.subset(ids), len(self._data.classes)
        offsets = self._encoded.sequences.offsets
        forced = None
        if self._forced is not None:
            forced = np.concatenate([self._forced[offsets[i] : offsets[i + 1]] for i in ids])
        held = DevSet.of_labels(
            self._data.labels.subset(ids, offsets), n_labels, forced=forced, n_jobs=self._n_jobs
        )
        wrong = held.wrong(self._potential.scores(part, self._function.weights(x), n_jobs=self._n_jobs))
        total = np.concatenate([[0.0], np.cumsum(wrong, dtype=np.float64)])
        return np.diff(total[part.offsets])
