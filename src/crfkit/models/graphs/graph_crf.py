"""The CRF of any graph as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.data.graphs import node_labels, words_of_graphs
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.inference.graphs import METHODS
from crfkit.io.shown_list import ShownList
from crfkit.models.checkpoint import Checkpoint, continuing
from crfkit.models.graphs.part import PARTS
from crfkit.models.graphs.tagger import DECODING, GraphTagger
from crfkit.models.graphs.training import OBJECTIVES, SETTINGS, read_task, settings_class, trained
from crfkit.models.plots import draw_pairs
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.models.training_record import TrainingRecord
from crfkit.threads import thread_count
from crfkit.warn import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crfkit.inference import Constraints
    from crfkit.inference.graph_scores import GraphScores
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Reasons


class GraphCRF(SequenceLabeller[GraphTagger]):
    """Conditional random field for labelling the nodes of graphs: grids, skip-chains, trees, any graph.

    Minimises ``-Σ weight · log p(y | x) + c2·‖w‖² + c1·‖w‖₁`` (or a surrogate of the likelihood, see
    ``training``). Nodes have weights of their features for every label; edges have weights of every pair of
    labels for each type of edge, and of their features.

    Parameters
    ----------
    potential
        Where scores come from. "linear": weights on features. "trees", or a :class:`crfkit.TreeCRF` with
        settings: boosted trees over the columns of nodes and of edges, which may be mixed and have missing
        values (n_iterations, n_leaves, learning_rate, min_samples_leaf, l2, subsample, colsample, newton,
        transition_c2, transition_every and lightgbm_params are used; the others are refused). "kernel", or a
        :class:`crfkit.KernelCRF` with settings: similarities to selected nodes and, with
        cliques="vertex+edge", to selected edges; graphs without any label are used by its ``graph`` kernel.
    c1, c2
        Weights of the L1 and L2 penalties of linear potentials. c1 > 0 gives a sparse model.
    training
        What is maximised. "likelihood": exact, for forests and graphs of small treewidth. "tree-reweighted":
        a convex surrogate whose log Z is an upper bound (Wainwright, Jaakkola and Willsky, 2005), for any
        graph. "auto": the likelihood of each graph if it is feasible, otherwise the surrogate.
        "pseudo-likelihood": of every label given those of its neighbours; the fastest.
    inference
        How labels and probabilities are computed after training: "exact", "bp" (loopy belief propagation),
        "trw" (tree-reweighted), "mean-field", or "auto": exact where it is feasible, otherwise "trw".
    decode
        What ``predict`` returns: "marginal", the most probable label of each node, or "best", the most
        probable labelling as a whole.
    ends
        Whether the features of an edge's two nodes also have weights for its pair of labels.
    min_freq
        Features seen fewer times than this in training are left out.
    all_possible_features
        Also give weights to features that do not occur with a label, or with a pair of labels. "auto": for
        arrays and sparse matrices, but not for attributes with names, of which there are many.
    class_weight
        {label: weight} or "balanced": weight of an error at a node with this true label (softmax-margin).
    max_iterations, tol
        As in ``CRF``.
    patience
        With a dev set, training stops after this many iterations without a better accuracy on it.
    n_jobs
        Threads; -1 for all cores; None for all cores, or OMP_NUM_THREADS.
    random_state
        Seed of the random choices of trees and kernels; those of linear potentials are not random.
    verbose
        As in ``CRF``.

    Attributes
    ----------
    classes_ : list
        The labels, sorted.
    objective_, history_, n_iter_, converged_
        As in ``CRF``.
    maximised_ : str
        What training has maximised: the likelihood, or the surrogate that took its place.
    tagger_ : crfkit.models.graphs.tagger.GraphTagger
        The fitted model.

    Examples
    --------
    >>> from crfkit import Graph, GraphCRF
    >>> square = Graph([["red"], ["red"], ["blue"], ["?"]], [[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> GraphCRF(c2=0.1).fit([square], [["R", "R", "B", "R"]]).predict([square])
    [['R', 'R', 'B', 'R']]
    """

    _tagger = GraphTagger
    maximised_: str
    _rules: ClassVar[dict[str, rule.Rule]] = {
        "potential": (
            "'linear', 'trees', 'kernel', a TreeCRF or a KernelCRF",
            lambda v: v in PARTS if isinstance(v, str) else type(v).__name__ in SETTINGS.values(),
        ),
        "c1": rule.number(0),
        "c2": rule.number(0),
        "training": rule.one_of(*OBJECTIVES),
        "inference": rule.one_of(*METHODS),
        "decode": rule.one_of(*DECODING),
        "ends": rule.flag(),
        "min_freq": rule.number(0),
        "all_possible_features": rule.automatic(rule.flag()),
        "class_weight": rule.optional(rule.either(rule.one_of("balanced"), rule.mapping())),
        "max_iterations": rule.optional(rule.whole_number(1)),
        "tol": rule.number(0),
        "patience": rule.whole_number(1),
        "random_state": rule.optional(rule.whole_number(0)),
        "verbose": rule.verbosity(),
    }

    def __init__(
        self,
        potential: Any = "linear",
        c1: float = 0.0,
        c2: float = 0.1,
        training: str = "auto",
        inference: str = "auto",
        decode: str = "marginal",
        ends: bool = False,
        min_freq: float = 0,
        all_possible_features: bool | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        max_iterations: int | None = None,
        tol: float = 1e-5,
        patience: int = 10,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.potential = potential
        self.c1 = c1
        self.c2 = c2
        self.training = training
        self.inference = inference
        self.decode = decode
        self.ends = ends
        self.min_freq = min_freq
        self.all_possible_features = all_possible_features
        self.class_weight = class_weight
        self.max_iterations = max_iterations
        self.tol = tol
        self.patience = patience
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
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> GraphCRF:
        """Train on graphs X with labels y.

        X is a list of :class:`crfkit.Graph` or graphs of networkx; y has one list of labels per graph, in the
        order of its nodes. A label may be None (unknown) or a set (one of these). For graphs of networkx the
        labels of a graph may be a dict of node to label, or y the name of the attribute that is the label.
        ``sample_weight`` is one number per graph. With ``X_dev``, ``y_dev`` training stops when the dev
        accuracy no longer rises, and the best model is kept. ``checkpoint`` is a path or a
        :class:`crfkit.Checkpoint`, with which a training that was killed can be continued.
        """
        rule.check_parameters(self, self._rules)
        thread_count(self.n_jobs)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")
        saved = Checkpoint.of(checkpoint)
        with continuing(saved):
            found = trained(read_task(self, X, y, sample_weight, X_dev, y_dev, saved))
        outcome = found.outcome
        self.tagger_, self.classes_ = found.tagger, found.tagger.classes
        self.objective_, self.converged_ = outcome.value, outcome.converged
        self.maximised_ = found.maximised
        self.history_, self.n_iter_ = ShownList(outcome.history), len(outcome.history)
        if outcome.interrupted:
            raise KeyboardInterrupt(outcome.message)
        if found.saving is not None:  # the checkpoint is no longer needed
            found.saving.end()
        if not outcome.converged:
            warn(outcome.message, ConvergenceWarning)
        return self

    def graph_scores(self, X: Any) -> GraphScores:
        """Return the scores of labels at nodes and of pairs of labels at edges, for all graphs of X.

        :class:`crfkit.inference.Graphs` computes from them the probabilities of pairs of labels, samples, the
        best labelling with a bound, and says for each graph what is exact and what has converged.
        """
        part = self._fitted().part
        return part.scores(part.encode(X), n_jobs=self.n_jobs)

    def score(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None, *, lengths: Any = None
    ) -> float:
        """Return the share of nodes labelled as in y, weighted by ``sample_weight``, one number per graph.

        Only nodes with exactly one label count: those with None or a set of labels are left out.
        """
        with words_of_graphs():
            return super().score(X, y, sample_weight, lengths=lengths)

    def calibrate(self, *given: Any, **options: Any) -> Any:
        """Raise: there is no calibration of graphs."""
        raise InputError("a graph CRF has no calibration: its probabilities are those of predict_marginals")

    def plot_transitions(  # type: ignore[override]
        self, ax: Axes | None = None, *, edge_type: str | None = None
    ) -> Axes:
        """Draw the scores of label pairs of a type of edges: labels of the first node in rows.

        They do not contain what features of edges add. A model with one type needs no ``edge_type``.
        """
        part = self._fitted().part
        types = part.names.types
        chosen = types[0] if edge_type is None and len(types) == 1 else edge_type
        if chosen not in types:
            raise InputError(f"edge_type must be a type of training, {', '.join(types)}; got {edge_type!r}")
        ax = draw_pairs(part.tables[types.index(chosen)], self.classes_, ax)
        ax.set_xlabel("second node")
        ax.set_ylabel("first node")
        return ax

    def report(self, *given: Any, **options: Any) -> Any:
        """Raise: a report shows sequences, which graphs do not have."""
        raise InputError("a report shows sequences of words, which graphs do not have: use score and explain")

    def predict_segments(self, *given: Any, **options: Any) -> Any:
        """Raise: segments are runs of positions, and nodes have no order."""
        raise InputError("nodes of a graph have no order, so that there are no segments: use predict")

    def _labelled(self, X: Any, y: Any, lengths: Any) -> tuple[Any, Any, Any]:
        return X, node_labels(X, y), lengths

    def _training_record(self) -> dict[str, Any]:
        record = {**super()._training_record(), "maximised": self.maximised_}
        if not isinstance(self.potential, str):
            settings = TrainingRecord(self.potential.get_params(deep=False)).to_header()["params"]
            record["potential_settings"] = settings
        return record

    @classmethod
    def _parameters_of(cls, tagger: GraphTagger, header: Mapping[str, Any]) -> dict[str, Any]:
        params, settings = super()._parameters_of(tagger, header), header.get("potential_settings")
        if isinstance(settings, dict):
            kind = settings_class(tagger.part.name)
            params["potential"] = kind(**{k: settings[k] for k in kind._get_param_names() if k in settings})
        return params

    def _restore(self, header: Mapping[str, Any]) -> None:
        super()._restore(header)
        self.maximised_ = str(header.get("maximised", "unknown"))

    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        from crfkit.models.graphs.explanation import graph_reasons

        tagger = self._fitted()
        batch = tagger.part.encode(X)
        prepared = tagger.prepare_encoded(batch)
        known = node_labels(X, known, "known")
        for start, stop, scores in tagger.constrained_pieces(prepared, constraints, known):
            yield scores, graph_reasons(tagger, batch.subset(range(start, stop)))
