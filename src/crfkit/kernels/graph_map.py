"""A graph kernel that has been built: eigenvectors of a graph's Laplacian, extended to new positions.

K = Σ_k r(λ_k) φ_k φ_kᵀ is an inner product of the rows √r(λ_k) φ_k(x), the position's representation. For a
position that is not in the graph the eigenvectors are extended (Nyström; Bengio and others, "Out-of-sample
extensions", NIPS 2004): the equation that every vertex of the graph fulfils, with the new position's own
neighbours, reads, with weights w and degrees d,

    normalised Laplacian   φ_k(x) = 1 / (1 - λ_k) Σ_j w(x, j) / √(d(x) d_j) φ_k(j)
    plain Laplacian        φ_k(x) = 1 / (d(x) - λ_k) Σ_j w(x, j) φ_k(j)

A position that equals one of the graph gets that one's values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.exceptions import InputError
from crfkit.kernels.positions import FloatArray, Rows, n_rows, take_rows

_SMALLEST = 0.05  # of a denominator, as a share of the degree: beyond, eigenvectors are no longer smooth


@dataclass(frozen=True)
class Spectrum:
    """What is kept of a graph over n positions."""

    eigenvalues: FloatArray  # [m]
    eigenvectors: FloatArray  # [n, m], orthonormal
    degrees: FloatArray  # [n]
    multipliers: FloatArray  # [m] r(λ), scaled


@dataclass(frozen=True)
class GraphMap:
    """Positions to rows whose inner products are the kernel."""

    spectrum: Spectrum
    rows: Rows  # of the graph; None where it was given as an affinity matrix
    n_neighbors: int
    normalized: bool
    metric: str = "euclidean"
    name: str = "graph"

    @property
    def training(self) -> FloatArray:
        """The graph's own positions, represented: [n, m]."""
        spectrum = self.spectrum
        return spectrum.eigenvectors * np.sqrt(spectrum.multipliers)

    def represent(self, rows: Rows) -> FloatArray:
        """Any positions, represented: [n', m]."""
        if self.rows is None:
            raise InputError(
                "the graph was given as an affinity matrix: where new positions lie in it is not known. "
                "Give GraphKernel the features, without affinity=, to label new sequences"
            )
        if n_rows(rows) == 0:
            return np.zeros((0, len(self.spectrum.eigenvalues)))
        places = np.array([self._places.get(key, -1) for key in _row_keys(rows)], np.int64)  # [n'], -1: new
        found = self.training[places]
        new = np.flatnonzero(places < 0)
        if len(new):
            k = min(self.n_neighbors, n_rows(self.rows))
            near = self._neighbours.kneighbors(take_rows(rows, new), n_neighbors=k, return_distance=False)
            found[new] = self.extend(near)
        return found

    def extend(self, neighbours: npt.NDArray[np.integer]) -> FloatArray:
        """Positions with these neighbours [n', k] in the graph, all of weight 1, represented [n', m]."""
        spectrum = self.spectrum
        values = spectrum.eigenvectors
        degree = float(neighbours.shape[1])
        if self.normalized:
            scaled = values / np.sqrt(np.maximum(spectrum.degrees, 1e-300))[:, None]  # [n, m]
            sums = scaled[neighbours].sum(axis=1) / np.sqrt(degree)  # [n', m]
            below = np.maximum(1.0 - spectrum.eigenvalues, _SMALLEST)
        else:
            sums = values[neighbours].sum(axis=1)
            below = np.maximum(degree - spectrum.eigenvalues, _SMALLEST * degree)
        found: FloatArray = sums / below * np.sqrt(spectrum.multipliers)
        return found

    @cached_property
    def _neighbours(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(metric=self.metric).fit(self.rows)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        """Where each of the graph's positions is, by its content; the first of equals."""
        keys = _row_keys(self.rows)
        return {key: i for i, key in zip(range(len(keys) - 1, -1, -1), reversed(keys), strict=True)}

    def __getstate__(self) -> dict[str, Any]:
        made = ("_neighbours", "_places")  # when first used
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def support(self, represented: Rows, places: npt.NDArray[np.int64]) -> FloatArray:
        """Rows."""
        return np.asarray(represented[places], np.float64)

    def between(self, represented: Rows, support: FloatArray) -> FloatArray:
        """K [n, m]."""
        return np.asarray(represented @ support.T, np.float64)


def _row_keys(rows: Rows) -> list[bytes]:
    """What tells rows apart: digests of their content [n]."""
    if hasattr(rows, "tocsr"):
        csr = rows.tocsr()
        ends = csr.indptr.tolist()
        columns = csr.indices.astype(np.int64)
        parts = [columns[a:b].tobytes() + csr.data[a:b].tobytes() for a, b in pairwise(ends)]
    else:
        parts = [row.tobytes() for row in np.ascontiguousarray(rows, np.float64) + 0.0]  # no negative zeros
    return [blake2b(part, digest_size=16).digest() for part in parts]
