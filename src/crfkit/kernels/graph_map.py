"""A fitted graph kernel: eigenvectors of a graph's Laplacian, extended to new positions.

K = Σ_k r(λ_k) φ_k φ_kᵀ is an inner product of the rows √r(λ_k) φ_k(x), the position's representation. For a
position that is not in the graph the eigenvectors are extended (Nyström; Bengio and others, "Out-of-sample
extensions", NIPS 2004). The eigenvector equation of a vertex, applied to the neighbours of the new position,
gives, with weights w and degrees d,

    normalised Laplacian   φ_k(x) = 1 / (1 - λ_k) Σ_j w(x, j) / √(d(x) d_j) φ_k(j)
    plain Laplacian        φ_k(x) = 1 / (d(x) - λ_k) Σ_j w(x, j) φ_k(j)

A position that equals one in the graph gets the values of that one. Positions with equal features are one
vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Rows, n_rows, take_rows
from crfkit.data.reading import is_sparse
from crfkit.exceptions import InputError
from crfkit.optional import needed

_SMALLEST = 0.05  # smallest denominator, as a share of the degree: below it, eigenvectors are not smooth


def neighbour_index(rows: Rows, metric: str) -> Any:
    """Return scikit-learn's index of the nearest neighbours among some rows."""
    neighbors = needed("sklearn.neighbors", "a graph kernel", "graph")
    try:
        return neighbors.NearestNeighbors(metric=metric).fit(rows)
    except ValueError as error:  # also of sparse rows, which some metrics do not take
        raise InputError(f"no nearest neighbours by metric={metric!r:.40}: {error!s:.200}") from error


@dataclass(frozen=True)
class Spectrum:
    """The spectrum and the degrees of a graph with v vertices."""

    eigenvalues: FloatArray  # [m]
    eigenvectors: FloatArray  # [v, m], orthonormal
    degrees: FloatArray  # [v]
    multipliers: FloatArray  # [m] r(λ), scaled


@dataclass(frozen=True)
class GraphMap:
    """A map from positions to rows whose inner products are the kernel."""

    spectrum: Spectrum
    rows: Rows  # of the v vertices; None if the graph was given as an affinity matrix
    vertex: IntArray  # [n] of each position that the graph was built over
    n_neighbors: int
    normalized: bool
    metric: str = "euclidean"
    name: str = "graph"

    @property
    def training(self) -> FloatArray:
        """Representation [n, m] of the positions that the graph was built over."""
        return self._vertices[self.vertex]

    @property
    def _vertices(self) -> FloatArray:
        return self.spectrum.eigenvectors * np.sqrt(self.spectrum.multipliers)

    def represent(self, rows: Rows) -> FloatArray:
        """Return the representation [n', m] of any positions."""
        if self.rows is None:
            raise InputError(
                "the graph was given as an affinity matrix: where new positions lie in it is not known. "
                "The labels of the positions given to fit are in transduction_; to label others give "
                "GraphKernel the features, without affinity="
            )
        if n_rows(rows) == 0:
            return np.zeros((0, len(self.spectrum.eigenvalues)))
        places = np.array([self._places.get(key, -1) for key in row_keys(rows)], np.int64)  # [n'], -1: new
        found = self._vertices[places]
        new = np.flatnonzero(places < 0)
        if len(new):
            k = min(self.n_neighbors, n_rows(self.rows))
            asked = _in_the_form_of(self.rows, take_rows(rows, new))
            near = self._neighbours.kneighbors(asked, n_neighbors=k, return_distance=False)
            found[new] = self.extend(near)
        return found

    def extend(self, neighbours: npt.NDArray[np.integer]) -> FloatArray:
        """Return the representation [n', m] of positions with these neighbours [n', k], all of weight 1."""
        spectrum = self.spectrum
        values = spectrum.eigenvectors
        degree = float(neighbours.shape[1])
        if self.normalized:
            degrees = spectrum.degrees[:, None]
            # A vertex without edges has no influence on others: its values are 0 except for rounding.
            scaled = np.where(degrees > 0, values / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
            sums = scaled[neighbours].sum(axis=1) / np.sqrt(degree)  # [n', m]
            below = np.maximum(1.0 - spectrum.eigenvalues, _SMALLEST)
        else:
            sums = values[neighbours].sum(axis=1)
            below = np.maximum(degree - spectrum.eigenvalues, _SMALLEST * degree)
        found: FloatArray = sums / below * np.sqrt(spectrum.multipliers)
        return found

    @cached_property
    def _neighbours(self) -> Any:
        return neighbour_index(self.rows, self.metric)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        """Vertex of each row key."""
        return {key: i for i, key in enumerate(row_keys(self.rows))}

    def __getstate__(self) -> dict[str, Any]:
        made = ("_neighbours", "_places")  # computed on first use
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def support(self, represented: Rows, places: IntArray) -> FloatArray:
        return np.asarray(represented[places], np.float64)

    def between(self, represented: Rows, support: FloatArray) -> FloatArray:
        return np.asarray(represented @ support.T, np.float64)


@dataclass(frozen=True)
class OwnPositions:
    """A graph's kernel for the positions that it was built over, in their order; it ignores their rows."""

    graph: GraphMap
    name: str = "graph"

    def represent(self, rows: Rows) -> FloatArray:
        return self.graph.training

    def support(self, represented: Rows, places: IntArray) -> FloatArray:
        return self.graph.support(represented, places)

    def between(self, represented: Rows, support: FloatArray) -> FloatArray:
        return self.graph.between(represented, support)


def row_keys(rows: Rows) -> list[bytes]:
    """Return digests [n] of the nonzero columns of each row, equal for dense and sparse rows."""
    if is_sparse(rows):
        csr = rows.tocsr().copy()
        csr.sum_duplicates()  # sorts them as well
        csr.eliminate_zeros()
        columns, data = csr.indices.astype(np.int64), csr.data.astype(np.float64)
        ends = csr.indptr.tolist()
        parts = [columns[a:b].tobytes() + data[a:b].tobytes() for a, b in pairwise(ends)]
    else:
        table = np.asarray(rows, np.float64)
        filled = ((row, np.flatnonzero(row)) for row in table)
        parts = [columns.astype(np.int64).tobytes() + row[columns].tobytes() for row, columns in filled]
    return [blake2b(part, digest_size=16).digest() for part in parts]


def _in_the_form_of(example: Rows, rows: Rows) -> Rows:
    """Return the rows as a sparse matrix if the example is sparse, else as a dense array."""
    if is_sparse(example) == is_sparse(rows):
        return rows
    if is_sparse(rows):
        return rows.toarray()
    return needed("scipy.sparse", "a sparse X").csr_matrix(rows)
