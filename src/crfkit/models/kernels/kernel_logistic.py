"""Kernel logistic regression: the kernel CRF without the chain, for points that have no neighbours.

Zhu and Hastie, "Kernel logistic regression and the import vector machine" (2005), whose import vectors are
the selected vertices; Lafferty, Zhu and Liu (ICML 2004), section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crfkit import parameters as rule
from crfkit.arrays import FloatArray
from crfkit.data.positions import Positions, read_objects, read_positions
from crfkit.data.training_data import sequence_weights
from crfkit.exceptions import InputError
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.mercer import Kernel
from crfkit.models.kernels.cliques import draw_path
from crfkit.models.kernels.data import TrainingSet
from crfkit.models.kernels.fitting import N_CLIQUES, RULES, fit_kernels, kernels_of, takes_objects
from crfkit.models.kernels.tagger import KernelTagger
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class KernelLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of single points with kernels, selected points, and a graph over unlabelled ones.

    Minimises ``-Σ weight · log p(y | x) + reg/2 (‖f‖² + ‖bias‖²)``. X is [n, d] (or a list of n objects with
    a kernel that is a function), y [n] labels, None where one is unknown. All parameters are those of
    :class:`crfkit.KernelCRF`; ``n_cliques`` counts points (with a label each, unless ``all_labelings``).
    """

    _rules: ClassVar[dict[str, rule.Rule]] = RULES

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] | Kernel | Sequence[Any] | None = "rbf",
        gamma: float | str = "median",
        degree: float = 3,
        coef0: float = 1.0,
        graph: GraphKernel | None = None,
        turns: str = "compete",
        n_cliques: int | None = N_CLIQUES,
        per_round: int = 1,
        all_labelings: bool = False,
        reg: float = 1.0,
        bias: bool = True,
        n_candidates: int | None = None,
        refit_every: int = 1,
        refit_tol: float = 1e-3,
        tol: float = 1e-5,
        max_iterations: int = 1000,
        patience: int | None = None,
        cache_size: float = 1000.0,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int = False,
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        X_unlabeled: Any = None,
    ) -> KernelLogisticRegression:
        """Train on points X with labels y; None in y, and ``X_unlabeled``, take part in the graph alone."""
        rule.check_parameters(self, self._rules)
        thread_count(self.n_jobs)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")
        kernels = kernels_of(self)
        objects = takes_objects(kernels)
        points = _points(X, objects, None, "X")
        data = TrainingSet.of(points, _labels(y, points.n_positions))
        weights = sequence_weights(sample_weight, points.n_positions)
        dev = None
        if X_dev is not None:
            held = _points(X_dev, objects, points.width, "X_dev")
            dev = held, _labels(y_dev, held.n_positions)
        fitted = fit_kernels(
            self,
            data,
            kernels,
            edge_cliques=False,
            transitions=False,
            parametric_reg=float(self.reg),
            unlabeled=None
            if X_unlabeled is None
            else _points(X_unlabeled, objects, points.width, "X_unlabeled"),
            dev=dev,
            weights=None if weights is None else weights[data.numbers],
        )
        self.tagger_ = KernelTagger(data.classes, fitted.potential, points.width, n_jobs=self.n_jobs)
        self.classes_ = np.array(data.classes)
        self.transduction_: npt.NDArray[Any] | None = None  # as KernelCRF has them
        self.transduction_marginals_: FloatArray | None = None
        if fitted.whole is not None:
            self.transduction_marginals_ = _shares(fitted.whole.node)
            self.transduction_ = self.classes_[self.transduction_marginals_.argmax(axis=1)]
        if points.width is not None:
            self.n_features_in_ = points.width
        self.cliques_, self.path_ = fitted.cliques, fitted.path
        self.dual_ = fitted.dual
        self.risk_ = fitted.outcome.value
        self.converged_ = fitted.outcome.converged
        return self

    def __sklearn_tags__(self) -> Any:
        """With a precomputed kernel, a part of X has the same rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def predict_proba(self, X: Any) -> FloatArray:
        """p(y = l | x) [n, L]."""
        check_is_fitted(self, "tagger_")
        self.tagger_.n_jobs = self.n_jobs
        width = self.tagger_.width
        points = _points(X, width is None, width, "X", fitted=True)
        return _shares(self.tagger_.potential.scores(points).node)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable label of each point [n]."""
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def plot_path(self, axes: Sequence[Axes] | Axes | None = None) -> list[Axes]:
        """Draw risk, dev log-likelihood and dev accuracy against the number of points (with matplotlib)."""
        check_is_fitted(self, "tagger_")
        return draw_path(self.path_, axes)


def _shares(scores: FloatArray) -> FloatArray:
    """Probabilities [n, L] of scores [n, L]."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return found


def _points(X: Any, objects: bool, width: int | None, name: str, *, fitted: bool = False) -> Positions:
    """Every point a sequence of its own. With ``objects`` points may be any; once ``fitted``, they are."""
    if objects and getattr(X, "ndim", 0) == 1:
        X = X.tolist()
    if objects and isinstance(X, (list, tuple)):
        positions = read_objects([X], name) if fitted else read_positions([X], objects=True, name=name)
    else:
        table = X if hasattr(X, "ndim") or hasattr(X, "columns") else np.asarray(X)
        if getattr(table, "ndim", 2) != 2:
            raise InputError(f"{name} must be a table [n, d], got {table.ndim}-D")
        positions = read_positions(table, [1] * table.shape[0], width=width, name=name)
    return Positions(positions.rows, np.arange(positions.n_positions + 1, dtype=np.int64))


def _labels(y: Any, n: int) -> list[Sequence[Any]]:
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    if len(labels) != n:
        raise InputError(f"X has {n} points but y has {len(labels)} labels")
    return [[label] for label in labels]
