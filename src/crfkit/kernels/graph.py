"""Kernels from a graph over labelled and unlabelled positions: labels vary little along its edges.

Smola and Kondor, "Kernels and regularization on graphs" (COLT 2003); in kernel CRFs, Lafferty, Zhu and Liu
(ICML 2004). A nearest-neighbour graph with weights W and degrees D, the eigenpairs (λ_k, φ_k) of its
Laplacian (D - W, or normalised I - D^(-1/2) W D^(-1/2)) with the smallest λ, and K = Σ_k r(λ_k) φ_k φ_kᵀ with
a decreasing r: functions that change along edges are penalised. The kernel uses no labels, so the graph may
include the positions to be labelled (transductive learning). For later positions see graph_map.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.conventions import BaseEstimator
from crfkit.data.positions import Rows, n_rows, take_rows
from crfkit.exceptions import InputError, InputWarning
from crfkit.kernels.graph_map import GraphMap, Spectrum, neighbour_index, row_keys
from crfkit.optional import find, needed
from crfkit.warn import warn

_DENSE = 200  # up to this many vertices, all eigenpairs are computed and the first ones taken
_APPROXIMATE = 30_000  # above this many vertices, pynndescent is faster

_TRANSFORMS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "inverse": lambda values, epsilon: 1.0 / (values + epsilon),
    "diffusion": lambda values, epsilon: np.exp(-values / epsilon),
    "step": lambda values, epsilon: np.ones_like(values),
}


class GraphKernel(BaseEstimator):
    """A kernel on the positions of a nearest-neighbour graph.

    Parameters
    ----------
    n_neighbors
        Number of nearest positions that each position is joined to (it is also joined to those that have it
        among theirs). Positions with equal features are one vertex.
    transform
        r(λ): "inverse" 1 / (λ + epsilon), "diffusion" exp(-λ / epsilon), "step" 1, or a function of the array
        of eigenvalues.
    n_eigenvectors
        How many of the smoothest eigenvectors are used.
    normalized
        Whether the Laplacian is the normalised one, whose eigenvalues lie between 0 and 2.
    epsilon
        See ``transform``. The smaller, the more weight the smoothest functions have.
    mutual
        Join only positions that are among each other's nearest. This may leave some without neighbours.
    metric
        scikit-learn's name of the distance.
    search
        "exact" (scikit-learn), "approximate" (pynndescent, which must be installed), or "auto": approximate
        above 30,000 positions if pynndescent is installed.
    affinity
        A symmetric sparse matrix of weights between all positions, used instead of nearest neighbours. Such a
        kernel cannot be extended to new positions: an estimator's labels for the positions given to fit are
        in its ``transduction_``.

    The kernel is scaled to a mean of 1 on its diagonal, so that it is comparable with other kernels.
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        "n_neighbors": rule.whole_number(1),
        "transform": (
            "one of 'inverse', 'diffusion', 'step', or a function",
            lambda v: callable(v) or v in _TRANSFORMS,
        ),
        "n_eigenvectors": rule.whole_number(1),
        "normalized": rule.flag(),
        "epsilon": rule.number(1e-12),
        "mutual": rule.flag(),
        "search": rule.one_of("auto", "exact", "approximate"),
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        transform: str | Callable[[FloatArray], FloatArray] = "inverse",
        n_eigenvectors: int = 100,
        normalized: bool = True,
        epsilon: float = 0.01,
        mutual: bool = False,
        metric: str = "euclidean",
        search: str = "auto",
        affinity: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.transform = transform
        self.n_eigenvectors = n_eigenvectors
        self.normalized = normalized
        self.epsilon = epsilon
        self.mutual = mutual
        self.metric = metric
        self.search = search
        self.affinity = affinity

    def build(self, rows: Rows) -> tuple[GraphMap, IntArray]:
        """Return the kernel over these positions, and the graph component of each position [n]."""
        csgraph = needed("scipy.sparse.csgraph", "a graph kernel", "graph")
        rule.check_parameters(self, self._rules)
        if isinstance(rows, list) and self.affinity is None:
            raise InputError(
                "a graph of nearest neighbours needs numbers as features; give affinity= for objects"
            )
        vertex = np.arange(n_rows(rows), dtype=np.int64)  # [n] of each position
        if self.affinity is None:
            rows, vertex = _different(rows)
            weights = self._neighbour_weights(rows)
        else:
            weights = self._given_weights(n_rows(rows))
        degrees = np.asarray(weights.sum(axis=1), np.float64).ravel()  # [v]
        alone = np.flatnonzero(degrees[vertex] == 0)
        if len(alone):
            warn(
                f"{len(alone):,} of {len(vertex):,} positions have no neighbour in the graph (the first is "
                f"position {alone[0]} of all): nothing is learnt about them from it. Use more neighbours, "
                "or mutual=False",
                InputWarning,
            )
        _, component = csgraph.connected_components(weights, directed=False)
        values, vectors = _smoothest(weights, degrees, self.n_eigenvectors, self.normalized)
        multipliers = self._multipliers(values)
        diagonal = float(((vectors**2) @ multipliers)[vertex].mean())
        if diagonal > 0:
            multipliers = multipliers / diagonal
        spectrum = Spectrum(values, vectors, degrees, multipliers)
        kept = None if self.affinity is not None else rows
        graph = GraphMap(spectrum, kept, vertex, int(self.n_neighbors), bool(self.normalized), self.metric)
        return graph, component.astype(np.int64)[vertex]

    def _multipliers(self, values: FloatArray) -> FloatArray:
        transform = self.transform
        if callable(transform):
            found = np.asarray(transform(values), np.float64)
        else:
            found = _TRANSFORMS[transform](values, float(self.epsilon))
        if found.shape != values.shape or not np.isfinite(found).all() or (found < 0).any():
            raise InputError(
                f"transform must give a finite number of at least 0 for each of {len(values)} eigenvalues; "
                f"got {found.ravel()[:5]} …"
            )
        return found

    def _given_weights(self, n: int) -> Any:
        weights = _sparse().csr_matrix(self.affinity, dtype=np.float64)
        if weights.shape != (n, n):
            raise InputError(f"affinity must be square, [{n}, {n}] for {n} positions; got {weights.shape}")
        apart = float(abs(weights - weights.T).max()) if weights.nnz else 0.0
        if apart > 1e-9 * max(1.0, float(abs(weights).max()) if weights.nnz else 0.0):
            raise InputError(f"affinity must be symmetric; it differs from its transpose by {apart:.3g}")
        if weights.nnz and float(weights.data.min()) < 0:
            raise InputError(f"affinity must not be negative, got {weights.data.min():.3g}")
        return weights

    def _neighbour_weights(self, rows: Rows) -> Any:
        """Return W [v, v]: 1 if two vertices are neighbours, else 0."""
        n = n_rows(rows)
        k = min(int(self.n_neighbors), n - 1)
        if k < 1:
            raise InputError(f"a graph needs at least two positions that differ, got {n}")
        near = self._nearest(rows, k)  # [n, k]
        directed = _sparse().csr_matrix(
            (np.ones(near.size), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n), dtype=np.float64
        )
        return directed.minimum(directed.T) if self.mutual else directed.maximum(directed.T)

    def _nearest(self, rows: Rows, k: int) -> IntArray:
        n = n_rows(rows)
        if self.search == "approximate" or (self.search == "auto" and n > _APPROXIMATE):
            auto = self.search == "auto"
            library = find("pynndescent") if auto else needed("pynndescent", "search='approximate'")
            if library is not None:
                index = library.NNDescent(rows, n_neighbors=k + 1, metric=self.metric, random_state=0)
                return _without_itself(index.neighbor_graph[0].astype(np.int64), k)
        index = neighbour_index(rows, self.metric)
        near: IntArray = index.kneighbors(n_neighbors=k, return_distance=False).astype(np.int64)
        return near


def _sparse() -> Any:
    return needed("scipy.sparse", "a graph kernel", "graph")


def _different(rows: Rows) -> tuple[Rows, IntArray]:
    """Return the distinct rows, in order [v], and the number of the distinct row for each row [n]."""
    numbers: dict[bytes, int] = {}
    found = np.array([numbers.setdefault(key, len(numbers)) for key in row_keys(rows)], np.int64)
    if len(numbers) == len(found):
        return rows, found
    first = np.unique(found, return_index=True)[1]
    return take_rows(rows, first), found


def _without_itself(near: IntArray, k: int) -> IntArray:
    """Return k of k + 1 neighbours [n, k], without the position itself (if it is not there: the last)."""
    own = near == np.arange(len(near))[:, None]
    own[~own.any(axis=1), -1] = True
    own &= np.cumsum(own, axis=1) == 1
    kept: IntArray = near[~own].reshape(len(near), k)
    return kept


def _smoothest(weights: Any, degrees: FloatArray, m: int, normalized: bool) -> tuple[FloatArray, FloatArray]:
    """Return the m smallest eigenvalues of the Laplacian, ascending, and their eigenvectors [n, m]."""
    sparse = _sparse()
    n = len(degrees)
    m = min(m, n)
    if normalized:
        inverse = sparse.diags(1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
        # Its largest eigenvalues are the Laplacian's smallest: Lanczos finds them without solving systems.
        similar, shift = inverse @ weights @ inverse, 1.0
    else:
        shift = 2.0 * float(degrees.max(initial=0.0))  # above all eigenvalues of D - W
        similar = shift * sparse.identity(n) - sparse.diags(degrees) + weights
    if n <= _DENSE or m >= n - 1:
        found, vectors = np.linalg.eigh(similar.toarray())
    else:
        linalg = needed("scipy.sparse.linalg", "a graph kernel", "graph")
        start = np.random.default_rng(0).standard_normal(n)  # the same for every call
        found, vectors = linalg.eigsh(
            similar, k=m, which="LA", v0=start, tol=1e-8, ncv=min(n - 1, max(2 * m + 1, 40))
        )
    order = np.argsort(-found, kind="stable")[:m]
    values = np.maximum(shift - found[order], 0.0)
    vectors = vectors[:, order]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(m)] < 0, -1.0, 1.0)  # fix the sign
    return values, vectors
