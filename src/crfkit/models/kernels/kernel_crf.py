"""The kernel CRF as a scikit-learn estimator.

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.arrays import FloatArray
from crfkit.data.columns import Columns
from crfkit.data.labels import decode_labels
from crfkit.data.table_numbers import TableNumbers
from crfkit.exceptions import InputWarning, ModelFileError
from crfkit.inference import Constraints, marginals
from crfkit.inference.expected_gain import decoded
from crfkit.io.shown_list import ShownList
from crfkit.kernels.graph import GraphKernel
from crfkit.kernels.graph_map import GraphMap
from crfkit.kernels.mercer import Kernel
from crfkit.models.checkpoint import Checkpoint
from crfkit.models.kernels.cliques import Clique
from crfkit.models.kernels.data_frames import KernelFrames
from crfkit.models.kernels.estimator import RULES, Form, KernelEstimator
from crfkit.models.kernels.tagger import KernelTagger
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.models.training_record import for_file, weight_pairs, weights_of_pairs
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Reasons


class KernelCRF(KernelFrames, KernelEstimator, SequenceLabeller[KernelTagger]):
    """Conditional random field whose scores are kernel expansions on selected cliques.

    Minimises ``-Σ weight · log p(y | x) + reg/2 ‖f‖² + transition_reg/2 ‖w‖²`` over functions f on labels
    (and, with edge cliques, label pairs) in the kernel's space and transition weights w.

    Parameters
    ----------
    kernel
        "rbf", "linear", "poly", "laplacian", "cosine", "sigmoid", "chi2"; "precomputed" (a position's row is
        its kernel with all training positions); a function of two tables (or lists of objects) of positions;
        a :class:`crfkit.kernels.Kernel`; a list of these; or None to use only the graph.
    gamma, degree, coef0
        Parameters of the named kernels. gamma is a number, "median" (1 / the median squared distance),
        "scale", or "auto": a multiple of "median", chosen by the loss of held-out parts of the training data
        (``search_``).
    graph
        A :class:`crfkit.kernels.GraphKernel` over all positions, labelled or not, in addition to the kernel.
    turns
        How to choose among candidates of several kernels: they "compete", or "alternate" (one of each).
    cliques
        "vertex": functions of labels, and transitions that do not depend on the position. "vertex+edge":
        functions of label pairs as well; an edge is compared by its second position.
    n_cliques
        Number of cliques to choose greedily; "auto": (2 + log₂ L) √ΣT, at least 100, fewer for very large
        data; None takes all, each with all its labellings (for up to a few thousand positions).
    per_round
        Number of cliques to choose before all coefficients are fitted again; "auto": a tenth of all (with
        ``patience``, small enough for four times as many rounds).
    all_labelings
        Choose cliques with all their labellings, instead of single labelled cliques; "auto": if
        ``n_cliques`` is "auto" and there are no edge cliques.
    reg
        λ, the weight of ½‖f‖²; "auto": chosen by the loss of held-out parts of the training data.
    transition_reg
        The weight of ½‖w‖²; None: the same as ``reg``.
    bias
        Whether labels have weights that do not depend on the position.
    class_weight
        As in :class:`crfkit.CRF`: the cost of errors at a label; "balanced", or {label: weight}.
    n_candidates
        Number of positions to choose from, drawn at random; None: all; "auto": all of up to 4,000
        positions, fewer of more (2 · 10⁷ / ΣT, at least twice ``n_cliques``).
    decode
        Decoding of ``predict``: "marginal", the most probable label of each position, or "viterbi", the most
        probable sequence of labels.
    boundary_gain
        With "marginal": gain of a right boundary between two labels, relative to the gain of 1 of a right
        label (see :func:`crfkit.inference.max_expected_gain`).
    refit_every
        Fit all coefficients to convergence only every this many rounds, and improve them briefly in between.
    refit_tol, tol, max_iterations
        Settings of the optimiser: tolerance in rounds, tolerance at the end, iterations.
    patience
        With a dev set: stop after this many rounds without a better dev log-likelihood, and keep the best.
    cache_size
        MB for the kernel matrix. The part that does not fit is computed again in each round.
    n_jobs
        Threads of inference; -1 for all cores. (Matrix products use OMP_NUM_THREADS threads.)
    random_state
        Seed of all random choices; None means 0.
    verbose
        "auto": a progress bar with the time that is left, if training takes more than a few seconds and
        stderr is a terminal or a notebook; False: nothing; True: the bar from the start, or lines if stderr
        is a file or a pipe; 2: always one line per round.

    Attributes
    ----------
    classes_ : list
        The labels, sorted.
    cliques_ : list of crfkit.models.kernels.cliques.Clique
        The chosen cliques, in the order of choice, with their coefficients.
    path_ : list of dict
        One record per round: n_cliques, cliques, derivative, risk, log_loss, seconds; with a dev set
        dev_log_likelihood (per position) and dev_accuracy.
    gamma_, reg_ : float
        The first kernel's gamma, and λ.
    search_ : list of dict
        With "auto": the values of gamma and reg that were tried, and the loss per held-out position of each.
    risk_ : float
        Final value of the objective.
    transitions_ : array [L, L]
        The transition weights w.
    dual_, dual_edge_ : arrays [ΣT, L] and [ΣT, L, L], or None
        With ``n_cliques=None`` and no ``n_candidates``: the coefficients of all labellings of all cliques of
        the labelled sequences.
    transduction_, transduction_marginals_ : lists, or None
        If the graph was given as an affinity matrix: labels, and p(y_t = l | x) [T, L], of the sequences of X
        and then of ``X_unlabeled``, because ``predict`` cannot label them.
    converged_ : bool
    tagger_ : crfkit.models.kernels.tagger.KernelTagger

    Examples
    --------
    >>> from crfkit import KernelCRF
    >>> from crfkit.datasets import galaxy
    >>> X, y = galaxy(40, 20, random_state=0)
    >>> KernelCRF(n_cliques=30).fit(X[:20], y[:20]).score(X[20:], y[20:]) > 0.8
    True
    """

    _tagger = KernelTagger
    _rules: ClassVar[dict[str, rule.Rule]] = {
        **RULES,
        "cliques": rule.one_of("vertex", "vertex+edge"),
        "transition_reg": rule.optional(rule.number(0)),
        "decode": rule.one_of("marginal", "viterbi"),
        "boundary_gain": rule.number(0),
    }

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] | Kernel | Sequence[Any] | None = "rbf",
        gamma: float | str = "auto",
        degree: float = 3,
        coef0: float = 1.0,
        graph: GraphKernel | None = None,
        turns: str = "compete",
        cliques: str = "vertex",
        n_cliques: int | str | None = "auto",
        per_round: int | str = "auto",
        all_labelings: bool | str = "auto",
        reg: float | str = "auto",
        transition_reg: float | None = None,
        bias: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_candidates: int | str | None = "auto",
        decode: str = "marginal",
        boundary_gain: float = 0.0,
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
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            graph=graph,
            turns=turns,
            n_cliques=n_cliques,
            per_round=per_round,
            all_labelings=all_labelings,
            reg=reg,
            bias=bias,
            class_weight=class_weight,
            n_candidates=n_candidates,
            refit_every=refit_every,
            refit_tol=refit_tol,
            tol=tol,
            max_iterations=max_iterations,
            patience=patience,
            cache_size=cache_size,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.cliques = cliques
        self.transition_reg = transition_reg
        self.decode = decode
        self.boundary_gain = boundary_gain

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        label: str | None = None,
        sequence: str | Sequence[str] | None = None,
        group: str | None = None,
        X_unlabeled: Any = None,
        lengths: Any = None,
        groups: Sequence[Any] | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> KernelCRF:
        """Train on sequences X with labels y.

        X is a list of arrays or sparse matrices [T, d], one per sequence, or one of them with ``lengths`` (y
        may then be flat, too); with a kernel that is a function, a list of lists of any objects; or
        :class:`crfkit.data.Columns`, cells of a text file: numbers are standardised, texts become one column
        per value. In y a label may be None (unknown) or a set (one of these), and a whole sequence may be
        None: unlabelled sequences and ``X_unlabeled`` are used in the graph. ``sample_weight`` is one number
        per sequence. With ``X_dev``, ``y_dev`` the path contains the dev log-likelihood and accuracy (see
        ``patience``). ``groups`` is one group per sequence: when gamma and reg are chosen, the held-out parts
        never split a group. ``checkpoint`` is a path or a :class:`crfkit.Checkpoint`, with which a training
        that was killed can be continued.
        One data frame can take the place of X and y: ``label``, ``sequence`` and ``group`` name its columns
        of labels, sequence ids and groups (docs/tables.md).
        """
        if self._is_table(label, sequence, group):
            more = {"sample_weight": sample_weight, "X_unlabeled": X_unlabeled, "checkpoint": checkpoint}
            return self._fit_table(
                X, y, label, sequence, group, X_dev, lengths=lengths, groups=groups, **more
            )
        form = Form(
            parametric_reg=None if self.transition_reg is None else float(self.transition_reg),
            edge_cliques=self.cliques == "vertex+edge",
            transitions=True,
            decode=self.decode,
            boundary_gain=self.boundary_gain,
        )
        cells = None
        if isinstance(X, Columns) and self.kernel != "precomputed":
            cells, positions = TableNumbers.learn(X)
            X = positions.tables()
            X_dev, X_unlabeled = (
                cells.encode(other).tables() if isinstance(other, Columns) else other
                for other in (X_dev, X_unlabeled)
            )
        given = (X, y, sample_weight, X_dev, y_dev, X_unlabeled, lengths)
        fitted = self._train(form, *given, groups=groups, checkpoint=checkpoint)
        self.tagger_.cells = cells
        self.classes_ = fitted.data.classes
        self.dual_edge_ = fitted.dual_edge
        self.transduction_: list[list[Any]] | None = None
        self.transduction_marginals_: list[FloatArray] | None = None
        if fitted.whole is not None:
            whole = fitted.whole
            labels = decoded(whole, self.decode, self.n_jobs, boundary_gain=float(self.boundary_gain))
            self.transduction_ = decode_labels(labels, whole.offsets, self.classes_)
            shares = marginals(whole, edge=False, n_jobs=self.n_jobs).node
            self.transduction_marginals_ = np.split(shares, whole.offsets[1:-1])
        self._raise_if_interrupted(fitted.outcome)
        return self

    def _fitted(self) -> KernelTagger:
        tagger = super()._fitted()
        rule.check_parameters(self, {name: self._rules[name] for name in ("decode", "boundary_gain")})
        tagger.decoding, tagger.boundary_gain = self.decode, float(self.boundary_gain)
        return tagger

    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        from crfkit.models.kernels.explanation import KernelReasons

        tagger = self._fitted()
        positions = tagger.positions(X, lengths)
        for start, stop, lattice in tagger.constrained_pieces(tagger.prepare(X, lengths), constraints, known):
            yield lattice, KernelReasons(tagger, positions.subset(np.arange(start, stop)), self.cliques_)

    @property
    def transitions_(self) -> FloatArray:
        """The position-independent transition weights [L, L]."""
        return self._fitted().potential.transitions

    @property
    def gamma_(self) -> float:
        """The first kernel's gamma."""
        for term in self._fitted().potential.terms:
            if isinstance(term.kernel, Kernel) and not isinstance(term.kernel.gamma, str):
                return float(term.kernel.gamma)
        raise AttributeError("no kernel of this model has a gamma")

    @property
    def n_iter_(self) -> int:  # type: ignore[override]
        """Number of rounds."""
        return len(self.path_)

    @property
    def history_(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """The records of ``path_``, under the name that all estimators have."""
        return self.path_

    # ---- files

    def save(
        self, path: str | os.PathLike[str] | IO[bytes], *, record: Mapping[str, Any] | None = None, **how: Any
    ) -> None:
        """Write the fitted model to a file (see docs/model-file.md), atomically.

        Kernels that are functions cannot be written: pickle the estimator instead. Kernels without chosen
        cliques are not written: ``kernel`` of the loaded model has only the others.
        """
        self._fitted()
        if self.graph is not None and callable(self.graph.transform):
            warn(
                "the graph's transform is a function, which a model file cannot hold: the loaded model "
                "predicts the same labels, but if it is fitted again, its graph has transform='inverse'. "
                "Pickle the estimator to keep it",
                InputWarning,
            )
        super().save(path, record=record, **how)

    def _training_record(self) -> dict[str, Any]:
        params = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params(deep=False).items()
            if name not in ("kernel", "graph")
        }
        params["class_weight"] = weight_pairs(self.class_weight)
        graph = None
        if self.graph is not None:
            graph = {
                name: value
                for name, value in self.graph.get_params().items()
                if isinstance(value, (bool, int, float, str))
            }
        return {
            "params": params,
            "graph": graph,
            "reg": float(getattr(self, "reg_", self.reg)),  # pickles of before have no reg_
            "search": getattr(self, "search_", []),
            "risk": float(self.risk_),
            "converged": bool(self.converged_),
            "stopped_because": self.stopped_because_,
            "path": for_file(self.path_),
            "cliques": [clique.to_json() for clique in self.cliques_],
        }

    @classmethod
    def _parameters_of(cls, tagger: KernelTagger, header: Mapping[str, Any]) -> dict[str, Any]:
        with _checked_record():
            params = {k: v for k, v in header["params"].items() if k in cls._get_param_names()}
            params["class_weight"] = weights_of_pairs(params.get("class_weight"))
            graph = None if header["graph"] is None else GraphKernel(**header["graph"])
        kernels = [term.kernel for term in tagger.potential.terms if not isinstance(term.kernel, GraphMap)]
        names = ["precomputed" if kernel.name == "precomputed" else kernel for kernel in kernels]
        kernel: Any = None if not names else names[0] if len(names) == 1 else names
        return {**params, "kernel": kernel, "graph": graph}

    def _restore(self, header: Mapping[str, Any]) -> None:
        with _checked_record():
            self.cliques_ = ShownList(Clique.from_json(record) for record in header["cliques"])
            self.path_ = ShownList(
                {**record, "cliques": [_pick_of(pick) for pick in record["cliques"]]}
                for record in header["path"]
            )
            self.risk_ = float(header["risk"])
            self.reg_ = float(header.get("reg", header["params"]["reg"]))
            self.search_ = [
                {str(k): float(v) for k, v in record.items()} for record in header.get("search", [])
            ]
            self.stopped_because_ = str(header["stopped_because"])
        self.dual_ = self.dual_edge_ = None
        self.transduction_ = self.transduction_marginals_ = None
        self.converged_ = bool(header.get("converged"))


@contextlib.contextmanager
def _checked_record() -> Iterator[None]:
    """Convert errors in a file's training record to ``ModelFileError``."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"cannot read the model: its training record is malformed: {error}") from error


def _pick_of(record: Any) -> tuple[Any, ...]:
    kernel, kind, sequence, position, labels = record
    return kernel, kind, sequence, position, tuple(labels) if isinstance(labels, list) else labels
