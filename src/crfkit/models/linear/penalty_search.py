"""``CRF(c2="auto")``: penalties that are chosen by the held-out loss of K folds.

First one penalty for all features, by a search along its logarithm. Then, if there are groups, the logarithms
λ_g of their penalties, by BFGS on

    V(λ) + ½ Σ_g (λ_g - mean λ)²

where V is the held-out loss (``objectives/held_out.py``), a negative log likelihood, and the second term a
Gaussian prior of width 1. Both results are certified by folds that are trained from the beginning, and the
groups are kept only if they are better: in loss, and not worse in labels by more than their standard error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.features.penalty_groups import FeatureGroups
from crfkit.log import inform
from crfkit.objectives.grouped_penalty import GroupedPenalty
from crfkit.objectives.held_out import Effort, FoldIds, HeldOutLoss
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.bfgs import minimize_bfgs
from crfkit.optim.one_variable import minimize_along
from crfkit.optim.problem import Evaluation
from crfkit.progress import Progress

_FIRST = 1.0  # the first penalty: its models are soon trained to the end
_FACTOR = 8.0  # from one penalty to the next
_GAIN = 1e-3  # share of the loss that a further step must gain
_LEAST, _MOST = 1e-4, 1e3  # of a common penalty
_LEAST_OF_GROUP, _MOST_OF_GROUP = 1e-5, 1e4
_GROUPS_FROM = 0.01  # the groups start at this common penalty or above: smaller ones train slowly
_LONGEST = 2.0  # largest change of a log penalty in one step
_STEPS, _TRIALS = 10, 3
_NOISE = 2e-3  # relative error of the loss
_CERTAIN = Effort(little=1e-3)  # from the beginning: training that stops early looks too good

Errors = Callable[[FloatArray, IdArray], FloatArray]  # wrong labels of each of some sequences, at x [P]


@dataclass(frozen=True)
class Certified:
    """Held-out results of folds that were trained from the beginning."""

    loss: float
    errors: FloatArray  # [N] wrong labels of each sequence
    x: FloatArray  # [P] the mean weights of the folds, to start from


@dataclass(frozen=True)
class FoundPenalties:
    """The penalties that a search has found, or that were given."""

    groups: FeatureGroups
    logs: FloatArray  # [G]
    penalty: GroupedPenalty
    offset: float = 0.0  # mean log of given scales
    start: FloatArray | None = None  # [P] where training may start
    history: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False  # by Ctrl-C: the penalties are those of the last step

    @property
    def c2(self) -> float:
        """The common penalty: what given scales multiply, or the geometric mean over the groups."""
        return float(np.exp(self.logs.mean() - self.offset))

    @property
    def by_name(self) -> dict[str, float]:
        return dict(zip(self.groups.names, np.exp(self.logs).tolist(), strict=True))

    @property
    def penalties(self) -> tuple[float | FloatArray, float | FloatArray, FloatArray | None]:
        """L1 and L2 of the parameters, each one number or [P], and the shares of their features."""
        l1 = self.penalty.l1(self.logs)
        if len(self.logs) == 1:
            return 0.0 if l1 is None else l1, float(np.exp(self.logs[0])), None
        return 0.0 if l1 is None else l1, self.penalty.l2(self.logs), self.penalty.shares(self.logs)


class HeldOutSearch:
    """A search for penalties over folds of the training data."""

    def __init__(
        self,
        function: LinearLikelihood,
        folds: list[FoldIds],
        errors: Errors | None,  # None: labels are not compared
        *,
        verbose: bool | int | str,
        start: float = _FIRST,
    ) -> None:
        self._function, self._folds, self._errors, self._first = function, folds, errors, start
        self._loss = HeldOutLoss(function, folds)
        self._progress = Progress(verbose, None, name="penalties", unit="evaluations")
        self._began = time.perf_counter()
        self.history: list[dict[str, Any]] = []

    def run(
        self, groups: FeatureGroups, penalty: GroupedPenalty, scales: FloatArray | None
    ) -> FoundPenalties:
        """Return one penalty for each group; with ``scales`` [G] only their common factor is searched."""
        offsets = np.zeros(len(groups.names)) if scales is None else np.log(scales)
        self._offset = float(offsets.mean())
        self._at = float(np.log(self._first)) + offsets  # the penalties that folds are trained with
        if not self._function.n_parameters:
            return FoundPenalties(groups, self._at, penalty, self._offset)
        try:
            logs = self._common(penalty, offsets)
            certified = self._certify("common", logs, penalty)
            if len(groups.names) > 1 and scales is None:
                logs, certified = self._grouped(penalty, logs, certified)
        except KeyboardInterrupt:
            known = [fold.x for fold in self._loss.folds if fold.x.any()]
            x = np.mean(known, axis=0) if known else None
            return FoundPenalties(groups, self._at, penalty, self._offset, x, self.history, interrupted=True)
        finally:
            self._progress.end("the penalties are chosen")
        return FoundPenalties(groups, logs, penalty, self._offset, certified.x, self.history)

    def _common(self, penalty: GroupedPenalty, offsets: FloatArray) -> FloatArray:
        """Return log penalties with these offsets and the best common factor."""

        def loss(log: float) -> float:
            self._at = log + offsets
            value = self._loss.value(self._at, penalty, None if self.history else _CERTAIN)
            self._note("common", log + offsets, value)
            return value

        best = minimize_along(
            loss,
            float(np.log(self._first)),
            step=float(np.log(_FACTOR)),
            low=float(np.log(_LEAST)),
            high=float(np.log(_MOST)),
            gain=_GAIN,
        )
        found: FloatArray = best + offsets
        return found

    def _grouped(
        self, penalty: GroupedPenalty, common: FloatArray, before: Certified
    ) -> tuple[FloatArray, Certified]:
        """Return the log penalties of the groups, and what their folds say."""
        G = len(common)
        low, high = np.log(_LEAST_OF_GROUP), np.log(_MOST_OF_GROUP)
        scale: FloatArray | None = None

        def objective(x: FloatArray, *, diagonal: bool = False) -> Evaluation:
            nonlocal scale
            self._at = logs = np.clip(x, low, high)  # bounds would throw the first step onto them
            found = self._loss(logs, penalty)
            self._note("groups", logs, found.value)
            away = logs - logs.mean()
            gradient = found.gradient + away
            gradient[((x < low) & (gradient > 0)) | ((x > high) & (gradient < 0))] = 0
            if scale is None:  # a penalty that matters e times as much bends e times as strongly
                scale = 1 + np.abs(gradient)
            return Evaluation(found.value + 0.5 * float(away @ away), gradient, scale)

        start = np.maximum(common, np.log(_GROUPS_FROM))
        found = minimize_bfgs(
            objective,
            start,
            np.full((G, G), np.nan),
            max_iterations=_STEPS,
            noise=_NOISE,
            longest=_LONGEST,
            max_trials=_TRIALS,
        ).result
        if found.interrupted:
            raise KeyboardInterrupt
        logs = np.clip(found.x, low, high)
        after = self._certify("groups", logs, penalty)
        why = _what_is_worse(before, after)
        self.history[-1]["kept"] = why is None
        if why is None:
            return logs, after
        inform("training", "penalties of groups %s than one common penalty, so that one is kept", why)
        return common, before

    def _certify(self, stage: str, logs: FloatArray, penalty: GroupedPenalty) -> Certified:
        """Train all folds from the beginning; a fold that has learnt from its held-out part would show."""
        self._loss.cold()
        self._at = logs
        value = self._loss.value(logs, penalty, _CERTAIN)
        errors = np.zeros(self._function.n_examples)
        if self._errors is not None:
            for ids, fold in zip(self._folds, self._loss.folds, strict=True):
                errors[ids.held] = self._errors(fold.x, ids.held)
        self._note(f"{stage}, certified", logs, value, wrong=float(errors.sum()))
        return Certified(value, errors, np.mean([fold.x for fold in self._loss.folds], axis=0))

    def _note(self, stage: str, logs: FloatArray, value: float, **more: float) -> None:
        record = {
            "step": len(self.history),
            "stage": stage,
            "loss": value,
            "factor": self._loss.factor,
            "c2": float(np.exp(logs.mean() - self._offset)),
            "penalties": np.exp(logs).tolist(),
            **more,
            "passes": round(self._loss.passes, 1),
            "seconds": time.perf_counter() - self._began,
        }
        self.history.append(record)
        self._progress.step(f"{stage}: c2 {record['c2']:.3g}, held-out loss {value:.2f}")


def _what_is_worse(before: Certified, after: Certified) -> str | None:
    """Return why the groups are not kept; None: they are."""
    if after.loss >= before.loss:
        return f"have a higher held-out loss ({after.loss:.4g} instead of {before.loss:.4g})"
    more = after.errors - before.errors
    sure = float(np.sqrt(len(more)) * more.std())
    if more.sum() > sure:
        return (
            f"label more of the held-out positions wrongly ({after.errors.sum():.0f} instead of "
            f"{before.errors.sum():.0f})"
        )
    return None
