"""The common part of KernelCRF and KernelLogisticRegression: parameters, and the steps of training."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crfkit import parameters as rule
from crfkit.arrays import FloatArray
from crfkit.conventions import BaseEstimator, check_is_fitted
from crfkit.data.folds import group_numbers
from crfkit.data.labelled_positions import TrainingSet, read_training
from crfkit.data.training_data import class_weights
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.io.shown_estimator import ShownEstimator
from crfkit.io.shown_list import ShownList
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel
from crfkit.kernels.training_matrices import as_kernels, kernel_matrices, take_objects
from crfkit.models.checkpoint import Checkpoint, continuing
from crfkit.models.fitted_facts import fitted_facts
from crfkit.models.kernels.cliques import Clique, draw_path
from crfkit.models.kernels.fitting import FittedKernels, dev_step, keep_step, kernel_identity
from crfkit.models.kernels.held_out_search import HeldOutSearch
from crfkit.models.kernels.risk import KernelRisk
from crfkit.models.kernels.sizes import Sizes, sizes_of
from crfkit.models.kernels.tagger import KernelTagger
from crfkit.models.kernels.training import KernelOutcome, Rounds, train_kernel
from crfkit.models.rare_labels import warn_of_unpredicted
from crfkit.models.training import interruption
from crfkit.objectives.likelihood import Likelihood
from crfkit.optional import needed
from crfkit.potentials.kernel_expansion import KernelExpansion, Stretch
from crfkit.progress import Progress
from crfkit.threads import thread_count, threads_of_products
from crfkit.warn import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULES: dict[str, rule.Rule] = {
    "gamma": rule.automatic(rule.positive(), "median", "scale"),
    "degree": rule.number(0),
    "coef0": rule.number(-1e300),
    "graph": (
        "None or a crfkit.kernels.GraphKernel",
        lambda v: v is None or isinstance(v, GraphKernel),
    ),
    "turns": rule.one_of("compete", "alternate"),
    "n_cliques": rule.automatic(rule.optional(rule.whole_number(1))),
    "per_round": rule.automatic(rule.whole_number(1)),
    "all_labelings": rule.automatic(rule.flag()),
    "reg": rule.automatic(rule.positive()),
    "bias": rule.flag(),
    "class_weight": rule.optional(rule.either(rule.one_of("balanced"), rule.mapping())),
    "n_candidates": rule.automatic(rule.optional(rule.whole_number(1))),
    "refit_every": rule.whole_number(1),
    "refit_tol": rule.number(0),
    "tol": rule.number(0),
    "max_iterations": rule.whole_number(1),
    "patience": rule.optional(rule.whole_number(1)),
    "cache_size": rule.number(0),
    "random_state": rule.optional(rule.whole_number(0)),
    "verbose": rule.verbosity(),
}


@dataclass(frozen=True)
class Form:
    """The parts of a model besides functions of single labels, and its decoding."""

    parametric_reg: float | None = None  # of the parts that do not depend on the position; None: reg
    edge_cliques: bool = False
    transitions: bool = False
    decode: str = "marginal"
    boundary_gain: float = 0.0


class KernelEstimator(ShownEstimator, BaseEstimator):
    """An estimator that trains a kernel potential. A subclass defines its form and reads X and y."""

    _rules: ClassVar[dict[str, rule.Rule]] = RULES
    _points: ClassVar[bool] = False  # whether positions have no neighbours, and y is flat
    n_jobs: int | None
    tagger_: KernelTagger
    cliques_: list[Clique]
    path_: list[dict[str, Any]]
    reg_: float
    search_: list[dict[str, float]]
    risk_: float
    dual_: FloatArray | None
    converged_: bool
    stopped_because_: str

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] | Kernel | Sequence[Any] | None = "rbf",
        gamma: float | str = "auto",
        degree: float = 3,
        coef0: float = 1.0,
        graph: GraphKernel | None = None,
        turns: str = "compete",
        n_cliques: int | str | None = "auto",
        per_round: int | str = "auto",
        all_labelings: bool | str = "auto",
        reg: float | str = "auto",
        bias: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        n_candidates: int | str | None = "auto",
        refit_every: int = 1,
        refit_tol: float = 1e-3,
        tol: float = 1e-5,
        max_iterations: int = 1000,
        patience: int | None = None,
        cache_size: float = 1000.0,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.turns = turns
        self.n_cliques = n_cliques
        self.per_round = per_round
        self.all_labelings = all_labelings
        self.reg = reg
        self.bias = bias
        self.class_weight = class_weight
        self.n_candidates = n_candidates
        self.refit_every = refit_every
        self.refit_tol = refit_tol
        self.tol = tol
        self.max_iterations = max_iterations
        self.patience = patience
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _train(
        self,
        form: Form,
        *given: Any,
        groups: Sequence[Any] | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> FittedKernels:
        """Train on the arguments of ``fit``, in the order of ``read_training``, and keep the model."""
        rule.check_parameters(self, self._rules)
        thread_count(self.n_jobs)
        checkpoint = Checkpoint.of(checkpoint)
        needed("scipy.linalg", "training with kernels", "kernels")  # now, not after hours of training
        progress = Progress(self.verbose)
        kernels = as_kernels(self.kernel, self.graph, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        data = read_training(*given, objects=take_objects(kernels), points=self._points)
        sizes = sizes_of(
            len(data.places),
            len(data.classes),
            n_cliques=self.n_cliques,
            per_round=self.per_round,
            n_candidates=self.n_candidates,
            all_labelings=self.all_labelings,
            edge_cliques=form.edge_cliques,
            patience=self.patience,
        )
        matrices = kernel_matrices(
            data,
            kernels,
            self.graph,
            n_candidates=sizes.n_candidates,
            limit=1e6 * float(self.cache_size),
            seed=self.random_state or 0,
        )
        with threads_of_products(0, self.n_jobs):  # many small ones
            matrices = self._choose(form, data, kernels, matrices, groups, progress)
        batch = Stretch(0, data.learn.offsets)
        expansion = KernelExpansion(
            len(data.classes),
            edge_cliques=form.edge_cliques,
            transitions=form.transitions,
            bias=bool(self.bias),
        )
        costs = class_weights(self.class_weight, data.labels, data.classes)  # [L]
        loss = Likelihood(
            expansion, batch, data.labels, weights=data.weights, class_weights=costs, n_jobs=self.n_jobs
        )
        parametric_reg = self.reg_ if form.parametric_reg is None else float(form.parametric_reg)
        risk = KernelRisk(expansion, batch, loss, self.reg_, parametric_reg)
        dev = dev_step(data, decode=form.decode, boundary_gain=float(form.boundary_gain), n_jobs=self.n_jobs)
        rounds = self._rounds(form, sizes)
        saving = (
            None if checkpoint is None else checkpoint.begin(self, kernel_identity(data, costs, matrices))
        )
        n_numbers = len(data.places) * (sizes.n_cliques or len(data.places))
        with continuing(checkpoint), threads_of_products(n_numbers, self.n_jobs):
            outcome = train_kernel(risk, matrices, rounds, dev, progress, saving)
        if not (outcome.converged or outcome.interrupted):
            warn(
                f"training stopped before it converged: {outcome.message}. The model so far is kept; "
                "raise max_iterations or tol, or regularise more, if that is not what you want",
                ConvergenceWarning,
            )
        fitted = keep_step(data, matrices, risk, rounds, outcome, self.graph)
        self._keep(fitted, form)
        if outcome.converged and fitted.whole is None:  # else new positions cannot be scored
            warn_of_unpredicted(
                data.classes,
                data.labels,
                data.learn.offsets,
                lambda chosen: self.tagger_.decode(fitted.potential.scores(data.learn.subset(chosen))).labels,
                costs,
            )
        if saving is not None and not outcome.interrupted:
            saving.end()
        return fitted

    def _choose(
        self,
        form: Form,
        data: TrainingSet,
        kernels: Sequence[MercerKernel],
        matrices: list[KernelMatrix],
        groups: Sequence[Any] | None,
        progress: Progress,
    ) -> list[KernelMatrix]:
        """Choose gamma and reg where they are "auto"; return the matrices with these bandwidths."""
        of, _ = group_numbers(groups, data.everything.n_sequences)
        scaled = [isinstance(k, Kernel) and k.is_scaled and k.gamma == "auto" for k in kernels]
        scaled += [False] * (len(matrices) - len(kernels))  # the graph
        self.search_ = ShownList()
        if not (any(scaled) or isinstance(self.reg, str)):
            self.reg_ = float(self.reg)
            return matrices
        search = HeldOutSearch(
            data,
            matrices,
            scaled,
            reg=None if isinstance(self.reg, str) else float(self.reg),
            parametric_reg=form.parametric_reg,
            transitions=form.transitions,
            bias=bool(self.bias),
            seed=self.random_state or 0,
            n_jobs=self.n_jobs,
            progress=progress,
            groups=None if groups is None else of[data.numbers],
        )
        best = search.run()
        self.reg_ = best.reg
        first = next((m.kernel for m, chosen in zip(matrices, scaled, strict=True) if chosen), None)
        for trial in search.trials:
            gamma = {"gamma": trial.factor * float(first.gamma)} if isinstance(first, Kernel) else {}
            self.search_.append({**gamma, "reg": trial.reg, "loss": trial.loss})
        return [
            matrix.with_kernel(matrix.kernel.scaled(best.factor))
            if chosen and isinstance(matrix.kernel, Kernel)
            else matrix
            for matrix, chosen in zip(matrices, scaled, strict=True)
        ]

    def _keep(self, fitted: FittedKernels, form: Form) -> None:
        data = fitted.data
        self.tagger_ = KernelTagger(
            data.classes,
            fitted.potential,
            data.width,
            decode=form.decode,
            boundary_gain=float(form.boundary_gain),
            n_jobs=self.n_jobs,
        )
        self.cliques_, self.path_ = ShownList(fitted.cliques), ShownList(fitted.path)
        self.dual_ = fitted.dual
        self.risk_ = fitted.outcome.value
        self.converged_ = fitted.outcome.converged
        self.stopped_because_ = fitted.outcome.message

    def _raise_if_interrupted(self, outcome: KernelOutcome) -> None:
        """Raise ``KeyboardInterrupt`` after Ctrl-C; ``fit`` calls this when it has kept the model."""
        if outcome.interrupted:
            raise KeyboardInterrupt(interruption(len(outcome.history), "rounds"))

    def partial_fit(self, *_: Any, **__: Any) -> Any:
        """Raise an error: kernel models cannot continue training with new data."""
        raise InputError(
            f"{type(self).__name__} cannot continue training with new data: its cliques are positions of the "
            "training data, whose coefficients depend on all of it. Fit again on old and new data together, "
            "or use CRF or TreeCRF, which have partial_fit"
        )

    def _rounds(self, form: Form, sizes: Sizes) -> Rounds:
        return Rounds(
            edge_cliques=form.edge_cliques,
            n_cliques=sizes.n_cliques,
            per_round=sizes.per_round,
            all_labelings=sizes.all_labelings,
            alternate=self.turns == "alternate",
            refit_every=int(self.refit_every),
            refit_tol=float(self.refit_tol),
            tol=float(self.tol),
            max_iterations=int(self.max_iterations),
            patience=self.patience,
        )

    def _facts(self) -> dict[str, str]:
        return fitted_facts(self) if hasattr(self, "tagger_") else {}

    def plot_path(self, axes: Sequence[Axes] | Axes | None = None) -> list[Axes]:
        """Draw risk, dev log-likelihood and dev accuracy against the number of cliques (with matplotlib)."""
        check_is_fitted(self, "tagger_")
        return draw_path(self.path_, axes)
