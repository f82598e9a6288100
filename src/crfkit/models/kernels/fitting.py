"""From positions and labels to a kernel potential: what KernelCRF and KernelLogisticRegression share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Positions, stack_rows
from crfkit.exceptions import ConvergenceWarning, InputError, InputWarning
from crfkit.inference import Lattice
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.graph_map import GraphMap, OwnPositions
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel, MercerKernel, Precomputed, as_kernel
from crfkit.models.kernels.clique_selection import Pick
from crfkit.models.kernels.cliques import Clique
from crfkit.models.kernels.data import TrainingSet, kernel_matrices
from crfkit.models.kernels.training import KernelDevSet, KernelOutcome, Rounds, potential_of, train_kernel
from crfkit.objectives.kernel_risk import KernelRisk
from crfkit.potentials.kernel import KernelPotential

N_CLIQUES = 200  # unless a number is asked for
GAMMA: rule.Rule = (
    "a number above 0, 'median' or 'scale'",
    lambda v: v in ("median", "scale") if isinstance(v, str) else rule.number(0)[1](v) and float(v) > 0,
)
RULES: dict[str, rule.Rule] = {
    "gamma": GAMMA,
    "degree": rule.number(0),
    "coef0": rule.number(-1e300),
    "graph": (
        "None or a crfkit.kernels.GraphKernel",
        lambda v: v is None or isinstance(v, GraphKernel),
    ),
    "turns": rule.one_of("compete", "alternate"),
    "n_cliques": rule.optional(rule.whole_number(1)),
    "per_round": rule.whole_number(1),
    "all_labelings": rule.flag(),
    "reg": ("a number above 0", lambda v: rule.number(0)[1](v) and float(v) > 0),
    "bias": rule.flag(),
    "n_candidates": rule.optional(rule.whole_number(1)),
    "refit_every": rule.whole_number(1),
    "refit_tol": rule.number(0),
    "tol": rule.number(0),
    "max_iterations": rule.whole_number(1),
    "patience": rule.optional(rule.whole_number(1)),
    "cache_size": rule.number(0),
    "random_state": rule.optional(rule.whole_number(0)),
    "verbose": rule.either(rule.flag(), rule.whole_number(0)),
}


def kernels_of(estimator: Any) -> list[MercerKernel]:
    """The kernels that an estimator's parameters name; none where ``kernel`` is None and there is a graph."""
    given = estimator.kernel
    if given is None:
        if estimator.graph is None:
            raise InputError("kernel=None leaves nothing to compare positions with: give a kernel or a graph")
        return []
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise InputError("kernel is an empty list: give at least one")
    found = [
        as_kernel(one, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0)
        for one in several
    ]
    if len(found) > 1 and any(isinstance(one, Precomputed) for one in found):
        raise InputError("kernel='precomputed' stands alone: X has one kind of rows")
    graph = estimator.graph
    if graph is not None and graph.affinity is None and any(isinstance(one, Precomputed) for one in found):
        raise InputError(
            "with kernel='precomputed' X has kernel values, no features to find neighbours by: give the "
            "GraphKernel an affinity="
        )
    return found


def takes_objects(kernels: Sequence[MercerKernel]) -> bool:
    """Whether positions may be anything: all kernels are functions of the user's own."""
    return bool(kernels) and all(isinstance(k, Kernel) and callable(k.function) for k in kernels)


@dataclass(frozen=True)
class FittedKernels:
    """The outcome of ``fit_kernels``."""

    data: TrainingSet
    potential: KernelPotential
    outcome: KernelOutcome
    cliques: list[Clique]
    path: list[dict[str, Any]]
    dual: FloatArray | None  # [ΣT, L] of all vertices, where all cliques were taken
    dual_edge: FloatArray | None  # [ΣT, L, L] of all edges
    whole: Lattice | None  # of all sequences given, where the graph is a matrix and no others can be scored


def fit_kernels(
    estimator: Any,
    data: TrainingSet,
    kernels: Sequence[MercerKernel],
    *,
    edge_cliques: bool,
    transitions: bool,
    parametric_reg: float,
    unlabeled: Positions | None,
    dev: tuple[Positions, list[Sequence[Any]]] | None,
    weights: FloatArray | None,
    decode: str = "marginal",
    boundary_gain: float = 0.0,
) -> FittedKernels:
    """Train with the estimator's parameters, which have been checked."""
    if estimator.graph is None:
        _warn_of_unused(data, unlabeled)
    L = len(data.classes)
    seed = estimator.random_state or 0
    matrices = kernel_matrices(
        data,
        kernels,
        estimator.graph,
        unlabeled,
        None if dev is None else dev[0],
        n_candidates=estimator.n_candidates,
        limit=1e6 * float(estimator.cache_size),
        seed=seed,
    )
    risk = KernelRisk(
        data.learn.offsets,
        data.labels,
        L,
        reg=float(estimator.reg),
        parametric_reg=parametric_reg,
        transitions=transitions,
        bias=bool(estimator.bias),
        weights=weights,
        n_jobs=estimator.n_jobs,
    )
    held = None
    if dev is not None:
        positions, y = dev
        held = KernelDevSet.of(y, data.classes, positions.offsets, decode, boundary_gain, estimator.n_jobs)
    n_cliques = estimator.n_cliques
    if n_cliques is not None:
        n_cliques = _no_more_than_there_are(estimator, risk, matrices, edge_cliques)
    rounds = Rounds(
        edge_cliques=edge_cliques,
        n_cliques=n_cliques,
        per_round=int(estimator.per_round),
        all_labelings=bool(estimator.all_labelings),
        alternate=estimator.turns == "alternate",
        refit_every=int(estimator.refit_every),
        refit_tol=float(estimator.refit_tol),
        tol=float(estimator.tol),
        max_iterations=int(estimator.max_iterations),
        patience=estimator.patience,
    )
    outcome = train_kernel(risk, matrices, rounds, held, estimator.verbose)
    if not outcome.converged:
        warnings.warn(
            f"training stopped before it converged: {outcome.message}. What was fitted so far is kept; raise "
            "max_iterations or tol, or regularise more, if that is not what you want",
            ConvergenceWarning,
            stacklevel=4,
        )
    potential, supports = potential_of(risk, matrices)
    dual = dual_edge = None
    if n_cliques is None and all(matrix.n_candidates == data.learn.n_positions for matrix in matrices):
        residuals = risk.residuals(risk.scores(), edges=edge_cliques)
        # Where the risk is least, λα = observed - expected, for every labelling of every clique.
        dual = -residuals.node / risk.reg
        if residuals.edge is not None:
            dual_edge = (-residuals.edge / risk.reg).reshape(-1, L, L)
    lister = _Lister(data, matrices, potential, supports)
    cliques = [lister.clique(pick) for pick in outcome.picks]
    path = [
        {key: value for key, value in record.items() if key != "picks"}
        | {"cliques": [lister.name(pick) for pick in record["picks"]]}
        for record in outcome.path
    ]
    whole = None
    if estimator.graph is not None and estimator.graph.affinity is not None:
        whole = _whole_lattice(potential, data.everything, unlabeled)
    return FittedKernels(data, potential, outcome, cliques, path, dual, dual_edge, whole)


def _whole_lattice(potential: KernelPotential, given: Positions, unlabeled: Positions | None) -> Lattice:
    """Scores of all positions of the graph: the sequences of X, then those without labels."""
    if unlabeled is not None:
        offsets = np.concatenate([given.offsets, given.offsets[-1] + unlabeled.offsets[1:]])
        given = Positions(stack_rows([given.rows, unlabeled.rows]), offsets)
    terms = [
        replace(term, kernel=OwnPositions(term.kernel)) if isinstance(term.kernel, GraphMap) else term
        for term in potential.terms
    ]
    return KernelPotential(potential.n_labels, terms, potential.transitions, potential.bias).scores(given)


def _warn_of_unused(data: TrainingSet, unlabeled: Positions | None) -> None:
    """Without a graph nothing is learnt from what has no label."""
    n = 0 if unlabeled is None else unlabeled.n_sequences
    n += int((np.diff(data.everything.offsets) > 0).sum()) - len(data.numbers)
    if n:
        warnings.warn(
            f"{n:,} sequences have no label, and without a graph nothing is learnt from them: give "
            "graph=GraphKernel(), or leave them out",
            InputWarning,
            stacklevel=4,
        )


def _no_more_than_there_are(
    estimator: Any, risk: KernelRisk, matrices: Sequence[KernelMatrix], edge_cliques: bool
) -> int:
    """n_cliques, or as many candidates as there are: with a warning, unless nobody asked for a number."""
    L, asked = risk.n_labels, int(estimator.n_cliques)
    lengths = np.diff(risk.offsets)
    inner = np.ones(risk.n_positions, np.bool_)
    inner[risk.offsets[:-1][lengths > 0]] = False
    there = 0
    for matrix in matrices:
        there += matrix.n_candidates * (1 if estimator.all_labelings else L)
        if edge_cliques:
            there += int(inner[matrix.candidates].sum()) * (1 if estimator.all_labelings else L * L)
    if asked > there and asked != N_CLIQUES:
        warnings.warn(
            f"n_cliques={asked:,} asks for more cliques than exist: there are {there:,} candidates, and all "
            "are taken",
            InputWarning,
            stacklevel=5,
        )
    return min(asked, there)


class _Lister:
    """Picks as cliques with names."""

    def __init__(
        self,
        data: TrainingSet,
        matrices: Sequence[KernelMatrix],
        potential: KernelPotential,
        supports: Sequence[IntArray],
    ) -> None:
        self._data = data
        self._names = [matrix.kernel.name for matrix in matrices]
        self._terms = {
            id(term.kernel): (term, places) for term, places in zip(potential.terms, supports, strict=True)
        }
        self._kernels = [id(matrix.kernel) for matrix in matrices]

    def name(self, pick: Pick) -> tuple[str, str, int, int, Any]:
        """Kernel, kind, sequence, position, labels (None: all)."""
        classes, L = self._data.classes, len(self._data.classes)
        offsets = self._data.learn.offsets
        sequence = int(np.searchsorted(offsets, pick.place, side="right")) - 1
        labels: Any = None
        if pick.labeling is not None:
            before, label = divmod(pick.labeling, L)
            labels = (classes[before], classes[label]) if pick.edge else classes[label]
        kind = "edge" if pick.edge else "vertex"
        position = pick.place - int(offsets[sequence])
        return self._names[pick.kernel], kind, int(self._data.numbers[sequence]), position, labels

    def clique(self, pick: Pick) -> Clique:
        """With the coefficients that it has in the end."""
        kernel, kind, sequence, position, labels = self.name(pick)
        classes = self._data.classes
        term, places = self._terms[self._kernels[pick.kernel]]
        row = int(np.searchsorted(places, pick.place))
        table = term.edge if pick.edge else term.vertex
        values: FloatArray = np.zeros(0) if table is None else table[row].ravel()
        keys: list[Any] = [(a, b) for a in classes for b in classes] if pick.edge else list(classes)
        if labels is not None:
            coefficients = {labels: float(values[pick.labeling or 0])}
        else:
            coefficients = dict(zip(keys, values.tolist(), strict=True))
        return Clique(kernel, kind, sequence, position, coefficients, float(pick.derivative))
