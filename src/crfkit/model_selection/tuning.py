"""Successive halving: many settings on little data, the better ones on more, the best on all of it.

Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization" (AISTATS
2016). Every setting is scored by cross-validation on a sample of the training data; samples are nested.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.conventions import clone
from crfkit.data.folds import group_numbers
from crfkit.exceptions import ConvergenceWarning, CRFKitError, InputError, InputWarning
from crfkit.io.shown_list import ShownList
from crfkit.model_selection.cross_validation import check_estimator, quiet_leaks
from crfkit.model_selection.folds import nested_sample, sequence_folds
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.model_selection.scoring import Metric
from crfkit.model_selection.spaces import Space, candidates, default_space, names_of_values
from crfkit.model_selection.tuning_result import Trial, TuningResult, ranked, shown
from crfkit.models.rare_labels import UNPREDICTED
from crfkit.progress import Progress

_LEAST_GROUPS = 60  # in the smallest sample: with fewer, scores say little
_RULES: dict[str, rule.Rule] = {
    "cv": rule.whole_number(2),
    "n_candidates": rule.whole_number(1),
    "factor": rule.whole_number(2),
    "random_state": rule.optional(rule.whole_number(0)),
    "verbose": rule.verbosity(),
}


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    groups: Sequence[Any] | None = None,
    space: Space | None = None,
    *,
    metric: Any = "auto",
    cv: int = 5,
    n_candidates: int = 20,
    factor: int = 3,
    lengths: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    label: str | None = None,
    sequence: str | Sequence[str] | None = None,
    group: str | None = None,
    random_state: int | None = None,
    verbose: bool | int | str = "auto",
) -> TuningResult:
    """Search for good parameters by cross-validation, and train the best model on all the data.

    Parameters
    ----------
    estimator
        The estimator whose parameters are changed. As it is, it is always a candidate, on all the data.
    X, y, lengths, sample_weight, label, sequence
        The training data, as for ``fit``: sequences and labels, or a data frame with names of columns.
    groups, group
        One group per sequence, or the name of a column of the data frame: no group is split by a fold.
    space
        A dict of parameter to list of values, or a list of such dicts; for example
        ``{"extractor": [token_features, mine], "c2": [0.1, 1]}``. A dict of name to value in place of a list
        gives values the names that tables show. None: ``default_space(estimator)``.
    metric
        As in :func:`cross_val_score`: "auto", "f1", "accuracy", "log_loss" or a function of labels.
    cv
        Number of folds.
    n_candidates
        Number of settings to try: random ones if the space has more, else all of it.
    factor
        Of the settings tried on a sample, one in ``factor`` is tried on a sample ``factor`` times as large.
        The last is all the data; the first has at least 60 groups (or sequences).
    random_state
        Seed of folds, samples and settings; None means 0. The same seed gives the same result.
    verbose
        "auto": a progress bar with the time that is left, after a few seconds, on a terminal or in a
        notebook; False: nothing; True: the bar at once, or lines in a file; 2: one line per setting.

    Ctrl-C ends the search: the best setting so far is trained. Settings that raise an error are recorded; if
    all do, the first error is raised.

    >>> from crfkit import CRF
    >>> from crfkit.datasets import addresses
    >>> from crfkit.features import token_features
    >>> X, y = addresses(60, random_state=0)
    >>> found = tune(CRF(extractor=token_features), X, y, space={"c2": [0.01, 0.1, 1, 10]}, cv=3)
    >>> found.best_params_["c2"] < 10
    True
    """
    given = {"cv": cv, "n_candidates": n_candidates, "factor": factor}
    rule.check_parameters(_Settings(**given, random_state=random_state, verbose=verbose), _RULES)
    check_estimator(estimator)
    data = LabelledSequences.of(
        X,
        y,
        groups,
        lengths=lengths,
        sample_weight=sample_weight,
        label=label,
        sequence=sequence,
        group=group,
    )
    space = default_space(estimator) if space is None else space
    tried = candidates(space, n_candidates, random_state or 0)
    names = names_of_values(space)
    for one in tried:
        clone(estimator).set_params(**one)  # raises for a parameter that does not exist
    search = _Search(estimator, data, Metric.of(metric, data.y), cv, random_state or 0)
    stages = _stages(data, len(tried), factor, cv)
    progress = Progress(verbose, sum(n for _, n in stages), name="tune", unit="settings")
    interrupted = False
    with quiet_leaks():
        try:
            _halve(search, tried, stages, progress, names)
        except KeyboardInterrupt:
            if not any(trial.scores for trial in search.trials):
                raise
            interrupted = True
            progress.say("stopped by Ctrl-C; training the best setting so far on all the data")
        best = search.best()
        model = clone(estimator).set_params(**best.params)
        try:
            data.fit(model)
        except KeyboardInterrupt:
            if not hasattr(model, "tagger_"):
                raise
            interrupted = True
    result = TuningResult(
        model, best.params, best.score, search.metric.name, search.trials, cv, interrupted, names
    )
    progress.end(f"{search.metric.name} {best.score:.4f} with {_words(best.params, names)}")
    return result


class _Settings:
    """The arguments of ``tune`` as attributes, which the rules of parameters look at."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class _Search:
    """Scores settings, and records them."""

    def __init__(
        self, estimator: Any, data: LabelledSequences, metric: Metric, cv: int, random_state: int
    ) -> None:
        self.data, self.metric = data, metric
        self.trials: list[Trial] = ShownList()
        self._estimator = clone(estimator)
        if "verbose" in estimator.get_params(deep=False):
            self._estimator.set_params(verbose=False)
        self._cv, self._seed = cv, random_state
        self._first_error: CRFKitError | None = None

    def score(self, params: dict[str, Any], share: float, stage: int) -> Trial:
        """Score a setting by cross-validation on a share of the data."""
        began = time.perf_counter()
        data = self.data
        if share < 1:
            data = data.part(nested_sample(len(data), data.groups, share, self._seed))
        scores: list[float] = []
        error = None
        try:
            with _quiet_endings():
                for train, test in sequence_folds(np.diff(data.offsets), data.groups, self._cv, self._seed):
                    model = clone(self._estimator).set_params(**params)
                    scores.append(self.metric.score(data.part(train).fit(model), data.part(test)))
        except CRFKitError as problem:
            self._first_error = self._first_error or problem
            scores, error = [], str(problem)
        if not all(map(math.isfinite, scores)):
            scores, error = [], "the score is not a number"
        trial = Trial(params, tuple(scores), len(data), stage, time.perf_counter() - began, error)
        self.trials.append(trial)
        return trial

    def best(self) -> Trial:
        """Return the best of the settings tried on the most data; raise if all have failed."""
        first = ranked(self.trials)[0]
        if first.scores:
            return first
        raise self._first_error or InputError(f"no setting could be scored: {first.error}")


@contextmanager
def _quiet_endings() -> Iterator[None]:
    """Do not warn of bad settings (convergence, labels never predicted): the kept model warns of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", UNPREDICTED, InputWarning)
        yield


def _stages(data: LabelledSequences, n: int, factor: int, cv: int) -> list[tuple[float, int]]:
    """Return the share of the data and the number of settings of each stage."""
    _, n_groups = group_numbers(data.groups, len(data))
    least = max(_LEAST_GROUPS, 2 * cv)
    n_stages = 1
    while n > factor**n_stages and n_groups >= least * factor**n_stages:
        n_stages += 1
    sizes = [max(1, round(n / factor**k)) for k in range(n_stages)]
    sizes[-1] += 1  # the estimator as it was given
    return [(float(factor) ** (k - n_stages + 1), size) for k, size in enumerate(sizes)]


def _halve(
    search: _Search,
    tried: list[dict[str, Any]],
    stages: list[tuple[float, int]],
    progress: Progress,
    names: dict[int, str],
) -> None:
    for stage, (share, size) in enumerate(stages):
        last = stage == len(stages) - 1
        chosen = [{}, *tried[: size - 1]] if last else tried[:size]
        done: list[Trial] = []
        for params in chosen:
            trial = search.score(params, share, stage)
            done.append(trial)
            words = f"{search.metric.name} {trial.score:.4f}" if trial.scores else f"failed: {trial.error}"
            part = "all" if last else f"{trial.n_sequences:,}"
            progress.step(f"{words}  {_words(params, names)}  ({part} sequences, {trial.seconds:.1f} s)")
        tried = [trial.params for trial in ranked(done) if trial.scores]


def _words(params: dict[str, Any], names: dict[int, str]) -> str:
    return (
        ", ".join(f"{name}={shown(value, names)}" for name, value in params.items())
        or "the estimator as given"
    )
