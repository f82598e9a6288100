"""Steps of ``TreeCRF.fit``: its settings for the data, and growing one member."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.data.labelled_table import LabelledTable
from crfkit.data.tables import Table
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.models.training import Watch, interruption, run_rounds
from crfkit.models.trees.boosting import Boosting, BoostingSettings
from crfkit.models.trees.grower import GrowthSettings
from crfkit.models.trees.tagger import Stage
from crfkit.models.trees.validation import HeldOut
from crfkit.objectives.dev_set import DevSet
from crfkit.optim.problem import Save, State
from crfkit.potentials.forest import Forest
from crfkit.potentials.transitions import TransitionTables
from crfkit.potentials.tree import TreePotential
from crfkit.warn import warn

Callback = Callable[[dict[str, Any]], Any]

_MANY_LABELS = 5  # from here on potentials="auto" is factored


def boosting_settings(
    estimator: Any, n_labels: int, window: tuple[int, int], by: int | None, n_threads: int
) -> BoostingSettings:
    """Return the settings of a ``TreeCRF`` for data with ``n_labels`` labels.

    ``window`` is given as positions before and after, ``by`` as the number of a column.
    """
    return BoostingSettings(
        joint=_is_joint(estimator, n_labels),
        order=estimator.order,
        window=window,
        newton=estimator.newton,
        pseudo_iterations=estimator.pseudo_iterations,
        trim=float(estimator.trim),
        line_search=estimator.line_search,
        transition_c2=float(estimator.transition_c2),
        transition_every=estimator.transition_every,
        by=by,
        growth=growth_settings(estimator, n_threads),
    )


def warn_of_no_trees() -> None:
    """Warn that a model has no trees."""
    warn(
        "no split reduced the objective: the model has no trees, and ignores X. Are there enough sequences "
        "(or graphs) for min_samples_leaf, and enough columns for colsample?",
        ConvergenceWarning,
    )


def growth_settings(estimator: Any, n_threads: int) -> GrowthSettings:
    """Return a ``TreeCRF``'s settings for growing trees."""
    return GrowthSettings(
        n_leaves=int(estimator.n_leaves),
        learning_rate=float(estimator.learning_rate),
        min_samples_leaf=int(estimator.min_samples_leaf),
        l2=float(estimator.l2),
        subsample=float(estimator.subsample),
        colsample=float(estimator.colsample),
        seed=int(estimator.random_state or 0),
        n_threads=n_threads,
        more=dict(estimator.lightgbm_params or {}),
    )


def _is_joint(estimator: Any, n_labels: int) -> bool:
    """Return whether trees also use the previous label."""
    for name, given in (("order=2", estimator.order == 2), ("by", estimator.by is not None)):
        if given and estimator.potentials == "joint":
            raise InputError(f"{name} needs potentials='factored', got 'joint'")
        if given:
            return False
    return estimator.potentials == "joint" or (estimator.potentials == "auto" and n_labels < _MANY_LABELS)


@dataclass(frozen=True)
class Member:
    """A trained model: the whole TreeCRF, or one of a committee."""

    forests: list[Forest]  # the start before the first round, and the trees of each kept round
    tables: TransitionTables | None  # after the last of them
    stages: list[Stage]  # one per kept round
    history: list[dict[str, Any]]  # one record per round
    message: str  # why training ended
    converged: bool  # False: it was interrupted


def member_state(boosting: Boosting, watch: Watch[int], ended: str | None = None) -> State:
    """Return the state of a member for a checkpoint; ``ended`` says why it is complete, if it is."""
    return {"boosting": boosting.saved(), "watch": watch.saved(), "ended": ended}


def grow_member(
    boosting: Boosting,
    held: HeldOut | None,
    limit: int,
    watch: Watch[int],
    *,
    patience: int,
    callbacks: Sequence[Callback],
    save: Save | None = None,
    resume: State | None = None,
) -> Member:
    """Run rounds of boosting; with held-out data, keep the number of rounds that is best on it.

    ``save`` is offered the ``member_state`` after each round; ``resume`` is such a state.
    """
    began, ended = time.perf_counter(), None
    if resume is not None:
        boosting.resume(resume["boosting"])
        watch.resume(resume["watch"])
        ended = resume["ended"]
        began -= watch.history[-1]["seconds"] if watch.history else 0.0
        if held is not None:
            held.resume()

    def advance() -> str | None:
        if ended is not None:
            return str(ended)
        record, score = boosting.round(), None
        if record is None:
            return f"no split reduces the objective after {len(boosting.rounds)} rounds"
        record["seconds"] = time.perf_counter() - began
        if held is not None:
            score = record["dev_accuracy"] = held.after_round()
        if watch.note(record, score, lambda: len(boosting.rounds)) and watch.best is not None:
            return f"no better dev accuracy than {watch.best[0]:.4f} in {patience} rounds"
        answers = [callback(record) for callback in callbacks]  # every callback is called
        if any(answer is True for answer in answers):
            return "a callback ended it"
        if len(boosting.rounds) >= limit:
            return f"{limit} rounds"
        if save is not None:
            save(lambda: member_state(boosting, watch))
        return None

    message, converged = run_rounds(advance)
    if not converged:
        message = interruption(len(boosting.rounds), "rounds")
    kept = len(boosting.rounds)
    if held is not None:
        kept = 0 if watch.best is None else watch.best[1]
    forests, tables = [boosting.start.forest, *boosting.rounds[:kept]], boosting.stages[:kept]
    n_trees = np.cumsum([len(forest.root) for forest in forests]).tolist()
    return Member(
        forests,
        tables[-1] if tables else boosting.tables,
        list(zip(n_trees[1:], tables, strict=True)),
        watch.history,
        message,
        converged,
    )


def tree_identity(
    data: LabelledTable,
    dev: tuple[Table, DevSet] | None,
    groups: Any,
    settings: BoostingSettings,
    start: TreePotential | None = None,
) -> dict[str, Any]:
    """Return everything but the settings that decides the trees, for the fingerprint of a checkpoint."""
    return {
        "training data": (
            data.schema,
            data.table,
            data.weights,
            None if groups is None else repr(list(groups)),
        ),
        "labels": (data.classes, data.labels, data.class_weights),
        "model trained further": None if start is None else (start.forest.parts(), start.tables),
        "dev data": None if dev is None else (dev[0], dev[1].right, dev[1].given),
        "parameters of LightGBM": repr(sorted(settings.growth.more.items())),
    }
