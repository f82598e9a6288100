"""Training kernel CRFs: rounds of clique selection and re-fitting, or all cliques at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from crfkit.exceptions import InputWarning
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.checkpoint import Saving
from crfkit.models.kernels.clique_selection import CliqueSelector, Pick, take_all
from crfkit.models.kernels.risk import KernelRisk
from crfkit.models.training import Watch, iteration_record, run_rounds
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Callback, Result, Save, State
from crfkit.potentials.kernel_expansion import CliqueBatch, Snapshot
from crfkit.progress import Progress
from crfkit.warn import warn

_BETWEEN = 3  # L-BFGS iterations in rounds without a full re-fit


@dataclass(frozen=True)
class Rounds:
    """Settings for choosing cliques and fitting coefficients."""

    edge_cliques: bool
    n_cliques: int | None  # None: all
    per_round: int
    all_labelings: bool
    alternate: bool
    refit_every: int
    refit_tol: float
    tol: float
    max_iterations: int
    patience: int | None


class ScoredLabels(Protocol):
    """Held-out labels, which tell how good scores are."""

    def accuracy(self, scores: Any) -> float:
        """Return the share of labels that are right."""

    def log_likelihood(self, scores: Any) -> float:
        """Return log p(y|x) per label."""


class HeldOut(NamedTuple):
    """A dev set, whose rows follow those of training in the kernel matrices."""

    batch: CliqueBatch[Any, Any]
    labels: ScoredLabels


@dataclass(frozen=True)
class KernelOutcome:
    """The results of training, except the coefficients in the risk's expansion."""

    picks: list[Pick]  # in the order of choice
    history: list[dict[str, Any]]  # one record per round; the picks of each under "picks"
    value: float  # the risk
    converged: bool
    message: str
    interrupted: bool  # by Ctrl-C: an estimator keeps the model, then raises ``KeyboardInterrupt``


def train_kernel(
    risk: KernelRisk,
    matrices: Sequence[KernelMatrix],
    rounds: Rounds,
    dev: HeldOut | None,
    progress: Progress,
    saving: Saving | None = None,
) -> KernelOutcome:
    """Minimise the risk; its expansion holds the result. Ctrl-C ends training early."""
    trainer = _Trainer(risk, rounds, dev, saving)
    if rounds.n_cliques is None:
        return trainer.all_cliques(matrices, progress)
    selector = CliqueSelector(
        risk,
        matrices,
        edge_cliques=rounds.edge_cliques,
        all_labelings=rounds.all_labelings,
        alternate=rounds.alternate,
    )
    return trainer.greedy(selector, _no_more_than(selector.n_left, rounds.n_cliques), progress)


def _no_more_than(there: int, asked: int) -> int:
    """Limit the number of cliques to the candidates, with a warning."""
    if asked > there:
        warn(
            f"n_cliques={asked:,} is more than the number of candidates, {there:,}: all candidates are used",
            InputWarning,
        )
    return min(asked, there)


class _Trainer:
    def __init__(self, risk: KernelRisk, rounds: Rounds, dev: HeldOut | None, saving: Saving | None) -> None:
        self.risk, self.rounds, self.dev, self.saving = risk, rounds, dev, saving
        self.saved = None if saving is None else saving.state
        self.began = time.perf_counter()
        self.picks: list[Pick] = []

    def all_cliques(self, matrices: Sequence[KernelMatrix], progress: Progress) -> KernelOutcome:
        """Fit the full representer form."""
        progress.say("factorising the kernel matrix")
        families = self.risk.batch.families(matrices, self.rounds.edge_cliques)
        take_all(self.risk.expansion, matrices, kinds=[family[:2] for family in families])
        watch: Watch[None] = Watch(progress, None)
        save: Save | None = None
        if self.saving is not None:
            offer = self.saving.offer
            save = lambda own: offer(lambda: {"watch": watch.saved(), "lbfgs": own()})  # noqa: E731
        if self.saved is not None:
            watch.resume(self.saved["watch"])
            self.began -= self.saved["lbfgs"]["seconds"]
        result = self.refit(
            self.rounds.tol,
            callback=lambda step: watch.note(iteration_record(step)),
            save=save,
            resume=self.saved and self.saved["lbfgs"],
        )
        progress.close(result.message)
        record = self.record(0, [], result)
        return KernelOutcome([], [record], result.value, result.converged, result.message, result.interrupted)

    def greedy(self, selector: CliqueSelector, n_cliques: int, progress: Progress) -> KernelOutcome:
        """Choose cliques in rounds, and fit all coefficients after each."""
        rounds, expansion = self.rounds, self.risk.expansion
        progress.total = 1 + -(-n_cliques // rounds.per_round)
        watch: Watch[tuple[int, Snapshot]] = Watch(progress, rounds.patience)
        if self.saved is not None:
            self._resume(self.saved, selector, watch)

        def advance() -> str | None:
            number, left = len(watch.history), n_cliques - len(self.picks)
            picks: list[Pick] = []  # none in the first round: the parametric part alone
            if number:
                if left == 0:
                    return f"it has reached {n_cliques:,} cliques"
                picks = selector.choose(min(rounds.per_round, left))
                if not picks:
                    return "no candidate is left that would lower the risk"
            self.picks += picks
            brief = number % rounds.refit_every != 0 and len(picks) < left
            result = self.refit(rounds.refit_tol, brief=brief)
            record = self.record(number, picks, result)
            score = record.get("dev_log_likelihood") if picks else None
            if watch.note(record, score, lambda: (len(self.picks), expansion.snapshot())):
                return f"no better log-likelihood of the dev set in {rounds.patience} rounds"
            if result.interrupted:
                raise KeyboardInterrupt
            if self.saving is not None:
                self.saving.offer(lambda: self._state(selector, watch))
            return None

        reason, complete = run_rounds(advance)
        progress.close(reason)
        if watch.best is not None:
            _, (n_picks, state) = watch.best
            del self.picks[n_picks:]
            expansion.restore(state)
        result = self.refit(rounds.tol, brief=not complete)  # Ctrl-C must not wait for convergence
        converged, interrupted = result.converged and complete, result.interrupted or not complete
        return KernelOutcome(self.picks, watch.history, result.value, converged, reason, interrupted)

    def _state(self, selector: CliqueSelector, watch: Watch[tuple[int, Snapshot]]) -> State:
        records = [{**record, "picks": len(record["picks"])} for record in watch.history]
        return {
            "selector": selector.saved(),
            "picks": [astuple(pick) for pick in self.picks],
            "watch": {**watch.saved(), "history": records},
        }

    def _resume(self, saved: State, selector: CliqueSelector, watch: Watch[tuple[int, Snapshot]]) -> None:
        """Continue from a checkpoint."""
        selector.resume(saved["selector"])
        self.picks = [Pick(*pick) for pick in saved["picks"]]
        watch.resume(saved["watch"])
        left = iter(self.picks)
        for record in watch.history:
            record["picks"] = list(islice(left, record["picks"]))
        if watch.best is not None:
            score, (n_picks, (sizes, w)) = watch.best
            watch.best = score, (n_picks, Snapshot(sizes, w))
        self.began -= watch.history[-1]["seconds"]

    def refit(
        self,
        tol: float,
        *,
        brief: bool = False,
        callback: Callback | None = None,
        save: Save | None = None,
        resume: State | None = None,
    ) -> Result:
        """Fit all coefficients, starting from their current values; ``brief``: only improve them."""
        result = minimize_lbfgs(
            self.risk.function(),
            self.risk.expansion.w,
            tol=tol,
            max_iterations=_BETWEEN if brief else self.rounds.max_iterations,
            callback=callback,
            save=save,
            resume=resume,
        )
        self.risk.expansion.w = result.x
        return result

    def record(self, number: int, picks: list[Pick], result: Result) -> dict[str, Any]:
        """Return the record of a round."""
        record: dict[str, Any] = {
            "iteration": number,
            "n_cliques": len(self.picks),
            "picks": picks,
            "gradient_norm": abs(picks[0].derivative) if picks else 0.0,
            "objective": result.value,
            "log_loss": result.value - float(np.sum(self.risk.function().l2 * result.x**2)),
        }
        if self.dev is not None:
            lattice = self.risk.expansion.scores(self.dev.batch)
            record["dev_log_likelihood"] = self.dev.labels.log_likelihood(lattice)
            record["dev_accuracy"] = self.dev.labels.accuracy(lattice)
        return {**record, "seconds": time.perf_counter() - self.began}
