"""Graphs as a ``Structure``: exact where their width permits, else bounds or approximations.

Methods, with what they give for log Z:

- ``"exact"``: forests by two passes of messages, other graphs by elimination (a junction tree);
- ``"trw"``: tree-reweighted messages (Wainwright, Jaakkola and Willsky, 2005), an upper bound, convex in the
  scores: the usual surrogate for training;
- ``"bp"``: loopy belief propagation (the Bethe approximation), neither a bound nor certain to converge;
- ``"mean-field"``: a lower bound;
- ``"auto"``: exact for graphs of small width, ``"trw"`` for the others.

Every result says for each graph what it is (``GraphResult.kind``) and whether the iterations converged.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.topology import Topology
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference.graph_scores import (
    GraphGradient,
    GraphScores,
    forbid,
    graph_labelling_counts,
    graph_labelling_score,
)
from crfkit.inference.graph_ways import (
    BOUNDS,
    CLIQUES,
    FOREST,
    GIBBS,
    GIVEN,
    MEAN_FIELD,
    MESSAGES,
    Codes,
    exact_ways,
    possible_ways,
)
from crfkit.inference.max_flow import best_by_max_flow
from crfkit.inference.paths import random_seed
from crfkit.threads import thread_count

METHODS = ("auto", "exact", "trw", "bp", "mean-field")
SCHEDULES = ("sequential", "synchronous", "residual")  # numbered as in native/graphs/message_passing.h

_Messages = WeakKeyDictionary[Topology, FloatArray]


class GraphResult(NamedTuple):
    """Marginals of a batch of graphs, and what they are."""

    log_z: FloatArray  # [N] log Z, or the bound or approximation of it
    node: FloatArray  # [ΣV, L] probabilities of labels
    edge: FloatArray  # [ΣE, L, L] of pairs of labels: first end, second end
    kind: list[str]  # [N] "exact", "upper bound" (if converged), "lower bound" or "approximation"
    converged: BoolArray  # [N]
    iterations: IntArray  # [N] 0 where none are needed
    updates: IntArray  # [N] messages sent (mean field: nodes updated)
    width: IdArray  # [N] of the elimination order; -1 where the method did not look for one


class GraphBest(NamedTuple):
    """The best labelling found, and how good it is known to be."""

    labels: IdArray  # [ΣV]
    score: FloatArray  # [N]
    bound: FloatArray  # [N] no labelling has a higher score
    optimal: BoolArray  # [N] the score reaches the bound


class Graphs:
    """A ``Structure`` with the scores of graphs.

    Parameters
    ----------
    method
        "auto", "exact", "trw", "bp" or "mean-field".
    rho
        For "trw": the appearance probability of all edges, above 0 and at most 1. None: from spanning trees,
        so that log Z is an upper bound. For a number this is not known, and the result is called an
        approximation.
    schedule
        For "trw" and "bp": "sequential" (forward and backward over the nodes), "synchronous" (all messages at
        once; threads share the nodes of a large graph) or "residual" (nodes whose incoming messages changed
        most come first). None: synchronous for graphs with 10⁵ to 10⁶ messages or more, else sequential.
    damping
        Share of the old message in the new one, from 0 to below 1. It helps where messages oscillate.
    max_iterations, tolerance
        Iterations end when no log message (for "mean-field": no probability) changes by more than this.
    max_memory
        Bytes that exact inference may take for one graph, with method "exact".
    sweeps
        Of Gibbs sampling, for samples of graphs that are too wide for exact ones.
    warm_start
        Begin with the messages of the last call for the same topology. Results then depend on the calls
        before, within the tolerance. For training, where scores change little between calls.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        rho: float | None = None,
        schedule: str | None = None,
        damping: float = 0.0,
        max_iterations: int = 200,
        tolerance: float = 1e-6,
        max_memory: int = 2**30,
        sweeps: int = 200,
        warm_start: bool = False,
    ) -> None:
        if method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
        if schedule is not None and schedule not in SCHEDULES:
            raise InputError(f"schedule must be None or one of {', '.join(SCHEDULES)}; got {schedule!r}")
        if rho is not None and not 0 < rho <= 1:
            raise InputError(f"rho must be above 0 and at most 1, or None; got {rho!r}")
        if not 0 <= damping < 1:
            raise InputError(f"damping must be from 0 to below 1; got {damping!r}")
        if not 0 <= tolerance < np.inf:
            raise InputError(f"tolerance must be a number, 0 or more; got {tolerance!r}")
        whole = {"max_iterations": max_iterations, "sweeps": sweeps, "max_memory": max_memory}
        for name, value in whole.items():
            _check_whole(name, value)
        self.method, self.rho, self.schedule, self.damping = method, rho, schedule, float(damping)
        self.max_iterations, self.tolerance, self.max_memory = max_iterations, float(tolerance), max_memory
        self.sweeps, self.warm_start = sweeps, warm_start
        self._messages = _no_messages()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_messages"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._messages = _no_messages()

    def log_partition(self, scores: GraphScores, *, n_jobs: int | None = None) -> FloatArray:
        return self._sums(scores, n_jobs).log_z

    def expectations(
        self, scores: GraphScores, *, weights: FloatArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, GraphGradient]:
        node, edge = np.zeros(scores.node.shape), np.zeros(scores.edge.shape)
        by_kind = scores.topology.kinds is not None
        found = self._sums(scores, n_jobs, weights=weights, by_kind=by_kind, node=node, edge=edge)
        return found.log_z, GraphGradient(node, edge)

    def labelling_score(self, scores: GraphScores, ids: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        return graph_labelling_score(scores, ids)

    def labelling_counts(
        self, scores: GraphScores, ids: IdArray, *, weights: FloatArray | None = None
    ) -> GraphGradient:
        return graph_labelling_counts(scores, ids, weights)

    def permit(self, scores: GraphScores, labels: Labels) -> GraphScores:
        return forbid(scores, labels.permitted(scores.n_labels))

    def raise_wrong(self, scores: GraphScores, labels: Labels, costs: FloatArray) -> GraphScores:
        # Equivalent to lowering the right label. Where the label is unknown, no label counts as wrong.
        known = np.flatnonzero(labels.ids >= 0)
        node = scores.node.copy()
        node[known, labels.ids[known]] -= costs[labels.ids[known]]
        return scores.changed(node=node)

    def best(self, scores: GraphScores, *, n_jobs: int | None = None) -> IdArray:
        return self.decode(scores, n_jobs=n_jobs).labels

    def sample(self, scores: GraphScores, n_samples: int = 1, *, random_state: Any = None) -> IdArray:
        """Return labellings [n_samples, ΣV].

        They are drawn from p(y|x) for graphs of small width. The others are sampled approximately: each
        sample is a Gibbs chain of its own, which begins at the best labelling and makes ``sweeps`` sweeps.
        """
        _check_whole("n_samples", n_samples)
        threads = thread_count(None)
        how = self._exact_or(scores, GIBBS, threads)
        start = np.zeros(scores.n_positions, np.int32)
        if (how == GIBBS).any():
            start = self.decode(scores).labels
        ids = np.empty((int(n_samples), scores.n_positions), np.int32)
        dead, seed = _alive(scores), random_seed(random_state)
        _native.graph_sample(_native_scores(scores), how, seed, self.sweeps, start, ids, dead, threads)
        _require_labellings(scores, dead)
        return ids

    def infer(self, scores: GraphScores, *, n_jobs: int | None = None) -> GraphResult:
        """Return marginals of nodes and edges, and for each graph what they are."""
        L, E = scores.n_labels, scores.topology.n_edges
        node, edge = np.zeros(scores.node.shape), np.zeros((E, L, L))
        return self._sums(scores, n_jobs, node=node, edge=edge)

    def decode(self, scores: GraphScores, *, n_jobs: int | None = None) -> GraphBest:
        """Return the best labelling found, with an upper bound on the score of any other.

        Graphs of small width are solved exactly. Of the others, those with two labels whose edges prefer
        equal labels are solved exactly by a minimum cut, if PyMaxflow is installed. The rest is done by
        sequential tree-reweighted max-product (TRW-S): if the score of its labelling reaches its bound, the
        labelling is optimal.
        """
        N, threads = scores.n_sequences, thread_count(n_jobs)
        how = self._exact_or(scores, BOUNDS, threads)
        labels = np.zeros(scores.n_positions, np.int32)
        how[best_by_max_flow(scores, np.flatnonzero(how == BOUNDS), labels)] = GIVEN
        score, bound, optimal = np.zeros(N), np.zeros(N), np.ones(N, np.uint8)
        dead, iterations = _alive(scores), np.zeros(N, np.int64)
        _native.graph_best(
            _native_scores(scores),
            how,
            self.max_iterations,
            self.tolerance,
            labels,
            score,
            bound,
            optimal,
            dead,
            iterations,
            threads,
        )
        _require_labellings(scores, dead)
        # Rounding may leave the bound of an optimal labelling a little below its score.
        return GraphBest(labels, score, np.maximum(bound, score), optimal.astype(np.bool_))

    def is_exact(self, scores: GraphScores, *, n_jobs: int | None = None) -> BoolArray:
        """Tell for each graph [N] whether its sums are exact, without computing them."""
        how, _ = self._ways(scores, thread_count(n_jobs))
        exact: BoolArray = (how == FOREST) | (how == CLIQUES)
        return exact

    def _sums(
        self,
        scores: GraphScores,
        n_jobs: int | None,
        *,
        weights: FloatArray | None = None,
        by_kind: bool = False,
        node: FloatArray | None = None,
        edge: FloatArray | None = None,
    ) -> GraphResult:
        N, threads = scores.n_sequences, thread_count(n_jobs)
        how, width = self._ways(scores, threads)
        start = None
        if (how == MEAN_FIELD).any() and not _all_permitted(scores):
            start = self.decode(scores, n_jobs=n_jobs).labels
        rho = messages = None
        if (how == MESSAGES).any():
            rho = self._appearances(scores.topology)
            messages = self._last_messages(scores)
        dead, converged = _alive(scores), np.ones(N, np.uint8)
        log_z, iterations, updates = np.zeros(N), np.zeros(N, np.int64), np.zeros(N, np.int64)
        _native.graph_sums(
            _native_scores(scores, rho),
            how,
            -1 if self.schedule is None else SCHEDULES.index(self.schedule),
            self.damping,
            self.max_iterations,
            self.tolerance,
            log_z,
            dead,
            converged,
            iterations,
            updates,
            threads,
            weights,
            node,
            edge,
            by_kind,
            messages,
            start,
        )
        _require_labellings(scores, dead)
        none = np.empty((0, scores.n_labels, scores.n_labels))
        return GraphResult(
            log_z,
            none[:, 0] if node is None else node,
            none if edge is None else edge,
            self._kinds(how, converged),
            converged.astype(np.bool_),
            iterations,
            updates,
            width,
        )

    def _ways(self, scores: GraphScores, threads: int) -> tuple[Codes, IdArray]:
        """Return the algorithm of sums for each graph [N], and the widths [N], or -1."""
        if self.method == "exact":
            return exact_ways(scores, self.max_memory, threads)
        if self.method == "auto":
            return possible_ways(scores, MESSAGES, threads)
        way = MEAN_FIELD if self.method == "mean-field" else MESSAGES
        N = scores.n_sequences
        return np.full(N, way, np.uint8), np.full(N, -1, np.int32)

    def _exact_or(self, scores: GraphScores, otherwise: int, threads: int) -> Codes:
        """Return the algorithm for single labellings of each graph [N]."""
        if self.method == "exact":
            how, _ = exact_ways(scores, self.max_memory, threads)
        else:
            how, _ = possible_ways(scores, otherwise, threads)
        how[how == FOREST] = CLIQUES if scores.n_labels > 1 else otherwise
        return how

    def _appearances(self, topology: Topology) -> FloatArray | None:
        """Return appearance probabilities of the edges [ΣE]; None: all 1."""
        if self.method == "bp":
            return None
        if self.rho is not None:
            return np.full(topology.n_edges, float(self.rho))
        return topology.tree_shares

    def _last_messages(self, scores: GraphScores) -> FloatArray | None:
        """Return the messages [2ΣE, L] to begin with, which inference will replace; None: begin with none."""
        if not self.warm_start:
            return None
        shape = (2 * scores.topology.n_edges, scores.n_labels)
        kept = self._messages[_all_permitted(scores)]
        if scores.topology not in kept or kept[scores.topology].shape != shape:
            kept[scores.topology] = np.zeros(shape)
        return kept[scores.topology]

    def _kinds(self, how: Codes, converged: Codes) -> list[str]:
        """Return what the log Z of each graph [N] is. Tree-reweighted ones are bounds only at convergence."""
        bound = self.method in ("auto", "trw") and self.rho is None
        names = {FOREST: "exact", CLIQUES: "exact", MEAN_FIELD: "lower bound"}
        return [
            names.get(int(way), "upper bound" if bound and ended else "approximation")
            for way, ended in zip(how, converged, strict=True)
        ]


def _no_messages() -> tuple[_Messages, _Messages]:
    """Return where the last messages are kept: of scores with forbidden labels, and of those without."""
    return WeakKeyDictionary(), WeakKeyDictionary()


def _check_whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, at least 1; got {value!r}")


def _alive(scores: GraphScores) -> IntArray:
    return np.full(scores.n_sequences, -1, np.int64)


def _all_permitted(scores: GraphScores) -> bool:
    """Tell whether no score is -inf."""
    return bool(np.isfinite(scores.node).all() and np.isfinite(scores.edge).all())


def _native_scores(scores: GraphScores, rho: FloatArray | None = None) -> _native.GraphScores:
    topology = scores.topology
    return _native.GraphScores(topology.plan, scores.node, scores.edge, topology.kinds, rho)


def _require_labellings(scores: GraphScores, dead: IntArray) -> None:
    """Raise if a graph has no permitted labelling: ``dead[i]`` is a node where this shows, or -1.

    It is the number of nodes if none was found, although there may be one.
    """
    failed = np.flatnonzero(dead >= 0)
    if len(failed) == 0:
        return
    i = int(failed[0])
    number = scores.first_sequence + i
    others = f" (nor of {len(failed) - 1} other graphs)" if len(failed) > 1 else ""
    if dead[i] < scores.offsets[i + 1] - scores.offsets[i]:
        message = (
            f"no permitted labelling of graph {number}{others}: at its node {int(dead[i])}, every label is "
            "forbidden or contradicts the labels that its neighbours may have; allow more labels or pairs "
            "of labels"
        )
    else:
        message = (
            f"found no permitted labelling of graph {number}{others}; allow more labels or pairs of labels"
        )
    error = NoPathError(message)
    error.sequence = number
    raise error
