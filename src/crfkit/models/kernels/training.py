"""Training kernel CRFs: rounds of clique selection and re-fitting, or all cliques at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import encode_labels
from crfkit.exceptions import InputError
from crfkit.inference import Lattice, partial_log_likelihood
from crfkit.inference.expected_gain import decoded
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.clique_selection import CliqueSelector, Pick, take_all
from crfkit.objectives.kernel_risk import KernelRisk
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.problem import Result, Step
from crfkit.potentials.kernel import KernelPotential, KernelTerm
from crfkit.progress import Progress

_BETWEEN = 3  # L-BFGS iterations in rounds without a full re-fit


@dataclass(frozen=True)
class Rounds:
    """How cliques are chosen and coefficients fitted."""

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


@dataclass(frozen=True)
class KernelDevSet:
    """Held-out sequences, whose rows follow those of training in the kernel matrices."""

    offsets: IntArray  # [N+1]
    allowed: BoolArray  # [ΣT, L]; all of them where the label is missing or unseen
    given: BoolArray  # [ΣT] there is a label
    known: BoolArray  # [ΣT] and training has it; if not, whatever is found is wrong
    decode: str
    boundary_gain: float
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        y: Sequence[Sequence[Any]],
        classes: list[Any],
        offsets: IntArray,
        decode: str,
        gain: float,
        n_jobs: int | None,
    ) -> KernelDevSet:
        """From labels, with gaps."""
        try:
            labels = encode_labels(y, classes, offsets, unknown="ignore")
        except InputError as error:
            raise InputError(f"in the dev set: {error}") from error
        allowed = labels.allowed
        if allowed is None:
            allowed = labels.ids[:, None] == np.arange(len(classes))
        flat = [label for sequence in y for label in sequence]
        given = np.array([label is not None for label in flat], np.bool_)
        seen = set(classes)
        several = (set, frozenset, list, tuple)
        known = np.array(
            [not seen.isdisjoint(label if isinstance(label, several) else [label]) for label in flat],
            np.bool_,
        )
        if not known.any():
            raise InputError(
                f"the dev set has no label that training has ({classes!r:.80}): there is nothing to score. "
                "Give labels in y_dev, or leave X_dev and y_dev out"
            )
        return cls(offsets, allowed, given, known, decode, gain, n_jobs)

    def scores(self, lattice: Lattice) -> dict[str, float]:
        """Log-likelihood a position of known label, and the share of right labels among those given."""
        found = decoded(lattice, self.decode, self.n_jobs, boundary_gain=self.boundary_gain)
        right = self.allowed[np.arange(len(found)), found] & self.known
        log_likelihood = float(partial_log_likelihood(lattice, self.allowed, n_jobs=self.n_jobs).sum())
        return {
            "dev_log_likelihood": log_likelihood / int(self.known.sum()),
            "dev_accuracy": float(right[self.given].mean()),
        }


@dataclass(frozen=True)
class KernelOutcome:
    """What training leaves behind."""

    picks: list[Pick]  # in the order of choice
    path: list[dict[str, Any]]  # a record a round; the picks of each under "picks"
    value: float  # the risk
    converged: bool
    message: str


def train_kernel(
    risk: KernelRisk,
    matrices: Sequence[KernelMatrix],
    rounds: Rounds,
    dev: KernelDevSet | None,
    verbose: bool | int,
) -> KernelOutcome:
    """Minimise the risk over f; it holds the result. Ctrl-C ends training with what there is."""
    trainer = _Trainer(risk, matrices, rounds, dev, verbose)
    return trainer.all_cliques() if rounds.n_cliques is None else trainer.greedy(rounds.n_cliques)


class _Trainer:
    def __init__(
        self,
        risk: KernelRisk,
        matrices: Sequence[KernelMatrix],
        rounds: Rounds,
        dev: KernelDevSet | None,
        verbose: bool | int,
    ) -> None:
        self.risk, self.matrices, self.rounds, self.dev = risk, matrices, rounds, dev
        self.verbose = verbose
        self.began = time.perf_counter()
        self.path: list[dict[str, Any]] = []
        self.picks: list[Pick] = []

    def all_cliques(self) -> KernelOutcome:
        """The full representer form."""
        progress = Progress(self.verbose, None)
        progress.say("factorising the kernel matrix")
        take_all(self.risk, self.matrices, edge_cliques=self.rounds.edge_cliques)

        def show(step: Step) -> bool:
            progress.show(
                {
                    "iteration": step.iteration,
                    "objective": step.value,
                    "gradient_norm": step.gradient_norm,
                    "seconds": step.seconds,
                }
            )
            return False

        result = minimize_lbfgs(
            self.risk,
            self.risk.vector(),
            tol=self.rounds.tol,
            max_iterations=self.rounds.max_iterations,
            callback=show,
        )
        self.risk.set(result.x)
        self.record([], 0.0)
        progress.close(result.message)
        return KernelOutcome([], self.path, result.value, result.converged, result.message)

    def greedy(self, n_cliques: int) -> KernelOutcome:
        """Rounds of selection."""
        rounds = self.rounds
        selector = CliqueSelector(
            self.risk,
            self.matrices,
            edge_cliques=rounds.edge_cliques,
            all_labelings=rounds.all_labelings,
            alternate=rounds.alternate,
        )
        progress = Progress(self.verbose, -(-n_cliques // rounds.per_round))
        best: tuple[float, int, list[int], FloatArray] | None = None  # dev score, cliques, sizes, x
        waited, message, number = 0, f"it has the {n_cliques:,} cliques that were asked for", 0
        complete = True
        try:
            self.refit(rounds.refit_tol)
            self.record([], 0.0)
            while len(self.picks) < n_cliques:
                number += 1
                picks = selector.choose(min(rounds.per_round, n_cliques - len(self.picks)))
                if not picks:
                    message = "no candidate is left that would lower the risk"
                    break
                self.picks += picks
                full = number % rounds.refit_every == 0 or len(self.picks) >= n_cliques
                self.refit(rounds.refit_tol, rounds.max_iterations if full else _BETWEEN)
                record = self.record(picks, abs(picks[0].derivative))
                progress.show(
                    {
                        "iteration": number,
                        "objective": record["risk"],
                        "gradient_norm": record["derivative"],
                        "seconds": record["seconds"],
                        **{key: record[key] for key in ("dev_accuracy",) if key in record},
                    }
                )
                if self.dev is None or rounds.patience is None:
                    continue
                score = record["dev_log_likelihood"]
                if best is None or score > best[0]:
                    best, waited = (score, len(self.picks), self.risk.sizes(), self.risk.vector()), 0
                else:
                    waited += 1
                if waited >= rounds.patience:
                    message = f"no better log-likelihood of the dev set in {rounds.patience} rounds"
                    break
        except KeyboardInterrupt:
            message, complete = "it was interrupted", False
        if best is not None:
            self.picks = self.picks[: best[1]]
            self.risk.restore(best[2], best[3])
        result = self.refit(rounds.tol)
        progress.close(message)
        return KernelOutcome(self.picks, self.path, result.value, result.converged and complete, message)

    def refit(self, tol: float, max_iterations: int | None = None) -> Result:
        """All coefficients, from where they are."""
        limit = self.rounds.max_iterations if max_iterations is None else max_iterations
        result = minimize_lbfgs(self.risk, self.risk.vector(), tol=tol, max_iterations=limit)
        self.risk.set(result.x)
        return result

    def record(self, picks: list[Pick], derivative: float) -> dict[str, Any]:
        """Where training stands."""
        loss = self.risk.residuals(self.risk.scores(), edges=False).loss
        record: dict[str, Any] = {
            "round": len(self.path),
            "n_cliques": len(self.picks),
            "picks": picks,
            "derivative": derivative,
            "risk": loss + self.risk.penalty(),
            "log_loss": loss,
        }
        if self.dev is not None:
            first = self.risk.n_positions
            held = self.risk.scores(first, first + int(self.dev.offsets[-1]))
            record |= self.dev.scores(self.risk.lattice(held, self.dev.offsets))
        record["seconds"] = time.perf_counter() - self.began
        self.path.append(record)
        return record


def potential_of(
    risk: KernelRisk, matrices: Sequence[KernelMatrix]
) -> tuple[KernelPotential, list[IntArray]]:
    """f as coefficients α on the selected positions, and the places of these, a term a kernel."""
    L = risk.n_labels
    terms: list[KernelTerm] = []
    supports: list[IntArray] = []
    for s, matrix in enumerate(matrices):
        blocks = [block for block in risk.blocks if block.kernel == s and len(block.basis)]
        if not blocks:
            continue
        places = np.unique(np.concatenate([block.basis.places for block in blocks])).astype(np.int64)
        tables: dict[bool, FloatArray] = {}
        for block in blocks:
            width = L * L if block.edge else L
            table = tables.setdefault(block.edge, np.zeros((len(places), width)))
            rows = np.searchsorted(places, block.basis.places)
            table[np.ix_(rows, block.labelings)] += block.basis.coefficients(block.beta)
        edge = tables.get(True)
        terms.append(
            KernelTerm(
                matrix.kernel,
                matrix.support(places),
                tables.get(False),
                None if edge is None else edge.reshape(-1, L, L),
            )
        )
        supports.append(places)
    return KernelPotential(L, terms, risk.parameters.transitions, risk.parameters.bias), supports
