"""Steps of ``TreeCRF.fit``: what its parameters mean for the data, and growing one member."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit import parameters as rule
from crfkit.data.labelled_table import LabelledTable
from crfkit.data.tables import TableSchema
from crfkit.exceptions import InputError
from crfkit.models.training import Watch, run_rounds
from crfkit.models.trees.boosting import Boosting, BoostingSettings
from crfkit.models.trees.grower import GrowthSettings
from crfkit.models.trees.tagger import Stage
from crfkit.models.trees.validation import HeldOut
from crfkit.potentials.tree import TreePotential

Callback = Callable[[dict[str, Any]], Any]

_MANY_LABELS = 5  # from here on potentials="auto" is factored


def boosting_settings(estimator: Any, data: LabelledTable, n_threads: int) -> BoostingSettings:
    """Return what the parameters of a ``TreeCRF`` mean for this data."""
    window = window_of(estimator.window)
    return BoostingSettings(
        joint=_is_joint(estimator, data.n_labels),
        order=estimator.order,
        window=(0, 0) if window is None else window,
        newton=estimator.newton,
        pseudo_iterations=estimator.pseudo_iterations,
        trim=float(estimator.trim),
        line_search=estimator.line_search,
        transition_c2=float(estimator.transition_c2),
        transition_every=estimator.transition_every,
        by=None if estimator.by is None else _category(data.schema, estimator.by),
        growth=GrowthSettings(
            n_leaves=int(estimator.n_leaves),
            learning_rate=float(estimator.learning_rate),
            min_samples_leaf=int(estimator.min_samples_leaf),
            l2=float(estimator.l2),
            subsample=float(estimator.subsample),
            colsample=float(estimator.colsample),
            seed=int(estimator.random_state or 0),
            n_threads=n_threads,
            more=dict(estimator.lightgbm_params or {}),
        ),
    )


def window_of(value: Any) -> tuple[int, int] | None:
    """Return the positions before and behind that a window has; None if it is no window."""
    whole = rule.whole_number(0)[1]
    if isinstance(value, (tuple, list)):
        return (int(value[0]), int(value[1])) if len(value) == 2 and all(map(whole, value)) else None
    return (int(value) // 2, int(value) // 2) if whole(value) and int(value) % 2 else None


def _is_joint(estimator: Any, n_labels: int) -> bool:
    """Tell whether trees see the label before, too."""
    for name, given in (("order=2", estimator.order == 2), ("by", estimator.by is not None)):
        if given and estimator.potentials == "joint":
            raise InputError(f"{name} goes with potentials='factored'")
        if given:
            return False
    return estimator.potentials == "joint" or (estimator.potentials == "auto" and n_labels < _MANY_LABELS)


def _category(schema: TableSchema, meant: str | int) -> int:
    """Return which of the columns of categories ``by`` means."""
    k = schema.number_of(meant)
    if k is None:
        raise InputError(
            f"by={meant!r}: there is no such column; X has {[c.name for c in schema.columns]!r:.200}"
        )
    if not schema.columns[k].is_category:
        raise InputError(f"by={meant!r} must be a column of categories, and it holds numbers")
    return k


@dataclass(frozen=True)
class Member:
    """A trained model: the whole TreeCRF, or one of a committee."""

    potential: TreePotential
    stages: list[Stage]  # one per round that is kept
    history: list[dict[str, Any]]  # one record per round
    message: str  # why training ended
    converged: bool  # False: it was interrupted


def grow_member(
    boosting: Boosting,
    held: HeldOut | None,
    limit: int,
    watch: Watch[int],
    *,
    patience: int,
    callbacks: Sequence[Callback],
) -> Member:
    """Boost round after round; with held-out data, keep the number of rounds that is best on it."""
    began = time.perf_counter()

    def advance() -> str | None:
        record, score = boosting.round(), None
        if record is None:
            return f"no split is worth while after {len(boosting.rounds)} rounds"
        record["seconds"] = time.perf_counter() - began
        if held is not None:
            score = record["dev_accuracy"] = held.after_round()
        if watch.note(record, score, lambda: len(boosting.rounds)) and watch.best is not None:
            return f"no better dev accuracy than {watch.best[0]:.4f} in {patience} rounds"
        answers = [callback(record) for callback in callbacks]  # all get to see it
        if any(answer is True for answer in answers):
            return "a callback ended it"
        return f"{limit} rounds" if len(boosting.rounds) >= limit else None

    message, converged = run_rounds(advance)
    if not converged:
        message = f"training was interrupted after {len(boosting.rounds)} rounds, which are kept"
    kept = len(boosting.rounds)
    if held is not None:
        kept = 0 if watch.best is None else watch.best[1]
    n_trees = np.cumsum([boosting.start.n_trees, *(forest.n_trees for forest in boosting.rounds)])
    stages = list(zip(n_trees[1:].tolist(), boosting.stages, strict=True))[:kept]
    return Member(boosting.potential(kept), stages, watch.history, message, converged)
