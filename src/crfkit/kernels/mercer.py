"""Kernels between positions: similarities that are inner products in some space.

A kernel computes whole blocks: K(rows, support) [n, m]. Named kernels use scikit-learn's pairwise functions,
which are imported with the first block. A user's function takes two tables (or lists) of positions and
returns the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Rows, n_rows, take_rows
from crfkit.exceptions import InputError
from crfkit.optional import needed

NAMES = ("rbf", "linear", "poly", "laplacian", "cosine", "sigmoid", "chi2")
SCALED = ("rbf", "poly", "laplacian", "sigmoid", "chi2")  # those with a gamma


class MercerKernel(Protocol):
    """A kernel fitted to its data: gamma is a number, a graph is built."""

    @property
    def name(self) -> str:
        """Name in listings and messages."""

    def represent(self, rows: Rows) -> Rows:
        """Return the representation of each position that the kernel compares."""

    def support(self, represented: Rows, places: IntArray) -> Any:
        """Return the chosen positions as the second argument of ``between``."""

    def between(self, represented: Rows, support: Any) -> FloatArray:
        """Return K [n, m]."""


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters.

    Parameters
    ----------
    function
        "rbf" exp(-gamma ‖a - b‖²), "linear" a·b, "poly" (gamma a·b + coef0)^degree, "laplacian", "cosine",
        "sigmoid", "chi2" (as scikit-learn defines them); or a function of two tables [n, d] and [m, d] (or
        lists of n and m objects) that returns [n, m].
    gamma
        A number; "median" for 1 / (the median of the squared distances); "scale" for 1 / (d · variance);
        "auto" for a multiple of the median's that an estimator chooses.
    degree, coef0
        Parameters of "poly" and "sigmoid".
    """

    function: str | Callable[[Any, Any], Any] = "rbf"
    gamma: float | str = "median"
    degree: float = 3
    coef0: float = 1.0

    @property
    def name(self) -> str:
        if isinstance(self.function, str):
            return self.function
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def is_scaled(self) -> bool:
        """Whether the function has a gamma."""
        return isinstance(self.function, str) and self.function in SCALED

    def fitted(self, rows: Rows, seed: int = 0) -> Kernel:
        """Return the kernel with a number for gamma, chosen on these rows."""
        from crfkit.kernels.bandwidth import find_gamma

        if not self.is_scaled:
            return self
        if isinstance(rows, list):
            raise InputError(f"the kernel {self.function!r} needs numbers; for objects give a function")
        gamma = "median" if self.gamma == "auto" else self.gamma
        return replace(self, gamma=find_gamma(gamma, rows, seed))

    def scaled(self, factor: float) -> Kernel:
        """Return the fitted kernel with ``factor`` times its gamma."""
        return replace(self, gamma=factor * float(self.gamma))

    def represent(self, rows: Rows) -> Rows:
        return rows

    def support(self, represented: Rows, places: IntArray) -> Rows:
        return take_rows(represented, places)

    def between(self, represented: Rows, support: Rows) -> FloatArray:
        shape = (n_rows(represented), n_rows(support))
        if 0 in shape:
            return np.zeros(shape)
        if not isinstance(self.function, str):
            return _own_block(self.function(represented, support), shape, self.name)
        if self.function == "linear":
            block = represented @ support.T
            return np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float64)
        pairwise = needed("sklearn.metrics.pairwise", f"the kernel {self.function!r}", "kernels")
        block = pairwise.pairwise_kernels(
            represented,
            support,
            metric=self.function,
            filter_params=True,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )
        return np.asarray(block, np.float64)


@dataclass(frozen=True)
class Precomputed:
    """A precomputed kernel: the row of a position has its kernel values with all training positions."""

    name: str = "precomputed"

    def represent(self, rows: Rows) -> Rows:
        """Return the rows unchanged: [n, training positions]."""
        return rows

    def support(self, represented: Rows, places: IntArray) -> IntArray:
        return places

    def between(self, represented: Rows, support: IntArray) -> FloatArray:
        block = represented[:, support]
        return np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float64)


def _own_block(block: Any, shape: tuple[int, int], name: str) -> FloatArray:
    array = np.asarray(block, np.float64)
    if array.shape != shape:
        raise InputError(
            f"the kernel {name} must return an array [n, m] for n and m positions: expected {shape}, "
            f"got {array.shape}"
        )
    if not np.isfinite(array).all():
        i, j = (int(place) for place in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"the kernel {name} must be finite; got {array[i, j]} for rows {i} and {j} of a block"
        )
    return array


def as_kernel(
    kernel: Any, *, gamma: float | str = "median", degree: float = 3, coef0: float = 1.0
) -> MercerKernel:
    """Return the kernel that an estimator's parameter names; a kernel object is returned unchanged."""
    if isinstance(kernel, (Kernel, Precomputed)) or all(
        hasattr(kernel, method) for method in ("represent", "support", "between", "name")
    ):
        made: MercerKernel = kernel
        return made
    if isinstance(kernel, str) and kernel == "precomputed":
        return Precomputed()
    if (isinstance(kernel, str) and kernel in NAMES) or callable(kernel):
        return Kernel(kernel, gamma, degree, coef0)
    raise InputError(
        f"kernel must be one of {', '.join(map(repr, (*NAMES, 'precomputed')))}, a function, a "
        f"crfkit.kernels.Kernel, or a list of these; got {kernel!r}"
    )
