"""Kernels between positions: similarities that are inner products in some space.

A kernel is asked for whole blocks: K(rows, support) [n, m]. Named ones are computed by scikit-learn's
pairwise functions, which is imported when the first block is asked for; a function of the user's own gets two
tables (or lists) of positions and returns the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Rows, n_rows, take_rows
from crfkit.exceptions import InputError

NAMES = ("rbf", "linear", "poly", "laplacian", "cosine", "sigmoid", "chi2")
_SCALED = ("rbf", "poly", "laplacian", "sigmoid", "chi2")  # those with a gamma


class MercerKernel(Protocol):
    """A kernel that knows its data: gamma is a number, a graph is built."""

    @property
    def name(self) -> str:
        """For listings and messages."""

    def represent(self, rows: Rows) -> Rows:
        """What the kernel compares, of each position."""

    def support(self, represented: Rows, places: IntArray) -> Any:
        """The chosen positions as the second argument of ``between``."""

    def between(self, represented: Rows, support: Any) -> FloatArray:
        """K [n, m]."""


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
        A number; "median" for 1 / (the median of the squared distances); "scale" for 1 / (d · variance).
    degree, coef0
        Of "poly" and "sigmoid".
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

    def fitted(self, rows: Rows, seed: int = 0) -> Kernel:
        """The kernel with a number for gamma, from these rows."""
        from crfkit.kernels.bandwidth import find_gamma

        if not isinstance(self.function, str) or self.function not in _SCALED:
            return self
        if isinstance(rows, list):
            raise InputError(f"the kernel {self.function!r} is for numbers; objects need a function of them")
        return replace(self, gamma=find_gamma(self.gamma, rows, seed))

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
        from sklearn.metrics.pairwise import pairwise_kernels

        block = pairwise_kernels(
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
    """Kernel values that are given: a position's row has its values with all positions of training."""

    name: str = "precomputed"

    def represent(self, rows: Rows) -> Rows:
        """The rows as they are: [n, positions of training]."""
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
    """The kernel that an estimator's parameter means; one that is made already stays as it is."""
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
